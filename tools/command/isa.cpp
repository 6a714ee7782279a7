// `ncemu isa`: the reference pages, printed from the instruction table, and what of the datasheet they cover.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "isa/codec.h"
#include "isa/coverage.h"
#include "isa/fault.h"
#include "isa/reference.h"
#include "tools/command/table.h"
#include "tools/command/verbs.h"

namespace ncemu::command {
namespace {

std::string mnemonic_list(const CoverageRow& row) {
  std::string text;
  for (const std::string_view mnemonic : row.mnemonics)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", mnemonic);
  return text;
}

std::string coverage_text() {
  Table table({"datasheet", "section", "v2", "v3", "here"});
  std::array<std::array<int, 4>, coverage_generations.size()> counts{};
  for (const CoverageRow& row : coverage()) {
    std::vector<std::string> cells = {std::string(row.name), std::string(row.section)};
    for (std::size_t g = 0; g < coverage_generations.size(); ++g) {
      const CoverageState state = row.state(coverage_generations[g]);
      cells.emplace_back(name(state));
      ++counts[g][static_cast<std::size_t>(state)];
    }
    cells.push_back(row.reason.empty() ? mnemonic_list(row) : std::string(row.reason));
    table.row(std::move(cells));
  }
  std::string text = table.text() + "\n";
  for (std::size_t g = 0; g < coverage_generations.size(); ++g) {
    const auto& [implemented, missing, absent, outside] = counts[g];
    text += fmt::format("NeuronCore-v{}: {} implemented, {} missing, {} outside, {} not of this generation\n",
                        coverage_generations[g], implemented, missing, outside, absent);
  }
  return text;
}

std::string coverage_json() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const CoverageRow& row : coverage()) {
    nlohmann::ordered_json states;
    for (const int generation : coverage_generations)
      states[fmt::format("v{}", generation)] = name(row.state(generation));
    nlohmann::ordered_json entry = {{"name", row.name},
                                    {"section", row.section},
                                    {"since", row.since},
                                    {"mnemonics", row.mnemonics},
                                    {"states", states}};
    if (!row.reason.empty()) entry["reason"] = row.reason;
    all.push_back(std::move(entry));
  }
  return nlohmann::ordered_json{{"schema", "ncemu.coverage/1"}, {"instructions", all}}.dump(2) + "\n";
}

}  // namespace

int isa(const Arguments& arguments) {
  Options options("isa", "isa [MNEMONIC] [--encoding | --coverage [--json]]",
                  "Lists every instruction with its engines and its sentence, or prints the page of one.", 1);
  options.flag("encoding", "print the layout of instruction words instead");
  options.flag("coverage", "print which of the datasheet's instructions exist here instead");
  options.flag("json", "with --coverage: print JSON instead of the table");
  if (!options.parse(arguments)) return 0;
  if (options.on("json") && !options.on("coverage"))
    throw Fault(FaultKind::input, "", "--json goes with --coverage");
  if (options.on("coverage")) {
    std::fputs((options.on("json") ? coverage_json() : coverage_text()).c_str(), stdout);
  } else if (options.on("encoding")) {
    std::fputs(describe_encoding().c_str(), stdout);
  } else if (options.words().empty()) {
    std::fputs(list_instructions().c_str(), stdout);
  } else {
    std::fputs(reference_page(options.words().front()).c_str(), stdout);
  }
  return 0;
}

}  // namespace ncemu::command
