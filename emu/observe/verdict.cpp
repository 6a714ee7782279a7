#include "emu/observe/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ncemu {
namespace {

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }
double share(Ticks part, Ticks whole) { return share(static_cast<double>(part), static_cast<double>(whole)); }

// The critical path by what it spends its time on: the engines, DMA, signals under way.
struct Spent {
  std::array<Ticks, engine_count> engines{};
  Ticks dma = 0, signals = 0, nothing = 0;
};

Spent spent(const Profile& p) {
  Spent result;
  for (const CriticalGroup& g : p.critical) {
    switch (g.kind) {
      case StepKind::runs: result.engines[static_cast<std::size_t>(g.engine)] += g.ticks; break;
      case StepKind::signal: result.signals += g.ticks; break;
      case StepKind::dma_start:
      case StepKind::dma_moves:
      case StepKind::dma_done:
      case StepKind::dma_queue_waits: result.dma += g.ticks; break;
      case StepKind::before_start: result.nothing += g.ticks; break;
    }
  }
  return result;
}

std::string bytes_text(double bytes) {
  if (bytes < 10 * 1024) return fmt::format("{:.0f}-byte", bytes);
  if (bytes < 10 * 1024 * 1024) return fmt::format("{:.0f} KiB", bytes / 1024);
  return fmt::format("{:.0f} MiB", bytes / (1024 * 1024));
}

std::string transfers_reason(const Profile& p) {
  const DmaSummary& dma = p.summary.dma;
  constexpr double small = 32 * 1024;  // bytes; the vendor's threshold for advice
  const double average = static_cast<double>(dma.bytes) / static_cast<double>(dma.transfers);
  const double fixed = p.dma_time[DmaCause::start].ticks + p.dma_time[DmaCause::completion].ticks;
  std::string text = fmt::format(
      "{} {}transfers, {:.0f} bytes each on average, spend {:.0f} % of their time on that path on start and "
      "completion, not on moving",
      dma.transfers, average < small ? "small " : "", average, 100 * share(fixed, p.dma_time.in_all()));
  if (average >= small && p.dma_time.quiet > p.dma_time[DmaCause::start].ticks / 2)
    text += ", and nothing else moves meanwhile";
  return text;
}

std::string bytes_reason(const Profile& p) {
  const DmaSummary& dma = p.summary.dma;
  const TensorTraffic* most = nullptr;
  for (const TensorTraffic& t : p.traffic.tensors) {
    if (t.times_read() >= 1.5 && (most == nullptr || t.read - t.read_once > most->read - most->read_once))
      most = &t;
  }
  if (most != nullptr &&
      share(static_cast<double>(most->read - most->read_once), static_cast<double>(dma.bytes)) > 0.2) {
    return fmt::format("tensor '{}' is loaded {:.1f} times", p.program->tensors[most->tensor].name,
                       most->times_read());
  }
  const double ideal = share(peak_ticks(p.kernel.loaded, p.kernel.stored, p.kernel.dma_quiet, *p.machine),
                             static_cast<double>(dma.active));
  const std::string reach = fmt::format(
      "{} bytes have to move, and the DMA engines reach {:.0f} % of their peak while they do, {:.0f} GB/s",
      dma.bytes, 100 * ideal, static_cast<double>(dma.bytes) / (p.us(dma.active) * 1000));
  // Loads and stores share the rate; a kernel that stores little cannot tell.
  constexpr double much = 0.2;
  if (share(p.kernel.stored, p.kernel.loaded + p.kernel.stored) < much) return reach;
  return reach + " for loads and stores together";
}

// What else takes a good part of the transfers' time where their bytes take most of it.
std::string second_reason(const Profile& p) {
  constexpr double good_part = 0.15;
  struct Row {
    DmaCause cause;
    std::string_view words;
  };
  // clang-format off
  constexpr Row rows[] = {
    {DmaCause::start,       "start before the first packet"},
    {DmaCause::few_engines, "too few DMA engines at a time"},
    {DmaCause::hbm_twice,   "reading and writing HBM at once"},
    {DmaCause::unit,        "transposing or computing on the way"},
    {DmaCause::descriptors, "short descriptors"},
  };
  // clang-format on
  const Row* most = nullptr;
  for (const Row& row : rows) {
    const double ticks = p.dma_time[row.cause].ticks;
    if (ticks < good_part * p.dma_time.in_all()) continue;
    if (most == nullptr || ticks > p.dma_time[most->cause].ticks) most = &row;
  }
  if (most == nullptr) return {};
  return fmt::format("; {} takes {:.0f} % of the transfers' time on that path", most->words,
                     100 * p.dma_time[most->cause].ticks / p.dma_time.in_all());
}

// Why the transfers on the critical path take so long: what takes most of their time.
std::string dma_reason(const Profile& p) {
  const DmaTime& time = p.dma_time;
  const double all = time.in_all();
  if (all == 0) return "no transfer was recorded";
  const double fixed = time[DmaCause::start].ticks + time[DmaCause::completion].ticks;
  DmaCause most = DmaCause::bytes;
  for (const DmaCause c :
       {DmaCause::few_engines, DmaCause::hbm_twice, DmaCause::unit, DmaCause::descriptors}) {
    if (time[c].ticks > time[most].ticks) most = c;
  }
  if (fixed > time[most].ticks) return transfers_reason(p);
  const double percent = 100 * time[most].ticks / all;
  const std::string line = p.regions.describe(time[most].place);
  switch (most) {
    case DmaCause::start:
    case DmaCause::completion:
    case DmaCause::bytes: break;
    case DmaCause::few_engines:
      return fmt::format(
          "only {:.1f} of the 16 DMA engines move at a time, which loses {:.0f} % of the transfers' time on "
          "that path, most of it on {}: an engine serves 8 partitions",
          time.engines, percent, line);
    case DmaCause::hbm_twice:
      return fmt::format(
          "transfers from HBM to HBM take its bandwidth twice, {:.0f} % of the transfers' time on that path, "
          "most of it on {}",
          percent, line);
    case DmaCause::unit:
      return fmt::format(
          "transfers that transpose or compute are slower than copies, {:.0f} % of the transfers' time on "
          "that path, most of it on {}",
          percent, line);
    case DmaCause::descriptors:
      return fmt::format(
          "{} descriptors are short: each costs {:.0f} ns beside its bytes, {:.0f} % of the transfers' time "
          "on that path, most of it on {}",
          bytes_text(time.descriptor_bytes),
          ns_from_ticks(*p.machine, 1) * time[most].ticks / time.descriptors, percent, line);
  }
  return bytes_reason(p) + second_reason(p);
}

// Whether a program of gpsimd builds the descriptors of this line's transfers.
bool software(const Profile& p, PlaceNumber place) {
  const Timeline::Transfers& all = p.timeline.transfers;
  for (std::uint32_t t = 0; t < all.size(); ++t) {
    if (p.place(all.serial[t]) == place && p.timeline.shape(t).mode == DgeMode::software) return true;
  }
  return false;
}

std::string engine_reason(const Profile& p, Engine e) {
  const CriticalGroup* top = nullptr;
  for (const CriticalGroup& g : p.critical) {
    if (g.kind == StepKind::runs && g.engine == e) {
      top = &g;
      break;
    }
  }
  if (top == nullptr) return "of its instructions";
  const auto number = static_cast<std::size_t>(e);
  std::string text = fmt::format("{} on {} alone takes {:.0f} %", info(top->opcode).mnemonic,
                                 p.regions.describe(top->place), 100 * share(top->ticks, p.timeline.total()));
  if (info(top->opcode).is_dma() && software(p, top->place)) text += ", building descriptors";
  if (e == Engine::tensor && share(p.engines[number].gated, p.timeline.total()) > 0.1) {
    text += fmt::format(", and the clock gate stretches {:.0f} % of the time",
                        100 * share(p.engines[number].gated, p.timeline.total()));
  }
  return text;
}

// Stalls of the tensor engine that end when another engine has read PSUM, and what those engines lose to each
// other at the port of v2.
struct Eviction {
  Ticks tensor_waits = 0, port = 0;
  std::array<bool, engine_count> engines{};
};

Eviction eviction(const Profile& p) {
  Eviction result;
  for_each_piece(p.timeline, Engine::tensor, [&](const Piece& piece) {
    if (piece.kind != PieceKind::stalled) return;
    if (p.timeline.instructions.reason[piece.serial] != StallReason::semaphore) return;
    const Serial by = p.timeline.instructions.producer[piece.serial];
    if (by == no_serial || p.timeline.instructions.engine[by] == Engine::tensor) return;
    const auto engine = static_cast<std::size_t>(p.timeline.instructions.engine[by]);
    if (p.timeline.work_of(by).psum_read == 0) return;
    result.tensor_waits += piece.ticks();
    result.engines[engine] = true;
  });
  for (const Engine e : {Engine::vector, Engine::scalar}) {
    for_each_piece(p.timeline, e, [&](const Piece& piece) {
      if (piece.kind != PieceKind::stalled) return;
      if (p.timeline.instructions.reason[piece.serial] != StallReason::port) return;
      if (p.timeline.work_of(piece.serial).psum_read > 0) result.port += piece.ticks();
    });
  }
  return result;
}

std::string list_of(const std::array<bool, engine_count>& engines) {
  std::string text;
  for (const Engine e : all_engines) {
    if (!engines[static_cast<std::size_t>(e)]) continue;
    text += fmt::format("{}{}", text.empty() ? "" : " and ", name(e));
  }
  return text;
}

}  // namespace

Verdict verdict(const Profile& p) {
  const Ticks total = p.timeline.total();
  if (total == 0) return {"nothing", "Nothing took time."};

  // The tensor engine starves while its results are taken out of PSUM.
  const Eviction out = eviction(p);
  constexpr double starved = 0.25, noticeable = 0.05;
  if (share(out.tensor_waits, total) >= starved) {
    const bool port = share(out.port, total) >= noticeable;
    std::string sentence = fmt::format(
        "Bound by PSUM eviction: the tensor engine starves, waiting {:.0f} % of the time for {} to empty "
        "PSUM",
        100 * share(out.tensor_waits, total), list_of(out.engines));
    if (port) {
      sentence += fmt::format(
          ", because vector and scalar take turns at PSUM (port rule of NeuronCore-v{}): they wait {:.0f} % "
          "of "
          "the time for each other",
          p.program->target.generation, p.us(out.port));
    }
    return {"PSUM eviction", sentence + "."};
  }

  const Spent on = spent(p);
  std::size_t engine = 0;
  for (std::size_t e = 1; e < engine_count; ++e) {
    if (on.engines[e] > on.engines[engine]) engine = e;
  }
  const double us = p.us(total);
  if (on.dma >= on.engines[engine] && on.dma >= on.signals) {
    return {"DMA", fmt::format("Bound by DMA: {:.0f} % of the {:.1f} us of the critical path, because {}.",
                               100 * share(on.dma, total), us, dma_reason(p))};
  }
  if (on.signals > on.engines[engine]) {
    return {"waits",
            fmt::format("Bound by waits: {:.0f} % of the {:.1f} us of the critical path are signals "
                        "on their way from one engine to the next; the work in between is too short.",
                        100 * share(on.signals, total), us)};
  }
  const auto e = static_cast<Engine>(engine);
  return {std::string(name(e)),
          fmt::format("Bound by {}: {:.0f} % of the {:.1f} us of the critical path run there; {}.", name(e),
                      100 * share(on.engines[engine], total), us, engine_reason(p, e))};
}

}  // namespace ncemu
