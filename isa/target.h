#pragma once

// What decides legality and placement: the generation and the geometry of one core. Nothing here
// costs time (that is emu/machine_config.h).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ncemu {

struct Target {
  std::string machine = "trn1";                     // the name in reports and in `.machine`
  int generation = 2;                               // NeuronCore-v2 or -v3
  std::uint32_t sbuf_partition_bytes = 192 * 1024;  // datasheet 1.2
  std::uint32_t psum_bank_bytes = 2048;             // datasheet 1.2
  std::uint32_t psum_banks = 8;                     // datasheet 1.2
  std::uint32_t partitions = 128;                   // datasheet 1.2
  std::uint32_t semaphores = 256;                   // datasheet 1.2
  std::uint32_t semaphore_max = 65535;              // datasheet 2.4, assumed
  std::uint32_t registers = 64;                     // datasheet 1.2
  std::uint32_t dma_queues = 16;                    // datasheet 1.2
  std::uint32_t dma_engines = 16;                   // datasheet 1.1

  std::uint32_t psum_partition_bytes() const { return psum_banks * psum_bank_bytes; }
  friend bool operator==(const Target&, const Target&) = default;
};

// The machines that come with the program: inf2, trn1, trn2.
const std::vector<std::string_view>& machine_names();
std::optional<Target> find_target(std::string_view machine);

// The first difference between two targets in words ("generation 3, expected 2"); empty if none.
// The machine's name alone is not a difference.
std::string first_difference(const Target& expected, const Target& found);

}  // namespace ncemu
