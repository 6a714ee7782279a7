#pragma once

// What the tests of the instructions share: random patterns, a machine's memories as plain bytes, and
// element access by nothing but the address formula of datasheet 3.1 and the scalar conversions of
// isa/number.h.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "emu/data/state.h"
#include "isa/number.h"

namespace ncemu::test {

inline Program small_program(int generation = 2) {
  Program program;
  program.name = "test";
  program.target.generation = generation;
  program.target.sbuf_partition_bytes = 96 * 1024;  // smaller, so that whole memories compare fast
  return program;
}

// Dimensions slowest first, as the language lists them: {{step, count}, ...}.
inline AccessPattern pattern(Space space, DType dtype, int partition, int partitions, std::int64_t offset,
                             std::initializer_list<std::array<int, 2>> dims) {
  AccessPattern p;
  p.space = space;
  p.dtype = dtype;
  p.partition = static_cast<std::uint8_t>(partition);
  p.partitions = static_cast<std::uint8_t>(partitions);
  p.offset = static_cast<std::uint32_t>(offset);
  std::size_t i = dims.size();
  for (const auto& d : dims)
    p.dims[--i] = {static_cast<std::int16_t>(d[0]), static_cast<std::uint16_t>(d[1])};
  return p;
}
inline AccessPattern sbuf(DType dtype, int partitions, std::int64_t offset, int count) {
  return pattern(Space::sbuf, dtype, 0, partitions, offset, {{1, count}});
}
inline AccessPattern psum(int partitions, std::int64_t offset, int count) {
  return pattern(Space::psum, DType::f32, 0, partitions, offset, {{1, count}});
}

// Byte offset of element `i` of the stream within a partition.
inline std::int64_t address(const AccessPattern& p, std::int64_t i) {
  std::int64_t elements = 0;
  for (const Dim& d : p.dims) {
    elements += i % d.count * d.step;
    i /= d.count;
  }
  return p.offset + elements * size_of(p.dtype);
}

// Both on-chip memories as bytes, for plain loops to work on beside the real thing.
struct Plain {
  std::vector<std::byte> sbuf, psum;
  std::size_t sbuf_row, psum_row;

  explicit Plain(const State& s)
      : sbuf(s.sbuf.contents()),
        psum(s.psum.contents()),
        sbuf_row(s.sbuf.partition_bytes()),
        psum_row(s.psum.partition_bytes()) {}

  std::byte* at(const AccessPattern& p, int lane, std::int64_t i) {
    const auto row = static_cast<std::size_t>(p.partition + lane);
    const auto offset = static_cast<std::size_t>(address(p, i));
    return p.space == Space::sbuf ? sbuf.data() + row * sbuf_row + offset
                                  : psum.data() + row * psum_row + offset;
  }
  std::uint32_t bits(const AccessPattern& p, int lane, std::int64_t i) {
    std::uint32_t b = 0;
    std::memcpy(&b, at(p, lane, i), static_cast<std::size_t>(size_of(p.dtype)));
    return b;
  }
  float value(const AccessPattern& p, int lane, std::int64_t i) {
    return from_bits(p.dtype, bits(p, lane, i));
  }
  void set_bits(const AccessPattern& p, int lane, std::int64_t i, std::uint32_t b) {
    std::memcpy(at(p, lane, i), &b, static_cast<std::size_t>(size_of(p.dtype)));
  }
  void set(const AccessPattern& p, int lane, std::int64_t i, float v) {
    set_bits(p, lane, i, to_bits(p.dtype, v));
  }

  static bool same(const std::vector<std::byte>& bytes, std::size_t row, const OnChipMemory& memory) {
    for (std::uint32_t p = 0; p < memory.partitions(); ++p) {
      if (!std::equal(memory.row(p), memory.row(p) + row, bytes.data() + p * row)) return false;
    }
    return true;
  }

  // Every byte of both memories.
  bool equals(const State& s) const { return same(sbuf, sbuf_row, s.sbuf) && same(psum, psum_row, s.psum); }
};

// Element access to a State, by the same formula.
inline std::byte* at(State& s, const AccessPattern& p, int lane, std::int64_t i) {
  OnChipMemory& memory = p.space == Space::sbuf ? s.sbuf : s.psum;
  return memory.row(static_cast<std::uint32_t>(p.partition + lane)) + address(p, i);
}
inline std::uint32_t bits(State& s, const AccessPattern& p, int lane, std::int64_t i) {
  std::uint32_t b = 0;
  std::memcpy(&b, at(s, p, lane, i), static_cast<std::size_t>(size_of(p.dtype)));
  return b;
}
inline float value(State& s, const AccessPattern& p, int lane, std::int64_t i) {
  return from_bits(p.dtype, bits(s, p, lane, i));
}
inline void set_bits(State& s, const AccessPattern& p, int lane, std::int64_t i, std::uint32_t b) {
  std::memcpy(at(s, p, lane, i), &b, static_cast<std::size_t>(size_of(p.dtype)));
}
inline void fill(State& s, const AccessPattern& p, const std::function<float(int, std::int64_t)>& f) {
  for (int lane = 0; lane < p.partitions; ++lane) {
    for (std::int64_t i = 0; i < p.elements(); ++i) set_bits(s, p, lane, i, to_bits(p.dtype, f(lane, i)));
  }
}
inline std::vector<float> row(State& s, const AccessPattern& p, int lane = 0) {
  std::vector<float> v;
  for (std::int64_t i = 0; i < p.elements(); ++i) v.push_back(value(s, p, lane, i));
  return v;
}

inline void run(State& s, Opcode opcode, Operands operands, Engine engine) {
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.operands = std::move(operands);
  execute(instruction, engine, s);
}

// ---- random operands ----

using Random = std::mt19937;

inline int pick(Random& r, int low, int high) { return std::uniform_int_distribution<int>(low, high)(r); }
template <typename T>
T pick_of(Random& r, std::initializer_list<T> all) {
  return all.begin()[pick(r, 0, static_cast<int>(all.size()) - 1)];
}

// Up to four factors of `elements`, in random order.
inline std::array<int, 4> random_counts(Random& r, int elements) {
  std::array<int, 4> counts{1, 1, 1, 1};
  int rest = elements;
  for (int f = 2; f <= rest;) {
    if (rest % f != 0) {
      ++f;
      continue;
    }
    counts[static_cast<std::size_t>(pick(r, 0, 3))] *= f;
    rest /= f;
  }
  return counts;
}

// A pattern of the counts (fastest first) inside [begin, ...) that visits no element twice: dimensions nest
// in random order with random gaps and signs. With `repeats` (sources), some dimensions have step 0.
inline AccessPattern random_pattern(Random& r, Space space, DType dtype, int partition, int partitions,
                                    const std::array<int, 4>& counts, std::int64_t begin, bool repeats) {
  AccessPattern p;
  p.space = space;
  p.dtype = dtype;
  p.partition = static_cast<std::uint8_t>(partition);
  p.partitions = static_cast<std::uint8_t>(partitions);
  std::array<std::size_t, 4> nest{0, 1, 2, 3};
  if (pick(r, 0, 1)) std::shuffle(nest.begin(), nest.end(), r);
  const bool gaps = pick(r, 0, 2) > 0;
  int reach = 1;
  std::int64_t shift = 0;
  for (const std::size_t d : nest) {
    p.dims[d].count = static_cast<std::uint16_t>(counts[d]);
    if (counts[d] == 1) continue;
    if (repeats && pick(r, 0, 4) == 0) continue;  // step 0
    const int step = reach + (gaps ? pick(r, 0, 2) : 0);
    const bool backwards = pick(r, 0, 4) == 0;
    p.dims[d].step = static_cast<std::int16_t>(backwards ? -step : step);
    if (backwards) shift += std::int64_t{step} * (counts[d] - 1);
    reach = step * counts[d];
  }
  p.offset = static_cast<std::uint32_t>(begin + shift * size_of(dtype));
  return p;
}

// Partitions and a legal start for each of `operands` (datasheet 1.5).
struct RandomLanes {
  int partitions;
  std::array<int, 3> start{};
};
inline RandomLanes random_lanes(Random& r) {
  RandomLanes lanes{pick_of(r, {1, 5, 31, 32, 64, 127, 128}), {}};
  for (int& start : lanes.start) {
    if (lanes.partitions <= 32) {
      start = 32 * pick(r, 0, 3);
    } else if (lanes.partitions <= 64) {
      start = 64 * pick(r, 0, 1);
    }
  }
  return lanes;
}

// Ordinary values, and now and then one from the edges.
inline float random_value(Random& r) {
  switch (pick(r, 0, 40)) {
    case 0: return std::numeric_limits<float>::quiet_NaN();
    case 1: return std::numeric_limits<float>::infinity();
    case 2: return -std::numeric_limits<float>::infinity();
    case 3: return -0.0F;
    case 4: return 1e-40F;
    case 5: return 3e38F;
    default: return std::normal_distribution<float>(0, 20)(r);
  }
}
// Any bits an element of the type may have.
inline void fill_random(State& s, const AccessPattern& p, Random& r, bool raw) {
  for (int lane = 0; lane < p.partitions; ++lane) {
    for (std::int64_t i = 0; i < p.elements(); ++i) {
      set_bits(s, p, lane, i, raw ? static_cast<std::uint32_t>(r()) : to_bits(p.dtype, random_value(r)));
    }
  }
}

inline constexpr std::initializer_list<DType> every_type = {
    DType::f32, DType::tf32, DType::bf16, DType::f16, DType::f8e5m2, DType::f8e4m3, DType::f8e3m4,
    DType::i8,  DType::i16,  DType::i32,  DType::u8,  DType::u16,    DType::u32};
inline constexpr std::initializer_list<DType> integer_types = {DType::i8, DType::i16, DType::i32,
                                                               DType::u8, DType::u16, DType::u32};
inline constexpr std::initializer_list<int> awkward_sizes = {1,   2,   60,   127,  128,  129,
                                                             511, 512, 1023, 1024, 1025, 2100};

}  // namespace ncemu::test
