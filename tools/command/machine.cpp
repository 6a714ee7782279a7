// `ncemu machine`: the machines and their parameters, each number with unit, mark and source.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/command/kernel.h"
#include "tools/command/table.h"
#include "tools/command/verbs.h"

namespace ncemu::command {
namespace {

void list_machines(bool json) {
  Table table({"machine", "NeuronCore", "SBUF", "PSUM", "configuration"});
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const std::string_view name : machine_names()) {
    const MachineConfig machine = builtin_machine(name);
    const Target& t = machine.target;
    table.row({std::string(name), fmt::format("v{}", t.generation),
               fmt::format("{} x {} KiB", t.partitions, t.sbuf_partition_bytes / 1024),
               fmt::format("{} x {} KiB", t.partitions, t.psum_partition_bytes() / 1024),
               config_hash(machine)});
    all.push_back({{"name", name}, {"generation", t.generation}, {"config_hash", config_hash(machine)}});
  }
  if (json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"schema", "ncemu.machines/1"}, {"machines", all}}.dump(2));
  } else {
    fmt::print("{}", table.text());
  }
}

void show_machine(const MachineConfig& machine, bool json) {
  Table table({"parameter", "value", "unit", "mark", "source", "description"});
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ParameterInfo& p : parameters(machine)) {
    table.row({p.key, p.value, p.unit, p.mark, p.source, p.description});
    all.push_back({{"key", p.key},
                   {"value", p.value},
                   {"unit", p.unit},
                   {"mark", p.mark},
                   {"source", p.source},
                   {"description", p.description}});
  }
  if (json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"schema", "ncemu.machine/1"},
                                              {"name", machine.target.machine},
                                              {"config_hash", config_hash(machine)},
                                              {"parameters", all}}
                           .dump(2));
    return;
  }
  fmt::print("machine {}, configuration {}\n\n{}", machine.target.machine, config_hash(machine),
             table.text());
}

}  // namespace

int machine(const Arguments& arguments) {
  Options options("machine", "machine [NAME|FILE.toml] [options]",
                  "Lists the machines, or every parameter of one with unit, mark and source.", 1);
  options.values("set", "KEY=VALUE", "changes one parameter")
      .flag("toml", "prints a complete machine file instead of the table")
      .flag("json", "prints JSON instead of the table");
  if (!options.parse(arguments)) return 0;
  if (options.words().empty()) {
    if (options.has("set") || options.on("toml")) options.word("the machine");  // says that it is missing
    list_machines(options.on("json"));
    return 0;
  }
  const MachineConfig machine = load_machine_config(options.words().front(), options.list("set"));
  if (options.on("toml")) {
    std::fputs(to_toml(machine).c_str(), stdout);
  } else {
    show_machine(machine, options.on("json"));
  }
  return 0;
}

}  // namespace ncemu::command
