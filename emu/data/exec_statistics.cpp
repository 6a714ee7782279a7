// bn_stats and bn_aggr: means and variances of the elements of a lane (datasheet 6.6.5, 6.6.6).

#include <array>

#include "emu/data/exec.h"
#include "emu/data/operand.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

constexpr std::int64_t most_elements = 512;  // datasheet 1.6
constexpr std::int64_t triple = 3;

struct Moments {
  float count = 0, mean = 0;
  float deviation = 0;  // the sum of (x - mean)^2: M2 in the datasheet
};

// Welford's step.
void add(Moments& m, float x) {
  m.count += 1;
  const float delta = x - m.mean;
  m.mean += delta / m.count;
  m.deviation += delta * (x - m.mean);
}

// Chan's rule. An empty side has no mean to take part.
Moments merged(const Moments& a, const Moments& b) {
  if (b.count == 0) return a;
  if (a.count == 0) return b;
  const float delta = b.mean - a.mean;
  const float count = a.count + b.count;
  return {count, a.mean + delta * b.count / count,
          a.deviation + b.deviation + delta * delta * a.count * b.count / count};
}

void check_results(std::string_view mnemonic, const Operand& dst, const Operand& src, std::int64_t results) {
  if (dst.lanes() == src.lanes() && dst.elements() == results) return;
  throw Fault(FaultKind::program, "", "{}: dst has {} partitions x {} elements, expected {} x {}", mnemonic,
              dst.lanes(), dst.elements(), src.lanes(), results);
}

}  // namespace

void exec::bn_stats(const Unary& f, Engine, State& state) {
  Operand dst("bn_stats", "dst", f.dst, state);
  const Operand src("bn_stats", "src", f.src, state);
  check_results("bn_stats", dst, src, 2 * triple);
  if (src.elements() > most_elements) {
    throw Fault(FaultKind::program, "",
                "bn_stats: src has {} elements per partition, at most {} are possible", src.elements(),
                most_elements);
  }
  BlockBytes raw;
  BlockOf<float> values;
  for (int lane = 0; lane < src.lanes(); ++lane) {
    src.read(Block{lane, 1, 0, src.elements()}, values.data(), raw);
    Moments even, odd;
    for (std::int64_t i = 0; i < src.elements(); ++i)
      add(i % 2 == 0 ? even : odd, values.values[static_cast<std::size_t>(i)]);
    const std::array<float, 6> results = {even.count, even.mean, even.deviation,
                                          odd.count,  odd.mean,  odd.deviation};
    dst.write(Block{lane, 1, 0, 2 * triple}, results.data(), raw);
  }
  leave_groups(f.dst, state);
}

void exec::bn_aggr(const Unary& f, Engine, State& state) {
  Operand dst("bn_aggr", "dst", f.dst, state);
  const Operand src("bn_aggr", "src", f.src, state);
  check_results("bn_aggr", dst, src, 2);
  if (src.elements() % triple != 0) {
    throw Fault(FaultKind::program, "",
                "bn_aggr: src has {} elements per partition, expected triples (count, mean, M2)",
                src.elements());
  }
  constexpr std::int64_t most = block_elements / triple * triple;
  BlockBytes raw;
  BlockOf<float> values;
  for (int lane = 0; lane < src.lanes(); ++lane) {
    Moments total;
    for (std::int64_t first = 0; first < src.elements(); first += most) {
      const std::int64_t n = std::min(most, src.elements() - first);
      src.read(Block{lane, 1, first, n}, values.data(), raw);
      for (const float* v = values.data(); v < values.data() + n; v += triple)
        total = merged(total, {v[0], v[1], v[2]});
    }
    const std::array<float, 2> results = {total.mean, total.deviation / total.count};
    dst.write(Block{lane, 1, 0, 2}, results.data(), raw);
  }
  leave_groups(f.dst, state);
}

}  // namespace ncemu
