// Bytes and instructions of the published kernels at their published sizes, as measured on hardware
// (calibration tables G3-A, G3-ATP, G3-C, G3-KO; datasheet A.3).

#include <doctest/doctest.h>

#include "isa/instruction.h"
#include "tests/kernels/library.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

std::uint64_t count(const Summary& summary, Opcode opcode) {
  for (const OpcodeCount& row : summary.opcodes) {
    if (row.opcode == opcode) return row.count;
  }
  return 0;
}

Summary published(const std::string& name, const std::string& machine, const Params& params = {}) {
  return time_kernel("published/" + name + ".nca", params, machine);
}

}  // namespace

TEST_CASE("the published kernels move the bytes that were measured") {
  struct Row {
    std::string kernel, machine;
    Params params;
    std::int64_t read, written;
  };
  const Row rows[] = {
      {"vector_add_tiles", "trn1", {{"TILES", "2"}, {"FD", "1000"}}, 2'048'000, 1'024'000},
      {"vector_add_tiles", "trn2", {{"TILES", "1"}, {"FD", "2000"}}, 2'048'000, 1'024'000},
      {"matmul_trn1", "trn1", {}, 9'059'762'176, 201'326'592},
      {"silu", "trn1", {}, 117'440'512, 117'440'512},
      {"adamw", "trn1", {}, 358'612'992, 89'653'248},
      {"fused_attention", "trn2", {}, 851'968, 262'144},
      {"fused_attention", "trn2", {{"T", "bf16"}}, 491'520, 131'072},
  };
  for (const Row& row : rows) {
    CAPTURE(row.kernel);
    const Summary summary = published(row.kernel, row.machine, row.params);
    CHECK(summary.dma.hbm_read == row.read);
    CHECK(summary.dma.hbm_written == row.written);
  }
}

TEST_CASE("the published versions of the tutorial's matmul have its loads, stores and vector instructions") {
  const Summary tiled = published("matmul_tiled", "trn2"), hoisted = published("matmul_hoisted", "trn2"),
                mn = published("matmul_blocked_mn", "trn2"), blocked = published("matmul_blocked", "trn2");
  // 32,768 matmuls, two MATMULs each on the machine.
  for (const Summary* summary : {&tiled, &hoisted, &mn, &blocked})
    CHECK(count(*summary, Opcode::matmul) == 32'768);
  CHECK(tiled.dma.transfers == 65'536 + 512);
  CHECK(hoisted.dma.transfers == 34'816 + 512);
  CHECK(blocked.dma.transfers == 1'536 + 256);  // its stores hold two tiles each
  CHECK(count(blocked, Opcode::tensor_tensor) == 4'096);
  CHECK(count(blocked, Opcode::tensor_copy) == 512);
}

TEST_CASE("the published attention and convolution have the instructions of the decoded captures") {
  const Summary attention = published("fused_attention", "trn2");
  // 20 transposes and 4 + 16 fp32 matmuls of two: 60 MATMULs.
  CHECK(count(attention, Opcode::matmul) == 40);
  CHECK(count(attention, Opcode::activation) == 9);
  CHECK(count(attention, Opcode::tensor_reduce) + count(attention, Opcode::reciprocal) +
            count(attention, Opcode::tensor_scalar) ==
        16);
  const Summary conv = published("conv3x3", "trn2");
  CHECK(count(conv, Opcode::matmul) == 3'996 + 36);
  CHECK(count(conv, Opcode::activation) == 222 + 36);  // the capture has one more, a table load
  CHECK(count(conv, Opcode::tensor_scalar) == 222);
}

TEST_CASE("fused Mamba has five, four and five vector instructions per step as published") {
  // v2: four per (128 channels, state) and two per 128 channels: 2,112 data instructions in the profile's
  // count.
  const Summary v2 = published("mamba_v2", "trn1", {{"CHANNELS", "4096"}});
  CHECK(count(v2, Opcode::tensor_tensor) + count(v2, Opcode::tensor_tensor_scan) == 32 * (16 * 4 + 1));
  CHECK(count(v2, Opcode::memset) == 32 + 1);
  const Summary v1 = published("mamba_v1", "trn1");
  CHECK(count(v1, Opcode::tensor_tensor) + count(v1, Opcode::tensor_tensor_scan) == 32 * 5);
}
