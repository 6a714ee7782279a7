// Mechanisms that begin at a size: the last size without and the first size with them, where the machine's
// description says, and one further when the description is changed by one.

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>

#include "emu/timing/cost.h"
#include "emu/timing/dma_service.h"
#include "tests/emu/timing/shapes.h"

using namespace ncemu;
using namespace ncemu::shapes;

namespace {

constexpr DType f32 = DType::f32, bf16 = DType::bf16;

// One transfer that has the same descriptors on the first `engines` DMA engines.
struct Served {
  int packets = 0;
  Ticks data_end = 0, done = 0;
};
Served served(DescriptorRuns runs, int engines, bool reads, bool writes, const MachineConfig& m) {
  TransferWork work;
  const std::int64_t bytes = runs.bytes * runs.count * engines;
  for (int e = 0; e < engines; ++e) work.engines[static_cast<std::size_t>(e)] = {runs};
  work.hbm_read = reads ? bytes : 0;
  work.hbm_written = writes ? bytes : 0;
  work.bytes = bytes;
  work.descriptors = runs.count * engines;
  work.shortest_run = runs.bytes;
  DmaService service(m);
  service.submit(std::make_shared<const TransferWork>(work), 0, 0);
  Served result;
  while (!service.idle()) {
    const auto event = service.pop();
    if (!event) continue;
    if (event->kind == DmaService::Event::Kind::packet) {
      ++result.packets;
      result.data_end = event->end;
    } else if (event->engine == 0) {
      result.done = event->end;
    }
  }
  return result;
}

Cycles interval(const Instruction& i, Engine e, const MachineConfig& m) {
  return cost(i, e, m).interval / ticks_per_cycle(m, e);
}
Cycles latency(const Instruction& i, Engine e, const MachineConfig& m) {
  return cost(i, e, m).latency / ticks_per_cycle(m, e);
}
Instruction lanes(int n) { return copy(tile(Space::sbuf, f32, n, 8), tile(Space::psum, f32, n, 8)); }
AccessPattern indexed(int n) {
  AccessPattern p = psum(f32, n);
  p.index = Register{1};
  return p;
}

struct Threshold {
  const char* key;
  const char* mode;
  std::int64_t step;  // of sizes
  // Whether the mechanism shows at this size. The last size at which it does not is the parameter's value,
  // or one step less.
  std::function<bool(std::int64_t size, const MachineConfig&)> shows;
  bool at_value = false;
};

using M = const MachineConfig&;
const char *const measured = "timing.mode=measured", *const documented = "timing.mode=documented";

const Threshold thresholds[] = {
    {"vector.few_lanes", measured, 1,
     [](std::int64_t n, M m) {
       return latency(lanes(static_cast<int>(n)), Engine::vector, m) ==
              latency(lanes(128), Engine::vector, m);
     }},
    {"scalar.few_lanes", measured, 1,
     [](std::int64_t n, M m) {
       return latency(lanes(static_cast<int>(n)), Engine::scalar, m) ==
              latency(lanes(128), Engine::scalar, m);
     }},
    {"tensor.few_columns", measured, 1,
     [](std::int64_t n, M m) {
       return latency(matmul(bf16, 128, static_cast<int>(n)), Engine::tensor, m) ==
              latency(matmul(bf16, 128), Engine::tensor, m);
     }},
    {"stream.stride_bytes", measured, 1,
     [](std::int64_t n, M m) {
       const int step = static_cast<int>(n);
       return interval(copy(sbuf(DType::u8, 99), sbuf(DType::u8, 99, step)), Engine::gpsimd, m) >
              interval(copy(sbuf(DType::u8, 99), sbuf(DType::u8, 99)), Engine::gpsimd, m);
     }},
    {"vector.min_ii", documented, 1,
     [](std::int64_t n, M m) {
       return interval(copy(sbuf(f32, static_cast<int>(n)), psum(f32, static_cast<int>(n))), Engine::vector,
                       m) > m.vector.min_ii;
     }},
    {"scalar.min_ii", documented, 1,
     [](std::int64_t n, M m) {
       return interval(activation(sbuf(f32, static_cast<int>(n)), sbuf(f32, static_cast<int>(n))),
                       Engine::scalar, m) > m.scalar.min_ii;
     }},
    {"tensor.mm_init", measured, 1,
     [](std::int64_t n, M m) {
       return interval(matmul(bf16, static_cast<int>(n)), Engine::tensor, m) >
              interval(matmul(bf16, 1), Engine::tensor, m);
     }},
    {"tensor.load_min", measured, 1,
     [](std::int64_t n, M m) {  // of a load of four columns a cycle
       return interval(load(bf16, static_cast<int>(4 * n)), Engine::tensor, m) >
              interval(load(bf16, 1), Engine::tensor, m);
     }},
    {"stream.dynamic_min_ii", measured, 1,
     [](std::int64_t n, M m) {  // a copy that alone would take n cycles
       const int elements = static_cast<int>(n - m.vector.ii_gap);
       return interval(copy(sbuf(f32, elements), indexed(elements)), Engine::vector, m) >
              m.stream.dynamic_min_ii;
     }},
    {"gpsimd.n_gather_group", measured, 1,
     [](std::int64_t n, M m) {
       const AccessPattern p = sbuf(f32, static_cast<int>(n));
       const Cycles streaming = static_cast<Cycles>(m.gpsimd.n_gather_k) * n;
       return interval(instruction(Opcode::n_gather, Gather{p, sbuf(f32, 9), p}), Engine::gpsimd, m) >
              streaming + m.gpsimd.start;
     }},
    {"fetch.buffer_bytes", measured, 64,
     [](std::int64_t n, M m) {
       return branch_miss(0, static_cast<std::uint32_t>(n / m.fetch.instruction_bytes - 1), m) > 0;
     }},
    {"dma.tail_run_bytes", measured, 1,
     [](std::int64_t n, M m) {
       const Served one = served({n, 1}, 1, true, false, m);
       return one.done - one.data_end >=
              ticks_from_ns(m, m.dma.t_sem_ns) + ticks_from_ns(m, m.dma.tail_load_ns);
     },
     true},
    {"dma.element_bytes", measured, 1,
     [](std::int64_t n, M m) {
       return served({n, 1}, 1, true, true, m).data_end < ticks_from_ns(m, m.dma.element_ns);
     },
     true},
    {"dma.write_buffer_bytes", measured, 1,
     [](std::int64_t n, M m) {  // at the rate that sixteen engines share, not at the engine's own
       const Ticks shared = ticks_from_bytes(ticks_per_us(m), static_cast<double>(n), m.dma.c_core / 16, 0);
       return served({n, 1}, 16, false, true, m).data_end >= shared;
     }},
    {"dma.packet_bytes", measured, 2,
     [](std::int64_t n, M m) {
       return served({n / 2, 2}, 1, true, false, m).packets > 1;
     }},
    {"dma.packet_descriptors", measured, 1,
     [](std::int64_t n, M m) {
       return served({4, n}, 1, true, false, m).packets > 1;
     }},
};

}  // namespace

TEST_CASE("each mechanism that begins at a size begins exactly there, and moves with its parameter") {
  for (const Threshold& t : thresholds) {
    CAPTURE(t.key);
    MachineConfig m = builtin_machine("trn2");
    set_parameter(m, t.mode);
    // Differences must be seen: the two tails and the fixed cost of a descriptor otherwise almost agree.
    set_parameter(m, "dma.stagger_ns=0");
    std::int64_t value = 0;
    for (const ParameterInfo& p : parameters(m)) {
      if (p.key == t.key) value = std::stoll(p.value);
    }
    REQUIRE(value > 0);
    const std::int64_t last = t.at_value ? value - t.step : value;
    CHECK_FALSE(t.shows(last, m));
    CHECK(t.shows(last + t.step, m));
    set_parameter(m, std::string(t.key) + "=" + std::to_string(value + t.step));
    CHECK_FALSE(t.shows(last + t.step, m));
    CHECK(t.shows(last + 2 * t.step, m));
  }
}
