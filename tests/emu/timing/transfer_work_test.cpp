#include <doctest/doctest.h>

#include <map>
#include <random>

#include "emu/timing/dma_service.h"
#include "isa/fault.h"
#include "tests/emu/timing/shapes.h"

using namespace ncemu;
using namespace ncemu::shapes;

namespace {

constexpr DType f32 = DType::f32, bf16 = DType::bf16;

// Descriptor sizes and how many of each, per engine.
using Sizes = std::array<std::map<std::int64_t, std::int64_t>, dma_engine_count>;

Sizes sizes(const TransferWork& w) {
  Sizes all;
  for (std::size_t e = 0; e < all.size(); ++e) {
    for (const DescriptorRuns& r : w.engines[e]) all[e][r.bytes] += r.count;
  }
  return all;
}

TransferWork work_of(MemoryOperand dst, MemoryOperand src) {
  return transfer_work({std::move(dst), std::move(src), 0, DgeMode::static_});
}

// Element addresses in stream order: (partition or -1, byte).
struct Place {
  std::int64_t partition, byte;
};
template <typename Pattern>
void walk(const Pattern& p, std::int64_t partition, std::int64_t offset, std::vector<Place>& out) {
  const std::int64_t size = size_of(p.dtype);
  for (std::int64_t d = 0; d < p.dims[3].count; ++d)
    for (std::int64_t c = 0; c < p.dims[2].count; ++c)
      for (std::int64_t b = 0; b < p.dims[1].count; ++b)
        for (std::int64_t a = 0; a < p.dims[0].count; ++a) {
          const std::int64_t element =
              a * p.dims[0].step + b * p.dims[1].step + c * p.dims[2].step + d * p.dims[3].step;
          out.push_back({partition, offset + element * size});
        }
}
std::vector<Place> places(const MemoryOperand& operand) {
  std::vector<Place> out;
  if (const auto* h = std::get_if<HbmPattern>(&operand)) {
    walk(*h, -1, h->offset * size_of(h->dtype), out);
  } else {
    const auto& p = std::get<AccessPattern>(operand);
    for (int k = 0; k < p.partitions; ++k) walk(p, p.partition + k, p.offset, out);
  }
  return out;
}
DType dtype_of(const MemoryOperand& operand) {
  return std::visit([](const auto& p) { return p.dtype; }, operand);
}

// Element by element: a descriptor grows while both sides are contiguous and 64 KiB are not full.
Sizes by_elements(const MemoryOperand& dst, const MemoryOperand& src) {
  const auto d = places(dst), s = places(src);
  REQUIRE(d.size() == s.size());
  const std::int64_t dst_size = size_of(dtype_of(dst)), src_size = size_of(dtype_of(src));
  const std::int64_t size = std::max(dst_size, src_size);
  const auto& by = std::holds_alternative<AccessPattern>(dst) ? d : s;
  Sizes all;
  std::int64_t length = 0;
  for (std::size_t i = 0; i < d.size(); ++i) {
    ++length;
    const bool last = i + 1 == d.size();
    const bool joined = !last && d[i + 1].partition == d[i].partition &&
                        s[i + 1].partition == s[i].partition && d[i + 1].byte == d[i].byte + dst_size &&
                        s[i + 1].byte == s[i].byte + src_size;
    if (joined && (length + 1) * size <= 65536) continue;
    ++all[static_cast<std::size_t>(by[i].partition / 8)][length * size];
    length = 0;
  }
  return all;
}

}  // namespace

TEST_CASE("a 128 x 4 KiB load is eight descriptors of 4 KiB on each engine") {
  const TransferWork w = work_of(sbuf(f32, 1024), hbm(f32, 128, 1024, 1024));
  for (const auto& runs : w.engines) CHECK(runs == std::vector<DescriptorRuns>{{4096, 8}});
  CHECK(w.bytes == 128 * 4096);
  CHECK(w.hbm_read == 128 * 4096);
  CHECK(w.sbuf_written == 128 * 4096);
  CHECK(w.hbm_written == 0);
  CHECK(w.sbuf_read == 0);
  CHECK(w.descriptors == 128);
  CHECK(w.shortest_run == 4096);
}

TEST_CASE("partition p belongs to engine p / 8, also when a tile begins in between") {
  AccessPattern p = tile(Space::sbuf, f32, 5, 16);
  p.partition = 6;
  const TransferWork w = work_of(p, hbm(f32, 5, 16, 16));
  CHECK(w.engines[0] == std::vector<DescriptorRuns>{{64, 2}});
  CHECK(w.engines[1] == std::vector<DescriptorRuns>{{64, 3}});
  for (std::size_t e = 2; e < w.engines.size(); ++e) CHECK(w.engines[e].empty());
}

TEST_CASE("SBUF to SBUF goes by the destination's partitions, a store by the source's") {
  AccessPattern low = tile(Space::sbuf, f32, 8, 16), high = low;
  high.partition = 120;
  CHECK(work_of(high, low).engines[15].size() == 1);
  CHECK(work_of(low, high).engines[0].size() == 1);
  const TransferWork store = work_of(hbm(f32, 8, 16, 16), high);
  CHECK(store.engines[15].size() == 1);
  CHECK(store.hbm_written == 512);
  CHECK(store.sbuf_read == 512);
  AccessPattern from_psum = high;
  from_psum.space = Space::psum;
  CHECK(work_of(hbm(f32, 8, 16, 16), from_psum).psum_read == 512);
}

TEST_CASE("the shorter contiguous run of the two sides is the descriptor") {
  // 64 columns of a wider matrix, two tiles of 32 in each partition.
  AccessPattern p = tile(Space::sbuf, bf16, 8, 32);
  p.dims[1] = {100, 2};
  CHECK(work_of(p, hbm(bf16, 8, 64, 512)).engines[0] == std::vector<DescriptorRuns>{{64, 16}});
  // Every other element.
  CHECK(work_of(tile(Space::sbuf, bf16, 8, 64, 2), hbm(bf16, 8, 64, 64)).engines[0] ==
        std::vector<DescriptorRuns>{{2, 8 * 64}});
}

TEST_CASE("a descriptor ends at 64 KiB") {
  const TransferWork w = work_of(tile(Space::sbuf, f32, 1, 20000), hbm(f32, 1, 20000, 20000));
  CHECK(w.engines[0] == std::vector<DescriptorRuns>{{65536, 1}, {80000 - 65536, 1}});
  CHECK(w.descriptors == 2);
}

TEST_CASE("a casting transfer counts the wider side") {
  const TransferWork w = work_of(tile(Space::sbuf, bf16, 8, 100), hbm(f32, 8, 100, 100));
  CHECK(w.engines[0] == std::vector<DescriptorRuns>{{400, 8}});
  CHECK(w.bytes == 8 * 400);
  CHECK(w.hbm_read == 8 * 400);
  CHECK(w.sbuf_written == 8 * 200);
}

TEST_CASE("HBM to HBM goes to 16 equal parts of whole rows") {
  const TransferWork w = work_of(hbm(f32, 40, 100, 128), hbm(f32, 40, 100, 100));
  std::int64_t rows = 0;
  for (const auto& runs : w.engines) {
    REQUIRE(runs.size() == 1);
    CHECK(runs[0].bytes == 400);
    CHECK(runs[0].count >= 2);
    CHECK(runs[0].count <= 3);
    rows += runs[0].count;
  }
  CHECK(rows == 40);
  CHECK(w.hbm_read == 16000);
  CHECK(w.hbm_written == 16000);
}

TEST_CASE("a contiguous HBM to HBM transfer uses all engines, unless it is small") {
  const TransferWork large = work_of(hbm(f32, 1, 1 << 20, 1), hbm(f32, 1, 1 << 20, 1));
  for (const auto& runs : large.engines) CHECK(runs == std::vector<DescriptorRuns>{{65536, 4}});
  const TransferWork small = work_of(hbm(f32, 1, 256, 1), hbm(f32, 1, 256, 1));
  CHECK(small.descriptors == 2);  // 512 bytes each
  CHECK(small.bytes == 1024);
}

TEST_CASE("a transfer of a gigabyte is described without walking it") {
  const HbmPattern h = hbm(DType::u8, 16384, 65535, 65536);
  const TransferWork w = work_of(h, h);
  CHECK(w.descriptors == 16384);
  for (const auto& runs : w.engines) CHECK(runs == std::vector<DescriptorRuns>{{65535, 1024}});
}

TEST_CASE("unequal element counts are an error of ours") {
  CHECK_THROWS_AS(work_of(sbuf(f32, 4), hbm(f32, 128, 5, 5)), Fault);
}

TEST_CASE("random transfers fall into the descriptors that an element by element walk finds") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random); };
    const DType types[] = {DType::u8, bf16, f32};
    // The same shape on both sides, [partitions, d2, d1, d0]; where a gap follows a dimension differs.
    const int partitions = pick(1, 40);
    const int counts[3] = {pick(1, seed % 10 == 0 ? 30000 : 12), pick(1, 5), pick(1, 4)};
    const auto steps = [&](std::array<int, 4>& step) {
      int extent = 1;
      for (int k = 0; k < 3; ++k) {
        if (pick(0, 2) == 0) extent += pick(1, 3) * 2;
        step[static_cast<std::size_t>(k)] = extent;
        extent *= counts[k];
      }
      step[3] = extent + pick(0, 1);
    };
    const auto on_chip = [&] {
      std::array<int, 4> step{};
      steps(step);
      AccessPattern p = tile(Space::sbuf, types[pick(0, 2)], partitions, 1);
      p.partition = static_cast<std::uint8_t>(pick(0, 128 - partitions));
      for (std::size_t k = 0; k < 3; ++k) {
        p.dims[k] = {static_cast<std::int16_t>(std::min(step[k], 32767)),
                     static_cast<std::uint16_t>(counts[k])};
      }
      return p;
    };
    const auto in_hbm = [&] {
      std::array<int, 4> step{};
      steps(step);
      HbmPattern p;
      p.dtype = types[pick(0, 2)];
      for (std::size_t k = 0; k < 3; ++k) p.dims[k] = {step[k], static_cast<std::uint32_t>(counts[k])};
      p.dims[3] = {step[3], static_cast<std::uint32_t>(partitions)};
      return p;
    };
    MemoryOperand dst, src;
    switch (pick(0, 2)) {
      case 0:
        dst = on_chip();
        src = in_hbm();
        break;
      case 1:
        dst = in_hbm();
        src = on_chip();
        break;
      default:
        dst = on_chip();
        src = on_chip();
        break;
    }
    const TransferWork w = work_of(dst, src);
    CHECK(sizes(w) == by_elements(dst, src));
    std::int64_t bytes = 0, descriptors = 0;
    for (const auto& runs : w.engines) {
      for (const DescriptorRuns& r : runs) {
        bytes += r.bytes * r.count;
        descriptors += r.count;
      }
    }
    CHECK(bytes == w.bytes);
    CHECK(descriptors == w.descriptors);
  }
}

TEST_CASE("run lengths that do not divide one another are walked") {
  // Six adjacent elements in HBM, four in SBUF: bounds at 4, 6, 8, 12.
  AccessPattern p = tile(Space::sbuf, f32, 2, 4);
  p.dims[1] = {10, 3};
  const HbmPattern h = hbm(f32, 4, 6, 50);
  const TransferWork w = work_of(p, h);
  CHECK(w.engines[0] == std::vector<DescriptorRuns>{{16, 1}, {8, 2}, {16, 2}, {8, 2}, {16, 1}});
  CHECK(sizes(w) == by_elements(p, h));
}
