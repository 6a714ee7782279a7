// How a transfer falls into descriptors. A descriptor is contiguous on both sides, so its bounds are the
// run bounds of the source together with those of the destination. Both are regular in the order of the
// stream, and for equal shapes one run length divides the other, so that a transfer of any size is a few
// divisions; patterns written by hand may be irregular and are walked.

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "emu/timing/dma_service.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

constexpr std::int64_t descriptor_bytes_max = 64 * 1024;  // datasheet 7.1: 16-bit length field [drv]
constexpr std::int64_t partitions_per_engine = 8;         // datasheet 7.1 [doc]
// Cutting a contiguous HBM to HBM transfer further than this only adds overhead [assumed].
constexpr std::int64_t part_bytes_min = 512;

struct Side {
  Space space = Space::hbm;
  std::int64_t element_bytes = 0;
  std::int64_t total = 0;          // elements
  std::int64_t run = 0;            // contiguous elements; divides per_partition
  std::int64_t partition = 0;      // first; on chip only
  std::int64_t per_partition = 0;  // elements; on chip only
  bool on_chip() const { return space != Space::hbm; }
  std::int64_t bytes() const { return total * element_bytes; }
};

Side side_of(const AccessPattern& p) {
  Side s;
  s.space = p.space;
  s.element_bytes = size_of(p.dtype);
  s.per_partition = p.elements();
  s.total = s.per_partition * p.partitions;
  s.run = detail::runs(p).length / s.element_bytes;
  s.partition = p.partition;
  return s;
}

Side side_of(const HbmPattern& p) {
  Side s;
  s.element_bytes = size_of(p.dtype);
  s.total = p.elements();
  s.run = detail::runs(p).length / s.element_bytes;
  return s;
}

Side side_of(const MemoryOperand& operand) {
  return std::visit([](const auto& p) { return side_of(p); }, operand);
}

class Splitter {
 public:
  Splitter(const Side& dst, const Side& src)
      : dst_(dst), src_(src), element_bytes_(std::max(dst.element_bytes, src.element_bytes)) {
    ensure(dst.total == src.total, "both sides of a transfer have as many elements");
  }

  TransferWork split() {
    account();
    const bool regular = dst_.run % src_.run == 0 || src_.run % dst_.run == 0;
    if (!dst_.on_chip() && !src_.on_chip()) {
      regular ? split_hbm(std::min(dst_.run, src_.run)) : split_hbm_irregular();
    } else {
      const Side& assigned = dst_.on_chip() ? dst_ : src_;
      regular ? split_partitions(assigned, std::min(dst_.run, src_.run))
              : split_partitions_irregular(assigned);
    }
    return std::move(work_);
  }

 private:
  void account() {
    work_.bytes = dst_.total * element_bytes_;
    switch (src_.space) {
      case Space::hbm: work_.hbm_read = src_.bytes(); break;
      case Space::sbuf: work_.sbuf_read = src_.bytes(); break;
      case Space::psum: work_.psum_read = src_.bytes(); break;
    }
    (dst_.on_chip() ? work_.sbuf_written : work_.hbm_written) = dst_.bytes();
  }

  void add_descriptors(std::size_t engine, std::int64_t bytes, std::int64_t count) {
    if (bytes == 0 || count == 0) return;
    std::vector<DescriptorRuns>& runs = work_.engines[engine];
    if (!runs.empty() && runs.back().bytes == bytes) {
      runs.back().count += count;
    } else {
      runs.push_back({bytes, count});
    }
    work_.descriptors += count;
    work_.shortest_run = work_.shortest_run == 0 ? bytes : std::min(work_.shortest_run, bytes);
  }

  // `count` runs of `elements`, each cut where a descriptor ends.
  void add_runs(std::size_t engine, std::int64_t elements, std::int64_t count) {
    const std::int64_t most = descriptor_bytes_max / element_bytes_;
    add_descriptors(engine, most * element_bytes_, elements / most * count);
    add_descriptors(engine, elements % most * element_bytes_, count);
  }

  void split_partitions(const Side& side, std::int64_t run) {
    const std::int64_t last = side.partition + side.total / side.per_partition;
    for (std::int64_t p = side.partition; p < last;) {
      const std::int64_t engine = p / partitions_per_engine;
      const std::int64_t next = std::min(last, (engine + 1) * partitions_per_engine);
      add_runs(static_cast<std::size_t>(engine), run, (next - p) * side.per_partition / run);
      p = next;
    }
  }

  // Visits the runs of the common refinement in stream order: (first element, elements).
  template <typename Visit>
  void refine(Visit&& visit) const {
    for (std::int64_t at = 0; at < dst_.total;) {
      const std::int64_t next = std::min((at / dst_.run + 1) * dst_.run, (at / src_.run + 1) * src_.run);
      visit(at, next - at);
      at = next;
    }
  }

  void split_partitions_irregular(const Side& side) {
    refine([&](std::int64_t at, std::int64_t elements) {
      const std::int64_t partition = side.partition + at / side.per_partition;
      add_runs(static_cast<std::size_t>(partition / partitions_per_engine), elements, 1);
    });
  }

  // 16 about equal parts of whole runs (datasheet 7.1); fewer runs than engines are cut.
  void split_hbm(std::int64_t run) {
    const std::int64_t runs = dst_.total / run;
    if (runs >= dma_engine_count) {
      for (std::int64_t e = 0; e < dma_engine_count; ++e) {
        const std::int64_t count = (e + 1) * runs / dma_engine_count - e * runs / dma_engine_count;
        add_runs(static_cast<std::size_t>(e), run, count);
      }
      return;
    }
    const std::int64_t cuts = (dma_engine_count + runs - 1) / runs;
    const std::int64_t piece =
        std::max((run + cuts - 1) / cuts, std::min(run, part_bytes_min / element_bytes_));
    std::vector<std::int64_t> pieces;
    for (std::int64_t r = 0; r < runs; ++r) {
      for (std::int64_t at = 0; at < run; at += piece) pieces.push_back(std::min(piece, run - at));
    }
    deal(pieces);
  }

  void split_hbm_irregular() {
    std::vector<std::int64_t> pieces;
    refine([&](std::int64_t, std::int64_t elements) { pieces.push_back(elements); });
    deal(pieces);
  }

  void deal(const std::vector<std::int64_t>& pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      add_runs(i * dma_engine_count / std::max<std::size_t>(pieces.size(), dma_engine_count), pieces[i], 1);
    }
  }

  const Side dst_, src_;
  const std::int64_t element_bytes_;
  TransferWork work_;
};

}  // namespace

namespace {

// The rows that an index chooses take the place of the table: as many as the other side has partitions.
MemoryOperand chosen_rows(const MemoryOperand& side, const MemoryOperand& other) {
  const auto* table = std::get_if<HbmPattern>(&side);
  const auto* tile = std::get_if<AccessPattern>(&other);
  if (table == nullptr || tile == nullptr) return side;
  HbmPattern rows = *table;
  rows.dims[3].count = tile->partitions;
  return rows;
}

// One transfer after the other on each engine; what is written is written once.
void append(TransferWork& work, const TransferWork& further) {
  for (std::size_t e = 0; e < work.engines.size(); ++e) {
    work.engines[e].insert(work.engines[e].end(), further.engines[e].begin(), further.engines[e].end());
  }
  work.bytes += further.bytes;
  work.hbm_read += further.hbm_read;
  work.sbuf_read += further.sbuf_read;
  work.psum_read += further.psum_read;
  work.descriptors += further.descriptors;
  work.shortest_run = std::min(work.shortest_run, further.shortest_run);
}

// Each source costs a pass of its own (datasheet 7.9 [assumed]).
TransferWork joined(const MemoryOperand& dst, std::span<const MemoryOperand> sources) {
  TransferWork work = Splitter(side_of(dst), side_of(sources[0])).split();
  for (const MemoryOperand& source : sources.subspan(1))
    append(work, Splitter(side_of(dst), side_of(source)).split());
  work.kind = TransferKind::compute;
  return work;
}

TransferWork compute_work(const DmaCompute& compute) {
  std::vector<MemoryOperand> sources;
  for (const DmaCompute::Source& s : compute.sources) sources.push_back(s.src);
  return joined(compute.dst, sources);
}

// Blocks of the transposing unit, and the partitions and elements they have (datasheet 7.9).
constexpr std::int64_t block_partitions = 128;
constexpr std::int64_t block_elements = 16;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The 16 engines fill each block together; whole blocks are charged. The figures of the datasheet are rates
// of whole transfers, so an engine's share is as few descriptors as their length allows [assumed].
void transpose_blocks(TransferWork& work, const AccessPattern& dst) {
  const std::int64_t element = size_of(dst.dtype);
  const std::int64_t between = std::int64_t{dst.dims[1].count} * dst.dims[2].count;
  const std::int64_t blocks =
      ceil_div(dst.partitions, block_partitions) * ceil_div(dst.dims[0].count, block_elements) * between;
  const std::int64_t share = blocks * block_partitions * block_elements * element / dma_engine_count;
  for (auto& runs : work.engines) {
    if (share >= descriptor_bytes_max) runs.push_back({descriptor_bytes_max, share / descriptor_bytes_max});
    if (share % descriptor_bytes_max != 0) runs.push_back({share % descriptor_bytes_max, 1});
    for (const DescriptorRuns& r : runs) work.descriptors += r.count;
  }
  work.shortest_run = work.engines[0].back().bytes;
}

// Every element is a descriptor; the engines share them as they share a copy.
TransferWork transpose_work(const DmaTranspose& transpose, int generation) {
  Side dst = side_of(transpose.dst), src = side_of(transpose.src);
  dst.run = src.run = 1;
  const auto* tile = std::get_if<AccessPattern>(&transpose.dst);
  const bool by_unit =
      generation >= 3 && tile != nullptr && (src.element_bytes == 2 || src.element_bytes == 4);
  TransferWork work = Splitter(dst, src).split();
  if (!by_unit) return work;
  for (auto& runs : work.engines) runs.clear();
  work.descriptors = 0;
  work.kind = src.on_chip() ? TransferKind::transpose_sbuf : TransferKind::transpose_hbm;
  transpose_blocks(work, *tile);
  return work;
}

}  // namespace

TransferWork transfer_work(const DmaCopy& copy) {
  const bool indexed = !std::holds_alternative<std::monostate>(copy.index);
  const MemoryOperand dst = indexed ? chosen_rows(copy.dst, copy.src) : copy.dst;
  const MemoryOperand src = indexed ? chosen_rows(copy.src, copy.dst) : copy.src;
  const MemoryOperand sources[] = {src, dst};
  TransferWork work = copy.accumulate ? joined(dst, sources) : Splitter(side_of(dst), side_of(src)).split();
  if (indexed) work.indexed_rows = lanes(copy);
  return work;
}

TransferWork transfer_work(const Operands& transfer, int generation) {
  if (const auto* copy = std::get_if<DmaCopy>(&transfer)) return transfer_work(*copy);
  if (const auto* compute = std::get_if<DmaCompute>(&transfer)) return compute_work(*compute);
  const auto* transpose = std::get_if<DmaTranspose>(&transfer);
  ensure(transpose != nullptr, "only transfers have descriptors");
  return transpose_work(*transpose, generation);
}

}  // namespace ncemu
