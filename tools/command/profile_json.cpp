// A profile as JSON. Every name, type and unit is in profile_schema.json, which a test holds it to.

#include <nlohmann/json.hpp>

#include "emu/observe/part_metrics.h"
#include "tools/command/profile.h"
#include "tools/command/version.h"

namespace ncemu::command {
namespace {

using Json = nlohmann::ordered_json;

// Lists end here; what is left out is a small part of the whole, and the counts say so.
constexpr std::size_t most_stalls = 1000, most_steps = 2000;

template <typename T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

class Writer {
 public:
  explicit Writer(const ProfileReport& report) : r_(report), p_(report.profile) {}

  Json all() const {
    Json json = head();
    json["verdict"] = {{"bound", r_.verdict.bound}, {"sentence", r_.verdict.sentence}};
    json["metrics"] = metrics();
    json["engines"] = Json::array();
    for (const Engine e : all_engines) json["engines"].push_back(engine(e));
    json["stalls"] = stalls();
    json["bounds"] = bounds_json();
    json["critical_path"] = critical();
    json["what_if"] = what_if_json();
    json["dma"] = dma();
    json["tensors"] = tensors();
    json["memory"] = memory();
    json["roofline"] = roofline_json();
    json["source"] = source();
    json["advice"] = advice_json();
    return json;
  }

 private:
  Json head() const {
    const RunReport& run = r_.run;
    Json inputs = Json::array();
    for (const Input& input : run.inputs) {
      inputs.push_back({{"name", input.name},
                        {"source", input.source},
                        {"checksum_xxh3", fmt::format("{:016x}", input.checksum)}});
    }
    return {{"schema", "ncemu.profile/1"},
            {"version", version_number()},
            {"commit", commit()},
            {"command_line", r_.head.command_line},
            {"kernel", r_.head.kernel},
            {"machine",
             {{"name", p_.machine->target.machine},
              {"config_hash", config_hash(*p_.machine)},
              {"ticks_per_us", ticks_per_us(*p_.machine)}}},
            {"mode", mode_name(run.mode)},
            {"partial", run.partial()},
            {"message", run.message},
            {"inputs", inputs},
            {"total_us", us(p_.timeline.total())},
            {"total_ticks", p_.timeline.total()},
            {"core_cycles", core_cycles(*p_.machine, p_.timeline.total())},
            {"host_time_s", run.host_seconds},
            {"instruction_count", p_.timeline.instructions.size()}};
  }

  double us(Ticks ticks) const { return p_.us(ticks); }
  double us(double ticks) const { return p_.us(ticks); }

  Json place(PlaceNumber number) const {
    if (number == 0) return nullptr;
    const SourcePlace& at = p_.regions.places()[number];
    return {{"file", p_.program->files[at.file]}, {"line", at.line}};
  }

  Json metrics() const {
    Json json = Json::object();
    for (std::size_t m = 0; m < metric_count; ++m)
      json[std::string(all_metrics()[m].name)] = optional(p_.metrics[m]);
    return json;
  }

  Json engine(Engine e) const {
    const auto number = static_cast<std::size_t>(e);
    const EngineTime& time = p_.engines[number];
    Json by = Json::object(), ticks_by = Json::object();
    for (std::size_t r = 1; r < stall_reason_kinds; ++r) {
      const std::string reason(name(static_cast<StallReason>(r)));
      by[reason + "_us"] = us(time.stalled[r]);
      ticks_by[reason] = time.stalled[r];
    }
    Json opcodes = Json::array();
    for (const OpcodeTime& o : p_.opcodes) {
      if (o.engine != e) continue;
      opcodes.push_back({{"mnemonic", info(o.opcode).mnemonic}, {"count", o.count}, {"busy_us", us(o.busy)}});
    }
    return {{"engine", name(e)},
            {"instruction_count", p_.timeline.of_engine[number].size()},
            {"busy_us", us(time.busy)},
            {"clock_gated_us", us(time.gated)},
            {"stalled_us", us(time.stalled_in_all())},
            {"stalled_by", by},
            {"idle_us", us(time.idle)},
            {"active_us", us(time.active)},
            {"ticks", {{"busy", time.busy}, {"stalled", ticks_by}, {"idle", time.idle}}},
            {"opcodes", opcodes}};
  }

  Json stalls() const {
    Json json = Json::array();
    for (const StallGroup& g : p_.stalls) {
      if (json.size() == most_stalls) break;
      Json one = {{"engine", name(g.engine)}, {"place", place(g.place)}, {"reason", name(g.reason)},
                  {"us", us(g.ticks)},        {"ticks", g.ticks},        {"count", g.count}};
      one["waits_for"] = g.cause_known ? Json{{"engine", name(g.cause_engine)},
                                              {"mnemonic", info(g.cause_opcode).mnemonic},
                                              {"place", place(g.cause_place)}}
                                       : Json(nullptr);
      json.push_back(std::move(one));
    }
    return json;
  }

  Json ladder_json(const BoundsWork& work) const {
    const Ladder l = ladder(work, *p_.machine);
    Json rungs = Json::array();
    for (std::size_t r = 0; r < rung_count; ++r) {
      const auto rung = static_cast<Rung>(r);
      Json one = {{"name", name(rung)}, {"us", l.rungs[r] ? Json(us(*l.rungs[r])) : Json(nullptr)}};
      if (rung != Rung::total) {
        const auto from = l[above(rung)];
        one["gap"] = gap_name(rung);
        one["gap_us"] = from && l.rungs[r] ? Json(us(*from - *l.rungs[r])) : Json(nullptr);
        one["bn_speedup"] = optional(l.speedup[r]);
      }
      rungs.push_back(std::move(one));
    }
    return rungs;
  }

  // Those that have a value.
  Json part_metrics_json(const BoundsWork& work) const {
    const Metrics part = part_metrics(work, *p_.machine);
    Json json = Json::object();
    for (std::size_t m = 0; m < metric_count; ++m) {
      if (part[m]) json[std::string(all_metrics()[m].name)] = *part[m];
    }
    return json;
  }

  Json bounds_json() const {
    Json windows = Json::array();
    Ticks begin = 0;
    for (const BoundsWork& w : p_.windows) {
      windows.push_back({{"begin_us", us(begin)},
                         {"end_us", us(begin + w.total)},
                         {"metrics", part_metrics_json(w)},
                         {"rungs", ladder_json(w)}});
      begin += w.total;
    }
    return {{"kernel", ladder_json(p_.kernel)}, {"windows", windows}};
  }

  Json critical() const {
    Json by = Json::array();
    for (const CriticalGroup& g : p_.critical) {
      Json one = {{"kind", name(g.kind)}, {"us", us(g.ticks)}, {"ticks", g.ticks}, {"steps", g.steps}};
      const bool known = g.kind != StepKind::before_start;
      one["engine"] = known ? Json(name(g.engine)) : Json(nullptr);
      one["mnemonic"] = known ? Json(info(g.opcode).mnemonic) : Json(nullptr);
      one["place"] = known ? place(g.place) : Json(nullptr);
      by.push_back(std::move(one));
    }
    Json steps = Json::array();
    for (const Step& s : p_.path) {
      if (steps.size() == most_steps) break;
      const bool known = s.serial != no_serial;
      steps.push_back(
          {{"kind", name(s.kind)},
           {"begin_us", us(s.begin - p_.timeline.begin)},
           {"end_us", us(s.end - p_.timeline.begin)},
           {"serial", known ? Json(s.serial) : Json(nullptr)},
           {"engine", known ? Json(name(p_.timeline.instructions.engine[s.serial])) : Json(nullptr)},
           {"place", known ? place(p_.place(s.serial)) : Json(nullptr)}});
    }
    return {{"by", by}, {"step_count", p_.path.size()}, {"steps", steps}};
  }

  Json what_if_json() const {
    Json json = Json::array();
    for (const WhatIf& w : r_.what_if) {
      json.push_back({{"name", w.name},
                      {"question", w.question},
                      {"total_us", w.total ? Json(us(*w.total)) : Json(nullptr)},
                      {"gain_us", w.total ? Json(us(p_.timeline.total() - *w.total)) : Json(nullptr)}});
    }
    return json;
  }

  Json dma() const {
    const DmaSummary& d = p_.summary.dma;
    Json queues = Json::array(), engines = Json::array(), sizes = Json::array();
    for (const QueueUse& q : p_.queues) {
      queues.push_back({{"queue", q.queue},
                        {"transfer_count", q.transfers},
                        {"bytes", q.bytes},
                        {"active_us", us(q.active)}});
    }
    for (const DmaEngineUse& e : p_.dma_engines)
      engines.push_back({{"bytes", e.bytes}, {"active_us", us(e.active)}});
    for (const DescriptorSizes& s : p_.descriptor_sizes) {
      sizes.push_back({{"descriptor_bytes_from", s.low},
                       {"descriptor_bytes_to", s.high},
                       {"transfer_count", s.transfers},
                       {"descriptor_count", s.descriptors},
                       {"bytes", s.bytes},
                       {"packet_us", us(s.packet_time)},
                       {"efficiency_percent", 100 * s.efficiency}});
    }
    Json causes = Json::array();
    for (std::size_t c = 0; c < dma_cause_count; ++c) {
      const DmaTime::Part& part = p_.dma_time.parts[c];
      causes.push_back(
          {{"cause", name(static_cast<DmaCause>(c))}, {"us", us(part.ticks)}, {"place", place(part.place)}});
    }
    return {{"transfer_count", d.transfers},
            {"descriptor_count", d.descriptors},
            {"bytes", d.bytes},
            {"active_us", us(d.active)},
            {"critical_path", causes},
            {"queues", queues},
            {"engines", engines},
            {"by_descriptor_size", sizes}};
  }

  Json tensors() const {
    Json json = Json::array();
    for (const TensorTraffic& t : p_.traffic.tensors) {
      const Tensor& tensor = p_.program->tensors[t.tensor];
      json.push_back({{"name", tensor.name},
                      {"size_bytes", tensor.bytes()},
                      {"read_bytes", t.read + t.unknown_read},
                      {"read_once_bytes", t.read_once},
                      {"read_by_index_bytes", t.unknown_read},
                      {"times_read", t.read_once > 0 ? Json(t.times_read()) : Json(nullptr)},
                      {"written_bytes", t.written},
                      {"written_once_bytes", t.written_once}});
    }
    return json;
  }

  Json memory() const {
    const bool known = !p_.lives.empty();
    return {{"sbuf_peak_bytes_per_partition", known ? Json(p_.memory.sbuf_peak) : Json(nullptr)},
            {"psum_peak_bytes_per_partition", known ? Json(p_.memory.psum_peak) : Json(nullptr)},
            {"sbuf_bytes_per_partition", p_.machine->target.sbuf_partition_bytes},
            {"psum_bytes_per_partition", p_.machine->target.psum_partition_bytes()},
            {"semaphore_waits", p_.waits},
            {"table_loads", p_.table_loads}};
  }

  Json roofline_json() const {
    const Roofline& roof = p_.roofline;
    Json engines = Json::array();
    for (const Engine e : {Engine::tensor, Engine::vector, Engine::scalar, Engine::gpsimd}) {
      const auto n = static_cast<std::size_t>(e);
      engines.push_back({{"engine", name(e)},
                         {"peak_elements_per_s", roof.elements_per_s[n]},
                         {"elements_per_s", roof.kernel_elements_per_s[n]}});
    }
    return {{"peak_flops_per_s", roof.peak_flops},
            {"hbm_bytes_per_s", roof.hbm_bytes_per_s},
            {"dma_bytes_per_s", roof.dma_bytes_per_s},
            {"sbuf_bytes_per_s", roof.sbuf_bytes_per_s},
            {"ridge_flops_per_byte", roof.peak_flops / roof.hbm_bytes_per_s},
            {"kernel",
             {{"flops_per_byte", optional(roof.intensity)}, {"adjusted_flops_per_s", optional(roof.flops)}}},
            {"engines", engines}};
  }

  Json source() const {
    Json json = Json::array();
    for (const RegionTime& region : p_.source) {
      const Region& r = p_.regions.all()[region.region];
      Json busy = Json::object(), stalled = Json::object(), reasons = Json::object();
      for (const Engine e : all_engines) {
        const auto n = static_cast<std::size_t>(e);
        if (region.busy[n] > 0) busy[std::string(name(e))] = us(region.busy[n]);
        if (region.stalled[n] > 0) stalled[std::string(name(e))] = us(region.stalled[n]);
      }
      for (std::size_t s = 1; s < stall_reason_kinds; ++s) {
        if (region.stalled_for[s] > 0)
          reasons[std::string(name(static_cast<StallReason>(s)))] = us(region.stalled_for[s]);
      }
      const bool known = r.first.file != no_index;
      json.push_back(
          {{"kind", name(r.kind)},
           {"file", known ? Json(p_.program->files[r.first.file]) : Json(nullptr)},
           {"first_line", known ? Json(r.first.line) : Json(nullptr)},
           {"last_line", known ? Json(r.last_line) : Json(nullptr)},
           {"text", r.kind == Region::Kind::line ? r_.source.line(r.first) : r.name},
           {"instruction_count", region.instructions},
           {"own_instruction_count", r.kind == Region::Kind::line ? Json(region.own) : Json(nullptr)},
           {"busy_us", busy},
           {"stalled_us", stalled},
           {"stalled_by_us", reasons},
           {"caused_stalls_us", us(region.caused)},
           {"critical_us", us(region.critical)},
           {"least_slack_us", us(region.least_slack)},
           {"transfer_count", region.transfers},
           {"dma_bytes", region.dma_bytes},
           {"flops", region.flops},
           {"metrics", part_metrics_json(region.work)},
           {"rungs", ladder_json(region.work)}});
    }
    return json;
  }

  Json advice_json() const {
    Json json = Json::array();
    for (const Advice& a : r_.advice) {
      json.push_back({{"name", a.name},
                      {"threshold", a.threshold},
                      {"finding", a.finding},
                      {"suggestion", a.suggestion},
                      {"place", place(a.place)},
                      {"removed", a.removed},
                      {"total_us", a.total ? Json(us(*a.total)) : Json(nullptr)},
                      {"gain_us", a.total ? Json(us(p_.timeline.total() - *a.total)) : Json(nullptr)}});
    }
    return json;
  }

  const ProfileReport& r_;
  const Profile& p_;
};

}  // namespace

ProfileReport make_report(ReportHead head, const Kernel& kernel, const RunReport& run, const Profile& profile,
                          const SourceText& source) {
  ProfileReport report{std::move(head), kernel, run, profile, source, verdict(profile), {}, {}};
  if (run.partial()) return report;
  const Retimer retimer(kernel);
  report.what_if = what_if(profile, retimer);
  report.advice = advise(profile, retimer);
  return report;
}

std::string profile_json(const ProfileReport& report) {
  return Writer(report).all().dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ncemu::command
