#include "emu/data/lane_slices.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "emu/data/operand.h"
#include "emu/data/workers.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// Each lane of the destination is made of the same lanes of the sources, and of nothing else that an
// instruction leaves behind but values per lane.
bool works_by_lanes(Opcode opcode) {
  switch (opcode) {
    case Opcode::activation:
    case Opcode::tensor_copy:
    case Opcode::memset:
    case Opcode::tensor_scalar:
    case Opcode::tensor_tensor:
    case Opcode::tensor_reduce:
    case Opcode::reciprocal:
    case Opcode::tensor_copy_predicated:
    case Opcode::scalar_tensor_tensor:
    case Opcode::tensor_scalar_reduce:
    case Opcode::tensor_scalar_cumulative:
    case Opcode::tensor_tensor_scan:
    case Opcode::bn_stats:
    case Opcode::range_select:
    case Opcode::select_reduce:
    case Opcode::max8: return true;
    default: return false;
  }
}

// All patterns have the destination's lanes, and no lane reads what another one writes.
bool lanes_are_apart(const Instruction& instruction, int lanes) {
  std::vector<std::pair<AccessPattern, Role>> patterns;
  bool on_chip = true;
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
      patterns.emplace_back(pattern, role);
    } else {
      on_chip = false;
    }
  });
  if (!on_chip) return false;
  for (const auto& [written, role] : patterns) {
    if (written.partitions != lanes) return false;
    if (role != Role::write) continue;
    for (const auto& [other, unused] : patterns) {
      if (other.partition != written.partition && overlap(written, other)) return false;
    }
  }
  return true;
}

void meet(const AccessPattern& pattern, State& state) {
  const Extent e = extent(pattern);
  (pattern.space == Space::sbuf ? state.sbuf : state.psum).row(pattern.partition, e.begin, e.end);
}
void meet(const HbmPattern&, State&) {}

// The fields of a form, cut to lanes [first, first + count).
struct Cut {
  int first, count;
  void operator()(std::string_view, AccessPattern& p, Role) const {
    p.partition = static_cast<std::uint8_t>(p.partition + first);
    p.partitions = static_cast<std::uint8_t>(count);
  }
  void operator()(std::string_view name, std::optional<AccessPattern>& p, Role role) const {
    if (p) (*this)(name, *p, role);
  }
  void operator()(std::string_view, ScalarOperand& s, Role) const {
    if (auto* pointer = std::get_if<PointerOperand>(&s))
      pointer->partition = static_cast<std::uint8_t>(pointer->partition + first);
  }
  template <typename T>
  void operator()(std::string_view, T&, Role) const {}
};

// What slices report, put in the order in which a single thread meets it; an instruction reports at most one
// event of a kind.
class Reports {
 public:
  explicit Reports(State& state) : state_(state), listener_(state.on_event) {
    if (!listener_) return;
    state_.on_event = [this](const DataEvent& event) {
      const std::lock_guard lock(state_.workers->guard());
      events_.push_back(event);
    };
  }
  ~Reports() { state_.on_event = listener_; }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  void pass_on() {
    state_.on_event = listener_;
    const auto place = [](const DataEvent& e) { return std::tuple(e.kind, e.partition, e.element); };
    std::ranges::sort(events_, {}, place);
    const auto again = std::ranges::unique(events_, {}, &DataEvent::kind);
    events_.erase(again.begin(), again.end());
    for (const DataEvent& event : events_) listener_(event);
  }

 private:
  State& state_;
  std::function<void(const DataEvent&)> listener_;
  std::vector<DataEvent> events_;
};

}  // namespace

bool execute_in_slices(const Instruction& instruction, Engine engine, State& state,
                       void (*run)(const Instruction&, Engine, State&)) {
  if (state.workers == nullptr || !works_by_lanes(instruction.opcode)) return false;
  // The random bits of an element depend on the number of its lane within the instruction.
  if (state.stochastic_rounding) return false;
  const int lanes = ncemu::lanes(instruction.operands);
  std::int64_t most = 0;
  for_each_access(instruction, [&](const auto& pattern, Role) { most = std::max(most, pattern.elements()); });
  if (lanes < 2 || most * lanes < state.workers->share_from() || !lanes_are_apart(instruction, lanes))
    return false;

  Reports reports(state);
  try {
    // Memory is filled as it is first met: here, by one thread.
    for_each_access(instruction, [&](const auto& pattern, Role) { check_inside("", "", pattern, state); });
    for_each_access(instruction, [&](const auto& pattern, Role) { meet(pattern, state); });
    state.workers->run([&](int part) {
      const Share slice = share(lanes, part, state.workers->threads());
      if (slice.empty()) return;
      Instruction some = instruction;
      for_each_field(some.operands,
                     Cut{static_cast<int>(slice.begin), static_cast<int>(slice.end - slice.begin)});
      run(some, engine, state);
    });
  } catch (const Fault&) {
    // It is found before anything is written; said by the whole instruction, it names the whole operands.
    return false;
  }
  reports.pass_on();
  return true;
}

}  // namespace ncemu
