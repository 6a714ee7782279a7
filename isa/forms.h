#pragma once

// Operand forms. Each names its fields once, in encoding order, with the role they play:
//   write / read   memory or registers the instruction writes / reads
//   value          neither: operators, counts, flags
// Codec, printer, parser, rules, byte counts, race footprints, random legal instructions and the
// reference pages are visitors over `fields`. Patterns, memory operands, registers and integer
// operands are positional in the text, in this order; all other fields are `name = value` and may be
// left out when they have their default. A pattern that an instruction may do without is an
// optional<AccessPattern>: named, absent by default.

#include <array>
#include <optional>

#include <vector>

#include "isa/access_pattern.h"
#include "isa/types.h"

namespace ncemu {

enum class Role : std::uint8_t { write, read, value };

// A branch target: an index into the stream; a label in the text.
struct BranchTarget {
  std::uint32_t index = 0;
  friend bool operator==(BranchTarget, BranchTarget) = default;
};

// The source lane of each lane of a quadrant of 32, for stream_shuffle; `keep` leaves the lane as it is.
struct ShuffleMask {
  static constexpr int lanes = 32;
  static constexpr std::uint8_t keep = 255;
  std::array<std::uint8_t, lanes> source{};
  friend bool operator==(const ShuffleMask&, const ShuffleMask&) = default;
};

// A place in the tensor engine's array, or a size: [row, column].
struct ArrayPair {
  std::uint8_t row = 0, column = 0;
  friend bool operator==(ArrayPair, ArrayPair) = default;
};
inline constexpr ArrayPair whole_array{128, 128};  // datasheet 1.2

// clang-format off

struct NoOperands {
  static void fields(auto&, auto&&) {}
  friend bool operator==(const NoOperands&, const NoOperands&) = default;
};

// ---- control --------------------------------------------------------------------------------

struct SemaphoreRange {
  std::uint8_t first = 0;
  std::uint8_t count = 1;
  static void fields(auto& self, auto&& visit) {
    visit("first", self.first, Role::value);
    visit("count", self.count, Role::value);
  }
  friend bool operator==(const SemaphoreRange&, const SemaphoreRange&) = default;
};

struct RegisterMove {
  Register dst;
  IntOperand src = 0;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
  }
  friend bool operator==(const RegisterMove&, const RegisterMove&) = default;
};

struct RegisterAlu {
  Register dst, src0;
  IntOperand src1 = 0;
  AluOp op = AluOp::add;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src0", self.src0, Role::read);
    visit("src1", self.src1, Role::read);
    visit("op", self.op, Role::value);
  }
  friend bool operator==(const RegisterAlu&, const RegisterAlu&) = default;
};

struct RegisterLoad {
  Register dst;
  MemoryOperand src;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
  }
  friend bool operator==(const RegisterLoad&, const RegisterLoad&) = default;
};

struct RegisterStore {
  MemoryOperand dst;
  Register src;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
  }
  friend bool operator==(const RegisterStore&, const RegisterStore&) = default;
};

struct CompareBranch {
  Register a;
  IntOperand b = 0;
  Comparison op = Comparison::always;
  BranchTarget target;
  static void fields(auto& self, auto&& visit) {
    visit("a", self.a, Role::read);
    visit("b", self.b, Role::read);
    visit("op", self.op, Role::value);
    visit("target", self.target, Role::value);
  }
  friend bool operator==(const CompareBranch&, const CompareBranch&) = default;
};

// Up to two 32-bit words to addresses of the core's window (datasheet 2.5, 3.5).
struct Write {
  std::uint8_t count = 1;
  std::uint32_t address0 = 0, data0 = 0, address1 = 0, data1 = 0;
  static void fields(auto& self, auto&& visit) {
    visit("count", self.count, Role::value);
    visit("address0", self.address0, Role::value);
    visit("data0", self.data0, Role::value);
    visit("address1", self.address1, Role::value);
    visit("data1", self.data1, Role::value);
  }
  friend bool operator==(const Write&, const Write&) = default;
};

// A record in the trace.
struct Notify {
  std::uint32_t value = 0;
  static void fields(auto& self, auto&& visit) { visit("value", self.value, Role::value); }
  friend bool operator==(const Notify&, const Notify&) = default;
};

// ---- tensor engine --------------------------------------------------------------------------

struct LoadStationary {
  AccessPattern src;
  bool transpose = false;   // for a transposing matmul
  bool one_zero = false;    // all elements are 0 or 1
  bool double_row = false;  // two rows of fp8 in each row of the array
  ArrayPair tile_position{}, tile_size = whole_array;
  static void fields(auto& self, auto&& visit) {
    visit("src", self.src, Role::read);
    visit("transpose", self.transpose, Role::value);
    visit("one_zero", self.one_zero, Role::value);
    visit("double_row", self.double_row, Role::value);
    visit("tile_position", self.tile_position, Role::value);
    visit("tile_size", self.tile_size, Role::value);
  }
  friend bool operator==(const LoadStationary&, const LoadStationary&) = default;
};

struct Matmul {
  AccessPattern dst, moving;
  bool accumulate = false;
  bool transpose = false;
  bool stationary_one_zero = false, moving_one_zero = false;  // all elements are 0 or 1
  bool double_row = false;
  ArrayPair tile_position{}, tile_size = whole_array;  // those of the load_stationary
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("moving", self.moving, Role::read);
    visit("accumulate", self.accumulate, Role::value);
    visit("transpose", self.transpose, Role::value);
    visit("stationary_one_zero", self.stationary_one_zero, Role::value);
    visit("moving_one_zero", self.moving_one_zero, Role::value);
    visit("double_row", self.double_row, Role::value);
    visit("tile_position", self.tile_position, Role::value);
    visit("tile_size", self.tile_size, Role::value);
  }
  friend bool operator==(const Matmul&, const Matmul&) = default;
};

// ---- scalar engine --------------------------------------------------------------------------

struct Activation {
  AccessPattern dst, src;
  ActivationFunction func = ActivationFunction::copy;
  ScalarOperand scale{};  // absent: 1
  ScalarOperand bias{};   // absent: 0
  float imm = 0;        // parameter of parametric functions
  ReduceCommand reduce_cmd = ReduceCommand::idle;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("func", self.func, Role::value);
    visit("scale", self.scale, Role::read);
    visit("bias", self.bias, Role::read);
    visit("imm", self.imm, Role::value);
    visit("reduce_cmd", self.reduce_cmd, Role::value);
  }
  friend bool operator==(const Activation&, const Activation&) = default;
};

struct TableLoad {
  TableSet table = TableSet::exp_log;
  static void fields(auto& self, auto&& visit) { visit("table", self.table, Role::value); }
  friend bool operator==(const TableLoad&, const TableLoad&) = default;
};

// ---- vector, scalar, gpsimd -----------------------------------------------------------------

struct Destination {
  AccessPattern dst;
  static void fields(auto& self, auto&& visit) { visit("dst", self.dst, Role::write); }
  friend bool operator==(const Destination&, const Destination&) = default;
};

struct Unary {
  AccessPattern dst, src;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
  }
  friend bool operator==(const Unary&, const Unary&) = default;
};

struct Memset {
  AccessPattern dst;
  ScalarOperand value = 0.0F;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("value", self.value, Role::read);
  }
  friend bool operator==(const Memset&, const Memset&) = default;
};

struct TensorScalar {
  AccessPattern dst, src;
  AluOp op0 = AluOp::bypass;
  ScalarOperand scalar0{};
  bool reverse0 = false;
  AluOp op1 = AluOp::bypass;
  ScalarOperand scalar1{};
  bool reverse1 = false;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("op0", self.op0, Role::value);
    visit("scalar0", self.scalar0, Role::read);
    visit("reverse0", self.reverse0, Role::value);
    visit("op1", self.op1, Role::value);
    visit("scalar1", self.scalar1, Role::read);
    visit("reverse1", self.reverse1, Role::value);
  }
  friend bool operator==(const TensorScalar&, const TensorScalar&) = default;
};

struct TensorTensor {
  AccessPattern dst, src0, src1;
  AluOp op = AluOp::add;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src0", self.src0, Role::read);
    visit("src1", self.src1, Role::read);
    visit("op", self.op, Role::value);
  }
  friend bool operator==(const TensorTensor&, const TensorTensor&) = default;
};

struct TensorReduce {
  AccessPattern dst, src;
  AluOp op = AluOp::add;
  Axes axes = Axes::X;
  bool negate = false;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("op", self.op, Role::value);
    visit("axes", self.axes, Role::value);
    visit("negate", self.negate, Role::value);
  }
  friend bool operator==(const TensorReduce&, const TensorReduce&) = default;
};

// ---- gpsimd ---------------------------------------------------------------------------------

// value[p][i] = offset + p * channel_multiplier + sum over the dimensions of step * index
struct Iota {
  AccessPattern dst;
  AffineDims pattern;
  std::int32_t offset = 0;
  std::int32_t channel_multiplier = 0;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("pattern", self.pattern, Role::value);
    visit("offset", self.offset, Role::value);
    visit("channel_multiplier", self.channel_multiplier, Role::value);
  }
  friend bool operator==(const Iota&, const Iota&) = default;
};

struct AffineSelect {
  AccessPattern dst, src;
  AffineDims pattern;
  std::int32_t offset = 0;
  std::int32_t channel_multiplier = 0;
  Comparison cmp = Comparison::eq;  // of the value with 0
  ScalarOperand on_false = 0.0F;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("pattern", self.pattern, Role::value);
    visit("offset", self.offset, Role::value);
    visit("channel_multiplier", self.channel_multiplier, Role::value);
    visit("cmp", self.cmp, Role::value);
    visit("on_false", self.on_false, Role::read);
  }
  friend bool operator==(const AffineSelect&, const AffineSelect&) = default;
};

struct Gather {
  AccessPattern dst, src, index;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("index", self.index, Role::read);
  }
  friend bool operator==(const Gather&, const Gather&) = default;
};

struct LocalGather {
  AccessPattern dst, src, index;
  std::uint8_t num_elem_per_idx = 1;
  std::uint16_t num_valid_indices = 0;  // of each processor; 0: all it has
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("index", self.index, Role::read);
    visit("num_elem_per_idx", self.num_elem_per_idx, Role::value);
    visit("num_valid_indices", self.num_valid_indices, Role::value);
  }
  friend bool operator==(const LocalGather&, const LocalGather&) = default;

  // Lanes and indices of one of the eight processors (datasheet 6.8).
  static constexpr int lanes = 16;
  std::int64_t valid_indices() const {
    return num_valid_indices != 0 ? num_valid_indices : lanes * index.elements();
  }
};

struct PartitionReduce {
  AccessPattern dst, src;
  AluOp op = AluOp::add;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("op", self.op, Role::value);
  }
  friend bool operator==(const PartitionReduce&, const PartitionReduce&) = default;
};

struct NonzeroWithCount {
  AccessPattern dst, src;
  std::int32_t index_offset = 0;
  std::int32_t padding_val = -1;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("index_offset", self.index_offset, Role::value);
    visit("padding_val", self.padding_val, Role::value);
  }
  friend bool operator==(const NonzeroWithCount&, const NonzeroWithCount&) = default;

  // Only the first lane of each processor takes part.
  static constexpr int lane_step = 16;
};

struct TopK {
  AccessPattern dst, indices, src;
  std::uint32_t n = 8;  // elements of a group of 16 lanes
  std::uint32_t k = 8;  // results of a group
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("indices", self.indices, Role::write);
    visit("src", self.src, Role::read);
    visit("n", self.n, Role::value);
    visit("k", self.k, Role::value);
  }
  friend bool operator==(const TopK&, const TopK&) = default;

  static constexpr int lanes = 16;  // of a group
  std::int64_t columns() const { return (std::int64_t{k} + lanes - 1) / lanes; }
};

struct Source {
  AccessPattern src;
  static void fields(auto& self, auto&& visit) { visit("src", self.src, Role::read); }
  friend bool operator==(const Source&, const Source&) = default;
};

// ---- vector engine ---------------------------------------------------------------------------

// Copies src or, when that is absent, value.
struct CopyPredicated {
  AccessPattern dst, predicate;
  std::optional<AccessPattern> src{};
  ScalarOperand value{};
  bool reverse = false;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("predicate", self.predicate, Role::read);
    visit("src", self.src, Role::read);
    visit("value", self.value, Role::read);
    visit("reverse", self.reverse, Role::value);
  }
  friend bool operator==(const CopyPredicated&, const CopyPredicated&) = default;
};

struct ScalarTensorTensor {
  AccessPattern dst, src0, src1;
  AluOp op0 = AluOp::mult;
  ScalarOperand scalar0{};
  bool reverse0 = false;
  AluOp op1 = AluOp::add;
  bool reverse1 = false;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src0", self.src0, Role::read);
    visit("src1", self.src1, Role::read);
    visit("op0", self.op0, Role::value);
    visit("scalar0", self.scalar0, Role::read);
    visit("reverse0", self.reverse0, Role::value);
    visit("op1", self.op1, Role::value);
    visit("reverse1", self.reverse1, Role::value);
  }
  friend bool operator==(const ScalarTensorTensor&, const ScalarTensorTensor&) = default;
};

struct Dropout {
  AccessPattern dst, src;
  ScalarOperand threshold = 0.0F;
  ThresholdType threshold_type = ThresholdType::drop_rate;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("threshold", self.threshold, Role::read);
    visit("threshold_type", self.threshold_type, Role::value);
  }
  friend bool operator==(const Dropout&, const Dropout&) = default;
};

// reduce_res is one element per lane, written when given.
struct TensorScalarReduce {
  AccessPattern dst, src;
  AluOp op0 = AluOp::bypass;
  ScalarOperand scalar0{};
  AluOp reduce_op = AluOp::add;
  ReduceCommand reduce_cmd = ReduceCommand::reset_reduce;
  ScalarOperand reduce_res{};
  bool negate = false;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("op0", self.op0, Role::value);
    visit("scalar0", self.scalar0, Role::read);
    visit("reduce_op", self.reduce_op, Role::value);
    visit("reduce_cmd", self.reduce_cmd, Role::value);
    visit("reduce_res", self.reduce_res, Role::write);
    visit("negate", self.negate, Role::value);
  }
  friend bool operator==(const TensorScalarReduce&, const TensorScalarReduce&) = default;
};

struct TensorScalarCumulative {
  AccessPattern dst, src;
  AluOp op0 = AluOp::bypass;
  ScalarOperand scalar0{};
  AluOp op1 = AluOp::add;
  ScalarOperand scalar1{};  // the initial value of load_reduce
  ReduceCommand reduce_cmd = ReduceCommand::reset_reduce;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("op0", self.op0, Role::value);
    visit("scalar0", self.scalar0, Role::read);
    visit("op1", self.op1, Role::value);
    visit("scalar1", self.scalar1, Role::read);
    visit("reduce_cmd", self.reduce_cmd, Role::value);
  }
  friend bool operator==(const TensorScalarCumulative&, const TensorScalarCumulative&) = default;
};

struct TensorTensorScan {
  AccessPattern dst, src0, src1;
  AluOp op0 = AluOp::mult;
  bool reverse0 = false;
  AluOp op1 = AluOp::add;
  bool reverse1 = false;
  ScalarOperand initial = 0.0F;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src0", self.src0, Role::read);
    visit("src1", self.src1, Role::read);
    visit("op0", self.op0, Role::value);
    visit("reverse0", self.reverse0, Role::value);
    visit("op1", self.op1, Role::value);
    visit("reverse1", self.reverse1, Role::value);
    visit("initial", self.initial, Role::read);
  }
  friend bool operator==(const TensorTensorScan&, const TensorTensorScan&) = default;
};

struct RangeSelect {
  AccessPattern dst, src;
  AluOp comp0 = AluOp::is_ge;
  ScalarOperand bound0{};
  AluOp comp1 = AluOp::is_lt;
  ScalarOperand bound1{};
  float range_start = 0;
  ReduceCommand reduce_cmd = ReduceCommand::reset_reduce;
  ScalarOperand reduce_res{};
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("comp0", self.comp0, Role::value);
    visit("bound0", self.bound0, Role::read);
    visit("comp1", self.comp1, Role::value);
    visit("bound1", self.bound1, Role::read);
    visit("range_start", self.range_start, Role::value);
    visit("reduce_cmd", self.reduce_cmd, Role::value);
    visit("reduce_res", self.reduce_res, Role::write);
  }
  friend bool operator==(const RangeSelect&, const RangeSelect&) = default;
};

// Has no reduce_res: its word has no room for one (read_accumulator reads the lanes).
struct SelectReduce {
  AccessPattern dst, on_true, predicate;
  ScalarOperand on_false = 0.0F;
  bool reverse = false;
  ReduceCommand reduce_cmd = ReduceCommand::idle;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("on_true", self.on_true, Role::read);
    visit("predicate", self.predicate, Role::read);
    visit("on_false", self.on_false, Role::read);
    visit("reverse", self.reverse, Role::value);
    visit("reduce_cmd", self.reduce_cmd, Role::value);
  }
  friend bool operator==(const SelectReduce&, const SelectReduce&) = default;
};

struct MatchReplace {
  AccessPattern dst, src;
  float value = 0;
  std::optional<AccessPattern> index{};
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("value", self.value, Role::value);
    visit("index", self.index, Role::write);
  }
  friend bool operator==(const MatchReplace&, const MatchReplace&) = default;
};

struct LoadMask {
  ShuffleMask mask;
  static void fields(auto& self, auto&& visit) { visit("mask", self.mask, Role::value); }
  friend bool operator==(const LoadMask&, const LoadMask&) = default;
};

// ---- DMA ------------------------------------------------------------------------------------

struct DmaCopy {
  MemoryOperand dst, src;
  std::uint8_t queue = 0;
  DgeMode mode = DgeMode::static_;
  // One row number per partition of the on-chip side. The HBM side then is the table that it chooses from:
  // dims[3] counts and steps its rows, whatever their number; dims[0] to dims[2] are the elements of a row.
  ScalarOperand index{};
  Bounds bounds = Bounds::error;
  bool accumulate = false;  // dst += src
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("queue", self.queue, Role::value);
    visit("mode", self.mode, Role::value);
    visit("index", self.index, Role::read);
    visit("bounds", self.bounds, Role::value);
    visit("accumulate", self.accumulate, Role::value);
  }
  friend bool operator==(const DmaCopy&, const DmaCopy&) = default;
};

// Exchanges the slowest and the fastest dimension. Both patterns keep four dimensions: slowest (the partition, on
// chip; dims[3] in HBM), two in between (dims[2], dims[1]), fastest (dims[0]).
struct DmaTranspose {
  MemoryOperand dst, src;
  std::uint8_t queue = 0;
  DgeMode mode = DgeMode::static_;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("queue", self.queue, Role::value);
    visit("mode", self.mode, Role::value);
  }
  friend bool operator==(const DmaTranspose&, const DmaTranspose&) = default;
};

// The only form with a variable number of operands, and the only one that may take more than one word.
struct DmaCompute {
  static constexpr std::size_t most_sources = 16;  // datasheet 6.10.3
  struct Source {
    MemoryOperand src;
    float scale = 1;
    friend bool operator==(const Source&, const Source&) = default;
  };
  MemoryOperand dst;
  std::uint8_t queue = 0;
  DgeMode mode = DgeMode::static_;
  ComputeOp op = ComputeOp::add;
  std::vector<Source> sources = std::vector<Source>(1);  // 1 to most_sources
  static void fields(auto& self, auto&& visit) {
    static constexpr std::string_view names[][2] = {
        {"src0", "scale0"},   {"src1", "scale1"},   {"src2", "scale2"},   {"src3", "scale3"},
        {"src4", "scale4"},   {"src5", "scale5"},   {"src6", "scale6"},   {"src7", "scale7"},
        {"src8", "scale8"},   {"src9", "scale9"},   {"src10", "scale10"}, {"src11", "scale11"},
        {"src12", "scale12"}, {"src13", "scale13"}, {"src14", "scale14"}, {"src15", "scale15"}};
    visit("dst", self.dst, Role::write);
    visit("queue", self.queue, Role::value);
    visit("mode", self.mode, Role::value);
    visit("op", self.op, Role::value);
    for (std::size_t i = 0; i < self.sources.size() && i < most_sources; ++i) {
      visit(names[i][0], self.sources[i].src, Role::read);
      visit(names[i][1], self.sources[i].scale, Role::value);
    }
  }
  friend bool operator==(const DmaCompute&, const DmaCompute&) = default;
};

// clang-format on

}  // namespace ncemu
