#pragma once

// The bounds ladder: from the measured time down to what the work needs at least, with a name for each gap.
// The same for a kernel, a window of time, or a part of the source.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "emu/machine_config.h"
#include "emu/observe/regions.h"
#include "emu/observe/timeline.h"

namespace ncemu {

enum class Rung : std::uint8_t {
  total,
  memory_bound,                      // any DMA engine is active
  memory_bound_ideal,                // bytes moved / peak of the DMA engines (see peak_ticks)
  memory_bound_ideal_no_reloads,     // each byte of inputs and outputs moved once / the same peak
  compute_bound,                     // the tensor engine is active
  compute_bound_ideal_flops,         // FLOPs / peak of the types used
  compute_bound_ideal_useful_flops,  // the same without transposes
  perfect_pipeline,                  // the slowest engine's active time
};
inline constexpr std::size_t rung_count = 8;
std::string_view name(Rung rung);
// What lies between a rung and the one it is compared with: "dma_idle", ...
std::string_view gap_name(Rung rung);
Rung above(Rung rung);  // the rung that the gap is measured from; total has none

// What a ladder is computed from, in ticks.
struct BoundsWork {
  Ticks total = 0;
  Ticks dma_active = 0;
  Ticks dma_quiet = 0;  // summed over the 16 DMA engines: without a packet
  std::array<Ticks, engine_count> engine_active{};
  // Moved by DMA, and of these the bytes of inputs and outputs that move for the first time; stores apart.
  double loaded = 0, loaded_once = 0, stored = 0, stored_once = 0;
  double hbm_read = 0, hbm_written = 0;          // of the moved bytes
  double flops = 0, transpose_flops = 0;         // the tensor engine's
  double flop_ticks = 0, useful_flop_ticks = 0;  // at the array's peak
  bool moves = false, computes = false;          // transfers, matmuls
};

struct Ladder {
  // In ticks; absent where it does not apply (no transfer, no matmul).
  std::array<std::optional<double>, rung_count> rungs;
  // total / max(rung, slowest engine that closing this gap does not improve).
  std::array<std::optional<double>, rung_count> speedup;

  std::optional<double> operator[](Rung rung) const { return rungs[static_cast<std::size_t>(rung)]; }
};
// The least time in which the DMA engines move these bytes. All share the core's rate but stores that the
// write buffers take: these hold so many bytes, and empty themselves while their engines are quiet.
double peak_ticks(double loaded, double stored, Ticks quiet, const MachineConfig& machine);
Ladder ladder(const BoundsWork& work, const MachineConfig& machine);

class BoundsInput {
 public:
  BoundsInput(const Timeline& timeline, const Program& program, const MachineConfig& machine,
              std::vector<std::int64_t> first_touch);  // by transfer: bytes it is the first to move

  BoundsWork kernel() const;
  // `count` windows of equal length; bytes and FLOPs are shared out by time.
  std::vector<BoundsWork> windows(std::size_t count) const;
  // By region: from the first start to the last completion of what belongs to it.
  std::vector<BoundsWork> regions(const Regions& regions) const;

 private:
  // A part of the tensor engine's work.
  struct Matmuls {
    Serial serial = 0;
    double flops = 0;
    double flop_ticks = 0;  // of the array's peak for its types
    bool transpose = false;
  };
  void add_flops(BoundsWork& work, const Matmuls& matmul, double share) const;
  bool is_store(std::uint32_t transfer) const;
  std::uint32_t site_of(Serial serial) const;

  const Timeline* timeline_;
  const Program* program_;
  std::vector<std::int64_t> first_touch_;
  std::vector<std::uint32_t> spans_by_begin_;
  std::vector<Matmuls> matmuls_;
};

}  // namespace ncemu
