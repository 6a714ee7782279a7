#include "bench/accuracy/transfers.h"

#include "bench/accuracy/patterns.h"
#include "isa/builder.h"

namespace ncemu::accuracy {
namespace {

constexpr int partitions = 128, partitions_per_engine = 8;

}  // namespace

Replay descriptors(const MachineConfig& machine, std::int64_t bytes, int per_engine, int engines,
                   DgeMode mode, Engine issuer) {
  Streams streams(machine);
  const std::uint16_t tensor = streams.tensor(DType::u8, {partitions, bytes});
  const int rows = engines == 1 ? per_engine : (engines - 1) * partitions_per_engine + per_engine;
  DmaCopy copy;
  copy.mode = mode;
  copy.src = rows_of(tensor, DType::u8, rows, bytes);
  copy.dst = tile(Space::sbuf, DType::u8, rows, static_cast<int>(bytes));
  Instruction i = instruction(Opcode::dma_copy, copy);
  i.update = {.semaphore = 0, .operation = UpdateOperation::sem_inc};
  streams.add(issuer, {i});
  return replay(machine, streams.program());
}

Replay stores(const MachineConfig& machine, std::int64_t bytes, int rows) {
  Streams streams(machine);
  DmaCopy copy;
  copy.src = tile(Space::sbuf, DType::u8, rows, static_cast<int>(bytes));
  copy.dst = rows_of(streams.tensor(DType::u8, {rows, bytes}), DType::u8, rows, bytes);
  Instruction i = instruction(Opcode::dma_copy, copy);
  i.update = {.semaphore = 0, .operation = UpdateOperation::sem_inc};
  streams.add(Engine::sync, {i});
  return replay(machine, streams.program());
}

Replay stream(const MachineConfig& machine, const TileStream& tiles) {
  Builder b(machine.target, "stream");
  const View hbm = b.tensor("x", tiles.stores ? TensorKind::output : TensorKind::input, DType::bf16,
                            {tiles.tiles * partitions, tiles.columns});
  const View sums = b.sbuf("sums", DType::bf16, {partitions, 1});
  View place;
  if (tiles.stores) {
    place = b.sbuf("place", DType::bf16, {partitions, tiles.columns});
    b.emit(Opcode::memset, Memset{place.pattern(), 1.0F});
  }
  for (int t = 0; t < tiles.tiles; ++t) {
    const View rows = hbm.slice(0, t * partitions, (t + 1) * partitions);
    if (tiles.stores) {
      b.dma_copy(rows, place, Engine::gpsimd, std::nullopt, DgeMode::software);
      continue;
    }
    b.open_scope("tile");
    const View buffer =
        b.sbuf("buffer", DType::bf16, {partitions, tiles.columns}, static_cast<std::uint32_t>(tiles.buffers));
    b.dma_copy(buffer, rows, Engine::gpsimd, std::nullopt, DgeMode::software);
    b.emit(Opcode::tensor_reduce, TensorReduce{sums.pattern(), buffer.pattern(), AluOp::max, Axes::X, false});
    b.close_scope();
  }
  return replay(machine, b.finish());
}

Replay gathers(const MachineConfig& machine, int transfers, std::int64_t row_bytes) {
  Streams streams(machine);
  const std::uint16_t table = streams.tensor(DType::u8, {1000, row_bytes});
  for (int t = 0; t < transfers; ++t) {
    HbmPattern rows = rows_of(table, DType::u8, 1, row_bytes);
    rows.dims[1] = {};
    rows.dims[3] = {static_cast<std::int32_t>(row_bytes), 1000};
    DmaCopy copy;
    copy.mode = DgeMode::software;
    copy.dst = tile(Space::sbuf, DType::u8, partitions, static_cast<int>(row_bytes));
    copy.src = rows;
    copy.index = PointerOperand{Space::sbuf, DType::u32, 0, 64 * 1024};
    Instruction i = instruction(Opcode::dma_copy, copy);
    i.update = {.semaphore = 0, .operation = UpdateOperation::sem_inc};
    streams.add(Engine::gpsimd, {i});
  }
  return replay(machine, streams.program());
}

Replay scattered_copies(const MachineConfig& machine, DType type, int copies, int step) {
  constexpr std::int64_t rows = 128, columns = 128;
  Streams streams(machine);
  const std::uint16_t from = streams.tensor(type, {copies * rows * columns * step});
  const std::uint16_t to = streams.tensor(type, {copies * rows * columns});
  for (int c = 0; c < copies; ++c) {
    DmaCopy copy;
    copy.dst = rows_of(to, type, rows, columns, c * rows * columns);
    HbmPattern source = rows_of(from, type, rows, columns, c * rows * columns * step);
    for (HbmDim& d : source.dims) d.step *= step;
    copy.src = source;
    Instruction i = instruction(Opcode::dma_copy, copy);
    i.update = {.semaphore = 0, .operation = UpdateOperation::sem_inc};
    streams.add(Engine::sync, {i});
  }
  return replay(machine, streams.program());
}

}  // namespace ncemu::accuracy
