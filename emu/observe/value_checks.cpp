#include "emu/observe/value_checks.h"

#include <fmt/format.h>

#include "emu/observe/operands.h"

namespace ncemu {
namespace {

CheckKind check_of(NumericEvent::Kind kind) {
  switch (kind) {
    case NumericEvent::Kind::group: return CheckKind::groups;
    case NumericEvent::Kind::outside_domain: return CheckKind::ranges;
    case NumericEvent::Kind::not_finite: return CheckKind::nonfinite;
    case NumericEvent::Kind::saturated: return CheckKind::saturation;
  }
  return CheckKind::ranges;
}

// Byte of an element of the stream.
template <typename Pattern>
std::int64_t byte_of(const Pattern& pattern, std::int64_t begin, std::int64_t element) {
  for (const auto& d : pattern.dims) {
    begin += element % d.count * d.step * size_of(pattern.dtype);
    element /= d.count;
  }
  return begin;
}

// The destination's element as the user would index it.
std::string describe_element(const Program& program, const NumericEvent& event) {
  std::string text;
  for_each_operand(*event.instruction, [&](std::string_view, const auto& pattern, Role role) {
    if (role != Role::write || !text.empty()) return;
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
      text = describe_byte(program, pattern.space, pattern.place, event.partition,
                           byte_of(pattern, pattern.offset, event.element));
    } else {
      text = describe_byte(program, pattern.tensor,
                           byte_of(pattern, pattern.offset * size_of(pattern.dtype), event.element));
    }
  });
  return text;
}

DType destination_type(const Instruction& instruction) {
  std::optional<DType> type;
  for_each_operand(instruction, [&](std::string_view, const auto& pattern, Role role) {
    if (role == Role::write && !type) type = pattern.dtype;
  });
  return type.value_or(DType::f32);
}

}  // namespace

// Groups are followed without data (accumulation.h).
void ValueChecks::on_numeric(const NumericEvent& event) {
  if (event.kind == NumericEvent::Kind::group || event.instruction == nullptr) return;
  const CheckKind kind = check_of(event.kind);
  const std::uint32_t site = event.instruction->site;
  const auto [entry, is_new] =
      index_.try_emplace({kind, site, event.engine, site == 0 ? event.index : 0}, seen_.size());
  if (is_new) {
    const std::string where = describe_element(program_, event);
    const std::string first =
        fmt::format("{} {} {}", event.value.value_or(0), kind == CheckKind::nonfinite ? "at" : "for", where);
    seen_.push_back({kind, {event.engine, event.index, fmt::format("writes {}", where)}, first, 0, 0});
  }
  ++seen_[entry->second].times;
  seen_[entry->second].values += event.count;
}

std::vector<Finding> ValueChecks::findings() const {
  std::vector<Finding> findings;
  for (const Seen& seen : seen_) {
    const Instruction& by = program_.stream(seen.by.engine)[seen.by.index];
    const std::string_view mnemonic = info(by.opcode).mnemonic;
    Finding f;
    f.kind = seen.kind;
    f.involved.push_back(seen.by);
    f.count = seen.times;
    if (seen.kind == CheckKind::ranges) {
      const auto* activation = std::get_if<Activation>(&by.operands);
      f.message = fmt::format("{}: inputs outside the valid range of {}, the first is {}", mnemonic,
                              activation != nullptr ? name(activation->func) : "the function", seen.first);
      f.fix = "scale or clamp the input before, or use a function that is defined there";
    } else if (seen.kind == CheckKind::nonfinite) {
      f.message = fmt::format("{}: makes {} from finite operands", mnemonic, seen.first);
    } else {
      f.message = fmt::format("{}: {} value{} lie{} outside {}, the first is {}", mnemonic, seen.values,
                              seen.values == 1 ? "" : "s", seen.values == 1 ? "s" : "",
                              name(destination_type(by)), seen.first);
      f.fix = "scale the values to the type's range before";
    }
    findings.push_back(std::move(f));
  }
  return findings;
}

}  // namespace ncemu
