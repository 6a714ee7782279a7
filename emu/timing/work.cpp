#include <algorithm>

#include "emu/timing/cost.h"

namespace ncemu {

Work work(const Instruction& instruction) {
  Work w;
  if (info(instruction.opcode).is_dma()) return w;  // its bytes are in TransferWork
  for_each_field(instruction.operands, [&](std::string_view, const auto& field, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, AccessPattern>) {
      w.elements = std::max(w.elements, field.elements());
    }
  });
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
      const std::int64_t bytes = pattern.bytes_per_partition() * pattern.partitions;
      const bool reads = role == Role::read;
      if (pattern.space == Space::sbuf) (reads ? w.sbuf_read : w.sbuf_written) += bytes;
      if (pattern.space == Space::psum) (reads ? w.psum_read : w.psum_written) += bytes;
    }
  });
  if (const auto* mm = std::get_if<Matmul>(&instruction.operands)) {
    w.flops = 2 * std::int64_t{mm->moving.partitions} * mm->dst.partitions * mm->moving.elements();
  }
  return w;
}

}  // namespace ncemu
