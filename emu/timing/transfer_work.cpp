// How a transfer falls into descriptors. A descriptor is contiguous on both sides, so its bounds are the
// run bounds of the source together with those of the destination. Both are regular in the order of the
// stream, and for equal shapes one run length divides the other, so that a transfer of any size is a few
// divisions; patterns written by hand may be irregular and are walked.

#include <algorithm>
#include <array>
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

TransferWork transfer_work(const DmaCopy& copy) {
  return Splitter(side_of(copy.dst), side_of(copy.src)).split();
}

}  // namespace ncemu
