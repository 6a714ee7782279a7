#pragma once

// Everything of one core that holds values: memories, the PSUM groups, the registers of the engines'
// data paths. It knows no time. Every byte starts as 0xFF.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "emu/data/lane_random.h"
#include "emu/data/matmul_kernel.h"
#include "emu/data/memory.h"
#include "emu/data/stochastic_rounding.h"
#include "emu/data/value_watch.h"
#include "emu/data/xorwow.h"
#include "isa/program.h"

namespace ncemu {

// A stationary operand as a tile of the tensor engine's array holds it: fp32 values, row-major [k, m].
struct Stationary {
  ArrayPair position, size = whole_array;
  int lanes = 0;     // partitions it came from
  int k = 0, m = 0;  // k = lanes, with double_row twice that: both rows of lane 0, then of lane 1, ...
  DType dtype = DType::f32;
  bool double_row = false;
  std::vector<float> values;
  std::vector<std::byte> raw;  // the same bits as in memory, for transposing
};

// The vector engine's match registers of a lane (datasheet 6.7).
inline constexpr int match_registers = 8;
using MatchValues = std::array<float, match_registers>;

// Something about values that is legal and worth a warning. At most one of a kind per instruction.
struct DataEvent {
  enum class Kind : std::uint8_t {
    joined_no_group,  // matmul with accumulate = true found no group in its destination: it overwrote
    bank_shared,      // matmul went on with a group while a newer one was opened in the same bank
    outside_domain,   // an activation function's input outside its valid range (datasheet 5.3)
    not_finite,       // a NaN or infinity from finite operands; only if the values are watched
    saturated,        // values that an fp8 or integer destination cannot hold; only if they are watched
  } kind = Kind::joined_no_group;
  int partition = 0;         // of the destination: the first element concerned
  std::int64_t element = 0;  // in stream order within the partition
  std::optional<float>
      value{};  // the input (outside_domain), the result (not_finite), before conversion (saturated)
  std::int64_t count = 1;  // values, for saturated
};

class Workers;

struct State {
  explicit State(const Program& program, std::byte initial = initial_byte);
  // From now on. `helpers` must outlive the state.
  void share_work(Workers& helpers);

  int generation = 2;
  OnChipMemory sbuf, psum;
  HbmMemory hbm;
  std::vector<Stationary> stationaries;  // of disjoint tiles of the array
  PsumGroups groups;
  std::array<float, 128> scalar_accumulators{};  // datasheet 1.2; of destination partition p [assumed]
  std::array<Xorwow, 128> gpsimd_generators = initial_generators();  // datasheet 6.9; of partition p
  std::array<float, 128> vector_accumulators{};  // datasheet 6.6; of destination partition p [assumed]
  std::array<std::optional<MatchValues>, 128> match_values;  // of source partition p [assumed]
  std::optional<ShuffleMask> shuffle_mask;                   // datasheet 6.3.4
  std::array<std::uint32_t, 128> vector_random = seeded_lanes(0);
  std::optional<TableSet> resident_table;
  std::function<void(const DataEvent&)> on_event;         // may be empty
  std::optional<ValueWatch> watch;                        // absent: results are not looked at
  std::optional<StochasticRounding> stochastic_rounding;  // absent: to nearest even

  Workers* workers = nullptr;  // threads that help with large instructions; null: none

  // Room for one matmul, kept between instructions.
  std::vector<PackingRoom> packing_rooms = std::vector<PackingRoom>(1);  // of each thread
  std::vector<float> moving_values;
  std::vector<float> product;
};

// One instruction's effect on the state. `operands` must be resolved: no registers left in them. A
// register among scalar operands has become an integer where its operator is of the bitvec class (or
// the destination of memset an integer type), else the float of the same bits.
// Throws Fault(program) for what cannot be executed (an activation whose table is not resident) and
// Fault(internal) for a control instruction.
void execute(const Instruction& instruction, Engine engine, State& state);

// The row of the table that each partition of a transfer by index moves; -1 where the index lies outside.
// Throws Fault(program) when the index is no column of u32 or i32.
std::vector<std::int64_t> chosen_rows(const DmaCopy& transfer, State& state);

// Reads and writes single elements, for register_load and register_store: integers sign- or
// zero-extended and truncated, floats as their bits.
std::uint32_t load_element(const MemoryOperand& operand, const State& state);
void store_element(const MemoryOperand& operand, std::uint32_t bits, State& state);

}  // namespace ncemu
