// Rules about waits and signals and the sequencers.

#include "isa/rules_context.h"

namespace ncemu::check {
namespace {

constexpr std::uint32_t window_bytes = 64U << 20;  // datasheet 3.5

// Calls visit(name, number) for each register the operands name.
template <typename Visit>
void for_each_register(const Operands& operands, Visit&& visit) {
  for_each_field(operands, [&](std::string_view name, const auto& field, Role) {
    using T = std::decay_t<decltype(field)>;
    const auto pattern = [&](const auto& p) { visit(name, p.index); };
    if constexpr (std::is_same_v<T, Register>) {
      visit(name, field);
    } else if constexpr (std::is_same_v<T, AccessPattern>) {
      pattern(field);
    } else if constexpr (std::is_same_v<T, std::optional<AccessPattern>>) {
      if (field) pattern(*field);
    } else if constexpr (std::is_same_v<T, MemoryOperand>) {
      std::visit(pattern, field);
    } else if constexpr (std::is_same_v<T, ScalarOperand> || std::is_same_v<T, IntOperand>) {
      if (const auto* r = std::get_if<Register>(&field)) visit(name, *r);
    }
  });
}

}  // namespace

void semaphore_number(Context& c) {
  const Wait& wait = c.instruction.wait;
  const Update& update = c.instruction.update;
  if (wait.present() && wait.semaphore >= c.target.semaphores) {
    c.broken("wait", "names semaphore {}, there are {}", wait.semaphore, c.target.semaphores);
  }
  if (update.present() && update.semaphore >= c.target.semaphores) {
    c.broken("signal", "names semaphore or event {}, there are {}", update.semaphore, c.target.semaphores);
  }
}

void semaphore_value(Context& c) {
  const Wait& wait = c.instruction.wait;
  const Update& update = c.instruction.update;
  if (wait.present() && !wait.value_is_register && wait.value > c.target.semaphore_max) {
    c.broken("wait", "waits for {}, a semaphore reaches {} at most", wait.value, c.target.semaphore_max);
  }
  if (update.present() && update.value > c.target.semaphore_max) {
    c.broken("signal", "has the value {}, a semaphore reaches {} at most", update.value,
             c.target.semaphore_max);
  }
}

void register_number(Context& c) {
  const auto check = [&](std::string_view name, unsigned number) {
    if (number < c.target.registers) return;
    c.broken(name, "names register r{}, the last is r{}", number, c.target.registers - 1);
  };
  for_each_register(c.instruction.operands, [&](std::string_view name, Register r) {
    if (r.present()) check(name, r.number);
  });
  const Wait& wait = c.instruction.wait;
  if (wait.present() && wait.value_is_register) check("wait", wait.value);
}

// ---- sequencers -----------------------------------------------------------------------------

void register_present(Context& c) {
  for_each_field(c.instruction.operands, [&](std::string_view name, const auto& field, Role) {
    using T = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<T, Register>) {
      if (!field.present()) c.broken(name, "is missing, expected a register");
    } else if constexpr (std::is_same_v<T, IntOperand>) {
      const auto* r = std::get_if<Register>(&field);
      if (r != nullptr && !r->present()) c.broken(name, "is missing, expected a register or an integer");
    }
  });
}

void register_operator(Context& c) {
  const AluOp op = c.operands<RegisterAlu>().op;
  if (op == AluOp::pow || op == AluOp::average || op == AluOp::rsqrt || op == AluOp::reciprocal)
    c.broken("op", "{} is not an operation on integers", name(op));
}

void register_memory(Context& c) {
  for (const OnChip& o : c.on_chip()) {
    if (o.pattern.space != Space::sbuf)
      c.broken(o.name, "is in {}, expected sbuf or hbm", name(o.pattern.space));
    const std::int64_t n = o.pattern.partitions * elements_of(o.pattern);
    if (n != 1) c.broken(o.name, "has {} elements, expected 1", n);
  }
  for (const InHbm& o : c.in_hbm()) {
    if (elements_of(o.pattern) != 1) c.broken(o.name, "has {} elements, expected 1", elements_of(o.pattern));
  }
}

void branch_operands(Context& c) {
  const auto& b = c.operands<CompareBranch>();
  const auto* r = std::get_if<Register>(&b.b);
  if (b.op == Comparison::always) {
    if (b.a.present()) c.broken("a", "is given, but op = always compares nothing");
    if (b.b != IntOperand(0)) c.broken("b", "is given, but op = always compares nothing");
  } else {
    if (!b.a.present()) c.broken("a", "is missing, op = {} compares it", name(b.op));
    if (r != nullptr && !r->present()) c.broken("b", "is missing, op = {} compares it", name(b.op));
  }
}

void branch_target(Context& c) {
  if (c.program == nullptr) return;
  const std::size_t size = c.program->stream(c.engine).size();
  const std::uint32_t index = c.operands<CompareBranch>().target.index;
  if (index > size)
    c.broken("target", "is instruction {}, the stream of {} has {}", index, name(c.engine), size);
}

void semaphore_range(Context& c) {
  const auto& r = c.operands<SemaphoreRange>();
  const unsigned end = unsigned{r.first} + r.count;
  if (r.count == 0) c.broken("count", "is 0, expected at least 1");
  if (end > c.target.semaphores)
    c.broken("count", "ends at semaphore {}, there are {}", end - 1, c.target.semaphores);
}

void write_words(Context& c) {
  const unsigned count = c.operands<Write>().count;
  if (count != 1 && count != 2) c.broken("count", "is {}, expected 1 or 2", count);
}

void write_address(Context& c) {
  const auto& w = c.operands<Write>();
  const auto check = [&](std::string_view name, std::uint32_t address) {
    if (address % 4 != 0 || address >= window_bytes) {
      c.broken(name, "is 0x{:x}, expected a multiple of 4 below 0x{:x}", address, window_bytes);
    }
  };
  check("address0", w.address0);
  if (w.count > 1) check("address1", w.address1);
}

}  // namespace ncemu::check
