#include "tools/command/retime.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <utility>

#include "emu/data/workers.h"

namespace ncemu::command {
namespace {

Ticks times(double factor, Ticks t) { return std::llround(factor * static_cast<double>(t)); }

void free_dma(MachineConfig& machine) {
  MachineConfig::DmaParameters& dma = machine.dma;
  constexpr double unlimited = 1e9;  // B/ns: a gigabyte takes a nanosecond
  dma.r_peak = dma.c_core = machine.hbm.bytes_per_ns = unlimited;
  for (double* ns : {&dma.o_desc_ns, &dma.desc_min_ns, &dma.t_sem_ns, &dma.element_ns, &dma.g_static_ns,
                     &dma.g_software_ns, &dma.g_software_row_ns, &dma.g_index_row_ns, &dma.g_hardware_ns,
                     &dma.l_trig_ns, &dma.l_trig_software_ns, &dma.l_trig_hardware_ns, &dma.stagger_ns,
                     &dma.tail_load_ns, &dma.tail_store_ns, &dma.tail_short_ns, &dma.l_done_ns}) {
    *ns = 0;
  }
}

void faster_dma(MachineConfig& machine) {
  machine.dma.r_peak *= 2;
  machine.dma.c_core *= 2;
  machine.hbm.bytes_per_ns *= 2;
  machine.dma.o_desc_ns /= 2;
  machine.dma.desc_min_ns /= 2;
  machine.dma.element_ns /= 2;
}

}  // namespace

std::optional<Ticks> Retimer::total(const Change& change) const {
  MachineConfig machine = kernel_->machine;
  RunOptions options;
  options.mode = Mode::timing_only;
  if (change.machine) change.machine(machine);
  if (change.options) change.options(options);
  Machine again(machine, kernel_->program, std::move(options));
  const RunResult result = again.run();
  if (result.status != RunStatus::finished) return std::nullopt;
  return result.total;
}

std::vector<std::optional<Ticks>> Retimer::totals(std::span<const Change> changes) const {
  std::vector<std::optional<Ticks>> totals(changes.size());
  runs_ += changes.size();
  if (changes.empty()) return totals;
  const auto processors = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  Workers workers(static_cast<int>(std::min(processors, changes.size())));
  std::atomic<std::size_t> next{0};
  workers.run([&](int) {
    for (std::size_t i = next++; i < changes.size(); i = next++) totals[i] = total(changes[i]);
  });
  return totals;
}

Change scaled(double factor, std::function<bool(const Instruction&, Engine)> which) {
  return {.machine = {}, .options = [factor, which = std::move(which)](RunOptions& options) {
            options.perturb = [factor, which](const Instruction& i, Engine e, Cost& cost) {
              if (!which(i, e)) return;
              cost.interval = times(factor, cost.interval);
              cost.stream = times(factor, cost.stream);
              cost.latency = times(factor, cost.latency);
            };
          }};
}

Change without_moving(std::function<bool(Engine issuer, std::size_t nth)> which) {
  return {.machine = {}, .options = [which = std::move(which)](RunOptions& options) {
            auto counts = std::make_shared<std::array<std::size_t, engine_count>>();
            const auto nothing = std::make_shared<const TransferWork>();
            options.replace_transfer = [=](const Instruction&, Engine issuer,
                                           const TransferWork&) -> std::shared_ptr<const TransferWork> {
              const std::size_t nth = (*counts)[static_cast<std::size_t>(issuer)]++;
              return which(issuer, nth) ? nothing : nullptr;
            };
          }};
}

Change evenly_spread() {
  return {.machine = {}, .options = [](RunOptions& options) {
            options.replace_transfer = [](const Instruction&, Engine, const TransferWork& work) {
              auto even = std::make_shared<TransferWork>(work);
              std::vector<DescriptorRuns> all;
              for (auto& engine : even->engines) {
                all.insert(all.end(), engine.begin(), engine.end());
                engine.clear();
              }
              // Descriptors in turn; what does not divide goes to the first engines.
              std::int64_t next = 0;
              for (const DescriptorRuns& run : all) {
                for (std::int64_t e = 0; e < dma_engine_count; ++e) {
                  const std::int64_t at = (e - next % dma_engine_count + dma_engine_count) % dma_engine_count;
                  const std::int64_t count = (run.count - at + dma_engine_count - 1) / dma_engine_count;
                  if (count > 0) even->engines[static_cast<std::size_t>(e)].push_back({run.bytes, count});
                }
                next += run.count;
              }
              return std::shared_ptr<const TransferWork>(std::move(even));
            };
          }};
}

std::vector<WhatIf> what_if(const Profile& profile, const Retimer& retimer) {
  std::vector<WhatIf> all;
  std::vector<std::size_t> asked;  // in all
  std::vector<Change> changes;
  const auto add = [&](std::string name, std::string question, bool matters, Change change) {
    // Where nothing is changed nothing needs to run.
    all.push_back({std::move(name), std::move(question), profile.timeline.total()});
    if (!matters) return;
    asked.push_back(all.size() - 1);
    changes.push_back(std::move(change));
  };
  const bool moves = profile.summary.dma.transfers > 0;
  add("dma_free", "if transfers took no time", moves, {.machine = free_dma, .options = {}});
  add("dma_twice_as_fast", "if the DMA engines and HBM were twice as fast", moves,
      {.machine = faster_dma, .options = {}});
  for (const Engine e : {Engine::tensor, Engine::vector, Engine::scalar, Engine::gpsimd}) {
    add(fmt::format("{}_twice_as_fast", name(e)), fmt::format("if {} were twice as fast", name(e)),
        profile.summary.engine(e).instructions > 0,
        scaled(0.5, [e](const Instruction&, Engine engine) { return engine == e; }));
  }
  if (profile.machine->target.generation >= 3) {
    add("no_clock_gate", "if the tensor engine always ran at its full clock",
        profile.summary.engine(Engine::tensor).gated > 0,
        {.machine = [](MachineConfig& m) { m.gate.window = 0; }, .options = {}});
  } else {
    Ticks port = 0;
    for (const EngineTime& e : profile.engines)
      port += e.stalled[static_cast<std::size_t>(StallReason::port)];
    add("ports_shared", "if no two engines excluded each other from SBUF or PSUM", port > 0,
        {.machine = {}, .options = [](RunOptions& options) { options.share_ports = true; }});
  }
  const std::vector<std::optional<Ticks>> totals = retimer.totals(changes);
  for (std::size_t i = 0; i < asked.size(); ++i) all[asked[i]].total = totals[i];
  return all;
}

}  // namespace ncemu::command
