#include "tests/isa/asm/assemble.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string tile_3d = ".sbuf t : f32[128, 4, 32] @ offset = 0\n";

// The pattern that a view of `t` (f32[128, 4, 32] at offset 0 of SBUF) lowers to.
AccessPattern lowered(const std::string& view, const std::string& before = "") {
  const Program p = assembled(tile_3d + before + "\nmemset " + view + "\n");
  return std::get<Memset>(all_of(p, Opcode::memset).at(0).operands).dst;
}

Dim dim(int step, int count) { return {static_cast<std::int16_t>(step), static_cast<std::uint16_t>(count)}; }

// The HBM side of a load from `x`, f32[256, 64].
HbmPattern hbm(const std::string& view, const std::string& destination) {
  const Program p = assembled(".input x : f32[256, 64]\n.sbuf d : f32[128, 64]\ndma_copy " + destination +
                              ", " + view + "\n");
  return std::get<HbmPattern>(std::get<DmaCopy>(all_of(p, Opcode::dma_copy).at(0).operands).src);
}

}  // namespace

TEST_CASE("a whole tile merges its free dimensions") {
  const AccessPattern p = lowered("t");
  CHECK(p.partition == 0);
  CHECK(p.partitions == 128);
  CHECK(p.offset == 0);
  CHECK(p.dims[0] == dim(1, 128));
  CHECK(p.dims[1] == Dim{});
  CHECK(lowered("t[:, :, :]") == p);
  CHECK(lowered("t[:]") == p);
}

TEST_CASE("a partition index keeps its dimension, every other index drops it") {
  CHECK(lowered("t[64]").partitions == 1);
  CHECK(lowered("t[64]").partition == 64);
  const AccessPattern row = lowered("t[:, 2]");
  CHECK(row.offset == 2 * 32 * 4);
  CHECK(row.dims[0] == dim(1, 32));
  const AccessPattern one = lowered("t[32, 3, 31]");
  CHECK(one.partition == 32);
  CHECK(one.offset == (3 * 32 + 31) * 4);
  CHECK(one.elements() == 1);
}

TEST_CASE("slices by end, by length and by step") {
  CHECK(lowered("t[0:64]").partitions == 64);
  CHECK(lowered("t[64:+32]").partition == 64);
  CHECK(lowered("t[64:+32]").partitions == 32);
  const AccessPattern block = lowered("t[:, 1:3, 8:+16]");
  CHECK(block.offset == (32 + 8) * 4);
  CHECK(block.dims[0] == dim(1, 16));
  CHECK(block.dims[1] == dim(32, 2));
  const AccessPattern strided = lowered("t[:, 0, 1:32:3]");  // 1, 4, ..., 31
  CHECK(strided.offset == 4);
  CHECK(strided.dims[0] == dim(3, 11));
  CHECK(lowered("t[:, 0, ::2]").dims[0] == dim(2, 16));
  CHECK(lowered("t[:, 2:]").offset == 2 * 32 * 4);
}

TEST_CASE("reshape, permute, broadcast and as change the view and not the bytes") {
  CHECK(lowered("t.reshape(128, 128)[:, 5]").offset == 20);
  const AccessPattern turned = lowered("t.permute(0, 2, 1)");
  CHECK(turned.dims[0] == dim(32, 4));
  CHECK(turned.dims[1] == dim(1, 32));
  const AccessPattern repeated = lowered("t[:, 1:2, :].broadcast(1, 7)");
  CHECK(repeated.dims[1] == dim(0, 7));
  const AccessPattern halves = lowered("t[:, 1].as(bf16)");
  CHECK(halves.dtype == DType::bf16);
  CHECK(halves.offset == 128);
  CHECK(halves.dims[0] == dim(1, 64));
  CHECK(lowered("v[:, 1]", ".view v = t.reshape(128, 2, 64)") == lowered("t[:, 2:4]"));
}

TEST_CASE("a tensor in HBM drops the dimension of every index") {
  const HbmPattern row = hbm("x[200]", "d[0]");
  CHECK(row.offset == 200 * 64);
  CHECK(row.dims[0] == HbmDim{1, 64});
  const HbmPattern block = hbm("x[128:+128, 8:24]", "d[:, 0:16]");
  CHECK(block.offset == 128 * 64 + 8);
  CHECK(block.dims[0] == HbmDim{1, 16});
  CHECK(block.dims[1] == HbmDim{64, 128});
}

TEST_CASE("an array of tiles is indexed before its tile") {
  const std::string array = ".sbuf a[2][3] : bf16[64, 10] @ partition = 0 offset = 1024\n";
  const Program p = assembled(array + "memset a[1][2][0:32, 4:]\nmemset a[0][1]\n");
  const auto sets = all_of(p, Opcode::memset);
  // 10 bf16 take 20 bytes; elements of an array in SBUF are 32 bytes apart.
  CHECK(std::get<Memset>(sets.at(0).operands).dst.offset == 1024 + 5 * 32 + 4 * 2);
  CHECK(std::get<Memset>(sets.at(0).operands).dst.partitions == 32);
  CHECK(std::get<Memset>(sets.at(1).operands).dst.offset == 1024 + 32);
}

TEST_CASE("raw patterns reach the word as they are written") {
  const Program p = assembled(
      "memset .ap(sbuf, bf16, 64, 64, 4096, [[100, 3], [-2, 5]], r7, 12)\n.input x : f32[8, 8]\n"
      "dma_copy .ap(sbuf, f32, 0, 8, 0, [[1, 4]]), .hbm(x, f32, 2, [[8, 8], [1, 4]]), queue = 9, mode = "
      "static\n");
  const AccessPattern a = std::get<Memset>(all_of(p, Opcode::memset).at(0).operands).dst;
  CHECK(a.space == Space::sbuf);
  CHECK(a.dtype == DType::bf16);
  CHECK(a.partition == 64);
  CHECK(a.partitions == 64);
  CHECK(a.offset == 4096);
  CHECK(a.dims[0] == dim(-2, 5));  // the last of the text is the fastest
  CHECK(a.dims[1] == dim(100, 3));
  CHECK(a.index.number == 7);
  CHECK(a.index_step == 12);
  const DmaCopy copy = std::get<DmaCopy>(all_of(p, Opcode::dma_copy).at(0).operands);
  CHECK(copy.queue == 9);
  const HbmPattern h = std::get<HbmPattern>(copy.src);
  CHECK(h.offset == 2);
  CHECK(h.dims[0] == HbmDim{1, 4});
  CHECK(h.dims[1] == HbmDim{8, 8});
}

TEST_CASE("reductions keep the dimensions as they are written") {
  // [128, 4, 32] would merge to 128 columns; axes = X must reduce 32 of them.
  const Program p = assembled(tile_3d + ".sbuf r : f32[128, 4]\ntensor_reduce r, t, op = add, axes = X\n");
  const auto reduce = std::get<TensorReduce>(all_of(p, Opcode::tensor_reduce).at(0).operands);
  CHECK(reduce.src.dims[0] == dim(1, 32));
  CHECK(reduce.src.dims[1] == dim(32, 4));
}

TEST_CASE("a DMA of a 2-D tensor into the middle of a 3-D tile needs no reshape") {
  const Program p =
      assembled(".input x : f32[128, 512]\n.sbuf t : f32[128, 2, 512]\ndma_copy t[:, 1, :], x\n");
  CHECK(all_of(p, Opcode::dma_copy).size() == 1);
}
