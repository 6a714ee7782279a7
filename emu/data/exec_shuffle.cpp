// The vector engine's moves between lanes: stream_shuffle with its mask, and transpose
// (datasheet 6.3.4, 6.2).

#include <algorithm>
#include <cstring>
#include <vector>

#include "emu/data/exec.h"
#include "emu/data/operand.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

constexpr int quadrant = ShuffleMask::lanes;

void check_same_type(std::string_view mnemonic, const Operand& dst, const Operand& src) {
  if (dst.dtype() == src.dtype()) return;
  throw Fault(FaultKind::program, "", "{}: dst is {}, src is {}; they must be equal", mnemonic,
              name(dst.dtype()), name(src.dtype()));
}

}  // namespace

void exec::load_mask(const LoadMask& f, Engine, State& state) {
  for (int lane = 0; lane < quadrant; ++lane) {
    const std::uint8_t source = f.mask.source[static_cast<std::size_t>(lane)];
    if (source < quadrant || source == ShuffleMask::keep) continue;
    throw Fault(FaultKind::program, "", "load_mask: entry {} of the mask is {}, expected 0 to {}, or {}",
                lane, source, quadrant - 1, ShuffleMask::keep);
  }
  state.shuffle_mask = f.mask;
}

void exec::stream_shuffle(const Unary& f, Engine, State& state) {
  constexpr std::string_view mnemonic = "stream_shuffle";
  Operand dst(mnemonic, "dst", f.dst, state);
  const Operand src(mnemonic, "src", f.src, state);
  check_same_type(mnemonic, dst, src);
  if (dst.elements() != src.elements()) {
    throw Fault(FaultKind::program, "", "stream_shuffle: dst has {} elements per partition, src has {}",
                dst.elements(), src.elements());
  }
  if (!state.shuffle_mask) {
    throw Fault(FaultKind::program, "", "stream_shuffle: no mask is loaded; load_mask brings one");
  }
  const auto row = static_cast<std::size_t>(dst.elements()) * static_cast<std::size_t>(size_of(dst.dtype()));
  std::vector<std::byte> rows(quadrant * row);
  for (int first = 0; first < dst.lanes(); first += quadrant) {
    // A quadrant is read before any of it is written: lanes may change places.
    const int available = std::clamp(src.lanes() - first, 0, quadrant);
    if (available > 0) src.read(Block{first, available, 0, src.elements()}, rows.data());
    for (int i = 0; i < std::min(quadrant, dst.lanes() - first); ++i) {
      const int source = state.shuffle_mask->source[static_cast<std::size_t>(i)];
      if (source == ShuffleMask::keep) continue;
      if (source >= available) {
        throw Fault(FaultKind::program, "", "stream_shuffle: lane {} takes lane {} of src, which has {}",
                    first + i, first + source, src.lanes());
      }
      dst.write(Block{first + i, 1, 0, dst.elements()}, rows.data() + static_cast<std::size_t>(source) * row);
    }
  }
  leave_groups(f.dst, state);
}

void exec::transpose(const Unary& f, Engine, State& state) {
  Operand dst("transpose", "dst", f.dst, state);
  const Operand src("transpose", "src", f.src, state);
  check_same_stream("transpose", dst, src);
  check_same_type("transpose", dst, src);
  if (src.lanes() % quadrant != 0 || src.elements() % quadrant != 0) {
    throw Fault(FaultKind::program, "",
                "transpose: src has {} partitions x {} elements, expected multiples of {}", src.lanes(),
                src.elements(), quadrant);
  }
  const auto size = static_cast<std::size_t>(size_of(dst.dtype()));
  constexpr auto side = static_cast<std::size_t>(quadrant);
  BlockBytes from, to;
  for (int lane = 0; lane < src.lanes(); lane += quadrant) {
    for (std::int64_t first = 0; first < src.elements(); first += quadrant) {
      const Block block{lane, quadrant, first, quadrant};
      src.read(block, from.data());
      for (std::size_t r = 0; r < side; ++r) {
        for (std::size_t c = 0; c < side; ++c)
          std::memcpy(to.data() + (r * side + c) * size, from.data() + (c * side + r) * size, size);
      }
      dst.write(block, to.data());
    }
  }
  leave_groups(f.dst, state);
}

}  // namespace ncemu
