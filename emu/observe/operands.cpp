#include "emu/observe/operands.h"

#include <fmt/format.h>

#include <vector>

namespace ncemu {
namespace {

// Row-major indices of element `number`, comma-separated.
std::string indices(std::span<const std::int64_t> shape, std::int64_t number) {
  std::vector<std::int64_t> at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    at[d] = number % shape[d];
    number /= shape[d];
  }
  return fmt::format("{}", fmt::join(at, ", "));
}

const Tile* tile_of(const Program& program, PlaceId place) {
  if (place >= program.places.size()) return nullptr;
  const std::uint32_t tile = program.places[place].tile;
  return tile < program.tiles.size() ? &program.tiles[tile] : nullptr;
}

std::string_view memory_name(Space space) { return space == Space::psum ? "PSUM" : "SBUF"; }

}  // namespace

std::string describe_byte(const Program& program, Space space, PlaceId place, int partition,
                          std::int64_t byte) {
  const Tile* tile = tile_of(program, place);
  if (tile == nullptr) return fmt::format("{} partition {}, byte {}", memory_name(space), partition, byte);
  const Place& at = program.places[place];
  std::int64_t rest = byte - at.offset;
  std::string text = tile->name;
  if (!tile->array.empty() && tile->stride != 0) {
    std::int64_t element = rest / tile->stride;
    rest %= tile->stride;
    std::vector<std::int64_t> chosen(tile->array.size());
    for (std::size_t d = chosen.size(); d-- > 0; element /= tile->array[d])
      chosen[d] = element % tile->array[d];
    for (const std::int64_t i : chosen) text += fmt::format("[{}]", i);
  }
  const std::span<const std::int64_t> free = std::span(tile->shape).subspan(1);
  return fmt::format("{}[{}{}{}]", text, partition - at.partition, free.empty() ? "" : ", ",
                     indices(free, rest / size_of(tile->dtype)));
}

std::string describe_byte(const Program& program, std::uint16_t tensor, std::int64_t byte) {
  const Tensor& t = program.tensors[tensor];
  return fmt::format("{}[{}]", t.name, indices(t.shape, byte / size_of(t.dtype)));
}

std::string describe_memory(const Program& program, const AccessPattern& pattern) {
  const Tile* tile = tile_of(program, pattern.place);
  return tile != nullptr ? fmt::format("tile '{}'", tile->name) : std::string(memory_name(pattern.space));
}

std::string describe_memory(const Program& program, const HbmPattern& pattern) {
  return fmt::format("tensor '{}'", program.tensors[pattern.tensor].name);
}

}  // namespace ncemu
