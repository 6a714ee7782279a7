#include "tests/support/sequential.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "emu/data/alu.h"
#include "isa/fault.h"

namespace ncemu::test {
namespace {

template <typename T>
bool holds(T a, Comparison condition, T b) {
  switch (condition) {
    case Comparison::always: return true;
    case Comparison::lt: return a < b;
    case Comparison::le: return a <= b;
    case Comparison::eq: return a == b;
    case Comparison::ne: return a != b;
    case Comparison::ge: return a >= b;
    case Comparison::gt: return a > b;
  }
  return false;
}

std::size_t number_of(Engine engine) { return static_cast<std::size_t>(engine); }

// The core's address window, as far as it reaches semaphores (datasheet 2.4).
constexpr std::uint32_t semaphore_set = 0x0270'1400, semaphore_increment = 0x0270'1800,
                        semaphore_decrement = 0x0270'1c00, semaphore_window = 0x400;

class Interpreter {
 public:
  Interpreter(const Program& program, State& state, const SequentialOptions& options)
      : program_(program), state_(state), options_(options), semaphores_(program.target.semaphores) {
    std::array<std::uint32_t, engine_count> next{};
    index_.reserve(program.order.size());
    for (const Engine engine : program.order) index_.push_back(next[number_of(engine)]++);
    for (const Engine engine : all_engines) {
      if (next[number_of(engine)] == program.stream(engine).size()) continue;
      throw Fault(FaultKind::program, program.name,
                  "the text order names {} instructions of {}, its stream has {}", next[number_of(engine)],
                  name(engine), program.stream(engine).size());
    }
  }

  void run() { run_text(0, static_cast<std::uint32_t>(program_.order.size()), 0); }

 private:
  struct Progress {
    const ManualBlock* block;
    std::uint32_t pc = 0;
    bool done() const { return pc >= block->end - block->begin; }
  };

  // Positions [begin, end); loops before `loop` are open or behind.
  void run_text(std::uint32_t begin, std::uint32_t end, std::size_t loop) {
    for (std::uint32_t at = begin; at < end;) {
      while (loop < program_.loops.size() && (program_.loops[loop].begin < at || empty(program_.loops[loop])))
        ++loop;
      if (loop < program_.loops.size() && program_.loops[loop].begin == at) {
        run_loop(program_.loops[loop], loop);
        at = program_.loops[loop].end;
        continue;
      }
      if (const auto group = manual_group(at, end); !group.empty()) {
        at = group.back().block->end;
        run_group(group);
        continue;
      }
      run_plain(at++);
    }
  }
  static bool empty(const Loop& loop) { return loop.begin == loop.end; }

  void run_loop(const Loop& loop, std::size_t number) {
    std::vector<Engine> engines;  // those with instructions in it
    for (const Engine engine : all_engines) {
      const auto first = program_.order.begin();
      if (std::find(first + loop.begin, first + loop.end, engine) != first + loop.end)
        engines.push_back(engine);
    }
    const std::int64_t stop = agreed(loop.stop, engines, loop);
    for (std::int64_t i = agreed(loop.start, engines, loop); i < stop; i += loop.step) {
      for (const Engine engine : engines) reg(engine, loop.counter.number) = static_cast<std::uint32_t>(i);
      run_text(loop.begin, loop.end, number + 1);
    }
  }

  // A loop's bound: the same in every stream that runs it.
  std::int64_t agreed(const IntOperand& bound, const std::vector<Engine>& engines, const Loop& loop) {
    const std::int32_t value = integer(bound, engines.front());
    for (const Engine engine : engines) {
      if (integer(bound, engine) == value) continue;
      throw Fault(FaultKind::program, describe_site(program_, loop.site),
                  "the loop's bound is {} in the {} stream and {} in the {} stream", value,
                  name(engines.front()), integer(bound, engine), name(engine));
    }
    return value;
  }

  // The hand-written blocks that follow one another from `at`, in the same loop.
  std::vector<Progress> manual_group(std::uint32_t at, std::uint32_t end) const {
    std::vector<Progress> group;
    for (const ManualBlock& block : program_.manual_blocks) {
      if (block.begin != at || block.end == block.begin || block.end > end) continue;
      if (!group.empty() && loop_starts(at)) break;
      group.push_back({&block});
      at = block.end;
    }
    return group;
  }
  bool loop_starts(std::uint32_t at) const {
    return std::any_of(program_.loops.begin(), program_.loops.end(),
                       [&](const Loop& loop) { return loop.begin == at && !empty(loop); });
  }

  void run_group(std::vector<Progress> group) {
    bool moved = true;
    while (moved) {
      moved = false;
      std::array<bool, engine_count> busy{};  // an earlier block of the engine has not ended
      for (Progress& p : group) {
        bool& engine_busy = busy[number_of(p.block->engine)];
        while (!engine_busy && !p.done() && step(p)) moved = true;
        engine_busy = engine_busy || !p.done();
      }
    }
    for (const Progress& p : group) {
      if (p.done()) continue;
      const Instruction& i = instruction(p);
      throw Fault(
          FaultKind::program, describe_site(program_, i.site),
          "the {} stream waits for semaphore {} {} {}, which is {}: nothing in the text so far changes that",
          name(p.block->engine), i.wait.semaphore, name(i.wait.condition),
          wait_value(p.block->engine, i.wait), semaphores_[i.wait.semaphore]);
    }
  }

  const Instruction& instruction(const Progress& p) const {
    return program_.stream(p.block->engine)[index_[p.block->begin] + p.pc];
  }

  // False: its wait does not hold.
  bool step(Progress& p) {
    const Engine engine = p.block->engine;
    const Instruction& i = instruction(p);
    if (!wait_holds(engine, i.wait)) return false;
    std::uint32_t next = p.pc + 1;
    if (const auto* branch = std::get_if<CompareBranch>(&i.operands)) {
      count(i);
      if (taken(*branch, engine)) next = branch->target.index;
    } else if (i.opcode == Opcode::halt) {
      count(i);
      next = p.block->end - p.block->begin;
      ended_[number_of(engine)] = true;
    } else {
      perform(i, engine, index_[p.block->begin] + p.pc);
    }
    update(i, engine);
    p.pc = next;
    return true;
  }

  void run_plain(std::uint32_t at) {
    const Engine engine = program_.order[at];
    if (ended_[number_of(engine)]) return;
    const Instruction& i = program_.stream(engine)[index_[at]];
    if (i.opcode == Opcode::compare_branch) {
      throw Fault(FaultKind::program, describe_site(program_, i.site),
                  "a branch outside a hand-written block");
    }
    if (!wait_holds(engine, i.wait)) {
      throw Fault(FaultKind::program, describe_site(program_, i.site),
                  "waits for semaphore {}, which nothing earlier in the text has raised", i.wait.semaphore);
    }
    if (i.opcode == Opcode::halt) {
      count(i);
      ended_[number_of(engine)] = true;
    } else {
      perform(i, engine, index_[at]);
    }
    update(i, engine);
  }

  void count(const Instruction& i) {
    if (++executed_ <= options_.max_instructions) return;
    throw Fault(FaultKind::program, describe_site(program_, i.site), "more than {} instructions executed",
                options_.max_instructions);
  }

  // Everything but branches and halt.
  void perform(const Instruction& i, Engine engine, std::uint32_t index) {
    count(i);
    try {
      const Instruction resolved = resolve(i, engine);
      if (skipped_) return;
      if (!info(i.opcode).is_control()) {
        execute(resolved, engine, state_);
      } else {
        std::visit([&](const auto& form) { control(form, engine); }, resolved.operands);
      }
      if (options_.on_effect) options_.on_effect(engine, index, resolved, state_);
    } catch (const Fault& fault) {
      if (!fault.where().empty()) throw;
      throw Fault(fault.kind(), describe_site(program_, i.site), "{}", fault.message());
    }
  }

  void control(const RegisterMove& f, Engine e) {
    reg(e, f.dst.number) = static_cast<std::uint32_t>(integer(f.src, e));
  }
  void control(const RegisterAlu& f, Engine e) {
    const auto a = static_cast<std::int32_t>(reg(e, f.src0.number));
    reg(e, f.dst.number) = static_cast<std::uint32_t>(apply_register(f.op, a, integer(f.src1, e)));
  }
  void control(const RegisterLoad& f, Engine e) { reg(e, f.dst.number) = load_element(f.src, state_); }
  void control(const RegisterStore& f, Engine e) { store_element(f.dst, reg(e, f.src.number), state_); }
  void control(const SemaphoreRange& f, Engine) {
    for (int s = f.first; s < f.first + f.count; ++s) semaphores_.at(static_cast<std::size_t>(s)) = 0;
  }
  void control(const Write& f, Engine) {
    write(f.address0, f.data0);
    if (f.count > 1) write(f.address1, f.data1);
  }
  template <typename Form>  // nop, drain, event_semaphore
  void control(const Form&, Engine) {}

  void write(std::uint32_t address, std::uint32_t data) {
    const std::uint32_t window = address & ~(semaphore_window - 1);
    std::uint32_t& s = semaphores_[(address & (semaphore_window - 1)) / 4];
    if (window == semaphore_set) {
      s = data;
    } else if (window == semaphore_increment) {
      s += data;
    } else if (window == semaphore_decrement) {
      s -= data;
    } else {
      throw Fault(FaultKind::program, "", "write: nothing is known at address {:#x}", address);
    }
  }

  bool taken(const CompareBranch& f, Engine e) {
    if (f.op == Comparison::always) return true;
    return holds(static_cast<std::int32_t>(reg(e, f.a.number)), f.op, integer(f.b, e));
  }

  std::uint32_t wait_value(Engine engine, const Wait& wait) {
    return wait.value_is_register ? reg(engine, static_cast<std::uint8_t>(wait.value)) : wait.value;
  }
  bool wait_holds(Engine engine, const Wait& wait) {
    if (!wait.present()) return true;
    return holds(semaphores_[wait.semaphore], wait.condition, wait_value(engine, wait));
  }

  // Signals of both moments come right after the effect. Each of the 16 DMA engines adds 1 (datasheet 2.5).
  void update(const Instruction& i, Engine) {
    std::int64_t value = semaphores_[i.update.semaphore];
    switch (i.update.operation) {
      case UpdateOperation::none:
      case UpdateOperation::evt_set:
      case UpdateOperation::evt_clr: return;
      case UpdateOperation::sem_inc:
        value += info(i.opcode).is_dma() ? program_.target.dma_engines : 1;
        break;
      case UpdateOperation::sem_dec: value -= 1; break;
      case UpdateOperation::sem_add_imm: value += i.update.value; break;
      case UpdateOperation::sem_sub_imm: value -= i.update.value; break;
      case UpdateOperation::sem_wr_imm: value = i.update.value; break;
    }
    if (value < 0 || value > program_.target.semaphore_max) {
      throw Fault(FaultKind::program, describe_site(program_, i.site),
                  "semaphore {} would become {}, expected 0 to {}", i.update.semaphore, value,
                  program_.target.semaphore_max);
    }
    semaphores_[i.update.semaphore] = static_cast<std::uint32_t>(value);
  }

  // ---- registers ----

  std::uint32_t& reg(Engine engine, std::uint8_t number) { return registers_[number_of(engine)].at(number); }
  std::int32_t integer(const IntOperand& operand, Engine engine) {
    if (const auto* r = std::get_if<Register>(&operand))
      return static_cast<std::int32_t>(reg(engine, r->number));
    return std::get<std::int32_t>(operand);
  }

  Instruction resolve(Instruction i, Engine engine) {
    const auto* copy = std::get_if<DmaCopy>(&i.operands);
    may_skip_ = copy != nullptr && copy->bounds == Bounds::skip;
    skipped_ = false;
    const auto field = [&](std::string_view, auto& value, Role) { resolve_field(value, engine); };
    if (auto* f = std::get_if<TensorScalar>(&i.operands)) {
      resolve_scalar(f->scalar0, is_bitvec(f->op0), engine);
      resolve_scalar(f->scalar1, is_bitvec(f->op1), engine);
    } else if (auto* m = std::get_if<Memset>(&i.operands)) {
      resolve_scalar(m->value, is_integer(m->dst.dtype), engine);
    } else if (auto* c = std::get_if<CopyPredicated>(&i.operands)) {
      resolve_scalar(c->value, is_integer(c->dst.dtype), engine);
    }
    for_each_field(i.operands, field);
    return i;
  }

  template <typename T>
  void resolve_field(T&, Engine) {}
  void resolve_field(ScalarOperand& operand, Engine engine) { resolve_scalar(operand, false, engine); }
  void resolve_field(MemoryOperand& operand, Engine engine) {
    std::visit([&](auto& pattern) { resolve_field(pattern, engine); }, operand);
  }
  void resolve_field(AccessPattern& pattern, Engine engine) {
    if (!pattern.index.present()) return;
    const std::int64_t value = static_cast<std::int32_t>(reg(engine, pattern.index.number));
    const std::int64_t shift = value * pattern.index_step * size_of(pattern.dtype);
    const Extent reach = extent(pattern);
    Extent allowed{0, pattern.space == Space::psum ? program_.target.psum_partition_bytes()
                                                   : program_.target.sbuf_partition_bytes};
    std::string_view what = name(pattern.space);
    if (pattern.place != no_place) {  // the index stays in its tile
      const Place& place = program_.places.at(pattern.place);
      const Tile& tile = program_.tiles.at(place.tile);
      allowed = {place.offset, std::int64_t{place.offset} + tile.bytes};
      what = tile.name;
    }
    if (reach.begin + shift < allowed.begin || reach.end + shift > allowed.end) {
      skipped_ = true;
      if (may_skip_) return;
      throw Fault(FaultKind::program, "", "the index {} leads to bytes {}-{}, {} has {}-{}", value,
                  reach.begin + shift, reach.end + shift - 1, what, allowed.begin, allowed.end - 1);
    }
    pattern.offset = static_cast<std::uint32_t>(std::int64_t{pattern.offset} + shift);
    pattern.index = Register{};
    pattern.index_step = 0;
  }
  void resolve_field(std::optional<AccessPattern>& pattern, Engine engine) {
    if (pattern) resolve_field(*pattern, engine);
  }
  void resolve_field(HbmPattern& pattern, Engine engine) {
    if (!pattern.index.present()) return;
    const std::int64_t value = static_cast<std::int32_t>(reg(engine, pattern.index.number));
    pattern.offset += value * pattern.index_step;
    const Extent reach = extent(pattern);
    const Tensor& tensor = program_.tensors.at(pattern.tensor);
    if (reach.begin < 0 || reach.end > tensor.bytes()) {
      skipped_ = true;
      if (may_skip_) return;
      throw Fault(FaultKind::program, "", "the index {} leads to bytes {}-{}, {} has {}", value, reach.begin,
                  reach.end - 1, tensor.name, tensor.bytes());
    }
    pattern.index = Register{};
    pattern.index_step = 0;
  }
  void resolve_scalar(ScalarOperand& operand, bool as_integer, Engine engine) {
    const auto* r = std::get_if<Register>(&operand);
    if (r == nullptr) return;
    const std::uint32_t bits = reg(engine, r->number);
    if (as_integer) {
      operand = static_cast<std::int32_t>(bits);
    } else {
      operand = std::bit_cast<float>(bits);
    }
  }

  const Program& program_;
  State& state_;
  const SequentialOptions& options_;
  std::vector<std::uint32_t> index_;  // of each position in its engine's stream
  std::array<std::array<std::uint32_t, 64>, engine_count> registers_{};
  std::vector<std::uint32_t> semaphores_;
  std::array<bool, engine_count> ended_{};
  std::uint64_t executed_ = 0;
  bool may_skip_ = false, skipped_ = false;  // the instruction at work: a transfer that leads outside
};

}  // namespace

void run_sequentially(const Program& program, State& state, const SequentialOptions& options) {
  if (program.synchronised || (program.order.empty() && program.instruction_count() > 0)) {
    throw Fault(FaultKind::program, program.name,
                "the program has no text order to follow: run it before synchronise()");
  }
  Interpreter(program, state, options).run();
}

}  // namespace ncemu::test
