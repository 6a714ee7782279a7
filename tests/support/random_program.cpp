#include "tests/support/random_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <vector>

#include "isa/builder.h"
#include "isa/check.h"
#include "isa/fault.h"
#include "isa/place.h"
#include "isa/tables.h"
#include "isa/text.h"

namespace ncemu::test {
namespace {

constexpr int stationary_lanes =
    32;  // rows and columns of every weight load, so that any matmul fits any load
constexpr std::int64_t array_elements = 4;
constexpr Register chosen{1}, loaded{2};  // an array element, the same in all streams; whatever was loaded

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomProgramOptions& options)
      : random_(seed), options_(options), b_(options.target, "random") {}

  Program run() {
    declare();
    while (emitted() < options_.instructions) {
      if (options_.loops && depth_ < 2 && chance(6)) {
        loop();
      } else if (options_.blocks && chance(3)) {
        block();
      } else {
        instruction();
      }
    }
    Program& program = b_.program();
    insert_table_loads(program);
    Diagnostics diagnostics;
    place(program, diagnostics);
    check_program(program, diagnostics);
    ensure(!diagnostics.has_errors(), diagnostics.text().c_str());
    return std::move(program);
  }

 private:
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T, std::size_t n>
  T pick(const T (&from)[n]) {
    return from[below(static_cast<std::int64_t>(n))];
  }
  const View& pick(const std::vector<View>& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
  }
  int emitted() { return static_cast<int>(b_.program().order.size()); }

  // ---- memory

  void declare() {
    x_ = b_.tensor("x", TensorKind::input, DType::f32, {128, 16});
    y_ = b_.tensor("y", TensorKind::inout, DType::f32, {128, 16});
    z_ = b_.tensor("z", TensorKind::output, DType::bf16, {128, 16});
    integers_ = b_.tensor("integers", TensorKind::inout, DType::i32, {16});
    hbm_ = {x_, y_, z_, y_, z_};
    for (int i = 0; i < 4; ++i) {  // explicit, overlapping
      TileSpec spec;
      spec.name = fmt::format("s{}", i);
      spec.dtype = i % 2 == 0 ? DType::f32 : DType::bf16;
      spec.shape = {128, 2, 8};
      spec.partition = 0;
      spec.offset = static_cast<std::uint32_t>(4 * below(24));
      sbuf_.push_back(b_.view(b_.tile(spec)));
    }
    for (int i = 0; i < 3; ++i) {
      TileSpec spec;
      spec.name = fmt::format("p{}", i);
      spec.space = Space::psum;
      spec.shape = {128, 2, 8};
      spec.partition = 0;
      spec.offset = static_cast<std::uint32_t>(4 * below(16));
      psum_.push_back(b_.view(b_.tile(spec)));
    }
    psum_.push_back(b_.psum("q", DType::f32, {128, 2, 8}));
    weights_ = b_.sbuf("weights", DType::bf16, {128, stationary_lanes});
    column_ = b_.sbuf("column", DType::f32, {128, 2});
    TileSpec spec;
    spec.name = "array";
    spec.shape = {128, 2, 8};
    spec.array = {array_elements};
    array_ = b_.tile(spec);
    // Every matmul needs a stationary operand, every shuffle a mask; every stream knows the chosen element.
    load_stationary();
    load_mask();
    if (!options_.registers) return;
    const auto element = static_cast<std::int32_t>(below(array_elements));
    for (const Engine e : all_engines) b_.emit(Opcode::register_move, RegisterMove{chosen, element}, e);
  }

  View element_of_array() {
    std::vector<std::int64_t> at = {0};
    if (options_.registers && !counters_.empty() && chance(50)) {
      return b_.view(array_, at, 0, counters_[static_cast<std::size_t>(below(depth_))], 1, below(2));
    }
    if (options_.registers && chance(50)) return b_.view(array_, at, 0, chosen, 1, 0);
    at[0] = below(array_elements);
    return b_.view(array_, at);
  }

  View tile(bool psum_too) {
    if (chance(20)) return element_of_array();
    if (chance(15)) {
      // A block of its own: re-used by its siblings and by its own next iterations.
      b_.open_scope(fmt::format("block{}", below(3)));
      const View view = b_.sbuf("t", DType::f32, {128, 2, 8}, 2);
      b_.close_scope();
      return view;
    }
    return pick(psum_too && chance(30) ? psum_ : sbuf_);
  }

  struct Shape {
    std::int64_t partitions = 1, elements = 1;
  };
  Shape shape() { return {pick({1L, 17L, 32L, 64L, 128L}), pick({1L, 2L, 4L, 5L, 8L, 16L})}; }

  // `elements` of each of `partitions` lanes, from a legal start, in one or two strided dimensions.
  View part(const View& whole, const Shape& s, bool rows = true) {
    const std::int64_t multiple = s.partitions > 64 ? 128 : s.partitions > 32 ? 64 : 32;
    const std::int64_t start = multiple * below(128 / multiple);
    const View lanes = whole.slice(0, start, start + s.partitions);
    if (s.elements == 16) return lanes;
    if (rows && s.elements == 4 && chance(50)) {  // two from each row
      const std::int64_t step = 1 + below(4);
      const std::int64_t lo = below(8 - step);
      return lanes.slice(2, lo, lo + step + 1, step);
    }
    const std::int64_t step = s.elements <= 2 ? 1 + below(5) : s.elements <= 5 ? 1 + below(3) : 1 + below(2);
    const std::int64_t reach = (s.elements - 1) * step + 1;
    const std::int64_t lo = below(16 - reach + 1);
    const std::int64_t row[] = {s.partitions, 16};
    return lanes.reshape(row).slice(1, lo, lo + reach, step);
  }

  View operand(const Shape& s, bool psum_too, bool rows = true) { return part(tile(psum_too), s, rows); }

  View in_hbm(const View& tensor, const Shape& s) {
    const std::int64_t row = below(128 - s.partitions + 1);
    const std::int64_t step = s.elements <= 5 ? 1 + below(3) : 1;
    const std::int64_t reach = (s.elements - 1) * step + 1;
    const std::int64_t lo = below(16 - reach + 1);
    return tensor.slice(0, row, row + s.partitions).slice(1, lo, lo + reach, step);
  }

  PointerOperand lane_values(const Shape& s) {
    const std::int64_t multiple = s.partitions > 64 ? 128 : s.partitions > 32 ? 64 : 32;
    const std::int64_t start = multiple * below(128 / multiple);
    return column_.slice(0, start, start + s.partitions).index(1, below(2)).pointer();
  }

  // ---- instructions

  void instruction() {
    switch (below(19)) {
      case 0:
      case 1:
      case 2: transfer(); break;
      case 3:
      case 4: matmul(); break;
      case 5: load_stationary(); break;
      case 6:
      case 7: activation(); break;
      case 8:
      case 9: copy(); break;
      case 10: fill(); break;
      case 11: scale(); break;
      case 12:
      case 13: combine(); break;
      case 14: reduce(); break;
      case 15:
      case 16: vector_only(); break;
      case 17: on_gpsimd(); break;
      default: options_.registers ? registers() : copy(); break;
    }
  }

  void transfer() {
    const Shape s = shape();
    const auto kind = below(10);
    View dst = operand(s, false, false);
    View src = operand(s, false, false);
    if (kind < 4) {
      src = in_hbm(hbm_[static_cast<std::size_t>(below(3))], s);
    } else if (kind < 8) {
      dst = in_hbm(chance(50) ? y_ : z_, s);
    } else if (kind < 9) {
      src = in_hbm(x_, s);
      dst = in_hbm(y_, s);
    }
    const MemoryOperand sides[] = {dst.memory(), src.memory()};
    const bool moved = std::any_of(std::begin(sides), std::end(sides), [](const MemoryOperand& m) {
      return std::visit([](const auto& p) { return p.index.present(); }, m);
    });
    std::optional<Engine> issuer;
    if (!moved && chance(50)) issuer = all_engines[below(engine_count)];
    b_.dma_copy(squeeze(dst), squeeze(src), issuer, static_cast<std::uint8_t>(below(3)));
  }
  // As [partitions, elements]: transfers need equal shapes.
  static View squeeze(const View& v) {
    if (v.rank() <= 2) return v;
    const std::int64_t flat[] = {v.size(0), v.size(1) * v.size(2)};
    return v.reshape(flat);
  }

  void load_stationary() {
    const std::int64_t start = 32 * below(4);
    b_.emit(Opcode::load_stationary,
            LoadStationary{weights_.slice(0, start, start + stationary_lanes).pattern()});
  }

  void matmul() {
    const Shape s{stationary_lanes, pick({1L, 4L, 8L, 16L})};
    Matmul m;
    m.dst = part(pick(psum_), s).pattern();
    m.moving = part(chance(50) ? sbuf_[1] : sbuf_[3], s).pattern();  // bf16, as the weights
    m.accumulate = chance(60);
    b_.emit(Opcode::matmul, m);
  }

  void activation() {
    const Shape s = shape();
    if (chance(15)) {
      b_.emit(Opcode::read_accumulator, Destination{operand({s.partitions, 1}, true).pattern()});
      return;
    }
    Activation a;
    a.dst = operand(s, true).pattern();
    a.src = operand(s, true).pattern();
    a.func = pick({ActivationFunction::copy, ActivationFunction::relu, ActivationFunction::exp,
                   ActivationFunction::tanh});
    if (chance(30)) a.scale = lane_values(s);
    if (chance(30)) a.bias = lane_values(s);
    a.reduce_cmd = pick({ReduceCommand::idle, ReduceCommand::reset_reduce, ReduceCommand::reduce});
    b_.emit(Opcode::activation, a);
  }

  Engine element_wise(bool on_gpsimd) { return on_gpsimd ? Engine::gpsimd : Engine::vector; }

  void copy() {
    const Shape s = shape();
    const bool gpsimd = chance(40);
    View dst = operand(s, !gpsimd);
    if (s.partitions == 32 && chance(20)) dst = weights_.slice(0, 32, 64).slice(1, 3, 3 + s.elements);
    if (s.elements == 1 && chance(40)) dst = part_of_column(s);
    b_.emit(Opcode::tensor_copy, Unary{dst.pattern(), operand(s, !gpsimd).pattern()}, element_wise(gpsimd));
  }
  View part_of_column(const Shape& s) {
    const std::int64_t multiple = s.partitions > 64 ? 128 : s.partitions > 32 ? 64 : 32;
    const std::int64_t start = multiple * below(128 / multiple);
    return column_.slice(0, start, start + s.partitions).index(1, below(2));
  }

  void fill() {
    const Shape s = shape();
    const bool gpsimd = chance(40);
    Memset m;
    m.dst = operand(s, !gpsimd).pattern();
    m.value = static_cast<float>(below(16)) - 8.0F;
    b_.emit(Opcode::memset, m, element_wise(gpsimd));
  }

  void scale() {
    const Shape s = shape();
    TensorScalar t;
    t.dst = operand(s, true).pattern();
    t.src = operand(s, true).pattern();
    t.op0 = pick({AluOp::add, AluOp::max, AluOp::subtract});
    if (chance(50)) {
      t.scalar0 = lane_values(s);
    } else {
      t.scalar0 = static_cast<float>(below(4));
    }
    b_.emit(Opcode::tensor_scalar, t);
  }

  void combine() {
    const Shape s = shape();
    const bool gpsimd = chance(40);
    TensorTensor t;
    t.dst = operand(s, !gpsimd).pattern();
    t.src0 = operand(s, !gpsimd).pattern();
    t.src1 = operand(s, false).pattern();  // one PSUM input at most
    t.op = pick({AluOp::add, AluOp::subtract, AluOp::add});
    b_.emit(Opcode::tensor_tensor, t, element_wise(gpsimd));
  }

  void reduce() {
    const Shape s{pick({17L, 32L, 128L}), 16};
    if (chance(40)) {
      const Shape one = shape();
      b_.emit(Opcode::reciprocal, Unary{operand(one, true).pattern(), operand(one, true).pattern()});
      return;
    }
    TensorReduce r;
    r.src = operand(s, true).pattern(true);
    r.dst = operand({s.partitions, 2}, true).pattern();
    r.op = pick({AluOp::add, AluOp::max});
    b_.emit(Opcode::tensor_reduce, r);
  }

  void load_mask() {
    LoadMask m;
    for (std::uint8_t& lane : m.mask.source)
      lane = static_cast<std::uint8_t>(chance(10) ? ShuffleMask::keep : below(ShuffleMask::lanes));
    b_.emit(Opcode::load_mask, m);
  }

  // Instructions with results in hidden registers, partial writes and second destinations.
  void vector_only() {
    const Shape s = shape();
    const auto predicate = [&] { return part(sbuf_[1].as(DType::u16), s).pattern(); };
    const auto command = [&] {
      return pick({ReduceCommand::idle, ReduceCommand::reduce, ReduceCommand::reset_reduce});
    };
    switch (below(8)) {
      case 0: {
        TensorTensorScan f;
        f.dst = operand(s, true).pattern();
        f.src0 = operand(s, true).pattern();
        f.src1 = operand(s, false).pattern();
        if (chance(50)) f.initial = lane_values(s);
        b_.emit(Opcode::tensor_tensor_scan, f);
        return;
      }
      case 1: {
        TensorScalarReduce f;
        f.dst = operand(s, true).pattern();
        f.src = operand(s, true).pattern();
        f.op0 = AluOp::add;
        f.scalar0 = lane_values(s);
        f.reduce_cmd = command();
        if (chance(60)) f.reduce_res = lane_values(s);
        b_.emit(Opcode::tensor_scalar_reduce, f);
        return;
      }
      case 2: {
        ScalarTensorTensor f;
        f.dst = operand(s, true).pattern();
        f.src0 = operand(s, true).pattern();
        f.src1 = operand(s, false).pattern();
        f.scalar0 = lane_values(s);
        b_.emit(Opcode::scalar_tensor_tensor, f);
        return;
      }
      case 3: {
        SelectReduce f;
        f.dst = operand(s, true).pattern();
        f.on_true = operand(s, true).pattern();
        f.predicate = predicate();
        f.reduce_cmd = command();
        b_.emit(Opcode::select_reduce, f);
        b_.emit(Opcode::read_accumulator, Destination{part_of_column(s).pattern()}, Engine::vector);
        return;
      }
      case 4: {
        CopyPredicated f;
        f.dst = part(sbuf_[0], s).pattern();
        f.predicate = predicate();
        if (chance(50)) {
          f.src = part(sbuf_[2], s).pattern();
        } else {
          f.value = static_cast<float>(below(4));
        }
        b_.emit(Opcode::tensor_copy_predicated, f);
        return;
      }
      case 5: {
        const Shape quadrant{ShuffleMask::lanes, s.elements};
        b_.emit(Opcode::stream_shuffle,
                Unary{part(sbuf_[0], quadrant).pattern(), part(psum_[0], quadrant).pattern()});
        return;
      }
      case 6: b_.emit(Opcode::rng, Destination{part(sbuf_[2].as(DType::u32), s).pattern()}); return;
      default: {
        TensorScalarCumulative f;
        f.dst = operand(s, true).pattern();
        f.src = operand(s, true).pattern();
        f.reduce_cmd = pick({ReduceCommand::reduce, ReduceCommand::reset_reduce});
        b_.emit(Opcode::tensor_scalar_cumulative, f);
      }
    }
  }

  // What only gpsimd has; small numbers, so that sums stay exact.
  void on_gpsimd() {
    const Shape s = shape();
    AffineDims pattern;
    pattern.dims[0] = {static_cast<std::int32_t>(below(5)) - 2, static_cast<std::uint16_t>(s.elements)};
    const auto offset = static_cast<std::int32_t>(below(9)) - 4;
    switch (below(4)) {
      case 0: b_.emit(Opcode::iota, Iota{operand(s, false).pattern(), pattern, offset, 1}); break;
      case 1: {
        AffineSelect select{operand(s, false).pattern(), operand(s, false).pattern(), pattern, offset, -1};
        select.cmp = pick({Comparison::gt, Comparison::eq});
        select.on_false = 3.0F;
        b_.emit(Opcode::affine_select, select);
        break;
      }
      case 2: {
        const AccessPattern dst = operand({1, s.elements}, false).pattern();
        b_.emit(Opcode::tensor_partition_reduce,
                PartitionReduce{dst, operand(s, false).pattern(), AluOp::max});
        break;
      }
      default: {  // indices that lie inside: the places of the elements themselves
        const View index = part(chance(50) ? sbuf_[0] : sbuf_[2], s).as(DType::u32);
        Iota numbers{index.pattern(), pattern, 0, 0};
        numbers.pattern.dims[0].step = 1;
        b_.emit(Opcode::iota, numbers);
        const AccessPattern dst = part(sbuf_[1], s).pattern(), src = part(sbuf_[3], s).pattern();
        b_.emit(Opcode::n_gather, Gather{dst, src, index.pattern()});
        break;
      }
    }
  }

  void registers() {
    const Engine engine = pick({Engine::vector, Engine::scalar, Engine::gpsimd});
    const Shape one{1, 1};
    const auto memory = [&]() -> MemoryOperand {
      if (chance(40)) return integers_.index(0, below(16)).hbm_pattern();
      return part(chance(50) ? sbuf_[0] : sbuf_[2], one).as(DType::i32).pattern();
    };
    if (chance(50)) {
      b_.emit(Opcode::register_load, RegisterLoad{loaded, memory()}, engine);
      b_.emit(Opcode::register_alu, RegisterAlu{loaded, loaded, 3, AluOp::add}, engine);
    } else {
      b_.emit(Opcode::register_store, RegisterStore{memory(), loaded}, engine);
    }
  }

  // ---- blocks

  void loop() {
    // Not even one iteration, now and then; bounds in registers sometimes.
    IntOperand stop = static_cast<std::int32_t>(below(4));
    if (options_.registers && chance(30)) {
      const Register limit{static_cast<std::uint8_t>(10 + depth_)};
      const auto iterations = static_cast<std::int32_t>(below(4));
      for (const Engine e : all_engines) b_.emit(Opcode::register_move, RegisterMove{limit, iterations}, e);
      stop = limit;
    }
    counters_.push_back(b_.open_loop(0, stop, 1 + static_cast<std::int32_t>(below(2))));
    ++depth_;
    const auto count = below(6);
    for (std::int64_t i = 0; i < count; ++i) {
      if (depth_ < 2 && chance(15)) {
        loop();
      } else if (options_.blocks && chance(5)) {
        block();
      } else {
        instruction();
      }
    }
    b_.close_loop();
    counters_.pop_back();
    --depth_;
  }

  // One hand-written block that skips its middle instruction and signals itself.
  void block() {
    const Engine engine = pick({Engine::vector, Engine::gpsimd});
    const auto semaphore = static_cast<std::uint8_t>(sync_semaphores::first_user + below(8));
    const auto copy_in_block = [&]() -> Instruction& {
      const Shape s = shape();
      return b_.emit(Opcode::tensor_copy, Unary{operand(s, false).pattern(), operand(s, false).pattern()});
    };
    b_.open_engine(engine);
    b_.emit(Opcode::semaphore_clear, SemaphoreRange{semaphore, 1});
    Instruction& first = copy_in_block();
    first.update = {semaphore, UpdateOperation::sem_inc, UpdateWhen::complete, 0};
    b_.emit(Opcode::compare_branch, CompareBranch{Register{}, 0, Comparison::always, {4}});
    copy_in_block();
    Instruction& last = copy_in_block();
    last.wait = {semaphore, Comparison::ge, false, 1};
    b_.close_engine();
    fill();  // neighbouring blocks would run at the same time, and nothing orders them
  }

  std::mt19937_64 random_;
  RandomProgramOptions options_;
  Builder b_;
  View x_, y_, z_, integers_, weights_, column_;
  std::vector<View> hbm_, sbuf_, psum_;
  TileRef array_;
  std::vector<Register> counters_;
  int depth_ = 0;
};

std::string bound(const IntOperand& value) {
  if (const auto* r = std::get_if<Register>(&value)) return fmt::format("r{}", r->number);
  return fmt::format("{}", std::get<std::int32_t>(value));
}

}  // namespace

Target small_target(std::string_view machine) {
  Target target = *find_target(machine);
  target.sbuf_partition_bytes = 2048;
  target.psum_banks = 2;
  return target;
}

Program random_program(std::uint64_t seed, const RandomProgramOptions& options) {
  return Generator(seed, options).run();
}

std::string listing(const Program& program) {
  std::string text;
  std::array<std::size_t, engine_count> next{};
  for (std::uint32_t k = 0; k < program.order.size(); ++k) {
    for (const Loop& loop : program.loops) {
      if (loop.begin == k && loop.end > k) {
        text += fmt::format(".loop r{} = {} .. {} step {}   # to {}\n", loop.counter.number,
                            bound(loop.start), bound(loop.stop), loop.step, loop.end);
      }
    }
    const Engine engine = program.order[k];
    const std::size_t index = next[static_cast<std::size_t>(engine)]++;
    const bool by_hand = std::any_of(program.manual_blocks.begin(), program.manual_blocks.end(),
                                     [&](const ManualBlock& b) { return b.begin <= k && k < b.end; });
    text += fmt::format("{:4}{} {:7} {}\n", k, by_hand ? '*' : ' ', name(engine),
                        print(program.stream(engine)[index], engine, program));
  }
  return text;
}

}  // namespace ncemu::test
