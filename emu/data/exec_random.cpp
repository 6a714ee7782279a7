// Random numbers of the vector engine, and dropout, which uses them (datasheet 6.9, 6.5.5).

#include <cstring>

#include "emu/data/exec.h"
#include "emu/data/lane_random.h"
#include "emu/data/lane_values.h"
#include "isa/fault.h"

namespace ncemu {

void exec::rng(const Destination& f, Engine engine, State& state) {
  Operand dst("rng", "dst", f.dst, state);
  if (!is_integer(dst.dtype())) {
    throw Fault(FaultKind::program, "", "rng: dst is {}, expected an integer type", name(dst.dtype()));
  }
  BlockBytes raw;
  BlockOf<std::uint32_t> bits;
  for_each_block(dst.lanes(), dst.elements(), block_elements, [&](const Block& block) {
    std::uint32_t* to = bits.data();
    for (int lane = block.lane; lane < block.lane + block.lanes; ++lane) {
      const auto p = static_cast<std::size_t>(f.dst.partition + lane);
      for (std::int64_t i = 0; i < block.count; ++i) {
        *to++ = engine == Engine::gpsimd ? state.gpsimd_generators[p].next()
                                         : next_random(state.vector_random[p]);
      }
    }
    dst.write(block, bits.data(), raw);
  });
  leave_groups(f.dst, state);
}

void exec::set_rng_seed(const Source& f, Engine, State& state) {
  const Operand src("set_rng_seed", "src", f.src, state);
  if (src.lanes() != 1 || src.elements() != 1 || size_of(src.dtype()) != 4) {
    throw Fault(FaultKind::program, "",
                "set_rng_seed: src has {} partitions x {} elements of {}, expected one of 32 bits",
                src.lanes(), src.elements(), name(src.dtype()));
  }
  std::uint32_t seed = 0;
  src.read(Block{0, 1, 0, 1}, reinterpret_cast<std::byte*>(&seed));
  state.vector_random = seeded_lanes(seed);
}

void exec::dropout(const Dropout& f, Engine, State& state) {
  Operand dst("dropout", "dst", f.dst, state);
  const Operand src("dropout", "src", f.src, state);
  check_same_stream("dropout", dst, src);
  const LaneValues<float> threshold = float_values("dropout", "threshold", f.threshold, dst.lanes(), state);
  const bool same_type = src.dtype() == dst.dtype();  // then kept elements keep their bits
  const bool keep_below = f.threshold_type == ThresholdType::keep_rate;
  const auto size = static_cast<std::size_t>(size_of(dst.dtype()));
  BlockBytes raw, kept;
  BlockOf<float> values;
  for_each_block(dst.lanes(), dst.elements(), block_limit(dst, src), [&](const Block& block) {
    if (same_type) {
      src.read(block, kept.data());
    } else {
      src.read(block, values.data(), raw);
    }
    std::size_t at = 0;
    for (int lane = block.lane; lane < block.lane + block.lanes; ++lane) {
      std::uint32_t& generator = state.vector_random[static_cast<std::size_t>(f.dst.partition + lane)];
      for (std::int64_t i = 0; i < block.count; ++i, ++at) {
        const float u = static_cast<float>(next_random(generator) >> 8) * 0x1p-24F;
        if ((u < threshold.of(lane)) == keep_below) continue;
        if (same_type) {
          std::memset(kept.data() + at * size, 0, size);
        } else {
          values.values[at] = 0;
        }
      }
    }
    same_type ? dst.write(block, kept.data()) : dst.write(block, values.data(), raw);
  });
  leave_groups(f.dst, state);
}

}  // namespace ncemu
