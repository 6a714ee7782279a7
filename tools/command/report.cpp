#include "tools/command/report.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tools/command/table.h"
#include "tools/command/version.h"

namespace ncemu::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, stall_reason_count> stall_names = {"none", "semaphore", "dma",
                                                                          "port", "pipeline",  "dma_queue"};
constexpr std::array<std::string_view, 6> status_names = {"finished",    "deadlock", "limit",
                                                          "interrupted", "fault",    "no_data"};

double us(const MachineConfig& machine, Ticks ticks) { return ns_from_ticks(machine, ticks) / 1000; }

double percent(Ticks part, Ticks whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

// "1,234,567"
std::string grouped(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}
std::string grouped(std::int64_t n) { return grouped(static_cast<std::uint64_t>(n)); }

std::string line(std::string_view label, const std::string& text) {
  return fmt::format("{:<14} {}\n", label, text);
}

std::string input_lines(const RunReport& report) {
  std::string text;
  for (const Input& input : report.inputs) {
    text += line(text.empty() ? "inputs" : "",
                 fmt::format("{} = {}, checksum {:016x}", input.name, input.source, input.checksum));
  }
  return text;
}

std::string time_lines(const Kernel& kernel, const RunReport& report) {
  std::string text;
  if (has_clock(report.mode)) {
    text += line("device time", fmt::format("{:.3f} us modelled, {:.0f} core cycles", report.summary.total_us,
                                            report.summary.core_cycles));
  } else {
    text += line("device time", fmt::format("none: mode {} has no clock", mode_name(report.mode)));
  }
  text += line("host time", fmt::format("{:.3f} s to emulate {} instructions", report.host_seconds,
                                        grouped(report.result.instructions)));
  if (has_clock(report.mode) && report.summary.engine(Engine::tensor).gated > 0) {
    text += line("clock gate", fmt::format("{:.3f} us of the tensor engine's busy time",
                                           us(kernel.machine, report.summary.engine(Engine::tensor).gated)));
  }
  return text;
}

std::string engine_table(const Kernel& kernel, const RunReport& report) {
  const Summary& s = report.summary;
  const MachineConfig& machine = kernel.machine;
  if (!has_clock(report.mode)) {
    Table table({"engine", ">instructions"});
    for (const Engine e : all_engines) table.row({std::string(name(e)), grouped(s.engine(e).instructions)});
    return table.text();
  }
  Table table(
      {"engine", ">instructions", ">busy us", ">%", ">stalled us", ">%", ">idle us", ">%", "stalled by"});
  for (const Engine e : all_engines) {
    const EngineSummary& engine = s.engine(e);
    const Ticks stalled = engine.stalled_in_all();
    std::string reasons;
    for (std::size_t r = 1; r < stall_names.size(); ++r) {
      if (engine.stalled[r] == 0) continue;
      reasons += fmt::format("{}{} {:.3f}", reasons.empty() ? "" : ", ", stall_names[r],
                             us(machine, engine.stalled[r]));
    }
    table.row(
        {std::string(name(e)), grouped(engine.instructions), fmt::format("{:.3f}", us(machine, engine.busy)),
         fmt::format("{:.1f}", percent(engine.busy, s.total)), fmt::format("{:.3f}", us(machine, stalled)),
         fmt::format("{:.1f}", percent(stalled, s.total)), fmt::format("{:.3f}", us(machine, engine.idle)),
         fmt::format("{:.1f}", percent(engine.idle, s.total)), reasons});
  }
  return table.text();
}

std::string rate(const std::optional<double>& gb_per_s) {
  return gb_per_s ? fmt::format("{:.1f} GB/s", *gb_per_s) : std::string("-");
}

std::string work_lines(const Kernel& kernel, const RunReport& report) {
  const Summary& s = report.summary;
  std::string text;
  if (s.dma.transfers > 0) {
    text +=
        line("DMA", fmt::format("{} transfers, {} descriptors, {} bytes (HBM read {}, written {})",
                                grouped(s.dma.transfers), grouped(s.dma.descriptors), grouped(s.dma.bytes),
                                grouped(s.dma.hbm_read), grouped(s.dma.hbm_written)));
    if (has_clock(report.mode)) {
      text += line("", fmt::format("active {:.3f} us ({:.1f} %), {} while active, {} overall",
                                   us(kernel.machine, s.dma.active), percent(s.dma.active, s.total),
                                   rate(s.dma_active_gb_per_s()), rate(s.dma_gb_per_s())));
    }
  }
  if (s.hardware_flops > 0) {
    text += line("tensor FLOPs", grouped(s.hardware_flops));
    if (s.mfu_estimated_percent)
      text += line("mfu_estimated", fmt::format("{:.1f} %", *s.mfu_estimated_percent));
  }
  return text;
}

std::string checks_line(const CheckReport& checks) {
  const std::size_t errors = checks.errors(), warnings = checks.warnings();
  if (errors + warnings == 0) return "";
  const auto count = [](std::size_t n, std::string_view noun) {
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
  };
  const std::string text = errors == 0 ? count(warnings, "warning")
                           : warnings == 0
                               ? count(errors, "error")
                               : fmt::format("{}, {}", count(errors, "error"), count(warnings, "warning"));
  return line(errors > 0 ? "FAILED" : "checks", errors > 0 ? fmt::format("checks: {}", text) : text);
}

std::string outcome_lines(const RunReport& report) {
  std::string text;
  for (const Checked& c : report.checked) {
    text += line("check", fmt::format("{} {}: {} ({})", c.tensor, c.difference.equal() ? "fine" : "DIFFERS",
                                      c.text, c.source));
  }
  for (const std::string& path : report.saved) text += line("saved", path);
  if (report.partial()) {
    text +=
        line("PARTIAL", fmt::format("{}, the figures above end there", status_name(report.result.status)));
  }
  for (const std::string& failure : report.failures) text += line("FAILED", failure);
  text += checks_line(report.checks);
  return text;
}

Json engine_json(const Kernel& kernel, const RunReport& report, Engine e) {
  const EngineSummary& engine = report.summary.engine(e);
  Json json = {{"engine", name(e)}, {"instruction_count", engine.instructions}};
  if (!has_clock(report.mode)) return json;
  json["busy_us"] = us(kernel.machine, engine.busy);
  json["clock_gated_us"] = us(kernel.machine, engine.gated);
  Json stalled = Json::object();
  for (std::size_t r = 1; r < stall_names.size(); ++r) {
    stalled[std::string(stall_names[r]) + "_us"] = us(kernel.machine, engine.stalled[r]);
  }
  json["stalled_us"] = us(kernel.machine, engine.stalled_in_all());
  json["stalled_by"] = stalled;
  json["idle_us"] = us(kernel.machine, engine.idle);
  json["active_us"] = us(kernel.machine, engine.active);
  json["busy_percent"] = percent(engine.busy, report.summary.total);
  return json;
}

Json dma_json(const Kernel& kernel, const RunReport& report) {
  const DmaSummary& dma = report.summary.dma;
  Json json = {{"transfer_count", dma.transfers},      {"descriptor_count", dma.descriptors},
               {"transfer_bytes", dma.bytes},          {"hbm_read_bytes", dma.hbm_read},
               {"hbm_write_bytes", dma.hbm_written},   {"sbuf_read_bytes", dma.sbuf_read},
               {"sbuf_write_bytes", dma.sbuf_written}, {"psum_read_bytes", dma.psum_read}};
  if (!has_clock(report.mode)) return json;
  const auto optional = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  json["packet_count"] = dma.packets;
  json["active_us"] = us(kernel.machine, dma.active);
  json["active_gb_per_s"] = optional(report.summary.dma_active_gb_per_s());
  json["overall_gb_per_s"] = optional(report.summary.dma_gb_per_s());
  return json;
}

}  // namespace

std::string_view status_name(RunStatus status) { return status_names[static_cast<std::size_t>(status)]; }

std::string command_line(std::string_view verb, const Arguments& arguments) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=:,@%+";
  std::string text = fmt::format("ncemu {}", verb);
  for (const std::string& word : arguments) {
    text += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

Json report_head_json(std::string_view schema, const ReportHead& head, const Kernel& kernel) {
  return {
      {"schema", schema},
      {"version", version_number()},
      {"commit", commit()},
      {"command_line", head.command_line},
      {"kernel", head.kernel},
      {"machine", {{"name", kernel.machine.target.machine}, {"config_hash", config_hash(kernel.machine)}}}};
}

std::string report_text(const ReportHead& head, const Kernel& kernel, const RunReport& report) {
  return line("command", head.command_line) +
         line("machine", fmt::format("{}, configuration {}", kernel.machine.target.machine,
                                     config_hash(kernel.machine))) +
         line("mode", std::string(mode_name(report.mode))) +
         (report.stochastic_rounding_seed
              ? line("rounding", fmt::format("stochastic, seed {}", *report.stochastic_rounding_seed))
              : std::string()) +
         input_lines(report) + "\n" + time_lines(kernel, report) + "\n" + engine_table(kernel, report) +
         "\n" + work_lines(kernel, report) + outcome_lines(report);
}

std::string report_json(const ReportHead& head, const Kernel& kernel, const RunReport& report) {
  const Summary& s = report.summary;
  Json json = report_head_json("ncemu.run/1", head, kernel);
  json["mode"] = mode_name(report.mode);
  json["stochastic_rounding_seed"] =
      report.stochastic_rounding_seed ? Json(*report.stochastic_rounding_seed) : Json();
  json["status"] = status_name(report.result.status);
  json["partial"] = report.partial();
  json["passed"] = !report.failed();
  json["message"] = report.message;
  json["inputs"] = Json::array();
  for (const Input& input : report.inputs) {
    json["inputs"].push_back({{"name", input.name},
                              {"source", input.source},
                              {"checksum_xxh3", fmt::format("{:016x}", input.checksum)},
                              {"overflowed_values", input.overflowed}});
  }
  const bool clock = has_clock(report.mode);
  json["device_time_us"] = clock ? Json(s.total_us) : Json(nullptr);
  json["core_cycles"] = clock ? Json(s.core_cycles) : Json(nullptr);
  json["host_time_s"] = report.host_seconds;
  json["instruction_count"] = report.result.instructions;
  json["engines"] = Json::array();
  for (const Engine e : all_engines) json["engines"].push_back(engine_json(kernel, report, e));
  json["dma"] = dma_json(kernel, report);
  json["tensor"] = {
      {"hardware_flops", s.hardware_flops},
      {"adjusted_hardware_flops", s.adjusted_hardware_flops},
      {"mfu_estimated_percent", s.mfu_estimated_percent ? Json(*s.mfu_estimated_percent) : Json(nullptr)}};
  json["checks"] = Json::array();
  for (const Checked& c : report.checked) {
    Json check = {{"tensor", c.tensor},
                  {"reference", c.source},
                  {"element_count", c.difference.count},
                  {"different_count", c.difference.different}};
    if (!c.difference.equal()) check["text"] = c.text;
    json["checks"].push_back(std::move(check));
  }
  json["saved"] = report.saved;
  json["warnings"] = report.warnings;
  json["findings"] = findings_json(report.checks);
  json["failures"] = report.all_failures();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ncemu::command
