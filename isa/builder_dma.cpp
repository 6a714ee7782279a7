// Builder: transfers.

#include <fmt/format.h>

#include "isa/builder.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

bool moves(const MemoryOperand& operand) {
  return std::visit([](const auto& pattern) { return pattern.index.present(); }, operand);
}

// The shape without its first dimension, units dropped.
std::string row_shape(const View& view) {
  if (view.rank() == 0) return "[]";
  return view.slice(0, 0, 1).describe_squeezed();
}

void check_same_shape(const View& dst, const View& src) {
  if (same_shape(dst, src)) return;
  throw Fault(
      FaultKind::input, "",
      "the shapes of a transfer must be equal after dropping dimensions of 1: destination {}, source {}",
      dst.describe_squeezed(), src.describe_squeezed());
}

// With an index the rows are equal; their number in HBM is that of the table.
void check_rows(const View& dst, const View& src) {
  if (dst.on_chip() == src.on_chip()) {
    throw Fault(FaultKind::input, "",
                "an index chooses rows of a tensor in HBM for a tile; both sides are {}",
                dst.on_chip() ? "on chip" : "in HBM");
  }
  if (row_shape(dst) == row_shape(src)) return;
  throw Fault(
      FaultKind::input, "",
      "the rows of a transfer with an index must have equal shapes: destination {} of {}, source {} of {}",
      row_shape(dst), dst.describe(), row_shape(src), src.describe());
}

std::string transposed_sizes(const View& view) {
  std::string text;
  const int last = view.rank() - 1;
  for (int d = 0; d <= last; ++d) {
    text += fmt::format("{}{}", d == 0 ? "" : ", ", view.size(d == 0 ? last : d == last ? 0 : d));
  }
  return fmt::format("[{}]", text);
}

void check_transposed(const View& dst, const View& src) {
  bool equal = dst.rank() == src.rank();
  for (int d = 0, last = src.rank() - 1; equal && d <= last; ++d)
    equal = dst.size(d) == src.size(d == 0 ? last : d == last ? 0 : d);
  if (equal) return;
  if (dst.rank() != src.rank()) {
    throw Fault(
        FaultKind::input, "",
        "dma_transpose: destination {} has {} dimensions, source {} has {}; dimensions count as they are "
        "written, units too",
        dst.describe(), dst.rank(), src.describe(), src.rank());
  }
  throw Fault(FaultKind::input, "", "dma_transpose: source {} becomes {}, the destination is {}",
              src.describe(), transposed_sizes(src), dst.describe());
}

}  // namespace

struct Builder::RouteChoice {
  bool from_hbm = false;
  bool dynamic = false;   // an address is known at run time only
  bool hardware = false;  // the hardware generator could do it
};

// Design section 6. A store that waits must not block the loads behind it, so it has another issuer.
Engine Builder::choose_route(RouteChoice choice, std::optional<Engine> issuer,
                             std::optional<std::uint8_t> queue, std::optional<DgeMode> mode,
                             Route& route) const {
  // On v3 the hardware generator takes register addresses (datasheet 7.7).
  const bool hardware = choice.hardware && program_.target.generation >= 3 &&
                        (!issuer || *issuer == Engine::sync || *issuer == Engine::scalar);
  route.mode = mode              ? *mode
               : !choice.dynamic ? DgeMode::static_
               : hardware        ? DgeMode::hardware
                                 : DgeMode::software;
  if (!issuer) {
    if (engine_block_open_) {
      issuer = program_.manual_blocks.back().engine;
    } else if (route.mode == DgeMode::software) {
      issuer = Engine::gpsimd;
    } else if (route.mode == DgeMode::hardware) {
      issuer = choice.from_hbm ? Engine::sync : Engine::scalar;
    } else {
      issuer = choice.from_hbm ? Engine::sync : Engine::gpsimd;
    }
  }
  route.queue = queue ? *queue : static_cast<std::uint8_t>(*issuer);
  return *issuer;
}

Instruction& Builder::dma_copy(const View& dst, const View& src, std::optional<Engine> issuer,
                               std::optional<std::uint8_t> queue, std::optional<DgeMode> mode,
                               const CopyOptions& options) {
  DmaCopy copy;
  if (options.index) {
    check_rows(dst, src);
    copy.dst = dst.on_chip() ? dst.memory() : MemoryOperand(dst.rows());
    copy.src = src.on_chip() ? src.memory() : MemoryOperand(src.rows());
    copy.index = *options.index;
  } else {
    check_same_shape(dst, src);
    copy.dst = dst.memory();
    copy.src = src.memory();
  }
  copy.bounds = options.bounds;
  copy.accumulate = options.accumulate;
  const RouteChoice choice{.from_hbm = !src.on_chip(),
                           .dynamic = options.index || moves(copy.dst) || moves(copy.src),
                           .hardware = !options.index && dst.dtype() == src.dtype()};
  Route route;
  const Engine engine = choose_route(choice, issuer, queue, mode, route);
  copy.queue = route.queue;
  copy.mode = route.mode;
  return emit(Opcode::dma_copy, copy, engine);
}

Instruction& Builder::dma_transpose(const View& dst, const View& src, std::optional<Engine> issuer,
                                    std::optional<std::uint8_t> queue, std::optional<DgeMode> mode) {
  check_transposed(dst, src);
  DmaTranspose transpose{.dst = dst.transposable(), .src = src.transposable()};
  const RouteChoice choice{.from_hbm = !src.on_chip(),
                           .dynamic = moves(transpose.dst) || moves(transpose.src)};
  Route route;
  const Engine engine = choose_route(choice, issuer, queue, mode, route);
  transpose.queue = route.queue;
  transpose.mode = route.mode;
  return emit(Opcode::dma_transpose, transpose, engine);
}

Instruction& Builder::dma_compute(const View& dst, std::span<const ScaledView> sources, ComputeOp op,
                                  std::optional<Engine> issuer, std::optional<std::uint8_t> queue,
                                  std::optional<DgeMode> mode) {
  DmaCompute compute;
  compute.dst = dst.memory();
  compute.op = op;
  compute.sources.clear();
  RouteChoice choice{.dynamic = moves(compute.dst)};
  for (const ScaledView& source : sources) {
    check_same_shape(dst, source.view);
    compute.sources.push_back({source.view.memory(), source.scale});
    choice.from_hbm = choice.from_hbm || !source.view.on_chip();
    choice.dynamic = choice.dynamic || moves(compute.sources.back().src);
  }
  Route route;
  const Engine engine = choose_route(choice, issuer, queue, mode, route);
  compute.queue = route.queue;
  compute.mode = route.mode;
  return emit(Opcode::dma_compute, std::move(compute), engine);
}

}  // namespace ncemu
