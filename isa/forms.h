#pragma once

// Operand forms. Each names its fields once, in encoding order, with the role they play:
//   write / read   memory or registers the instruction writes / reads
//   value          neither: operators, counts, flags
// Codec, printer, parser, rules, byte counts, race footprints, random legal instructions and the
// reference pages are visitors over `fields`. Patterns, memory operands, registers and integer
// operands are positional in the text, in this order; all other fields are `name = value` and may be
// left out when they have their default.

#include "isa/access_pattern.h"
#include "isa/types.h"

namespace ncemu {

enum class Role : std::uint8_t { write, read, value };

// A branch target: an index into the stream; a label in the text.
struct BranchTarget {
  std::uint32_t index = 0;
  friend bool operator==(BranchTarget, BranchTarget) = default;
};

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

// ---- tensor engine --------------------------------------------------------------------------

struct LoadStationary {
  AccessPattern src;
  static void fields(auto& self, auto&& visit) { visit("src", self.src, Role::read); }
  friend bool operator==(const LoadStationary&, const LoadStationary&) = default;
};

struct Matmul {
  AccessPattern dst, moving;
  bool accumulate = false;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("moving", self.moving, Role::read);
    visit("accumulate", self.accumulate, Role::value);
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

// ---- DMA ------------------------------------------------------------------------------------

struct DmaCopy {
  MemoryOperand dst, src;
  std::uint8_t queue = 0;
  DgeMode mode = DgeMode::static_;
  static void fields(auto& self, auto&& visit) {
    visit("dst", self.dst, Role::write);
    visit("src", self.src, Role::read);
    visit("queue", self.queue, Role::value);
    visit("mode", self.mode, Role::value);
  }
  friend bool operator==(const DmaCopy&, const DmaCopy&) = default;
};

// clang-format on

}  // namespace ncemu
