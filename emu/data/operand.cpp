#include "emu/data/operand.h"

#include <cstring>

#include "emu/data/convert.h"
#include "isa/fault.h"

namespace ncemu {

Extent check_inside(std::string_view mnemonic, std::string_view name, const AccessPattern& pattern,
                    const State& state) {
  ensure(!pattern.index.present(), "an instruction's registers are resolved before it executes");
  if (pattern.space == Space::hbm) {
    throw Fault(FaultKind::program, "", "{}: {} is in HBM, expected SBUF or PSUM", mnemonic, name);
  }
  const OnChipMemory& memory = pattern.space == Space::sbuf ? state.sbuf : state.psum;
  if (pattern.partitions == 0 || pattern.elements() == 0) {
    throw Fault(FaultKind::program, "", "{}: {} is empty", mnemonic, name);
  }
  if (pattern.partition + pattern.partitions > static_cast<int>(memory.partitions())) {
    throw Fault(FaultKind::program, "", "{}: {} takes partitions {}-{}, {} has {}", mnemonic, name,
                pattern.partition, pattern.partition + pattern.partitions - 1, ncemu::name(pattern.space),
                memory.partitions());
  }
  const Extent e = extent(pattern);
  if (e.begin < 0 || e.end > memory.partition_bytes()) {
    throw Fault(FaultKind::program, "", "{}: {} takes bytes {}-{} of each partition, {} has {}", mnemonic,
                name, e.begin, e.end - 1, ncemu::name(pattern.space), memory.partition_bytes());
  }
  return e;
}

void check_inside(std::string_view mnemonic, std::string_view name, const HbmPattern& pattern,
                  const State& state) {
  ensure(!pattern.index.present(), "an instruction's registers are resolved before it executes");
  if (pattern.elements() == 0) throw Fault(FaultKind::program, "", "{}: {} is empty", mnemonic, name);
  const Extent e = extent(pattern);
  const std::int64_t bytes = state.hbm.bytes(pattern.tensor);
  if (e.begin < 0 || e.end > bytes) {
    throw Fault(FaultKind::program, "", "{}: {} takes bytes {}-{} of tensor '{}', which has {}", mnemonic,
                name, e.begin, e.end - 1, state.hbm.name(pattern.tensor), bytes);
  }
}

Operand::Operand(std::string_view mnemonic, std::string_view name, const AccessPattern& pattern, State& state)
    : pattern_(&pattern), name_(name), walk_(pattern) {
  const Extent e = check_inside(mnemonic, name, pattern, state);
  OnChipMemory& memory = pattern.space == Space::sbuf ? state.sbuf : state.psum;
  row_bytes_ = memory.stride();
  base_ = memory.row(pattern.partition, e.begin, e.end);
  rounding_ = state.stochastic_rounding ? &*state.stochastic_rounding : nullptr;
  saturation_ = saturation_of(state, pattern.dtype);
}

const std::byte* Operand::in_place(const Block& block) const {
  if (block.lanes != 1 || !walk_.contiguous()) return nullptr;
  return row(block.lane) + walk_.offset() + block.first * walk_.element_bytes();
}

const std::byte* Operand::bytes(const Block& block, BlockBytes& raw) const {
  if (const std::byte* here = in_place(block)) return here;
  read(block, raw.data());
  return raw.data();
}

void Operand::read(const Block& block, std::byte* to) const {
  for (int lane = block.lane; lane < block.lane + block.lanes; ++lane) {
    const std::byte* base = row(lane);
    walk_.segments(block.first, block.count, [&](const Segment& s) {
      gather(s, walk_.element_bytes(), base, to);
      to += s.count * walk_.element_bytes();
    });
  }
}

void Operand::write(const Block& block, const std::byte* from) {
  for (int lane = block.lane; lane < block.lane + block.lanes; ++lane) {
    std::byte* base = row(lane);
    walk_.segments(block.first, block.count, [&](const Segment& s) {
      scatter(s, walk_.element_bytes(), base, from);
      from += s.count * walk_.element_bytes();
    });
  }
}

void Operand::read(const Block& block, float* to, BlockBytes& raw) const {
  if (dtype() == DType::f32) {
    read(block, reinterpret_cast<std::byte*>(to));
  } else {
    to_f32(dtype(), bytes(block, raw), to, block.size());
  }
}

void Operand::write(const Block& block, const float* from, BlockBytes& raw) {
  if (saturation_ != nullptr)
    saturation_->look(dtype(), from, pattern_->partition + block.lane, block.lanes, block.first, block.count);
  if (rounding_ != nullptr && is_float(dtype()) && dtype() != DType::f32) {
    rounding_->convert(dtype(), from, raw.data(), block.lane, block.lanes, block.first, block.count);
    write(block, raw.data());
    return;
  }
  // fp32 too: a NaN is stored as the one of datasheet 4.4, whatever the host made.
  if (const std::byte* here = in_place(block)) {
    from_f32(dtype(), from, row(block.lane) + (here - row(block.lane)), block.size());
  } else {
    from_f32(dtype(), from, raw.data(), block.size());
    write(block, raw.data());
  }
}

const float* Operand::floats_in_place(const Block& block) const {
  if (dtype() != DType::f32) return nullptr;
  const std::byte* here = in_place(block);
  const bool aligned = reinterpret_cast<std::uintptr_t>(here) % alignof(float) == 0;
  return aligned ? reinterpret_cast<const float*>(here) : nullptr;
}

PlainRow Operand::plain_row(const Block& block) const {
  if (dtype() == DType::f32) return {floats_in_place(block), false};
  if (dtype() != DType::bf16 || rounding_ != nullptr) return {};
  const std::byte* here = in_place(block);
  const bool aligned = reinterpret_cast<std::uintptr_t>(here) % sizeof(std::uint16_t) == 0;
  return {aligned ? here : nullptr, true};
}

const float* Operand::values(const Block& block, BlockOf<float>& buffer, BlockBytes& raw) const {
  if (const float* here = floats_in_place(block)) return here;
  read(block, buffer.data(), raw);
  return buffer.data();
}

float* Operand::results(const Block& block, BlockOf<float>& buffer) {
  const float* here = floats_in_place(block);
  return here != nullptr ? reinterpret_cast<float*>(row(block.lane) + walk_.offset()) + block.first
                         : buffer.data();
}

void Operand::finish(const Block& block, const float* results, BlockBytes& raw) {
  if (results != floats_in_place(block)) write(block, results, raw);
}

void Operand::read(const Block& block, std::uint32_t* to, BlockBytes& raw) const {
  to_u32(dtype(), bytes(block, raw), to, block.size());
}

void Operand::write(const Block& block, const std::uint32_t* from, BlockBytes& raw) {
  from_u32(dtype(), from, raw.data(), block.size());
  write(block, raw.data());
}

void check_same_stream(std::string_view mnemonic, const Operand& dst, const Operand& src) {
  if (dst.lanes() == src.lanes() && dst.elements() == src.elements()) return;
  throw Fault(FaultKind::program, "", "{}: {} has {} partitions x {} elements, {} has {} x {}", mnemonic,
              dst.name(), dst.lanes(), dst.elements(), src.name(), src.lanes(), src.elements());
}

void leave_groups(const AccessPattern& dst, State& state) {
  if (dst.space != Space::psum) return;
  const detail::Runs runs = detail::runs(dst);
  for (int lane = 0; lane < dst.partitions; ++lane) {
    const auto partition = static_cast<std::uint32_t>(dst.partition + lane);
    auto clear = [&](std::int64_t offset, std::int64_t length) {
      const auto first = static_cast<std::uint32_t>(offset / 4);
      state.groups.stamp({partition, first, static_cast<std::uint32_t>((offset + length + 3) / 4) - first},
                         0);
    };
    detail::walk(runs, runs.rank, runs.offset, clear);
  }
}

std::int64_t block_limit(const Operand& dst, const Operand& src) {
  return blocks_are_safe(dst.pattern(), src.pattern()) ? block_elements : 1;
}

}  // namespace ncemu
