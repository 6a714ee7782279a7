// A kernel without the assembler: builds y = 2 * x + 1 on a [128, 512] tile, runs it, prints the time.

#include <fmt/format.h>

#include "emu/data/state.h"
#include "emu/machine/machine.h"
#include "isa/builder.h"

using namespace ncemu;

int main() {
  const MachineConfig config = builtin_machine("trn1");
  Builder builder(config.target);
  const View x = builder.tensor("x", TensorKind::input, DType::f32, {128, 512});
  const View y = builder.tensor("y", TensorKind::output, DType::f32, {128, 512});
  const View tile = builder.sbuf("tile", DType::f32, {128, 512});
  builder.dma_copy(tile, x);
  builder.emit(Opcode::tensor_scalar, TensorScalar{.dst = tile.pattern(),
                                                   .src = tile.pattern(),
                                                   .op0 = AluOp::mult,
                                                   .scalar0 = 2.0F,
                                                   .op1 = AluOp::add,
                                                   .scalar1 = 1.0F});
  builder.dma_copy(y, tile);
  const Program program = builder.finish();  // places the tile, adds the waits

  Machine machine(config, program, {});
  const std::vector<float> ones(128 * 512, 1.0F);
  machine.state().hbm.write(0, 0, std::as_bytes(std::span(ones)));
  const RunResult result = machine.run();

  float first = 0;
  machine.state().hbm.read(1, 0, std::as_writable_bytes(std::span(&first, 1)));
  fmt::print("y[0, 0] = {}, {:.2f} us on {}\n", first, ns_from_ticks(config, result.total) / 1000,
             config.target.machine);
}
