// Random instructions of the tensor engine. Every matmul finds a stationary operand: a load of the whole
// array of 32 x 32 elements, which each sequence with other loads puts back.

#include <array>

#include "tests/support/random_generator.h"

namespace ncemu::test {

void Generator::load_stationary() {
  const std::int64_t start = stationary_lanes * below(4);
  View weights = weights_.slice(0, start, start + stationary_lanes);
  if (chance(25)) weights = weights.as(pick({DType::f16, DType::f8e4m3, DType::f8e5m2, DType::f8e3m4}));
  b_.emit(Opcode::load_stationary, LoadStationary{weights.slice(1, 0, stationary_lanes).pattern()});
}

void Generator::matmul() {
  const Shape s{stationary_lanes, pick({1L, 4L, 8L, 16L})};
  Matmul m;
  m.dst = part(pick(psum_), s).pattern();
  m.moving = part(chance(50) ? sbuf_[1] : sbuf_[3], s).pattern();  // 16 bits, as the weights at most
  m.accumulate = chance(60);
  m.transpose = !v3() && chance(10);  // only a label there
  b_.emit(Opcode::matmul, m);
}

void Generator::tensor_modes() {
  switch (v3() ? below(4) : below(2)) {
    case 0: tiles_of_the_array(); break;
    case 1: fp32_matmul(); break;
    case 2: double_row(); break;
    default: transposing_matmul(); break;
  }
  load_stationary();
}

// Some disjoint tiles of one size, each loaded before any is used.
void Generator::tiles_of_the_array() {
  const auto size = [&] {
    return static_cast<std::uint8_t>(v3() ? pick({32L, 64L, 128L}) : pick({64L, 128L}));
  };
  const ArrayPair tile_size{size(), size()};
  std::vector<ArrayPair> tiles;
  for (int r = 0; r < 128; r += tile_size.row) {
    for (int c = 0; c < 128; c += tile_size.column) {
      if (tiles.empty() || chance(40)) {
        tiles.push_back({static_cast<std::uint8_t>(r), static_cast<std::uint8_t>(c)});
      }
    }
  }
  const auto lanes = [&](const View& whole, int start) {
    return whole.slice(0, start, start + stationary_lanes);
  };
  for (const ArrayPair at : tiles) {
    LoadStationary load{lanes(weights_, at.row).pattern()};
    load.tile_position = at;
    load.tile_size = tile_size;
    b_.emit(Opcode::load_stationary, load);
  }
  for (std::int64_t n = 1 + below(4); n > 0; --n) {
    const ArrayPair at = tiles[static_cast<std::size_t>(below(static_cast<std::int64_t>(tiles.size())))];
    const std::int64_t elements = pick({1L, 4L, 8L, 16L});
    Matmul m;
    m.dst = columns(lanes(pick(psum_), at.column), elements).pattern();
    m.moving = columns(lanes(chance(50) ? sbuf_[1] : sbuf_[3], at.row), elements).pattern();
    m.accumulate = chance(60);
    m.tile_position = at;
    m.tile_size = tile_size;
    b_.emit(Opcode::matmul, m);
  }
}

// f32 operands; the promises of zeros and ones are not kept, which no value shows.
void Generator::fp32_matmul() {
  const bool ones = chance(30);
  LoadStationary load{part(sbuf_[0], {stationary_lanes, row}).pattern()};
  load.one_zero = ones;
  b_.emit(Opcode::load_stationary, load);
  const std::int64_t elements = pick({1L, 4L, 8L, 16L});
  Matmul m;
  m.dst = part(pick(psum_), {row, elements}).pattern();
  m.moving = part(sbuf_[2], {stationary_lanes, elements}).pattern();
  m.accumulate = chance(60);
  m.stationary_one_zero = ones;
  m.moving_one_zero = chance(30);
  b_.emit(Opcode::matmul, m);
}

void Generator::double_row() {
  const auto rows = [&](const View& tile, DType type, std::int64_t elements) {
    const std::int64_t start = legal_start(stationary_lanes);
    const View bytes = tile.as(type);
    const std::int64_t shape[] = {128, 2, bytes.elements() / 256};
    return bytes.reshape(shape).slice(0, start, start + stationary_lanes).slice(2, 0, elements).pattern();
  };
  LoadStationary load{rows(weights_, pick({DType::f8e4m3, DType::f8e5m2}), stationary_lanes)};
  load.double_row = true;
  b_.emit(Opcode::load_stationary, load);
  const std::int64_t elements = pick({1L, 5L, 16L});
  Matmul m;
  m.dst = part(pick(psum_), {stationary_lanes, elements}).pattern();
  m.moving = rows(chance(50) ? sbuf_[1] : sbuf_[3], pick({DType::f8e4m3, DType::f8e5m2}), elements);
  m.accumulate = chance(60);
  m.double_row = true;
  b_.emit(Opcode::matmul, m);
}

// The identity on either side.
void Generator::transposing_matmul() {
  const DType type = pick({DType::bf16, DType::f32});
  const View& identity = type == DType::bf16 ? identity_bf16_ : identity_f32_;
  const View& data = type == DType::bf16 ? sbuf_[1] : sbuf_[2];
  const auto moved = [&](std::int64_t lanes, std::int64_t elements) {
    const std::int64_t start = legal_start(lanes);
    const View all = pick(psum_).slice(0, start, start + lanes).as(type);
    const std::int64_t flat[] = {lanes, all.elements() / lanes};
    return all.reshape(flat).slice(1, 0, elements).pattern();
  };
  LoadStationary load;
  Matmul m;
  load.transpose = m.transpose = true;
  if (type == DType::bf16 && chance(50)) {
    load.src = part(data, {stationary_lanes, row}).pattern();
    m.moving = identity.pattern();
    m.dst = moved(row, stationary_lanes);
  } else {
    load.src = identity.pattern();
    const std::int64_t elements = pick({1L, 5L, 16L});
    m.moving = part(data, {stationary_lanes, elements}).pattern();
    m.dst = moved(stationary_lanes, elements);
  }
  b_.emit(Opcode::load_stationary, load);
  b_.emit(Opcode::matmul, m);
}

}  // namespace ncemu::test
