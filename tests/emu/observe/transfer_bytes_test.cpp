// Conservation of bytes: what a transfer reads, writes and carries in its packets, against the elements that
// its operands count, for every kernel of the library and for random programs with every kind of transfer.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "emu/observe/summary.h"
#include "tests/emu/observe/recorded_runs.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

struct Counted {
  std::int64_t elements = 0, size = 0;
  std::int64_t bytes() const { return elements * size; }
};

Counted counted(const MemoryOperand& operand) {
  std::int64_t elements = 1;
  if (const auto* tile = std::get_if<AccessPattern>(&operand)) {
    for (const auto& d : tile->dims) elements *= d.count;
    return {elements * tile->partitions, size_of(tile->dtype)};
  }
  const auto& tensor = std::get<HbmPattern>(operand);
  for (const auto& d : tensor.dims) elements *= d.count;
  return {elements, size_of(tensor.dtype)};
}

// What one transfer has to move: of each source, and into its destination.
struct Expected {
  std::vector<Counted> sources;
  Counted destination;
  std::optional<std::int64_t> blocks;  // bytes of whole blocks of the transposing unit

  std::int64_t read() const {
    std::int64_t sum = 0;
    for (const Counted& s : sources) sum += s.bytes();
    return sum;
  }
  // A pass for each source, whose elements are as wide as the wider side.
  std::int64_t carried() const {
    if (blocks) return *blocks;
    std::int64_t sum = 0;
    for (const Counted& s : sources) sum += s.elements * std::max(s.size, destination.size);
    return sum;
  }
};

Expected expected(const Instruction& i, int generation, std::string& kind) {
  if (const auto* copy = std::get_if<DmaCopy>(&i.operands)) {
    Counted dst = counted(copy->dst), src = counted(copy->src);
    kind = copy->accumulate ? "accumulating" : dst.size != src.size ? "casting" : "copy";
    if (!std::holds_alternative<std::monostate>(copy->index)) {
      // The on-chip side says how many rows of the other one move.
      kind = "rows by index";
      const bool gathers = std::holds_alternative<AccessPattern>(copy->dst);
      (gathers ? src : dst).elements = (gathers ? dst : src).elements;
    }
    if (copy->accumulate) return {{src, dst}, dst, {}};
    return {{src}, dst, {}};
  }
  if (const auto* compute = std::get_if<DmaCompute>(&i.operands)) {
    kind = "compute";
    Expected all{{}, counted(compute->dst), {}};
    for (const DmaCompute::Source& s : compute->sources) all.sources.push_back(counted(s.src));
    return all;
  }
  const auto& transpose = std::get<DmaTranspose>(i.operands);
  Expected all{{counted(transpose.src)}, counted(transpose.dst), {}};
  kind = "transpose, element by element";
  const auto* tile = std::get_if<AccessPattern>(&transpose.dst);
  if (generation >= 3 && tile != nullptr && (all.destination.size == 2 || all.destination.size == 4)) {
    // Datasheet 7.9: blocks of 128 partitions and 16 elements, charged whole.
    kind = "transpose by the unit";
    const auto up = [](std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; };
    all.blocks = up(tile->partitions, 128) * up(tile->dims[0].count, 16) * tile->dims[1].count *
                 tile->dims[2].count * all.destination.size;
  }
  return all;
}

}  // namespace

TEST_CASE("every transfer reads, writes and carries just the bytes of its operands' elements") {
  std::map<std::string, int> seen;
  for_each_program(150, [&](Program program, Mode mode) {
    SummaryObserver summary(builtin_machine(program.target.machine));
    const RecordedRun run = record(std::move(program), mode, {&summary});
    const Timeline& t = run.timeline;
    std::vector<std::int64_t> carried(t.transfers.size());
    for (std::size_t i = 0; i < t.spans.size(); ++i) carried[t.spans.transfer[i]] += t.spans.bytes[i];
    std::int64_t all_read = 0, all_written = 0;
    for (std::uint32_t i = 0; i < t.transfers.size(); ++i) {
      const Serial by = t.transfers.serial[i];
      const Instruction& instruction =
          run.program.stream(t.instructions.engine[by])[t.instructions.index[by]];
      std::string kind;
      const Expected e = expected(instruction, run.program.target.generation, kind);
      CAPTURE(kind);
      const TransferShape& shape = t.shape(i);
      const std::int64_t read = shape.hbm_read + shape.sbuf_read + shape.psum_read;
      const std::int64_t written = shape.hbm_written + shape.sbuf_written;
      for (const Counted& s : e.sources) CHECK(s.elements == e.destination.elements);
      CHECK(read == e.read());
      CHECK(written == e.destination.bytes());
      CHECK(carried[i] == e.carried());
      if (e.sources.size() == 1 && e.sources[0].size == e.destination.size) CHECK(read == written);
      all_read += read;
      all_written += written;
      ++seen[kind];
    }
    const DmaSummary& dma = summary.summary().dma;
    CHECK(dma.hbm_read + dma.sbuf_read + dma.psum_read == all_read);
    CHECK(dma.hbm_written + dma.sbuf_written == all_written);
  });
  for (const char* kind : {"copy", "casting", "accumulating", "rows by index", "compute",
                           "transpose, element by element", "transpose by the unit"}) {
    CAPTURE(kind);
    CHECK(seen[kind] >= 10);
  }
}
