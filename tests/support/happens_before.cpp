#include "tests/support/happens_before.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "isa/fault.h"
#include "isa/text.h"

namespace ncemu::test {
namespace {

bool is_data(const Instruction& i) { return !info(i.opcode).is_control() && !info(i.opcode).is_dma(); }
bool is_dma(const Instruction& i) { return info(i.opcode).is_dma(); }

// Bytes as (memory, partition, offset); HBM tensors are memories of their own.
using Byte = std::uint64_t;
using Bytes = std::vector<Byte>;  // sorted
Byte byte(int memory, int lane, std::int64_t offset) {
  return static_cast<Byte>(memory) << 48U | static_cast<Byte>(lane) << 40U | static_cast<Byte>(offset);
}
struct Touched {
  Bytes read, written;
  std::vector<MemoryOperand> read_patterns, written_patterns;
};

template <typename Pattern>
void add_bytes(const Pattern& p, int memory, int first, int lanes, std::int64_t base, Bytes& out) {
  const std::int64_t element = size_of(p.dtype);
  for (std::int64_t w = 0; w < p.dims[3].count; ++w) {
    for (std::int64_t z = 0; z < p.dims[2].count; ++z) {
      for (std::int64_t y = 0; y < p.dims[1].count; ++y) {
        for (std::int64_t x = 0; x < p.dims[0].count; ++x) {
          const std::int64_t at = base + element * (x * p.dims[0].step + y * p.dims[1].step +
                                                    z * p.dims[2].step + w * p.dims[3].step);
          for (int lane = first; lane < first + lanes; ++lane) {
            for (std::int64_t b = 0; b < element; ++b) out.push_back(byte(memory, lane, at + b));
          }
        }
      }
    }
  }
}

Touched touched(const Instruction& instruction, Compare compare) {
  Touched t;
  for_each_access(instruction, [&](const auto& p, Role role) {
    if (compare == Compare::patterns) {
      (role == Role::write ? t.written_patterns : t.read_patterns).push_back(p);
      return;
    }
    auto& out = role == Role::write ? t.written : t.read;
    ensure(!p.index.present(), "the slow check takes no register addresses");
    if constexpr (std::is_same_v<std::decay_t<decltype(p)>, AccessPattern>) {
      add_bytes(p, p.space == Space::sbuf ? 0 : 1, p.partition, p.partitions, p.offset, out);
    } else {
      add_bytes(p, 2 + p.tensor, 0, 1, p.offset * size_of(p.dtype), out);
    }
  });
  std::sort(t.read.begin(), t.read.end());
  std::sort(t.written.begin(), t.written.end());
  return t;
}

bool meet(const Bytes& a, const Bytes& b) {
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (*x == *y) return true;
    ++(*x < *y ? x : y);
  }
  return false;
}

bool meet(const std::vector<MemoryOperand>& a, const std::vector<MemoryOperand>& b) {
  const auto one = [](const auto& x, const auto& y) {
    if constexpr (std::is_same_v<decltype(x), decltype(y)>) return overlap(x, y);
    return false;
  };
  for (const MemoryOperand& x : a) {
    for (const MemoryOperand& y : b) {
      if (std::visit(one, x, y)) return true;
    }
  }
  return false;
}

// Each instruction has three events: start, end of reading, completion. Increments only add up, so that what
// can happen can still happen later: an event is surely before another exactly if the other never happens
// when everything but the first, and what needs it, is done.
class Order {
 public:
  explicit Order(const Program& program) {
    for (const Engine e : all_engines) {
      first_[static_cast<std::size_t>(e)] = static_cast<int>(all_.size());
      for (const Instruction& i : program.stream(e)) all_.push_back(&i);
    }
    needs_.resize(all_.size() * 3);
    for (const Engine e : all_engines) add_stream(program, e);
    without_.resize(all_.size() * 3);
  }

  int number(Engine e, std::uint32_t index) const {
    return first_[static_cast<std::size_t>(e)] + static_cast<int>(index);
  }
  bool before(int a, int b) const {
    std::vector<bool>& done = without_[static_cast<std::size_t>(a)];
    if (done.empty()) done = all_without(a);
    return !done[static_cast<std::size_t>(b)];
  }
  static int start(int i) { return 3 * i; }
  static int read_done(int i) { return 3 * i + 1; }
  static int complete(int i) { return 3 * i + 2; }

 private:
  void edge(int a, int b) { needs_[static_cast<std::size_t>(b)].push_back(a); }

  // The promises of one engine (design: function and time).
  void add_stream(const Program& program, Engine e) {
    int last_data = -1;
    const auto size = static_cast<std::uint32_t>(program.stream(e).size());
    for (std::uint32_t k = 0; k < size; ++k) {
      const int i = number(e, k);
      const Instruction& instruction = *all_[static_cast<std::size_t>(i)];
      edge(start(i), read_done(i));
      edge(read_done(i), complete(i));
      if (k + 1 < size) edge(start(i), start(i + 1));
      if (is_data(instruction)) {
        if (last_data >= 0) {
          edge(read_done(last_data), read_done(i));
          edge(complete(last_data), complete(i));
        }
        last_data = i;
      } else if (!is_dma(instruction)) {
        // Executed by the sequencer itself, before it goes on.
        if (k + 1 < size) edge(complete(i), start(i + 1));
        if (instruction.opcode == Opcode::drain && last_data >= 0) edge(complete(last_data), complete(i));
      }
    }
  }

  // What happens when everything is done that needs not this event. A transfer without its last part still
  // signals with the other 15.
  std::vector<bool> all_without(int blocked) const {
    std::vector<bool> done(needs_.size());
    std::array<std::uint32_t, 256> counted{};
    bool partly = false;
    for (bool more = true; more;) {
      more = false;
      for (int event = 0; event < static_cast<int>(needs_.size()); ++event) {
        const auto n = static_cast<std::size_t>(event);
        if (done[n] || !can_happen(event, done, counted)) continue;
        const Instruction& instruction = *all_[n / 3];
        if (event == blocked) {
          if (!partly && is_dma(instruction) && event % 3 == 2 && instruction.update.present()) {
            counted[instruction.update.semaphore] += 15;
            partly = more = true;
          }
          continue;
        }
        done[n] = more = true;
        const Update& update = instruction.update;
        if (!update.present()) continue;
        ensure(update.operation == UpdateOperation::sem_inc, "the slow check takes increments only");
        const bool signals = event % 3 == (update.when == UpdateWhen::read && !is_dma(instruction) ? 1 : 2);
        if (signals) counted[update.semaphore] += is_dma(instruction) ? 16 : 1;
      }
    }
    return done;
  }
  bool can_happen(int event, const std::vector<bool>& done,
                  const std::array<std::uint32_t, 256>& counted) const {
    for (const int before : needs_[static_cast<std::size_t>(event)]) {
      if (!done[static_cast<std::size_t>(before)]) return false;
    }
    const Wait& wait = all_[static_cast<std::size_t>(event) / 3]->wait;
    return event % 3 != 0 || !wait.present() || counted[wait.semaphore] >= wait.value;
  }

  std::vector<const Instruction*> all_;
  std::array<int, engine_count> first_{};
  std::vector<std::vector<int>> needs_;
  mutable std::vector<std::vector<bool>>
      without_;  // by the event that does not happen, as they are asked for
};

}  // namespace

std::vector<std::string> unordered_accesses(const Program& text, const Program& program, Compare compare,
                                            bool either) {
  const Order order(program);
  // The text's instructions are those of the program without the event_semaphores and drains of its own: same
  // order within each stream.
  std::array<std::uint32_t, engine_count> next{};
  struct Item {
    Engine engine;
    std::uint32_t index;
    const Instruction* instruction;
    Touched touched;
  };
  std::vector<Item> items;
  std::array<std::uint32_t, engine_count> taken{};
  for (const Engine e : text.order) {
    const auto n = static_cast<std::size_t>(e);
    const Instruction& original = text.stream(e)[taken[n]++];
    while (!(program.stream(e)[next[n]].opcode == original.opcode &&
             program.stream(e)[next[n]].operands == original.operands)) {
      ++next[n];
    }
    items.push_back({e, next[n]++, &original, touched(original, compare)});
  }
  std::vector<std::string> found;
  for (std::size_t k = 0; k < items.size(); ++k) {
    for (std::size_t i = 0; i < k; ++i) {
      const Item& a = items[i];
      const Item& b = items[k];
      const bool raw = meet(a.touched.written, b.touched.read) ||
                       meet(a.touched.written_patterns, b.touched.read_patterns);
      const bool waw = meet(a.touched.written, b.touched.written) ||
                       meet(a.touched.written_patterns, b.touched.written_patterns);
      const bool war = meet(a.touched.read, b.touched.written) ||
                       meet(a.touched.read_patterns, b.touched.written_patterns);
      if (!raw && !waw && !war) continue;
      const bool piped = a.engine == b.engine && is_data(*a.instruction) && is_data(*b.instruction);
      if (piped && !raw) continue;
      // A register instruction's access is over before the next instruction of its stream.
      const int from = order.number(a.engine, a.index);
      const int last = raw || waw || is_dma(*a.instruction) ? Order::complete(from) : Order::read_done(from);
      const int to = order.number(b.engine, b.index);
      if (order.before(last, Order::start(to))) continue;
      const int last_of_b = waw || war || is_dma(*b.instruction) ? Order::complete(to) : Order::read_done(to);
      if (either && order.before(last_of_b, Order::start(from))) continue;
      found.push_back(fmt::format("{} [{} {}] and [{} {}]: {}",
                                  raw   ? "RAW"
                                  : waw ? "WAW"
                                        : "WAR",
                                  name(a.engine), a.index, name(b.engine), b.index,
                                  print(*b.instruction, b.engine, text)));
    }
  }
  return found;
}

}  // namespace ncemu::test
