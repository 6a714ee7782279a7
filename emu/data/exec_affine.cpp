// iota and affine_select: patterns of int32 values made by the gpsimd engine itself (datasheet 6.8.1,
// 6.8.2). Values wrap around.

#include <cstring>
#include <vector>

#include "emu/data/convert.h"
#include "emu/data/exec.h"
#include "emu/data/lane_values.h"
#include "isa/comparison.h"
#include "isa/fault.h"
#include "isa/number.h"

namespace ncemu {
namespace {

// The values of a pattern, as bits. Lanes differ by a constant, so one lane's row is kept.
class AffineValues {
 public:
  AffineValues(const AffineDims& pattern, std::int32_t offset, std::int32_t multiplier)
      : multiplier_(static_cast<std::uint32_t>(multiplier)) {
    row_.reserve(static_cast<std::size_t>(pattern.elements()));
    row_.push_back(static_cast<std::uint32_t>(offset));
    // From the fastest dimension on: what there is repeats, a step further each time.
    for (const AffineDim& d : pattern.dims) {
      const std::size_t inner = row_.size();
      const auto step = static_cast<std::uint32_t>(d.step);
      for (std::uint32_t i = 1; i < d.count; ++i) {
        for (std::size_t k = 0; k < inner; ++k) row_.push_back(row_[k] + i * step);
      }
    }
  }

  std::int64_t elements() const { return static_cast<std::int64_t>(row_.size()); }

  void read(const Block& block, std::uint32_t* to) const {
    for (int lane = block.lane; lane < block.lane + block.lanes; ++lane) {
      const std::uint32_t base = static_cast<std::uint32_t>(lane) * multiplier_;
      const std::uint32_t* from = row_.data() + block.first;
      for (std::int64_t i = 0; i < block.count; ++i) *to++ = from[i] + base;
    }
  }

 private:
  std::vector<std::uint32_t> row_;
  std::uint32_t multiplier_;
};

AffineValues values_for(std::string_view mnemonic, const AffineDims& pattern, std::int32_t offset,
                        std::int32_t multiplier, const Operand& dst) {
  if (pattern.elements() != dst.elements()) {
    throw Fault(FaultKind::program, "", "{}: pattern has {} values, dst has {} elements per partition",
                mnemonic, pattern.elements(), dst.elements());
  }
  return {pattern, offset, multiplier};
}

}  // namespace

void exec::iota(const Iota& f, Engine, State& state) {
  Operand dst("iota", "dst", f.dst, state);
  const AffineValues pattern = values_for("iota", f.pattern, f.offset, f.channel_multiplier, dst);
  const bool whole = f.dst.dtype == DType::i32 || f.dst.dtype == DType::u32;
  BlockBytes raw;
  BlockOf<std::uint32_t> values;
  BlockOf<float> floats;
  for_each_block(dst.lanes(), dst.elements(), block_elements, [&](const Block& block) {
    pattern.read(block, values.data());
    if (whole) {
      dst.write(block, values.data(), raw);
    } else {
      to_f32(DType::i32, reinterpret_cast<const std::byte*>(values.data()), floats.data(), block.size());
      dst.write(block, floats.data(), raw);
    }
  });
  leave_groups(f.dst, state);
}

void exec::affine_select(const AffineSelect& f, Engine, State& state) {
  Operand dst("affine_select", "dst", f.dst, state);
  const Operand src("affine_select", "src", f.src, state);
  check_same_stream("affine_select", dst, src);
  const AffineValues pattern = values_for("affine_select", f.pattern, f.offset, f.channel_multiplier, dst);
  const float on_false = float_values("affine_select", "on_false", f.on_false, 1, state).of(0);
  // Equal types keep their bits, others go through fp32 (datasheet 6.8.2).
  const bool bits = f.dst.dtype == f.src.dtype;
  const std::uint32_t false_bits = to_bits(f.dst.dtype, on_false);
  const auto size = static_cast<std::size_t>(size_of(f.dst.dtype));
  BlockBytes raw;
  BlockOf<std::uint32_t> values;
  BlockOf<float> floats;
  for_each_block(dst.lanes(), dst.elements(), block_limit(dst, src), [&](const Block& block) {
    pattern.read(block, values.data());
    const auto selects = [&](std::size_t i) {
      return holds(f.cmp, static_cast<std::int32_t>(values.values[i]), 0);
    };
    if (bits) {
      src.read(block, raw.data());
      for (std::size_t i = 0; i < block.size(); ++i) {
        if (!selects(i)) std::memcpy(raw.data() + i * size, &false_bits, size);
      }
      dst.write(block, raw.data());
    } else {
      src.read(block, floats.data(), raw);
      for (std::size_t i = 0; i < block.size(); ++i) {
        if (!selects(i)) floats.values[i] = on_false;
      }
      dst.write(block, floats.data(), raw);
    }
  });
  leave_groups(f.dst, state);
}

}  // namespace ncemu
