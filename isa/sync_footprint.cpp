#include "isa/sync_footprint.h"

#include <algorithm>

#include "isa/fault.h"

namespace ncemu::autosync {
namespace {

constexpr std::uint64_t bits(std::uint32_t first, std::uint32_t end) {  // [first, end) of 0..64
  const auto below = [](std::uint32_t n) {
    return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
  };
  return below(end) & ~below(first);
}

detail::Runs single_run(std::int64_t begin, std::int64_t end) {
  detail::Runs r;
  r.offset = begin;
  r.length = end - begin;
  return r;
}

// Takes the finest loop as filled.
void fill_finest(detail::Runs& r) {
  r.length += r.loops[0].step * (r.loops[0].count - 1);
  std::move(r.loops.begin() + 1, r.loops.begin() + r.rank, r.loops.begin());
  --r.rank;
}

}  // namespace

Lanes Lanes::range(std::uint32_t first, std::uint32_t count) {
  const std::uint32_t end = first + count;
  return {bits(std::min(first, 64U), std::min(end, 64U)),
          bits(std::max(first, 64U) - 64, std::max(end, 64U) - 64)};
}

detail::Runs normalise(detail::Runs r) {
  const detail::Runs given = r;
  r.rank = 0;
  for (int i = 0; i < given.rank; ++i) {
    auto loop = given.loops[static_cast<std::size_t>(i)];
    if (loop.step == 0) continue;
    if (loop.step < 0) {
      r.offset += loop.step * (loop.count - 1);
      loop.step = -loop.step;
    }
    std::size_t at = static_cast<std::size_t>(r.rank++);  // finest first
    for (; at > 0 && r.loops[at - 1].step > loop.step; --at) r.loops[at] = r.loops[at - 1];
    r.loops[at] = loop;
  }
  while (r.rank > 0 && r.loops[0].step <= r.length) fill_finest(r);  // neighbours touch: nothing is lost
  const auto count = [&] {
    std::int64_t n = 1;
    for (int i = 0; i < r.rank; ++i) n *= r.loops[static_cast<std::size_t>(i)].count;
    return n;
  };
  while (count() > run_limit) fill_finest(r);
  return r;
}

Footprints::Footprints(const Program& program) : program_(&program), written_(program.tensors.size()) {
  for (const auto& stream : program.streams) {
    for (const Instruction& instruction : stream) {
      for_each_access(instruction, [&](const auto& pattern, Role role) {
        if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, HbmPattern>) {
          if (role == Role::write && pattern.tensor < written_.size()) written_[pattern.tensor] = true;
        }
      });
    }
  }
}

void Footprints::collect(const Instruction& instruction, std::vector<Footprint>& out) const {
  std::uint8_t ordinal = 0;
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    Footprint footprint;
    footprint.write = role == Role::write;
    footprint.ordinal = ordinal++;
    add(pattern, footprint, out);
  });
}

// A register may move the operand anywhere inside its tile; without a tile, anywhere in its partitions.
void Footprints::add(const AccessPattern& pattern, Footprint footprint, std::vector<Footprint>& out) const {
  footprint.region = pattern.space == Space::psum ? psum_region : sbuf_region;
  footprint.lanes = Lanes::range(pattern.partition, pattern.partitions);
  if (!pattern.index.present()) {
    footprint.runs = normalise(detail::runs(pattern));
  } else if (pattern.place != no_place) {
    const Place& place = program_->places[pattern.place];
    footprint.runs = single_run(place.offset, std::int64_t{place.offset} + program_->tiles[place.tile].bytes);
  } else {
    const Target& target = program_->target;
    footprint.runs = single_run(
        0, pattern.space == Space::psum ? target.psum_partition_bytes() : target.sbuf_partition_bytes);
  }
  out.push_back(footprint);
}

void Footprints::add(const HbmPattern& pattern, Footprint footprint, std::vector<Footprint>& out) const {
  ensure(pattern.tensor < written_.size(), "an operand names a tensor of the program");
  if (!written_[pattern.tensor]) return;
  footprint.region = first_tensor_region + pattern.tensor;
  footprint.lanes = Lanes::range(0, 1);
  footprint.runs = pattern.index.present() ? single_run(0, program_->tensors[pattern.tensor].bytes())
                                           : normalise(detail::runs(pattern));
  out.push_back(footprint);
}

}  // namespace ncemu::autosync
