#pragma once

// Looks at what an instruction made: the first NaN or infinity that comes from finite operands, and how many
// values an fp8 or integer destination could not hold. Costs one pass over float results; sources are looked
// at only when a result is not finite; before an instruction that works in place they are looked at once
// something in the run is not finite.

#include <cstdint>
#include <mutex>
#include <optional>

#include "isa/instruction.h"

namespace ncemu {

struct State;
struct DataEvent;

// Counts, block by block, the values that a conversion to `type` cannot hold.
class SaturationCount {
 public:
  // `guard`: several threads look; null: one does.
  void begin(std::mutex* guard) {
    *this = {};
    guard_ = guard;
  }
  // `count` values of consecutive elements of each of `lanes` partitions, from element `first` of `partition`
  // on. A transfer counts its elements through, in partition 0.
  void look(DType type, const float* values, int partition, int lanes, std::int64_t first,
            std::int64_t count);
  std::int64_t values() const { return values_; }
  int partition() const { return partition_; }  // of the first
  std::int64_t element() const { return element_; }
  float value() const { return value_; }

 private:
  void add(std::int64_t values, int partition, std::int64_t element, float value);

  std::mutex* guard_ = nullptr;
  std::int64_t values_ = 0, element_ = 0;
  int partition_ = 0;
  float value_ = 0;
};

class ValueWatch {
 public:
  // Around the execution of one instruction; `after` tells State::on_event what it found.
  void before(const Instruction& instruction, const State& state);
  void after(const Instruction& instruction, State& state);
  SaturationCount& saturation() { return saturation_; }
  // The instruction saw for itself that all its results are finite: they need not be looked at again.
  void found_finite() { found_finite_ = true; }

 private:
  SaturationCount saturation_;
  bool started_ = false, all_finite_ = false;
  bool finite_before_ = true;  // of sources that the instruction may overwrite
  bool found_finite_ = false;  // by the instruction itself
  bool anything_reported_ = false;
};

// Where to count what is written as `type`; null: the values are not watched, or the type saturates nothing.
SaturationCount* saturation_of(State& state, DType type);

}  // namespace ncemu
