#include "emu/machine_config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

#include "emu/parameter_table.h"

namespace ncemu {
namespace {

using parameter_table::for_each;
using parameter_table::Row;
using parameter_table::Value;

template <typename T>
std::string text_of(const T& member) {
  if constexpr (std::is_same_v<T, TimingMode>) {
    return std::string(name(member));
  } else {
    return fmt::format("{}", member);  // shortest text that reads back as the same double
  }
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

// A number if all of the text is one, else the text.
Value value_of(std::string_view text) {
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto r = std::from_chars(text.data(), end, whole); r.ec == std::errc{} && r.ptr == end)
    return whole;
  double real = 0;
  if (const auto r = std::from_chars(text.data(), end, real); r.ec == std::errc{} && r.ptr == end)
    return real;
  return std::string(text);
}

}  // namespace

template <>
std::span<const std::string_view> names<TimingMode>() {
  static constexpr std::string_view all[] = {"measured", "documented"};
  return all;
}

void set_parameter(MachineConfig& machine, std::string_view assignment) {
  const std::string where = fmt::format("--set {}", assignment);
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    throw Fault(FaultKind::input, where, "expected key=value, such as vector.ii_gap=64");
  }
  const std::string_view key = assignment.substr(0, equals);
  const std::string_view text = assignment.substr(equals + 1);

  std::optional<Row> found;
  bool is_text = false;
  for_each(machine, [&](const Row& row, auto& member) {
    if (row.key != key) return;
    found = row;
    is_text = std::is_same_v<std::decay_t<decltype(member)>, std::string>;
  });
  if (!found) {
    throw Fault(FaultKind::input, where, "no parameter \"{}\"{}", key, parameter_table::suggest_key(key));
  }
  MachineConfig changed = machine;
  parameter_table::assign(changed, *found, is_text ? Value(std::string(text)) : value_of(text), where);
  parameter_table::check_whole(changed, where);
  changed.provenance.resize(std::max(changed.provenance.size(), found->index + 1));
  changed.provenance[found->index] = {"set", "--set"};
  machine = std::move(changed);
}

std::vector<ParameterInfo> parameters(const MachineConfig& machine) {
  std::vector<ParameterInfo> all;
  for_each(machine, [&](const Row& row, const auto& member) {
    const Provenance from =
        row.index < machine.provenance.size() ? machine.provenance[row.index] : Provenance{};
    all.push_back({std::string(row.key), text_of(member), std::string(row.unit), from.mark, from.source,
                   std::string(row.description)});
  });
  return all;
}

std::string to_toml(const MachineConfig& machine) {
  std::string out;
  std::string_view section;
  for_each(machine, [&](const Row& row, const auto& member) {
    if (row.section != section) {
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", row.section);
      section = row.section;
    }
    const std::string text = text_of(member);
    const std::string value = row.rule == parameter_table::Rule::text ? quoted(text) : text;
    const Provenance from =
        row.index < machine.provenance.size() ? machine.provenance[row.index] : Provenance{};
    out += fmt::format("{} = {{ value = {}, mark = {}, source = {} }}\n", row.name, value, quoted(from.mark),
                       quoted(from.source));
  });
  return out;
}

std::string config_hash(const MachineConfig& machine) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a, 64 bits
  for_each(machine, [&](const Row& row, const auto& member) {
    for (const char c : fmt::format("{}={}\n", row.key, text_of(member))) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    }
  });
  return fmt::format("{:016x}", hash);
}

std::int64_t clock_mhz(const MachineConfig& machine, Engine engine) {
  switch (engine) {
    case Engine::tensor: return machine.tensor.clock_mhz;
    case Engine::vector: return machine.vector.clock_mhz;
    case Engine::scalar: return machine.scalar.clock_mhz;
    case Engine::gpsimd: return machine.gpsimd.clock_mhz;
    case Engine::sync: return machine.sync.clock_mhz;
  }
  return machine.core.clock_mhz;
}

Ticks ticks_per_us(const MachineConfig& machine) {
  std::int64_t common = machine.core.clock_mhz;
  for (const Engine e : all_engines) common = std::lcm(common, clock_mhz(machine, e));
  ensure(common > 0, "a machine has clocks: it was made by builtin_machine or load_machine");
  return common;
}

Ticks ticks_per_cycle(const MachineConfig& machine, Engine engine) {
  return ticks_per_us(machine) / clock_mhz(machine, engine);
}

Ticks ticks_per_core_cycle(const MachineConfig& machine) {
  return ticks_per_us(machine) / machine.core.clock_mhz;
}

Ticks ticks_from_ns(Ticks per_us, double ns) {
  return static_cast<Ticks>(std::floor(ns * static_cast<double>(per_us) / 1000.0 + 0.5));
}

Ticks ticks_from_ns(const MachineConfig& machine, double ns) {
  return ticks_from_ns(ticks_per_us(machine), ns);
}

double ns_from_ticks(const MachineConfig& machine, Ticks ticks) {
  return static_cast<double>(ticks) * 1000.0 / static_cast<double>(ticks_per_us(machine));
}

double core_cycles(const MachineConfig& machine, Ticks ticks) {
  return static_cast<double>(ticks) / static_cast<double>(ticks_per_core_cycle(machine));
}

Ticks ticks_from_bytes(Ticks per_us, double bytes, double bytes_per_ns, double overhead_ns) {
  return ticks_from_ns(per_us, overhead_ns + bytes / bytes_per_ns);
}

}  // namespace ncemu
