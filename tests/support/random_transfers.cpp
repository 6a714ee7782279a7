// Random transfers: plain, casting, accumulating, with rows by index, from places that registers give,
// transposing and computing.

#include <algorithm>
#include <array>

#include "tests/support/random_generator.h"

namespace ncemu::test {
namespace {

bool has_register(const View& view) {
  return std::visit([](const auto& p) { return p.index.present(); }, view.memory());
}

// As [partitions, elements]: transfers need equal shapes.
View squeeze(const View& v) {
  if (v.rank() <= 2) return v;
  const std::int64_t flat[] = {v.size(0), v.size(1) * v.size(2)};
  return v.reshape(flat);
}

}  // namespace

void Generator::transfer() {
  switch (below(8)) {
    case 0: rows_by_index(); break;
    case 1: transposing_transfer(); break;
    case 2: computing_transfer(); break;
    case 3: options_.registers ? moved_by_register() : plain_copy(); break;
    default: plain_copy(); break;
  }
}

// Any issuer, unless a register gives an address: then the mode decides.
std::optional<Engine> Generator::some_issuer(const View& a, const View& b) {
  if (has_register(a) || has_register(b) || chance(50)) return {};
  return all_engines[below(engine_count)];
}

void Generator::plain_copy() {
  const Shape s = shape();
  const auto kind = below(10);
  View dst = operand(s, false, false);
  View src = operand(s, false, false);
  if (kind < 4) {
    src = in_hbm(hbm_[static_cast<std::size_t>(below(3))], s);
  } else if (kind < 8) {
    dst = in_hbm(chance(50) ? y_ : z_, s);
  } else if (kind < 9) {
    src = in_hbm(x_, s);
    dst = in_hbm(y_, s);
  }
  CopyOptions options;
  options.accumulate = chance(20);
  const auto issuer = some_issuer(dst, src);
  b_.dma_copy(squeeze(dst), squeeze(src), issuer, some_queue(), {}, options);
}

// Gathers and scatters. Rows that all exist, or any numbers with those that do not exist skipped.
void Generator::rows_by_index() {
  const Shape s = shape();
  const bool skip = chance(60);
  const View index = integers_in_sbuf({s.partitions, 1}, DType::u32);
  constexpr std::int32_t most = 64;
  if (!skip || chance(50)) numbers_below(index, most);
  CopyOptions options;
  options.index = index.pointer();
  options.bounds = skip ? Bounds::skip : Bounds::error;
  options.accumulate = !skip && chance(30);
  const View& tensor = chance(50) ? y_ : z_;
  const std::int64_t rows = skip ? 1 + below(128) : most + below(64);
  const View table = in_hbm(tensor, {rows, s.elements});
  const View tile = squeeze(operand(s, false, false));
  if (has_register(tile)) return plain_copy();
  chance(50) ? b_.dma_copy(tile, table, {}, some_queue(), {}, options)
             : b_.dma_copy(table, tile, {}, some_queue(), {}, options);
}

void Generator::moved_by_register() {
  const std::int64_t partitions = pick({1L, 17L, 32L});
  const bool skip = chance(40);
  const View tensor = in_hbm_at_run_time(chance(50) ? y_ : z_, partitions, skip);
  const View tile = squeeze(part(pick(sbuf_), {partitions, row}));
  CopyOptions options;
  options.bounds = skip ? Bounds::skip : Bounds::error;
  options.accumulate = !skip && chance(20);
  chance(50) ? b_.dma_copy(tile, tensor, {}, some_queue(), {}, options)
             : b_.dma_copy(tensor, tile, {}, some_queue(), {}, options);
}

void Generator::transposing_transfer() {
  const bool f32 = chance(50);
  const View& tensor = f32 ? y_ : z_;
  const View& tile = f32 ? (chance(50) ? sbuf_[0] : sbuf_[2]) : (chance(50) ? sbuf_[1] : sbuf_[3]);
  const std::int64_t a = 1 + below(row), b = 1 + below(row);
  const auto on_chip = [&](std::int64_t partitions, std::int64_t elements) {
    const std::int64_t start = below(128 - partitions + 1);
    return squeeze(tile.slice(0, start, start + partitions)).slice(1, 0, elements);
  };
  std::optional<DgeMode> mode;
  std::optional<Engine> issuer;
  if (v3() && !f32 && chance(50)) {  // what the hardware generator takes
    mode = DgeMode::hardware;
    issuer = pick({Engine::sync, Engine::scalar});
    b_.dma_transpose(on_chip(b, row), tensor.slice(0, 0, row).slice(1, 0, b), issuer, some_queue(), mode);
    return;
  }
  if (chance(30)) {
    mode = DgeMode::software;
    issuer = Engine::gpsimd;
  }
  switch (below(4)) {
    case 0:
      b_.dma_transpose(on_chip(b, a), tensor.slice(0, 0, a).slice(1, 0, b), issuer, some_queue(), mode);
      break;
    case 1:
      b_.dma_transpose(tensor.slice(0, 100, 100 + b).slice(1, 0, a), on_chip(a, b), issuer, some_queue(),
                       mode);
      break;
    case 2: {  // a dimension in between
      const std::int64_t shape[] = {128, 2, 8};
      const std::int64_t fast = 1 + below(8), slow = 1 + below(8);
      const View from = tensor.reshape(shape).slice(0, 7, 7 + slow).slice(2, 0, fast);
      b_.dma_transpose(tile.slice(0, 3, 3 + fast).slice(2, 0, slow), from, issuer, some_queue(), mode);
      break;
    }
    default: b_.dma_transpose(on_chip(b, a), on_chip(a, b), issuer, some_queue(), mode); break;
  }
}

void Generator::computing_transfer() {
  const Shape s = shape();
  const auto side = [&](bool written) {
    if (chance(50)) return squeeze(operand(s, false, false));
    return in_hbm(written ? (chance(50) ? y_ : z_) : pick(hbm_), s);
  };
  const View dst = side(true);
  const ComputeOp op = pick({ComputeOp::add, ComputeOp::min, ComputeOp::max, ComputeOp::fma});
  std::vector<ScaledView> sources;
  for (std::int64_t n = 1 + below(4); n > 0; --n) {
    sources.push_back({side(false), op == ComputeOp::fma ? static_cast<float>(below(5)) / 2 : 1.0F});
  }
  // Addresses of the run need the software generator.
  bool at_run_time = has_register(dst);
  for (const ScaledView& source : sources) at_run_time = at_run_time || has_register(source.view);
  std::optional<Engine> issuer;
  if (!at_run_time && chance(50)) issuer = all_engines[below(engine_count)];
  b_.dma_compute(dst, sources, op, issuer, some_queue());
}

}  // namespace ncemu::test
