#pragma once

// Which elements of a destination depend on which elements of a source, as far as finding the origin of an
// unwritten value needs it: never less than the truth, and more only where a lane or a tile is taken whole.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "emu/observe/shadow.h"
#include "isa/instruction.h"

namespace ncemu {

// How an instruction's destination follows its sources.
enum class Flow : std::uint8_t {
  elements,  // element by element, or blocks of elements onto one; a single element onto its whole lane
  lanes,     // every element of a lane on every element of the lane
  all,       // across lanes
};
Flow flow(Opcode opcode);

// True if data choose which elements of the operand are read.
bool chosen_by_data(const Instruction& instruction, std::string_view operand);

// A source or destination: origins per element, partition slowest.
struct Flowing {
  std::size_t lanes = 0;
  std::vector<Origin> origins;
  std::size_t elements() const { return lanes == 0 ? 0 : origins.size() / lanes; }
};

// Adds what `source` brings to `destination`; what carries an origin already keeps it.
void flow_into(Flowing& destination, const Flowing& source, Flow how);
// The first origin among them, or sound.
Origin first_origin(const std::vector<Origin>& origins);

// What the engines hold between instructions: the stationary operand, accumulators, match values.
class EngineOrigins {
 public:
  bool any() const { return any_; }
  // What the instruction takes from registers flows into `destination`, which holds already what came from
  // memory; what it leaves in registers is remembered. `source`: its first operand that is read. A matmul's
  // moving operand flows here too.
  void pass(const Instruction& instruction, Engine engine, const Flowing& source, Flowing& destination);

 private:
  static constexpr std::size_t lanes = 128;
  using PerLane = std::array<Origin, lanes>;

  void load(const LoadStationary& load, const Flowing& source);
  void multiply(const Matmul& matmul, const Flowing& moving, Flowing& destination) const;
  void reduce(PerLane& accumulators, ReduceCommand command, int first, const Flowing& values);

  struct Tile {
    ArrayPair position, size;
    std::vector<Origin> columns;
  };
  bool any_ = false;
  std::vector<Tile> stationaries_;
  PerLane scalar_{}, vector_{};
  Origin match_ = sound, random_ = sound;
};

}  // namespace ncemu
