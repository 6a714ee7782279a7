// Transfers: bytes when the types are equal, else source -> fp32 -> destination (datasheet 4.3, 6.10.1).

#include <algorithm>
#include <cstring>
#include <vector>

#include "emu/data/convert.h"
#include "emu/data/exec.h"
#include "emu/data/transfer_side.h"
#include "emu/data/workers.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// Elements moved at a time.
constexpr std::int64_t piece_elements = 4096;

// A whole stream in memory of its own: the source of a transfer onto itself.
struct Copied {
  DType type;
  std::vector<std::byte> bytes;

  DType dtype() const { return type; }
  std::int64_t until_break(std::int64_t first) const {
    return static_cast<std::int64_t>(bytes.size()) / size_of(type) - first;
  }
  std::byte* in_place(std::int64_t first) { return bytes.data() + first * size_of(type); }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const {
    std::memcpy(to, bytes.data() + first * size_of(type), static_cast<std::size_t>(count * size_of(type)));
  }
};

template <typename Source>
Copied copy_of(Source& src) {
  Copied copied{src.dtype(),
                std::vector<std::byte>(static_cast<std::size_t>(src.elements() * size_of(src.dtype())))};
  for (std::int64_t first = 0, n = 0; first < src.elements(); first += n) {
    n = std::min(src.until_break(first), src.elements() - first);
    src.read(first, n, copied.in_place(first));
  }
  return copied;
}

template <typename Destination, typename Source>
void move_bytes(Destination& dst, Source& src, const Share& elements, std::byte* buffer) {
  for (std::int64_t first = elements.begin, n = 0; first < elements.end; first += n) {
    n = std::min({src.until_break(first), dst.until_break(first), elements.end - first});
    if (std::byte* to = dst.in_place(first)) {
      src.read(first, n, to);
    } else if (const std::byte* from = src.in_place(first)) {
      dst.write(first, n, from);
    } else {
      n = std::min(n, piece_elements);
      src.read(first, n, buffer);
      dst.write(first, n, buffer);
    }
  }
}

template <typename Destination, typename Source>
void cast(Destination& dst, Source& src, const Share& elements, std::byte* buffer,
          SaturationCount* saturation) {
  std::vector<float> values(static_cast<std::size_t>(piece_elements));
  for (std::int64_t first = elements.begin, n = 0; first < elements.end; first += n) {
    n = std::min({src.until_break(first), dst.until_break(first), elements.end - first, piece_elements});
    const auto count = static_cast<std::size_t>(n);
    src.read(first, n, buffer);
    to_f32(src.dtype(), buffer, values.data(), count);
    if (saturation != nullptr) saturation->look(dst.dtype(), values.data(), 0, 1, first, n);
    from_f32(dst.dtype(), values.data(), buffer, count);
    dst.write(first, n, buffer);
  }
}

// dst += src in fp32 (datasheet 6.10.1).
template <typename Destination, typename Source>
void add(Destination& dst, Source& src, const Share& elements, std::byte* buffer) {
  std::vector<float> values(static_cast<std::size_t>(2 * piece_elements));
  for (std::int64_t first = elements.begin, n = 0; first < elements.end; first += n) {
    n = std::min({src.until_break(first), dst.until_break(first), elements.end - first, piece_elements});
    const auto count = static_cast<std::size_t>(n);
    float* sums = values.data();
    float* addends = values.data() + piece_elements;
    src.read(first, n, buffer);
    to_f32(src.dtype(), buffer, addends, count);
    dst.read(first, n, buffer);
    to_f32(dst.dtype(), buffer, sums, count);
    for (std::size_t i = 0; i < count; ++i) sums[i] += addends[i];
    from_f32(dst.dtype(), sums, buffer, count);
    dst.write(first, n, buffer);
  }
}

template <typename Destination, typename Source>
void transfer_share(Destination& dst, Source& src, const Share& elements, bool accumulate,
                    SaturationCount* saturation) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(piece_elements) * 4);
  if (accumulate) {
    add(dst, src, elements, buffer.data());
  } else if (dst.dtype() == src.dtype()) {
    move_bytes(dst, src, elements, buffer.data());
  } else {
    cast(dst, src, elements, buffer.data(), saturation);
  }
}

// The lanes of an on-chip destination are shared out. Pages of HBM come into being as they are written: in
// one thread.
template <typename Source>
void transfer(OnChipSide& dst, Source& src, bool accumulate, SaturationCount* saturation, Workers* workers) {
  const std::int64_t row = dst.until_break(0);
  share_out(workers, dst.elements() / row, dst.elements(), [&](const Share& lanes, std::size_t) {
    transfer_share(dst, src, {lanes.begin * row, lanes.end * row}, accumulate, saturation);
  });
}
template <typename Source>
void transfer(HbmSide& dst, Source& src, bool accumulate, SaturationCount* saturation, Workers*) {
  transfer_share(dst, src, {0, dst.elements()}, accumulate, saturation);
}

template <typename Pattern>
bool may_overlap(const Pattern& dst, const Pattern& src) {
  return overlap(dst, src);
}
bool may_overlap(const AccessPattern&, const HbmPattern&) { return false; }
bool may_overlap(const HbmPattern&, const AccessPattern&) { return false; }

template <typename To, typename From>
void move(const To& to, const From& from, bool accumulate, State& state) {
  auto dst = make_side("dma_copy", "dst", to, state);
  auto src = make_side("dma_copy", "src", from, state);
  if (dst.elements() != src.elements()) {
    throw Fault(FaultKind::program, "", "dma_copy: dst has {}, src has {}", dst.describe(), src.describe());
  }
  SaturationCount* const saturation = saturation_of(state, dst.dtype());
  if (may_overlap(to, from)) {  // everything is read before anything is written
    Copied copied = copy_of(src);
    transfer(dst, copied, accumulate, saturation, state.workers);
  } else {
    transfer(dst, src, accumulate, saturation, state.workers);
  }
}

// ---- rows chosen by an index ----------------------------------------------------------------

// Signed or not, every index as it counts.
std::vector<std::int64_t> read_indices(const DmaCopy& f, int lanes, State& state) {
  const auto* pointer = std::get_if<PointerOperand>(&f.index);
  if (pointer == nullptr || size_of(pointer->dtype) != 4 || is_float(pointer->dtype)) {
    throw Fault(FaultKind::program, "", "dma_copy: index is no column of u32 or i32");
  }
  const AccessPattern column = as_pattern(*pointer, lanes);
  const Operand operand("dma_copy", "index", column, state);
  std::vector<std::int64_t> indices;
  for (int p = 0; p < lanes; ++p) {
    std::uint32_t bits = 0;
    operand.read(Block{p, 1, 0, 1}, reinterpret_cast<std::byte*>(&bits));
    indices.push_back(pointer->dtype == DType::i32 ? std::int64_t{static_cast<std::int32_t>(bits)}
                                                   : std::int64_t{bits});
  }
  return indices;
}

// visit(the partition's part of the tile, the row of the table) for each row that moves, partitions
// ascending.
template <typename Visit>
void for_each_row(const DmaCopy& f, const AccessPattern& tile, const HbmPattern& table, State& state,
                  Visit&& visit) {
  const HbmDim rows = table.dims[3];
  const std::vector<std::int64_t> indices = read_indices(f, tile.partitions, state);
  const auto inside = [&](std::int64_t index) { return index >= 0 && index < std::int64_t{rows.count}; };
  for (std::size_t p = 0; p < indices.size() && f.bounds == Bounds::error; ++p) {
    if (inside(indices[p])) continue;
    throw Fault(FaultKind::program, "", "dma_copy: index {} of partition {} is outside the {} rows of '{}'",
                indices[p], tile.partition + static_cast<int>(p), rows.count, state.hbm.name(table.tensor));
  }
  AccessPattern lane = tile;
  lane.partitions = 1;
  HbmPattern row = table;
  row.dims[3] = HbmDim{};
  for (std::size_t p = 0; p < indices.size(); ++p) {
    if (!inside(indices[p])) continue;
    lane.partition = static_cast<std::uint8_t>(tile.partition + p);
    row.offset = table.offset + indices[p] * rows.step;
    visit(lane, row);
  }
}

}  // namespace

std::vector<std::int64_t> chosen_rows(const DmaCopy& f, State& state) {
  const auto* tile = std::get_if<AccessPattern>(&f.dst);
  const auto* table = std::get_if<HbmPattern>(tile != nullptr ? &f.src : &f.dst);
  const auto* other = std::get_if<AccessPattern>(tile != nullptr ? &f.dst : &f.src);
  if (table == nullptr || other == nullptr) return {};
  std::vector<std::int64_t> rows = read_indices(f, other->partitions, state);
  for (std::int64_t& row : rows) {
    if (row < 0 || row >= std::int64_t{table->dims[3].count}) row = -1;
  }
  return rows;
}

void exec::dma_copy(const DmaCopy& f, Engine, State& state) {
  const auto* tile = std::get_if<AccessPattern>(&f.dst);
  if (!std::holds_alternative<std::monostate>(f.index)) {
    const auto* table = std::get_if<HbmPattern>(tile != nullptr ? &f.src : &f.dst);
    const auto* other = std::get_if<AccessPattern>(tile != nullptr ? &f.dst : &f.src);
    if (table == nullptr || other == nullptr)
      throw Fault(FaultKind::program, "", "dma_copy: an index chooses rows in HBM for a tile");
    for_each_row(f, *other, *table, state, [&](const AccessPattern& lane, const HbmPattern& row) {
      tile != nullptr ? move(lane, row, f.accumulate, state) : move(row, lane, f.accumulate, state);
    });
  } else {
    std::visit([&](const auto& to, const auto& from) { move(to, from, f.accumulate, state); }, f.dst, f.src);
  }
  if (tile != nullptr) leave_groups(*tile, state);
}

}  // namespace ncemu
