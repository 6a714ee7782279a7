// A profile for a terminal: the verdict first, then tables, the largest entries of each.

#include <algorithm>

#include "tools/command/profile.h"
#include "tools/command/table.h"

namespace ncemu::command {
namespace {

constexpr std::size_t rows_shown = 12;

class Text {
 public:
  Text(const ProfileReport& report, bool colour) : r_(report), p_(report.profile), colour_(colour) {}

  std::string all() const {
    std::string text = strong(r_.verdict.sentence) + "\n\n" + head();
    text += section("Engines", engines());
    text += section("Stalls, largest first", stalls());
    text += section("Bounds", ladder_table(p_.kernel));
    if (p_.windows.size() > 1) text += section("Bounds by window", windows());
    text += section("Critical path, by what it spends its time on", critical());
    if (!r_.what_if.empty()) text += section("What if (timed again)", what_if_table());
    if (p_.summary.dma.transfers > 0) text += section("DMA", dma());
    text += section("Memory", memory());
    text += section("Roofline", roofline());
    text += section("Source lines, by their part of the critical path", source(Region::Kind::line));
    if (has(Region::Kind::loop)) text += section("Loops", source(Region::Kind::loop));
    if (has(Region::Kind::macro)) text += section("Macros", source(Region::Kind::macro));
    text += advice();
    return text;
  }

 private:
  std::string strong(std::string text) const { return colour_ ? "\x1b[1m" + text + "\x1b[0m" : text; }
  std::string title(std::string text) const { return colour_ ? "\x1b[1;36m" + text + "\x1b[0m" : text; }
  std::string section(std::string name, std::string body) const {
    return "\n" + title(std::move(name)) + "\n" + body;
  }

  std::string us(Ticks t) const { return fmt::format("{:.3f}", p_.us(t)); }
  std::string us(double t) const { return fmt::format("{:.3f}", p_.us(t)); }
  std::string percent(Ticks t) const {
    const Ticks total = p_.timeline.total();
    return fmt::format("{:.1f}", total == 0 ? 0 : 100 * static_cast<double>(t) / static_cast<double>(total));
  }

  std::string head() const {
    std::string text = fmt::format("{:<14} {}\n", "command", r_.head.command_line);
    text += fmt::format("{:<14} {}, configuration {}\n", "machine", p_.machine->target.machine,
                        config_hash(*p_.machine));
    for (const Input& input : r_.run.inputs) {
      text += fmt::format("{:<14} {} = {}, checksum {:016x}\n", "input", input.name, input.source,
                          input.checksum);
    }
    text += fmt::format("{:<14} {:.3f} us modelled, {:.0f} core cycles\n", "device time",
                        p_.us(p_.timeline.total()), core_cycles(*p_.machine, p_.timeline.total()));
    text += fmt::format("{:<14} {:.3f} s to emulate {} instructions in mode {}\n", "host time",
                        r_.run.host_seconds, p_.timeline.instructions.size(), mode_name(r_.run.mode));
    if (r_.run.partial()) text += fmt::format("{:<14} {}\n", "PARTIAL", r_.run.message);
    for (const Metric m : {Metric::mfu_estimated_percent, Metric::hfu_estimated_percent,
                           Metric::mbu_estimated_percent, Metric::mm_arithmetic_intensity}) {
      const MetricInfo& info = all_metrics()[static_cast<std::size_t>(m)];
      if (const auto v = value(p_.metrics, m))
        text += fmt::format("{:<24} {:.1f} {}\n", info.name, *v, info.unit);
    }
    return text;
  }

  std::string engines() const {
    Table table({"engine", ">instructions", ">busy us", ">%", ">gated us", ">stalled us", ">%", ">idle us",
                 ">%", ">active us", "stalled by"});
    for (const Engine e : all_engines) {
      const EngineTime& t = p_.engines[static_cast<std::size_t>(e)];
      std::string reasons;
      for (std::size_t r = 1; r < stall_reason_kinds; ++r) {
        if (t.stalled[r] > 0)
          reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", name(static_cast<StallReason>(r)),
                                 us(t.stalled[r]));
      }
      table.row({std::string(name(e)), std::to_string(p_.summary.engine(e).instructions), us(t.busy),
                 percent(t.busy), us(t.gated), us(t.stalled_in_all()), percent(t.stalled_in_all()),
                 us(t.idle), percent(t.idle), us(t.active), reasons});
    }
    return table.text();
  }

  std::string stalls() const {
    if (p_.stalls.empty()) return "none\n";
    Table table({">us", ">%", ">times", "engine", "waits on", "for", "of", "reason"});
    for (std::size_t i = 0; i < std::min(rows_shown, p_.stalls.size()); ++i) {
      const StallGroup& g = p_.stalls[i];
      table.row({us(g.ticks), percent(g.ticks), std::to_string(g.count), std::string(name(g.engine)),
                 p_.regions.describe(g.place),
                 g.cause_known ? std::string(info(g.cause_opcode).mnemonic) : std::string("-"),
                 g.cause_known
                     ? fmt::format("{} on {}", name(g.cause_engine), p_.regions.describe(g.cause_place))
                     : std::string("-"),
                 std::string(name(g.reason))});
    }
    return table.text() + rest(p_.stalls, [](const StallGroup& g) { return g.ticks; });
  }

  // What the rows not shown add up to.
  template <typename Group>
  std::string rest(const std::vector<Group>& all, auto&& ticks) const {
    if (all.size() <= rows_shown) return {};
    Ticks sum = 0;
    for (std::size_t i = rows_shown; i < all.size(); ++i) sum += ticks(all[i]);
    return fmt::format("and {} more, {} us\n", all.size() - rows_shown, us(sum));
  }

  std::string ladder_table(const BoundsWork& work) const {
    const Ladder l = ladder(work, *p_.machine);
    Table table({"bound", ">us", "gap", ">us", ">speed-up if closed"});
    for (std::size_t r = 0; r < rung_count; ++r) {
      const auto rung = static_cast<Rung>(r);
      const auto at = l.rungs[r], from = l[above(rung)];
      const bool gap = rung != Rung::total && at && from;
      table.row({std::string(name(rung)), at ? us(*at) : "-", std::string(gap_name(rung)),
                 gap ? us(*from - *at) : "", l.speedup[r] ? fmt::format("{:.2f}", *l.speedup[r]) : ""});
    }
    return table.text();
  }

  std::string windows() const {
    std::vector<std::string> heads = {">from us"};
    for (std::size_t r = 0; r < rung_count; ++r)
      heads.push_back(">" + std::string(name(static_cast<Rung>(r))));
    Table table(heads);
    Ticks begin = 0;
    for (const BoundsWork& w : p_.windows) {
      const Ladder l = ladder(w, *p_.machine);
      std::vector<std::string> cells = {us(begin)};
      for (const auto& rung : l.rungs) cells.push_back(rung ? us(*rung) : "-");
      table.row(cells);
      begin += w.total;
    }
    return table.text();
  }

  std::string critical() const {
    Table table({">us", ">%", ">steps", "step", "engine", "instruction", "line"});
    for (std::size_t i = 0; i < std::min(rows_shown, p_.critical.size()); ++i) {
      const CriticalGroup& g = p_.critical[i];
      const bool known = g.kind != StepKind::before_start;
      table.row({us(g.ticks), percent(g.ticks), std::to_string(g.steps), std::string(name(g.kind)),
                 known ? std::string(name(g.engine)) : "-",
                 known ? std::string(info(g.opcode).mnemonic) : "-",
                 known ? p_.regions.describe(g.place) : "-"});
    }
    return table.text() + rest(p_.critical, [](const CriticalGroup& g) { return g.ticks; });
  }

  std::string gain(const std::optional<Ticks>& total) const {
    return total ? us(p_.timeline.total() - *total) : std::string("-");
  }

  std::string what_if_table() const {
    Table table({"question", ">total us", ">gain us", ">speed-up"});
    for (const WhatIf& w : r_.what_if) {
      const bool ran = w.total && *w.total > 0;
      table.row({w.question, w.total ? us(*w.total) : "needs data", gain(w.total),
                 ran ? fmt::format("{:.2f}",
                                   static_cast<double>(p_.timeline.total()) / static_cast<double>(*w.total))
                     : "-"});
    }
    return table.text();
  }

  std::string dma() const {
    const DmaSummary& d = p_.summary.dma;
    std::string text = fmt::format("{} transfers, {} descriptors, {} bytes; active {} us ({} %)\n",
                                   d.transfers, d.descriptors, d.bytes, us(d.active), percent(d.active));
    std::string causes;
    for (std::size_t c = 0; c < dma_cause_count; ++c) {
      const double ticks = p_.dma_time.parts[c].ticks;
      if (ticks > 0)
        causes +=
            fmt::format("{}{} {}", causes.empty() ? "" : ", ", name(static_cast<DmaCause>(c)), us(ticks));
    }
    if (!causes.empty()) text += fmt::format("us on the critical path by cause: {}\n", causes);
    Table sizes(
        {"bytes of a descriptor", ">transfers", ">descriptors", ">bytes", ">% of a DMA engine's peak"});
    for (const DescriptorSizes& s : p_.descriptor_sizes) {
      sizes.row({fmt::format("{} to {}", s.low, s.high), std::to_string(s.transfers),
                 std::to_string(s.descriptors), std::to_string(s.bytes),
                 fmt::format("{:.0f}", 100 * s.efficiency)});
    }
    text += sizes.text();
    Table queues({">queue", ">transfers", ">bytes", ">active us"});
    for (const QueueUse& q : p_.queues)
      queues.row(
          {std::to_string(q.queue), std::to_string(q.transfers), std::to_string(q.bytes), us(q.active)});
    text += queues.text();
    Table tensors({"tensor", ">bytes", ">read", ">times", ">written"});
    for (const TensorTraffic& t : p_.traffic.tensors) {
      const Tensor& tensor = p_.program->tensors[t.tensor];
      tensors.row({tensor.name, std::to_string(tensor.bytes()), std::to_string(t.read + t.unknown_read),
                   t.read_once > 0 ? fmt::format("{:.2f}", t.times_read()) : "-", std::to_string(t.written)});
    }
    return text + tensors.text();
  }

  std::string memory() const {
    const Target& target = p_.machine->target;
    std::string text;
    if (!p_.lives.empty()) {
      text += fmt::format("live tiles at most {} of {} bytes of each SBUF partition, {} of {} of PSUM\n",
                          p_.memory.sbuf_peak, target.sbuf_partition_bytes, p_.memory.psum_peak,
                          target.psum_partition_bytes());
    }
    return text + fmt::format("{} semaphore waits, {} activation table loads\n", p_.waits, p_.table_loads);
  }

  std::string roofline() const {
    const Roofline& roof = p_.roofline;
    std::string text = fmt::format(
        "ceilings: tensor engine {:.1f} TFLOP/s, HBM {:.0f} GB/s, DMA engines {:.0f} GB/s, SBUF {:.0f} "
        "GB/s per engine; ridge at {:.0f} FLOP/B\n",
        roof.peak_flops * 1e-12, roof.hbm_bytes_per_s * 1e-9, roof.dma_bytes_per_s * 1e-9,
        roof.sbuf_bytes_per_s * 1e-9, roof.peak_flops / roof.hbm_bytes_per_s);
    if (roof.intensity && roof.flops) {
      const double ceiling = std::min(roof.peak_flops, *roof.intensity * roof.hbm_bytes_per_s);
      text +=
          fmt::format("this kernel: {:.1f} FLOP/B, {:.2f} TFLOP/s, {:.0f} % of what the roof allows there\n",
                      *roof.intensity, *roof.flops * 1e-12, 100 * *roof.flops / ceiling);
    }
    for (const Engine e : {Engine::vector, Engine::scalar, Engine::gpsimd}) {
      const auto n = static_cast<std::size_t>(e);
      if (roof.kernel_elements_per_s[n] == 0) continue;
      text += fmt::format("{}: {:.1f} of {:.1f} G elements/s\n", name(e),
                          roof.kernel_elements_per_s[n] * 1e-9, roof.elements_per_s[n] * 1e-9);
    }
    return text;
  }

  bool has(Region::Kind kind) const {
    return std::any_of(p_.source.begin(), p_.source.end(), [&](const RegionTime& region) {
      return p_.regions.all()[region.region].kind == kind;
    });
  }

  std::string source(Region::Kind kind) const {
    std::vector<const RegionTime*> all;
    for (const RegionTime& region : p_.source) {
      // Lines that only call are in the table of macros.
      const bool shown = kind != Region::Kind::line || region.own > 0;
      if (shown && p_.regions.all()[region.region].kind == kind) all.push_back(&region);
    }
    std::stable_sort(all.begin(), all.end(), [](const RegionTime* a, const RegionTime* b) {
      return std::pair(a->critical, a->busy_in_all()) > std::pair(b->critical, b->busy_in_all());
    });
    Table table({">critical us", ">busy us", ">stalled us", ">caused us", ">slack us", ">times", ">DMA bytes",
                 "line", "text"});
    for (std::size_t i = 0; i < std::min(rows_shown, all.size()); ++i) {
      const RegionTime& t = *all[i];
      const Region& region = p_.regions.all()[t.region];
      std::string words = kind == Region::Kind::line ? r_.source.line(region.first) : region.name;
      if (words.size() > 60) words = words.substr(0, 57) + "...";
      table.row({us(t.critical), us(t.busy_in_all()), us(t.stalled_in_all()), us(t.caused), us(t.least_slack),
                 std::to_string(t.instructions), std::to_string(t.dma_bytes),
                 region.first.file == no_index
                     ? std::string("-")
                     : fmt::format("{}:{}", p_.program->files[region.first.file], region.first.line),
                 words});
    }
    return table.text();
  }

  std::string advice() const {
    if (r_.run.partial()) return {};
    if (r_.advice.empty()) return section("Advice", "no threshold is crossed at a cost of 1 % of the time\n");
    std::string text;
    for (const Advice& a : r_.advice) {
      text += fmt::format("{}: {}\n", p_.regions.describe(a.place), a.finding);
      text += fmt::format("    {}\n", a.suggestion);
      text += a.total ? fmt::format("    without {}: {} us, a gain of {} us\n", a.removed, us(*a.total),
                                    us(p_.timeline.total() - *a.total))
                      : std::string("    not timed again: the control flow depends on data\n");
    }
    return section("Advice", text);
  }

  const ProfileReport& r_;
  const Profile& p_;
  bool colour_;
};

}  // namespace

std::string profile_text(const ProfileReport& report, bool colour) { return Text(report, colour).all(); }

}  // namespace ncemu::command
