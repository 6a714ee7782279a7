#include "tools/command/dump.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "isa/diagnostics.h"
#include "isa/fault.h"
#include "tools/command/show.h"

namespace ncemu::command {
namespace {

constexpr std::string_view form = "NAME@line=NUMBER";

// [partitions, array..., free...]: array elements lie a uniform stride apart, each row-major.
std::vector<std::byte> read_place(const Program& program, const Tile& tile, PlaceId id, const State& state) {
  const Place& place = program.places[id];
  const OnChipMemory& memory = tile.space == Space::sbuf ? state.sbuf : state.psum;
  std::int64_t bytes = size_of(tile.dtype), blocks = 1;
  for (std::size_t d = 1; d < tile.shape.size(); ++d) bytes *= tile.shape[d];
  for (const std::int64_t n : tile.array) blocks *= n;
  std::vector<std::byte> all;
  for (std::int64_t p = 0; p < tile.shape.front(); ++p) {
    const std::byte* row = memory.row(place.partition + static_cast<std::uint32_t>(p)) + place.offset;
    for (std::int64_t b = 0; b < blocks; ++b)
      all.insert(all.end(), row + b * tile.stride, row + b * tile.stride + bytes);
  }
  return all;
}

std::vector<PlaceId> places_used(const Instruction& instruction) {
  std::vector<PlaceId> used;
  for_each_access(instruction, [&](const auto& pattern, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
      if (pattern.place != no_place) used.push_back(pattern.place);
    }
  });
  return used;
}

// The line of the kernel's own file that a site belongs to: of the outermost macro call or include.
std::uint32_t own_line(const Program& program, std::uint32_t site) {
  while (site < program.sites.size() && program.sites[site].parent != no_index)
    site = program.sites[site].parent;
  return site < program.sites.size() ? program.sites[site].line : 0;
}

std::string nearest_lines(const Program& program, std::uint32_t line) {
  std::set<std::uint32_t> lines;
  for (const auto& stream : program.streams) {
    for (const Instruction& i : stream) lines.insert(own_line(program, i.site));
  }
  lines.erase(0);
  if (lines.empty()) return "the program carries no source lines";
  const auto above = lines.lower_bound(line);
  std::string text = "the nearest that have: ";
  if (above != lines.begin()) text += std::to_string(*std::prev(above)) + (above != lines.end() ? ", " : "");
  if (above != lines.end()) text += std::to_string(*above);
  return text;
}

}  // namespace

Dump::Dump(const Program& program, const std::string& text) : program_(program) {
  const std::size_t at = text.find("@line=");
  const std::string number = at == std::string::npos ? "" : text.substr(at + 6);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), line_);
  if (at == std::string::npos || at == 0 || error != std::errc{} || end != number.data() + number.size()) {
    throw Fault(FaultKind::input, "--dump", "expected {}, found '{}'", form, text);
  }
  name_ = text.substr(0, at);
  std::vector<std::string_view> known;
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    if (program.tensors[t].name == name_) tensor_ = static_cast<std::uint32_t>(t);
    known.push_back(program.tensors[t].name);
  }
  for (std::size_t t = 0; t < program.tiles.size(); ++t) {
    if (program.tiles[t].name == name_) tiles_.push_back(static_cast<std::uint32_t>(t));
    known.push_back(program.tiles[t].name);
  }
  if (tensor_ == no_index && tiles_.empty()) {
    const std::string_view near = did_you_mean(name_, known);
    throw Fault(FaultKind::input, "--dump", "the kernel has no tensor or tile '{}'{}", name_,
                near.empty() ? "" : fmt::format(", did you mean '{}'?", near));
  }
  const bool found = std::any_of(program.streams.begin(), program.streams.end(), [&](const auto& stream) {
    return std::any_of(stream.begin(), stream.end(), [&](const Instruction& i) { return at_line(i.site); });
  });
  if (!found) {
    throw Fault(FaultKind::input, "--dump", "line {} has no instruction; {}", line_,
                nearest_lines(program, line_));
  }
}

bool Dump::at_line(std::uint32_t site) const { return site != 0 && own_line(program_, site) == line_; }

std::string Dump::after(Engine engine, std::uint32_t index, const Instruction& instruction,
                        const State& state) const {
  if (!at_line(instruction.site)) return {};
  const std::string label = fmt::format("{} after {} {} ({})", name_, name(engine), index,
                                        describe_site(program_, instruction.site));
  if (tensor_ != no_index) {
    const Tensor& tensor = program_.tensors[tensor_];
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes()));
    state.hbm.read(static_cast<std::uint16_t>(tensor_), 0, bytes);
    return fmt::format("{} : {}[{}]\n{}\n", label, name(tensor.dtype), fmt::join(tensor.shape, ", "),
                       show_array(tensor.dtype, bytes, tensor.shape));
  }
  const std::vector<PlaceId> used = places_used(instruction);
  std::string text, others;
  for (const std::uint32_t t : tiles_) {
    const Tile& tile = program_.tiles[t];
    std::vector<std::int64_t> shape = {tile.shape.front()};
    shape.insert(shape.end(), tile.array.begin(), tile.array.end());
    shape.insert(shape.end(), tile.shape.begin() + 1, tile.shape.end());
    for (std::uint32_t b = 0; b < tile.buffers; ++b) {
      const auto id = static_cast<PlaceId>(tile.first_place + b);
      const bool here = std::find(used.begin(), used.end(), id) != used.end();
      (here ? text : others) +=
          fmt::format("{}{} : {}[{}]\n{}\n", label, tile.buffers > 1 ? fmt::format(", buffer {}", b) : "",
                      name(tile.dtype), fmt::join(shape, ", "),
                      show_array(tile.dtype, read_place(program_, tile, id, state), shape));
    }
  }
  return text.empty() ? others : text;
}

}  // namespace ncemu::command
