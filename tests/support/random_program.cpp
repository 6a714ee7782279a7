#include "tests/support/random_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "isa/check.h"
#include "isa/fault.h"
#include "isa/place.h"
#include "isa/tables.h"
#include "isa/text.h"
#include "tests/support/random_generator.h"

namespace ncemu::test {

Generator::Generator(std::uint64_t seed, const RandomProgramOptions& options)
    : random_(seed), options_(options), b_(options.target, "random") {}

Program Generator::run() {
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

// ---- memory

void Generator::declare() {
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
  if (v3()) declare_identities();
  if (!options_.registers) return;
  const auto element = static_cast<std::int32_t>(below(array_elements));
  for (const Engine e : all_engines) b_.emit(Opcode::register_move, RegisterMove{chosen, element}, e);
}

// Nothing else writes them: what a transposing matmul needs on one of its sides.
void Generator::declare_identities() {
  const auto identity = [&](const char* name, DType dtype) {
    const View view = b_.sbuf(name, dtype, {stationary_lanes, stationary_lanes});
    b_.emit(Opcode::memset, Memset{view.pattern(), 0.0F}, Engine::gpsimd);
    AffineSelect diagonal;
    diagonal.dst = diagonal.src = view.pattern();
    diagonal.pattern.dims[0] = {-1, stationary_lanes};
    diagonal.channel_multiplier = 1;
    diagonal.cmp = Comparison::ne;
    diagonal.on_false = 1.0F;
    b_.emit(Opcode::affine_select, diagonal);
    return view;
  };
  identity_bf16_ = identity("identity_bf16", DType::bf16);
  identity_f32_ = identity("identity_f32", DType::f32);
}

View Generator::element_of_array() {
  std::vector<std::int64_t> at = {0};
  if (options_.registers && !counters_.empty() && chance(50)) {
    return b_.view(array_, at, 0, counters_[static_cast<std::size_t>(below(depth_))], 1, below(2));
  }
  if (options_.registers && chance(50)) return b_.view(array_, at, 0, chosen, 1, 0);
  at[0] = below(array_elements);
  return b_.view(array_, at);
}

View Generator::tile(bool psum_too) {
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

std::int64_t Generator::legal_start(std::int64_t partitions) {
  const std::int64_t multiple = partitions > 64 ? 128 : partitions > 32 ? 64 : 32;
  return multiple * below(128 / multiple);
}

View Generator::columns(const View& lanes, std::int64_t elements, bool rows) {
  if (elements == row) return lanes;
  if (rows && elements == 4 && chance(50)) {  // two from each row
    const std::int64_t step = 1 + below(4);
    const std::int64_t lo = below(8 - step);
    return lanes.slice(2, lo, lo + step + 1, step);
  }
  const std::int64_t step = elements <= 2   ? 1 + below(5)
                            : elements <= 5 ? 1 + below(3)
                            : elements <= 8 ? 1 + below(2)
                                            : 1;
  const std::int64_t reach = (elements - 1) * step + 1;
  const std::int64_t lo = below(row - reach + 1);
  const std::int64_t flat[] = {lanes.size(0), row};
  return lanes.reshape(flat).slice(1, lo, lo + reach, step);
}

// From a legal start.
View Generator::part(const View& whole, const Shape& s, bool rows) {
  const std::int64_t start = legal_start(s.partitions);
  return columns(whole.slice(0, start, start + s.partitions), s.elements, rows);
}

// The same bytes as other tiles, as integers of 2 or 4 bytes.
View Generator::integers_in_sbuf(const Shape& s, DType dtype) {
  return part(sbuf_[static_cast<std::size_t>(2 * below(2) + (size_of(dtype) == 2 ? 1 : 0))].as(dtype), s);
}

View Generator::in_hbm(const View& tensor, const Shape& s) {
  const std::int64_t first = below(128 - s.partitions + 1);
  const std::int64_t step = s.elements <= 5 ? 1 + below(3) : 1;
  const std::int64_t reach = (s.elements - 1) * step + 1;
  const std::int64_t lo = below(row - reach + 1);
  return tensor.slice(0, first, first + s.partitions).slice(1, lo, lo + reach, step);
}

// Rows from a place that a register gives; with `may_leave` it leads outside now and then.
View Generator::in_hbm_at_run_time(const View& tensor, std::int64_t rows, bool may_leave) {
  const Register by =
      counters_.empty() || chance(30) ? chosen : counters_[static_cast<std::size_t>(below(depth_))];
  const std::int64_t most = array_elements - 1;  // of `chosen`, and of a counter
  if (may_leave) {
    const std::int64_t scale = pick({-64L, -1L, 40L, 127L});
    return tensor.slice(0, by, scale, below(128 - rows + 1), rows);
  }
  const std::int64_t scale = (128 - rows) / most > 0 ? below((128 - rows) / most + 1) : 0;
  return tensor.slice(0, by, scale, below(128 - rows - scale * most + 1), rows);
}

PointerOperand Generator::lane_values(const Shape& s) { return part_of_column(s).pointer(); }

View Generator::part_of_column(const Shape& s) {
  const std::int64_t start = legal_start(s.partitions);
  return column_.slice(0, start, start + s.partitions).index(1, below(2));
}

// ---- what a program consists of

void Generator::instruction() {
  switch (below(24)) {
    case 0:
    case 1:
    case 2:
    case 3: transfer(); break;
    case 4:
    case 5: matmul(); break;
    case 6: load_stationary(); break;
    case 7: tensor_modes(); break;
    case 8:
    case 9: activation(); break;
    case 10:
    case 11: copy(); break;
    case 12: fill(); break;
    case 13: scale(); break;
    case 14:
    case 15: combine(); break;
    case 16: reduce(); break;
    case 17:
    case 18:
    case 19: vector_only(); break;
    case 20:
    case 21:
    case 22: on_gpsimd(); break;
    default: options_.registers ? registers() : copy(); break;
  }
}

void Generator::registers() {
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

void Generator::loop() {
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
void Generator::block() {
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

namespace {

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
