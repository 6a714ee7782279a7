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
    if (row.opcode == Opcode::rand_set_state || row.opcode == Opcode::rand_get_state) elements = 6;
    if (row.opcode == Opcode::sequence_bounds) partitions = 1, elements = 2 * (1 + r.below(300));
    if (row.opcode == Opcode::topk || row.opcode == Opcode::local_gather) partitions = 16U << r.below(4);
    if (row.opcode == Opcode::topk) elements = 1 + r.below(64);
    if (row.opcode == Opcode::local_gather) elements = 1 + r.below(16);
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
  void operator()(std::string_view name, std::optional<AccessPattern>& p, Role role) {
    p.reset();
    if (r.chance(70)) (*this)(name, p.emplace(), role);
  }
  void operator()(std::string_view, ArrayPair& a, Role) {
    a = {static_cast<std::uint8_t>(32 * r.below(5)), static_cast<std::uint8_t>(32 * r.below(5))};
  }
  void operator()(std::string_view, ShuffleMask& m, Role) {
    for (std::uint8_t& lane : m.source)
      lane = static_cast<std::uint8_t>(r.chance(10) ? ShuffleMask::keep : r.below(ShuffleMask::lanes));
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
  void operator()(std::string_view, AffineDims& a, Role) { dimensions(a.dims, elements); }
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
  void operator()(std::string_view, std::int32_t& n, Role) { n = any_int(); }
  void operator()(std::string_view, std::uint16_t& n, Role) { n = static_cast<std::uint16_t>(r.random_()); }
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
    } else if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::optional<AccessPattern>>) {
      if (field) field->offset -= field->offset % 4;
    }
  });
  if (auto* load = std::get_if<LoadStationary>(&operands)) {
    repair_array(load->double_row, load->transpose, load->tile_position, load->tile_size, load->src);
    const std::uint64_t columns = load->tile_size.column;
    const std::uint64_t m = 1 + below(columns);
    if (load->double_row || load->tile_size != whole_array)
      load->src.dims = {Dim{1, static_cast<std::uint16_t>(load->double_row ? 2 * m : m)}};
  }
  if (auto* m = std::get_if<Matmul>(&operands)) {
    const std::int64_t n = m->moving.elements();
    m->dst.dtype = DType::f32;
    m->dst.dims = {Dim{1, static_cast<std::uint16_t>(n)}};
    m->dst.offset = static_cast<std::uint32_t>(2048 * below(8));
    m->dst.partitions = static_cast<std::uint8_t>(1 + below(32));
    m->dst.partition = static_cast<std::uint8_t>(32 * below(4));
    m->dst.index = {};
    m->dst.index_step = 0;
    repair_array(m->double_row, m->transpose, m->tile_position, m->tile_size, m->moving);
    if (m->double_row) m->moving.dims = {Dim{1, static_cast<std::uint16_t>(2 * n)}};
    if (m->tile_size != whole_array) {
      m->dst.partition = m->tile_position.column;
      m->dst.partitions = static_cast<std::uint8_t>(1 + below(m->tile_size.column));
    }
    if (m->transpose && program_.target.generation >= 3) {
      m->accumulate = false;
      m->dst.dtype = size_of(m->moving.dtype) == 1 ? DType::u16 : m->moving.dtype;
    }
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
  } else if (auto* select = std::get_if<AffineSelect>(&operands)) {
    select->cmp = any_of(Comparison::gt, Comparison::ge, Comparison::eq, Comparison::ne);
    if (!std::holds_alternative<Register>(select->on_false)) select->on_false = any_float();
  } else if (auto* gather = std::get_if<Gather>(&operands)) {
    gather->src.dtype = gather->dst.dtype;
    gather->index.dtype = DType::u32;
  } else if (auto* local = std::get_if<LocalGather>(&operands)) {
    local->num_elem_per_idx = static_cast<std::uint8_t>(1U << below(6));
    const auto there = static_cast<std::uint64_t>(16 * local->index.elements());
    local->num_valid_indices = static_cast<std::uint16_t>(chance(20) ? 0 : 1 + below(there));
    local->dst.dims = {Dim{1, static_cast<std::uint16_t>(local->valid_indices() * local->num_elem_per_idx)}};
    local->src.dtype = local->dst.dtype;
    local->index.dtype = DType::u16;
  } else if (auto* partitions = std::get_if<PartitionReduce>(&operands)) {
    const bool bits = is_bitvec(partitions->op);
    partitions->op =
        bits ? any_of(AluOp::bitwise_and, AluOp::bitwise_or) : any_of(AluOp::add, AluOp::average, AluOp::max);
    partitions->dst.partitions = 1;
  } else if (auto* nonzero = std::get_if<NonzeroWithCount>(&operands)) {
    nonzero->dst.dims = {Dim{1, static_cast<std::uint16_t>(nonzero->src.elements() + 1)}};
    nonzero->dst.dtype = DType::i32;
    nonzero->src.dtype = any_of(DType::f32, DType::i32);
  } else if (auto* topk = std::get_if<TopK>(&operands)) {
    topk->n =
        static_cast<std::uint32_t>(8 + below(static_cast<std::uint64_t>(16 * topk->src.elements() - 7)));
    topk->k = static_cast<std::uint32_t>(1 + below(topk->n));
    topk->dst.dims = topk->indices.dims = {Dim{1, static_cast<std::uint16_t>(topk->columns())}};
    topk->dst.dtype = topk->src.dtype = DType::bf16;
    topk->indices.dtype = DType::u32;
  } else if (auto* copy = std::get_if<DmaCopy>(&operands)) {
    repair_copy(*copy);
  } else if (auto* transpose = std::get_if<DmaTranspose>(&operands)) {
    repair_transpose(*transpose);
  } else if (auto* compute = std::get_if<DmaCompute>(&operands)) {
    repair_compute(*compute, engine);
  } else if (auto* branch = std::get_if<CompareBranch>(&operands)) {
    if (branch->op == Comparison::always) branch->a = {}, branch->b = 0;
  } else if (auto* w = std::get_if<Write>(&operands)) {
    w->count = static_cast<std::uint8_t>(1 + below(2));
  }
}

// The vector engine's own instructions.
void RandomInstructions::repair_vector(Opcode opcode, Operands& operands) {
  const auto any_of = [&](auto... values) {
    const std::common_type_t<decltype(values)...> all[] = {values...};
    return all[below(sizeof...(values))];
  };
  const auto arithmetic = [&] {
    return any_of(AluOp::add, AluOp::subtract, AluOp::mult, AluOp::max, AluOp::min);
  };
  const auto number = [&](ScalarOperand& s) {
    if (auto* pointer = std::get_if<PointerOperand>(&s)) {
      pointer->dtype = DType::f32;
    } else if (!std::holds_alternative<Register>(s)) {
      s = any_float();
    }
  };
  const auto one_column = [&](ScalarOperand& s) {
    if (!std::holds_alternative<PointerOperand>(s)) s = std::monostate{};
  };
  const auto stage = [&](AluOp& op, ScalarOperand& s) {
    op = arithmetic();
    number(s);
    if (chance(30)) op = any_of(AluOp::bypass, AluOp::abs), s = std::monostate{};
  };
  const auto any_command = [&] {
    return any_of(ReduceCommand::idle, ReduceCommand::reset, ReduceCommand::reduce,
                  ReduceCommand::reset_reduce);
  };
  const auto columns = [](AccessPattern& p, std::uint16_t n) { p.dims = {Dim{1, n}}; };
  auto* unary = std::get_if<Unary>(&operands);
  if (auto* c = std::get_if<CopyPredicated>(&operands)) {
    c->predicate.dtype = any_of(DType::u8, DType::u16, DType::u32);
    if (c->src) {
      c->src->dtype = c->dst.dtype;
      c->value = std::monostate{};
    } else if (!std::holds_alternative<Register>(c->value)) {
      c->value = any_float();
      if (is_integer(c->dst.dtype) && chance(50)) c->value = static_cast<std::int32_t>(random_());
    }
  } else if (auto* p = std::get_if<ScalarTensorTensor>(&operands)) {
    stage(p->op0, p->scalar0);
    p->op1 = arithmetic();
  } else if (auto* d = std::get_if<Dropout>(&operands)) {
    number(d->threshold);
  } else if (auto* r = std::get_if<TensorScalarReduce>(&operands)) {
    stage(r->op0, r->scalar0);
    r->reduce_op = arithmetic();
    r->reduce_cmd = any_command();
    one_column(r->reduce_res);
  } else if (auto* u = std::get_if<TensorScalarCumulative>(&operands)) {
    stage(u->op0, u->scalar0);
    u->op1 = arithmetic();
    u->reduce_cmd = any_of(ReduceCommand::reduce, ReduceCommand::reset_reduce, ReduceCommand::load_reduce);
    number(u->scalar1);
    if (u->reduce_cmd != ReduceCommand::load_reduce) u->scalar1 = std::monostate{};
  } else if (auto* s = std::get_if<TensorTensorScan>(&operands)) {
    s->op0 = arithmetic();
    s->op1 = arithmetic();
    number(s->initial);
  } else if (auto* g = std::get_if<RangeSelect>(&operands)) {
    g->comp0 = any_of(AluOp::is_equal, AluOp::is_ge, AluOp::is_gt);
    g->comp1 = any_of(AluOp::is_le, AluOp::is_lt);
    for (ScalarOperand* bound : {&g->bound0, &g->bound1}) {
      if (!std::holds_alternative<PointerOperand>(*bound)) *bound = PointerOperand{};
      number(*bound);
    }
    g->reduce_cmd = any_command();
    one_column(g->reduce_res);
  } else if (auto* e = std::get_if<SelectReduce>(&operands)) {
    e->predicate.dtype = any_of(DType::i8, DType::u8, DType::i16, DType::u16);
    e->reduce_cmd = any_command();
    number(e->on_false);
  } else if (auto* m = std::get_if<MatchReplace>(&operands)) {
    if (m->index) {
      columns(*m->index, 8);
      m->index->dtype = any_of(DType::u16, DType::u32);
    }
  } else if (opcode == Opcode::bn_stats) {
    columns(unary->dst, 6);
  } else if (opcode == Opcode::bn_aggr) {
    columns(unary->dst, 2);
    columns(unary->src, static_cast<std::uint16_t>(3 * (1 + below(100))));
  } else if (opcode == Opcode::max8 || opcode == Opcode::find_index8) {
    columns(unary->dst, 8);
    if (opcode == Opcode::find_index8) unary->dst.dtype = any_of(DType::u16, DType::u32);
  } else if (opcode == Opcode::match_value_load) {
    columns(std::get<Source>(operands).src, 8);
  } else if (opcode == Opcode::set_rng_seed) {
    auto& seed = std::get<Source>(operands).src;
    columns(seed, 1);
    seed.partitions = 1;
    seed.dtype = DType::u32;
  } else if (opcode == Opcode::rng) {
    std::get<Destination>(operands).dst.dtype = any_of(DType::i8, DType::u16, DType::u32, DType::i32);
  } else if (opcode == Opcode::stream_shuffle) {
    unary->src.dtype = unary->dst.dtype;
  } else if (opcode == Opcode::transpose) {
    unary->src.dtype = unary->dst.dtype;
    for (AccessPattern* side : {&unary->dst, &unary->src}) {
      side->partitions = static_cast<std::uint8_t>(side->partitions > 64   ? 128
                                                   : side->partitions > 32 ? 64
                                                                           : 32);
      columns(*side, 96);
    }
  }
}

// Forms that several instructions share.
void RandomInstructions::repair(Opcode opcode, Operands& operands) {
  repair_vector(opcode, operands);
  if (opcode == Opcode::sequence_bounds) {
    auto& u = std::get<Unary>(operands);
    u.dst.dtype = chance(50) ? DType::f32 : DType::i32;
    u.src.dtype = chance(50) ? DType::f32 : DType::i32;
    u.src.dims = {Dim{1, static_cast<std::uint16_t>(u.dst.elements() / 2)}};
  } else if (opcode == Opcode::rand_set_state) {
    std::get<Source>(operands).src.dtype = DType::u32;
  } else if (opcode == Opcode::rand_get_state) {
    std::get<Destination>(operands).dst.dtype = DType::u32;
  }
}

// The whole array most of the time, two rows of fp8 or a tile now and then.
void RandomInstructions::repair_array(bool& double_row, bool& transpose, ArrayPair& position, ArrayPair& size,
                                      AccessPattern& source) {
  const bool v3 = program_.target.generation >= 3;
  position = {};
  size = whole_array;
  double_row = v3 && chance(20);
  if (double_row) {
    transpose = false;
    source.dtype = chance(50) ? DType::f8e4m3 : DType::f8e5m2;
    source.index = {};
    source.index_step = 0;
    source.offset = 0;
  } else if (chance(40)) {
    const auto side = [&] { return static_cast<std::uint8_t>((v3 ? 32U : 64U) << below(v3 ? 3 : 2)); };
    const auto at = [&](std::uint8_t length) {
      return static_cast<std::uint8_t>(length * below(128U / length));
    };
    size = {side(), side()};
    position = {at(size.row), at(size.column)};
    source.partition = size == whole_array ? source.partition : position.row;
    source.partitions = static_cast<std::uint8_t>(1 + below(size.row));
    if (size == whole_array) source.partition = 0;
  }
}

// Half of the copies have an index: rows of a table for a tile. The others have none, and mostly no skip.
void RandomInstructions::repair_copy(DmaCopy& copy) {
  copy.index = std::monostate{};
  copy.accumulate = chance(20);
  if (copy.accumulate || chance(70)) copy.bounds = Bounds::error;
  auto* tile = std::get_if<AccessPattern>(&copy.dst);
  auto* table = std::get_if<HbmPattern>(&copy.src);
  if (tile == nullptr && table == nullptr) {
    tile = std::get_if<AccessPattern>(&copy.src);
    table = std::get_if<HbmPattern>(&copy.dst);
  }
  if (tile == nullptr || table == nullptr || chance(50)) return;
  copy.mode = DgeMode::software;
  copy.index = PointerOperand{Space::sbuf, chance(50) ? DType::u32 : DType::i32, 0,
                              static_cast<std::uint32_t>(4 * below(4096))};
  const auto elements = static_cast<std::uint32_t>(tile->elements());
  table->dims = {
      HbmDim{1, elements}, HbmDim{}, HbmDim{},
      HbmDim{static_cast<std::int32_t>(elements + below(3)), static_cast<std::uint32_t>(1 + below(20))}};
  table->offset = static_cast<std::int64_t>(below(100));
}

// Few elements, so that either side fits partitions and a fastest dimension.
void RandomInstructions::repair_transpose(DmaTranspose& transpose) {
  std::array<std::uint16_t, 4> sizes{};  // of the source: slowest, between, between, fastest
  for (std::uint16_t& n : sizes) n = static_cast<std::uint16_t>(1 + below(16));
  if (transpose.mode == DgeMode::hardware) sizes[0] = 16;
  const DType type = transpose.mode == DgeMode::hardware ? DType::bf16 : DType::u8;
  const auto shape = [&](MemoryOperand& side, std::uint16_t slowest, std::uint16_t fastest) {
    const auto set = [&](auto& p) {
      p.dtype = type;
      p.dims[0] = {1, fastest};
      p.dims[1] = {static_cast<std::int16_t>(fastest), sizes[2]};
      p.dims[2] = {static_cast<std::int16_t>(fastest * sizes[2]), sizes[1]};
      p.dims[3] = {};
      p.offset = 64;
    };
    if (auto* tile = std::get_if<AccessPattern>(&side)) {
      set(*tile);
      tile->partitions = static_cast<std::uint8_t>(slowest);
      tile->partition = static_cast<std::uint8_t>(32 * below(4));
    } else {
      auto& tensor = std::get<HbmPattern>(side);
      set(tensor);
      tensor.dims[3] = {fastest * sizes[2] * sizes[1], slowest};
    }
  };
  shape(transpose.src, sizes[0], sizes[3]);
  shape(transpose.dst, sizes[3], sizes[0]);
}

// Up to 16 sources with the destination's number of elements.
void RandomInstructions::repair_compute(DmaCompute& compute, Engine engine) {
  if (compute.mode == DgeMode::hardware) compute.mode = DgeMode::static_;
  if (compute.mode == DgeMode::software && engine != Engine::gpsimd) compute.mode = DgeMode::static_;
  const MemoryOperand first = compute.sources.front().src;
  compute.sources.resize(1 + below(DmaCompute::most_sources));
  for (DmaCompute::Source& s : compute.sources) {
    s.src = first;
    std::visit([&](auto& p) { p.offset += static_cast<std::uint32_t>(8 * below(4)); }, s.src);
    s.scale = compute.op == ComputeOp::fma ? any_float() : 1.0F;
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
    repair(row.opcode, sample.instruction.operands);
    add_semaphores(sample.instruction, row.is_dma());
    violations.clear();
    check_instruction(sample.instruction, sample.engine, program_.target, &program_, violations);
    if (violations.empty()) return sample;
  }
}

}  // namespace ncemu::test
