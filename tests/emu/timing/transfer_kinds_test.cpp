// Transfers that do more than copy: what they move and how long it takes (datasheet 7.7, 7.9).

#include <doctest/doctest.h>

#include <algorithm>

#include "emu/timing/dma_service.h"
#include "tests/emu/timing/shapes.h"

using namespace ncemu;
using namespace ncemu::shapes;

namespace {

constexpr DType f32 = DType::f32, bf16 = DType::bf16;

// Simple numbers: 16 B/ns for each engine, nothing beside the bytes.
MachineConfig plain(std::string_view name) {
  MachineConfig m = builtin_machine(name);
  for (const char* assignment : {"dma.r_peak=16", "dma.c_core=256", "dma.o_desc_ns=0", "dma.desc_min_ns=0",
                                 "dma.t_sem_ns=0", "dma.stagger_ns=0", "dma.tail_load_ns=0",
                                 "dma.tail_store_ns=0", "dma.tail_short_ns=0", "hbm.bytes_per_ns=100000"}) {
    set_parameter(m, assignment);
  }
  return m;
}

double ns_of(const Operands& transfer, std::string_view machine) {
  const MachineConfig m = plain(machine);
  DmaService service(m);
  service.submit(std::make_shared<const TransferWork>(transfer_work(transfer, m.target.generation)), 0, 0);
  Ticks end = 0;
  while (!service.idle()) {
    if (const auto event = service.pop()) end = std::max(end, event->end);
  }
  return ns_from_ticks(m, end);
}

HbmPattern table(DType type, int row, std::uint32_t rows, int pitch) {
  HbmPattern p = hbm(type, 1, row, 0);
  p.dims[3] = {pitch, rows};
  return p;
}

DmaCopy gather(const AccessPattern& dst, const HbmPattern& src) {
  return {dst, src, 0, DgeMode::software, PointerOperand{Space::sbuf, DType::u32, 0, 0}};
}

}  // namespace

TEST_CASE("an index gives every partition a descriptor of its row, however many rows the table has") {
  for (const std::uint32_t rows : {1U, 128U, 1'000'000U}) {
    const TransferWork w = transfer_work(gather(sbuf(bf16, 64), table(bf16, 64, rows, 64)));
    CHECK(w.descriptors == 128);
    CHECK(w.indexed_rows == 128);
    CHECK(w.bytes == 128 * 128);
    CHECK(w.hbm_read == 128 * 128);
    CHECK(w.sbuf_written == 128 * 128);
    for (const auto& runs : w.engines) CHECK(runs == std::vector<DescriptorRuns>{{128, 8}});
  }
}

TEST_CASE("rows in two pieces have two descriptors each, and a scatter goes by the tile's partitions") {
  HbmPattern pieces = table(f32, 4, 50, 100);
  pieces.dims[1] = {10, 2};
  AccessPattern tile_of_rows = tile(Space::sbuf, f32, 8, 8);
  tile_of_rows.partition = 96;
  DmaCopy scatter{pieces, tile_of_rows, 0, DgeMode::software, PointerOperand{Space::sbuf, DType::u32, 96, 0}};
  const TransferWork w = transfer_work(scatter);
  CHECK(w.engines[12] == std::vector<DescriptorRuns>{{16, 16}});
  CHECK(w.descriptors == 16);
  CHECK(w.hbm_written == 8 * 32);
  CHECK(w.indexed_rows == 8);
}

TEST_CASE("software generation reads an index in 36 ns a row beside the 4 of the descriptor: 88 + 40 r") {
  for (const char* name : {"trn1", "trn2"}) {
    const MachineConfig m = builtin_machine(name);
    for (const int rows : {1, 16, 128}) {
      const TransferWork w = transfer_work(gather(tile(Space::sbuf, f32, rows, 64), table(f32, 64, 500, 64)));
      CHECK(generation_time(DgeMode::software, w, m) == ticks_from_ns(m, 88 + 40 * rows));
    }
  }
}

TEST_CASE("accumulating reads the destination too and computes at half rate: four times a copy") {
  DmaCopy copy{sbuf(f32, 1024), hbm(f32, 128, 1024, 1024)};
  const double once = ns_of(copy, "trn2");
  CHECK(once == doctest::Approx(8 * 4096 / 16.0).epsilon(0.001));
  copy.accumulate = true;
  CHECK(ns_of(copy, "trn2") == doctest::Approx(4 * once).epsilon(0.001));
  const TransferWork w = transfer_work(copy);
  CHECK(w.hbm_read == 128 * 4096);
  CHECK(w.sbuf_read == 128 * 4096);
  CHECK(w.sbuf_written == 128 * 4096);
  CHECK(w.hbm_written == 0);
}

TEST_CASE("dma_compute takes the bytes of all its sources at half rate") {
  DmaCompute sum;
  sum.dst = sbuf(f32, 1024);
  for (const std::size_t sources : {1U, 2U, 16U}) {
    sum.sources.assign(sources, {hbm(f32, 128, 1024, 1024), 1});
    CHECK(ns_of(sum, "trn1") ==
          doctest::Approx(static_cast<double>(sources) * 2 * 8 * 4096 / 16.0).epsilon(0.001));
    const TransferWork w = transfer_work(Operands(sum), 2);
    CHECK(w.hbm_read == static_cast<std::int64_t>(sources) * 128 * 4096);
    CHECK(w.sbuf_written == 128 * 4096);
  }
}

TEST_CASE("v3 transposes 2- and 4-byte elements into SBUF at 0.9 of the copy rate from HBM, 0.5 from SBUF") {
  // [512, 128] into [128, 512]: 32 blocks of [128, 16].
  const double bytes = 128.0 * 512 * 2;
  const DmaTranspose load{sbuf(bf16, 512), table(bf16, 128, 512, 128)};
  CHECK(ns_of(load, "trn2") == doctest::Approx(bytes / (0.9 * 256)).epsilon(0.001));
  const DmaTranspose inside{sbuf(bf16, 128), sbuf(bf16, 128)};
  CHECK(ns_of(inside, "trn2") == doctest::Approx(128.0 * 128 * 2 / (0.5 * 256)).epsilon(0.001));
  DmaTranspose wide{sbuf(f32, 512), table(f32, 128, 512, 128)};
  CHECK(ns_of(wide, "trn2") == doctest::Approx(2 * bytes / (0.9 * 256)).epsilon(0.001));
}

TEST_CASE("v3 charges whole blocks of 128 partitions and 16 elements") {
  const auto load = [](int partitions, int n) {
    return DmaTranspose{tile(Space::sbuf, bf16, partitions, n),
                        table(bf16, partitions, static_cast<std::uint32_t>(n), partitions)};
  };
  const double block = ns_of(load(128, 16), "trn2");
  CHECK(ns_of(load(1, 1), "trn2") == doctest::Approx(block));
  CHECK(ns_of(load(128, 17), "trn2") == doctest::Approx(2 * block).epsilon(0.01));
  CHECK(ns_of(load(100, 33), "trn2") == doctest::Approx(3 * block).epsilon(0.01));
}

TEST_CASE("everything else is transposed element by element: 7 ns each, 8 partitions to an engine") {
  const MachineConfig m = builtin_machine("trn1");
  for (const auto& [generation, type] : {std::pair{2, bf16}, std::pair{3, DType::u8}}) {
    const TransferWork w =
        transfer_work(Operands(DmaTranspose{sbuf(type, 16), table(type, 128, 16, 128)}), generation);
    CHECK(w.kind == TransferKind::copy);
    CHECK(w.descriptors == 128 * 16);
    for (const auto& runs : w.engines) CHECK(runs == std::vector<DescriptorRuns>{{size_of(type), 8 * 16}});
  }
  // Into HBM too.
  const TransferWork store =
      transfer_work(Operands(DmaTranspose{table(bf16, 128, 16, 128), sbuf(bf16, 16)}), 3);
  CHECK(store.descriptors == 128 * 16);
  CHECK(m.dma.desc_min_ns == 7);
}
