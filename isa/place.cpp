#include "isa/place.h"

#include <algorithm>
#include <utility>

#include "isa/fault.h"
#include "isa/place_arrange.h"
#include "isa/place_report.h"

namespace ncemu {

using placing::Sequence;
using placing::Sharing;

namespace {

template <typename Operand>
void move_operand(Operand& operand, const Program& program) {
  if (operand.place == no_place) return;
  ensure(operand.place < program.places.size(), "an operand names a place of the program");
  const Place& place = program.places[operand.place];
  operand.offset += place.offset;
  operand.partition = static_cast<std::uint8_t>(operand.partition + place.partition);
}

// Turns operands relative to their places into addresses.
struct Mover {
  const Program* program;
  void operator()(std::string_view, AccessPattern& p, Role) const { move_operand(p, *program); }
  void operator()(std::string_view, std::optional<AccessPattern>& p, Role) const {
    if (p) move_operand(*p, *program);
  }
  void operator()(std::string_view, MemoryOperand& m, Role) const { move(m); }
  void operator()(std::string_view, ScalarOperand& s, Role) const {
    if (auto* p = std::get_if<PointerOperand>(&s)) move_operand(*p, *program);
  }
  template <typename Other>
  void operator()(std::string_view, Other&, Role) const {}
  void move(MemoryOperand& m) const {
    if (auto* p = std::get_if<AccessPattern>(&m)) move_operand(*p, *program);
  }
};

}  // namespace

void place(Program& program, Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.errors();
  for (const Tile& tile : program.tiles) placing::check_explicit(program, tile, diagnostics);
  if (diagnostics.errors() > errors_before) return;

  for (const Space space : {Space::sbuf, Space::psum}) {
    placing::Arrangement arrangement(program, space);
    const bool fits = arrangement.run(Sharing::none, Sequence::text) ||
                      arrangement.run(Sharing::plain_tiles, Sequence::text) ||
                      arrangement.run(Sharing::plain_tiles, Sequence::largest_first) ||
                      arrangement.run(Sharing::all_tiles, Sequence::text) ||
                      arrangement.run(Sharing::all_tiles, Sequence::largest_first);
    if (!fits) {
      placing::report_full(program, arrangement, space, diagnostics);
      continue;
    }
    placing::report_overlaps(program, arrangement.blocks(), diagnostics);
    for (const placing::Block& b : arrangement.blocks()) {
      Place& place = program.places[b.at.place];
      place.partition = static_cast<std::uint8_t>(b.at.partition);
      place.offset = b.at.offset;
    }
  }
  if (diagnostics.errors() > errors_before) return;

  const Mover mover{&program};
  for (auto& stream : program.streams) {
    for (Instruction& instruction : stream) for_each_field(instruction.operands, mover);
  }
  for (Probe& probe : program.probes) mover.move(probe.view);
}

void check_overlaps(const Program& program, Diagnostics& diagnostics) {
  for (const Space space : {Space::sbuf, Space::psum}) {
    placing::Arrangement arrangement(program, space);
    arrangement.run(Sharing::all_tiles, Sequence::text);  // explicit places come first, whatever follows
    placing::report_overlaps(program, arrangement.blocks(), diagnostics);
  }
}

std::vector<Placement> placements(const Program& program) {
  std::vector<Placement> result;
  result.reserve(program.places.size());
  for (std::size_t i = 0; i < program.places.size(); ++i) {
    const Place& place = program.places[i];
    const Tile& tile = program.tiles[place.tile];
    result.push_back({static_cast<PlaceId>(i), place.tile, tile.space, place.partition,
                      static_cast<std::uint32_t>(tile.shape[0]), place.offset, placing::content_bytes(tile)});
  }
  return result;
}

Usage usage(const Program& program) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
  std::vector<bool> banks(program.target.psum_banks);
  for (const Placement& p : placements(program)) {
    if (p.bytes == 0) continue;
    if (p.space == Space::sbuf) {
      ranges.push_back({p.offset, p.offset + p.bytes});
      continue;
    }
    const std::uint32_t last = (p.offset + p.bytes - 1) / program.target.psum_bank_bytes;
    for (std::uint32_t b = p.offset / program.target.psum_bank_bytes; b <= last && b < banks.size(); ++b) {
      banks[b] = true;
    }
  }
  std::sort(ranges.begin(), ranges.end());
  Usage result;
  std::uint32_t covered = 0;
  for (const auto& [begin, end] : ranges) {
    if (end <= covered) continue;
    result.sbuf_bytes += end - std::max(begin, covered);
    covered = end;
  }
  result.psum_banks = static_cast<std::uint32_t>(std::count(banks.begin(), banks.end(), true));
  return result;
}

}  // namespace ncemu
