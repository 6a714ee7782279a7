#pragma once

// The operands of an instruction that touch memory, with their names; and how a place in memory reads in the
// user's words.

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "isa/program.h"

namespace ncemu {

namespace detail {
template <typename Visit>
struct NamedAccess {
  Visit& visit;
  int lane_count;
  void operator()(std::string_view name, const AccessPattern& p, Role role) { visit(name, p, role); }
  void operator()(std::string_view name, const std::optional<AccessPattern>& p, Role role) {
    if (p) visit(name, *p, role);
  }
  void operator()(std::string_view name, const MemoryOperand& m, Role role) {
    std::visit([&](const auto& p) { visit(name, p, role); }, m);
  }
  void operator()(std::string_view name, const ScalarOperand& s, Role role) {
    if (const auto* p = std::get_if<PointerOperand>(&s)) visit(name, as_pattern(*p, lane_count), role);
  }
  template <typename T>
  void operator()(std::string_view, const T&, Role) {}
};
}  // namespace detail

// for_each_access (isa/instruction.h) with names: visit(name, pattern, role).
template <typename Visit>
void for_each_operand(const Instruction& instruction, Visit&& visit) {
  if (const auto* nonzero = std::get_if<NonzeroWithCount>(&instruction.operands)) {
    for (int lane = 0; lane < nonzero->src.partitions; lane += NonzeroWithCount::lane_step)
      visit("src", one_lane(nonzero->src, lane), Role::read);
    for (int lane = 0; lane < nonzero->dst.partitions; lane += NonzeroWithCount::lane_step)
      visit("dst", one_lane(nonzero->dst, lane), Role::write);
    return;
  }
  detail::NamedAccess<std::remove_reference_t<Visit>> visitor{visit, lanes(instruction.operands)};
  for_each_field(instruction.operands, visitor);
  const auto* copy = std::get_if<DmaCopy>(&instruction.operands);
  if (copy != nullptr && copy->accumulate) visitor("dst", copy->dst, Role::read);
}

// "t[100, 0]" or, without a tile, "SBUF partition 100, byte 4096".
std::string describe_byte(const Program& program, Space space, PlaceId place, int partition,
                          std::int64_t byte);
// "y[3, 5]": the element of the tensor that holds the byte.
std::string describe_byte(const Program& program, std::uint16_t tensor, std::int64_t byte);
// "tile 't'", "tensor 'x'", "SBUF".
std::string describe_memory(const Program& program, const AccessPattern& pattern);
std::string describe_memory(const Program& program, const HbmPattern& pattern);

}  // namespace ncemu
