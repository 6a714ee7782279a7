#include "tests/support/random_instruction.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "isa/rules.h"

namespace ncemu::test {
namespace {

constexpr std::uint32_t stream_length = 64;

Tensor tensor(std::string name, TensorKind kind, DType dtype, std::vector<std::int64_t> shape) {
  Tensor t;
  t.name = std::move(name);
  t.kind = kind;
  t.dtype = dtype;
  t.shape = std::move(shape);
  return t;
}

}  // namespace

RandomInstructions::RandomInstructions(std::uint64_t seed, const Target& target) : random_(seed) {
  program_.target = target;
  program_.tensors = {tensor("a", TensorKind::input, DType::f32, {128, 1024}),
                      tensor("b", TensorKind::inout, DType::bf16, {64, 8, 100}),
                      tensor("bytes", TensorKind::scratch, DType::u8, {1 << 20}),
                      tensor("out", TensorKind::output, DType::i32, {512, 512})};
  for (auto& stream : program_.streams) stream.resize(stream_length);
}

float RandomInstructions::any_float() {
  static constexpr float special[] = {0.0F,
                                      -0.0F,
                                      1.0F,
                                      -1.5F,
                                      0.1F,
                                      16777217.0F,
                                      3.4028235e38F,
                                      1e-45F,
                                      std::numeric_limits<float>::infinity(),
                                      -std::numeric_limits<float>::infinity(),
                                      std::numeric_limits<float>::quiet_NaN()};
  if (chance(50)) return special[below(std::size(special))];
  return std::bit_cast<float>(static_cast<std::uint32_t>(random_()));
}

// Fills each field by its type. All tensors of an instruction get one shape, as most instructions want.
struct RandomInstructions::Fill {
  RandomInstructions& r;
  Engine engine;
  unsigned partitions = 1;
  std::uint64_t elements = 1;

  Fill(RandomInstructions& random, const InstructionInfo& row, Engine e) : r(random), engine(e) {
    static constexpr std::uint64_t awkward[] = {1, 2, 3, 8, 127, 128, 129, 511, 512};
    partitions = static_cast<unsigned>(1 + r.below(128));
    elements = r.chance(50) ? awkward[r.below(std::size(awkward))] : 1 + r.below(600);
    if (row.opcode == Opcode::load_stationary) elements = 1 + r.below(128);
    if (row.opcode == Opcode::read_accumulator) elements = 1;
    if (row.is_control()) partitions = 1, elements = 1;
  }

  template <typename E>
  E any() {
    return static_cast<E>(r.below(names<E>().size()));
  }
  Register any_register() { return {static_cast<std::uint8_t>(r.below(64))}; }
  std::int32_t any_int() { return static_cast<std::int32_t>(r.random_()); }

  // `count` as a product of up to four factors, each with a step; compact ones are the most frequent.
  template <typename Dims>
  void dimensions(Dims& dims, std::uint64_t count) {
    using Dimension = std::decay_t<decltype(dims[0])>;
    std::uint64_t step = r.chance(80) ? 1 : 1 + r.below(4);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      std::uint64_t factor = 1;
      if (i + 1 == dims.size() || r.chance(40)) {
        factor = count;
      } else {
        const std::uint64_t start = 1 + r.below(std::min<std::uint64_t>(count, 64));
        for (factor = start; count % factor != 0;) --factor;
      }
      count /= factor;
      dims[i].count = static_cast<decltype(Dimension::count)>(factor);
      dims[i].step = static_cast<decltype(Dimension::step)>(factor == 1 && r.chance(80) ? 0 : step);
      if (factor > 1 && r.chance(5)) dims[i].step = 0;
      if (factor > 1 && r.chance(5)) dims[i].step = static_cast<decltype(Dimension::step)>(-dims[i].step);
      step *= factor;
      if (r.chance(10)) step += 3;
    }
  }
  template <typename Dims>
  static std::int64_t lowest(const Dims& dims) {
    std::int64_t low = 0;
    for (const auto& d : dims)
      low += std::min<std::int64_t>(0, std::int64_t{d.step} * (std::int64_t{d.count} - 1));
    return low;
  }

  void operator()(std::string_view, AccessPattern& p, Role role) {
    p.space = Space::sbuf;
    if (engine == Engine::tensor && role == Role::write) p.space = Space::psum;
    if ((engine == Engine::vector || engine == Engine::scalar) && r.chance(40)) p.space = Space::psum;
    p.dtype = any<DType>();
    p.partitions = static_cast<std::uint8_t>(partitions);
    p.partition = start(partitions);
    dimensions(p.dims, elements);
    const std::uint64_t limit = p.space == Space::psum ? 2048 : 65536;
    const auto size = static_cast<std::uint64_t>(size_of(p.dtype));
    p.offset = static_cast<std::uint32_t>(
        (static_cast<std::uint64_t>(-lowest(p.dims)) + r.below(limit) / size) * size);
    if (r.chance(10)) {
      p.index = any_register();
      p.index_step = any_int();
    }
  }
  std::uint8_t start(unsigned count) {
    return static_cast<std::uint8_t>(count > 64 ? 0 : count > 32 ? 64 * r.below(2) : 32 * r.below(4));
  }
  void operator()(std::string_view name, MemoryOperand& m, Role role) {
    if (r.chance(50)) {
      (*this)(name, m.emplace<AccessPattern>(), role);
      return;
    }
    auto& p = m.emplace<HbmPattern>();
    p.tensor = static_cast<std::uint16_t>(r.below(r.program_.tensors.size()));
    p.dtype = r.chance(80) ? r.program_.tensors[p.tensor].dtype : any<DType>();
    dimensions(p.dims, elements * partitions);
    p.offset = -lowest(p.dims) + static_cast<std::int64_t>(r.below(1000));
    if (r.chance(10)) {
      p.index = any_register();
      p.index_step = any_int();
    }
  }
  void operator()(std::string_view, ScalarOperand& s, Role) {
    switch (r.below(5)) {
      case 0: s = std::monostate{}; break;
      case 1: s = r.any_float(); break;
      case 2: s = any_int(); break;
      case 3: s = any_register(); break;
      default: {
        PointerOperand p;
        p.space = engine == Engine::gpsimd || r.chance(50) ? Space::sbuf : Space::psum;
        p.dtype = r.chance(50) ? DType::f32 : any<DType>();
        p.partition = start(partitions);
        p.offset = static_cast<std::uint32_t>(4 * r.below(4096));
        s = p;
      }
    }
  }
  void operator()(std::string_view, IntOperand& i, Role) {
    r.chance(50) ? i = any_int() : i = any_register();
  }
  void operator()(std::string_view, Register& reg, Role) { reg = any_register(); }
  void operator()(std::string_view, BranchTarget& t, Role) {
    t.index = static_cast<std::uint32_t>(r.below(stream_length + 1));
  }
  void operator()(std::string_view, float& f, Role) { f = r.any_float(); }
  void operator()(std::string_view, bool& b, Role) { b = r.chance(50); }
  void operator()(std::string_view, std::uint8_t& n, Role) {
    n = static_cast<std::uint8_t>(r.chance(50) ? r.below(16) : r.below(256));
  }
  void operator()(std::string_view, std::uint32_t& n, Role) {
    n = static_cast<std::uint32_t>(r.random_()) & 0x03FFFFFC;
  }
  void operator()(std::string_view, AluOp& op, Role) {
    static constexpr AluOp frequent[] = {AluOp::bypass, AluOp::add, AluOp::mult, AluOp::rsqrt};
    op = r.chance(50) ? frequent[r.below(std::size(frequent))] : any<AluOp>();
  }
  template <typename E>
  void operator()(std::string_view, E& e, Role) {
    static_assert(std::is_enum_v<E>);
    e = any<E>();
  }
};

// Makes the fields agree where chance would seldom do it; the rest is left to the rules.
void RandomInstructions::repair(Operands& operands, Engine engine) {
  const auto any_of = [&](auto... values) {
    const std::common_type_t<decltype(values)...> all[] = {values...};
    return all[below(sizeof...(values))];
  };
  bool bitwise = false;
  for_each_field(operands, [&](std::string_view, auto& field, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, AluOp>) bitwise = bitwise || is_bitvec(field);
  });
  for_each_field(operands, [&](std::string_view, auto& field, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, AccessPattern>) {
      if (bitwise) field.dtype = any_of(DType::i8, DType::i16, DType::i32, DType::u8, DType::u16, DType::u32);
      // Whatever the type became: aligned.
      field.offset -= field.offset % 4;
    }
  });
  if (auto* m = std::get_if<Matmul>(&operands)) {
    const std::int64_t n = m->moving.elements();
    m->dst.dtype = DType::f32;
    m->dst.dims = {Dim{1, static_cast<std::uint16_t>(n)}};
    m->dst.offset = static_cast<std::uint32_t>(2048 * below(8));
    m->dst.partitions = static_cast<std::uint8_t>(1 + below(32));
    m->dst.partition = static_cast<std::uint8_t>(32 * below(4));
    m->dst.index = {};
    m->dst.index_step = 0;
  } else if (auto* t = std::get_if<TensorScalar>(&operands)) {
    const auto fix = [&](AluOp op, ScalarOperand& s) {
      auto* pointer = std::get_if<PointerOperand>(&s);
      if (is_unary(op))
        s = std::monostate{};
      else if (pointer != nullptr)
        pointer->dtype = is_bitvec(op) ? DType::u32 : DType::f32;
      else if (!std::holds_alternative<Register>(s))
        is_bitvec(op) ? s = static_cast<std::int32_t>(random_()) : s = any_float();
    };
    if (engine == Engine::scalar && chance(50)) t->op1 = AluOp::bypass;
    fix(t->op0, t->scalar0);
    fix(t->op1, t->scalar1);
  } else if (auto* red = std::get_if<TensorReduce>(&operands)) {
    std::uint16_t kept = 1;
    for (std::size_t d = static_cast<std::size_t>(red->axes) + 1; d < 4; ++d) {
      kept = static_cast<std::uint16_t>(kept * red->src.dims[d].count);
    }
    red->dst.dims = {Dim{1, kept}};
  } else if (auto* branch = std::get_if<CompareBranch>(&operands)) {
    if (branch->op == Comparison::always) branch->a = {}, branch->b = 0;
  } else if (auto* w = std::get_if<Write>(&operands)) {
    w->count = static_cast<std::uint8_t>(1 + below(2));
  }
}

void RandomInstructions::add_semaphores(Instruction& instruction, bool dma) {
  if (chance(40)) {
    Wait& w = instruction.wait;
    w.semaphore = static_cast<std::uint8_t>(below(256));
    w.condition = static_cast<Comparison>(1 + below(6));
    w.value_is_register = chance(20);
    w.value = static_cast<std::uint16_t>(w.value_is_register ? below(64) : below(65536));
  }
  if (chance(40)) {
    Update& u = instruction.update;
    u.semaphore = static_cast<std::uint8_t>(below(256));
    u.operation = static_cast<UpdateOperation>(1 + below(7));
    u.when = !dma && chance(50) ? UpdateWhen::read : UpdateWhen::complete;
    const bool has_value = u.operation == UpdateOperation::sem_add_imm ||
                           u.operation == UpdateOperation::sem_sub_imm ||
                           u.operation == UpdateOperation::sem_wr_imm;
    if (has_value) u.value = static_cast<std::uint16_t>(below(65536));
  }
}

RandomInstructions::Sample RandomInstructions::next() {
  for (;;) {
    const InstructionInfo& row = all_instructions()[below(all_instructions().size())];
    if (!row.engines(program_.target.generation).empty()) return next(row);
  }
}

RandomInstructions::Sample RandomInstructions::next(const InstructionInfo& row) {
  const auto engines = row.order(program_.target.generation);
  std::vector<Violation> violations;
  for (;;) {
    ++tries_;
    Sample sample;
    sample.engine = engines[below(engines.size())];
    sample.instruction.opcode = row.opcode;
    sample.instruction.operands = default_operands(row.opcode);
    for_each_field(sample.instruction.operands, Fill(*this, row, sample.engine));
    repair(sample.instruction.operands, sample.engine);
    add_semaphores(sample.instruction, row.is_dma());
    violations.clear();
    check_instruction(sample.instruction, sample.engine, program_.target, &program_, violations);
    if (violations.empty()) return sample;
  }
}

}  // namespace ncemu::test
