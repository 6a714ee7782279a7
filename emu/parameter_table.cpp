#include "emu/parameter_table.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "isa/diagnostics.h"

namespace ncemu::parameter_table {
namespace {

std::string text_of(const Value& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string>) {
          return fmt::format("\"{}\"", v);
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

[[noreturn]] void refuse(const Row& row, const Value& value, const std::string& where,
                         std::string_view wanted) {
  throw Fault(FaultKind::input, where, "{} is {}, expected {}", row.key, text_of(value), wanted);
}

void check_rule(double number, const Row& row, const Value& value, const std::string& where) {
  if (row.rule == Rule::positive && !(number > 0)) refuse(row, value, where, "a number above 0");
  if (row.rule == Rule::zero_or_more && !(number >= 0)) refuse(row, value, where, "0 or a number above it");
}

void store(double& member, const Row& row, const Value& value, const std::string& where) {
  double number = 0;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    number = static_cast<double>(*whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    number = *real;
  } else {
    refuse(row, value, where, "a number");
  }
  if (!std::isfinite(number)) refuse(row, value, where, "a finite number");
  check_rule(number, row, value, where);
  // A number of ticks must stay a number of ticks: far above and below anything sensible.
  constexpr double largest = 1e6, smallest = 1e-6;
  if (number > largest) refuse(row, value, where, "at most 1e6");
  if (number != 0 && number < smallest) refuse(row, value, where, "at least 1e-6");
  member = number;
}

template <typename Integer>
requires std::is_integral_v<Integer>
void store(Integer& member, const Row& row, const Value& value, const std::string& where) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  if (whole == nullptr) refuse(row, value, where, "a whole number");
  // Far above anything sensible, and low enough that sums and products of parameters do not overflow.
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  if (*whole > largest) refuse(row, value, where, fmt::format("at most {}", largest));
  check_rule(static_cast<double>(*whole), row, value, where);
  member = static_cast<Integer>(*whole);
}

void store(std::string& member, const Row& row, const Value& value, const std::string& where) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || text->empty()) refuse(row, value, where, "a name");
  member = *text;
}

void store(TimingMode& member, const Row& row, const Value& value, const std::string& where) {
  const auto* text = std::get_if<std::string>(&value);
  const auto mode = text == nullptr ? std::nullopt : find<TimingMode>(*text);
  if (!mode) refuse(row, value, where, "\"measured\" or \"documented\"");
  member = *mode;
}

}  // namespace

void assign(MachineConfig& config, const Row& row, const Value& value, const std::string& where) {
  for_each(config, [&](const Row& each, auto& member) {
    if (each.index == row.index) store(member, row, value, where);
  });
}

void check_whole(const MachineConfig& config, const std::string& where) {
  const auto refuse_if = [&](bool wrong, std::string_view key, std::int64_t found, std::string_view wanted) {
    if (wrong) throw Fault(FaultKind::input, where, "{} is {}, expected {}", key, found, wanted);
  };
  const Target& t = config.target;
  refuse_if(t.generation != 2 && t.generation != 3, "target.generation", t.generation, "2 or 3");
  refuse_if(t.partitions > 128, "target.partitions", t.partitions, "at most 128");
  refuse_if(t.semaphores > 256, "target.semaphores", t.semaphores, "at most 256");
  refuse_if(t.registers > 64, "target.registers", t.registers, "at most 64");
  refuse_if(t.dma_queues > 16, "target.dma_queues", t.dma_queues, "at most 16");
  refuse_if(t.dma_engines != 16, "target.dma_engines", t.dma_engines,
            "16, of which every transfer's semaphore counts one");
  if (config.gate.threshold > 1) {
    throw Fault(FaultKind::input, where, "gate.threshold is {}, expected at most 1", config.gate.threshold);
  }
  // A tick divides every clock period; picoseconds divided further are a sign of clocks nobody has.
  std::int64_t common = config.core.clock_mhz;
  constexpr std::int64_t finest = 1'000'000'000;
  for (const Engine e : all_engines) {
    common = std::lcm(common, clock_mhz(config, e));
    if (common > finest) {
      throw Fault(FaultKind::input, where,
                  "the clocks have no common tick longer than 1 fs: {} MHz and {} MHz", config.core.clock_mhz,
                  clock_mhz(config, e));
    }
  }
}

std::string suggest_key(std::string_view key) {
  static const std::vector<std::string_view> keys = [] {
    std::vector<std::string_view> all;
    const MachineConfig config;
    for_each(config, [&](const Row& row, const auto&) { all.push_back(row.key); });
    return all;
  }();
  const std::string_view near = did_you_mean(key, keys);
  return near.empty() ? std::string{} : fmt::format(" (did you mean \"{}\"?)", near);
}

}  // namespace ncemu::parameter_table
