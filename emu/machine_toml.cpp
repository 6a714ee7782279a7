// Reading machines from TOML: the embedded ones and files of users.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "emu/embedded_machines.h"
#include "emu/machine_config.h"
#include "emu/parameter_table.h"
#include "isa/diagnostics.h"

namespace ncemu {
namespace {

using parameter_table::for_each;
using parameter_table::Row;
using parameter_table::Value;

std::string place(const std::string& file, const toml::source_region& region) {
  return fmt::format("{}:{}:{}", file, region.begin.line, region.begin.column);
}

std::string suggestion(std::string_view word, const std::vector<std::string_view>& known) {
  const std::string_view near = did_you_mean(word, known);
  return near.empty() ? std::string{} : fmt::format(" (did you mean \"{}\"?)", near);
}

Value value_of(const toml::node& node, std::string_view key, const std::string& where) {
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* text = node.as_string()) return text->get();
  throw Fault(FaultKind::input, where, "{} is neither a number nor a string", key);
}

class Reader {
 public:
  Reader(std::string_view text, std::string file) : file_(std::move(file)), root_(parse(text)) {}

  MachineConfig read() {
    MachineConfig config;
    complete_ = !root_.contains("base");
    if (!complete_) config = base();
    for_each(config, [&](const Row& row, auto&) { rows_.push_back(row); });
    config.provenance.resize(rows_.size());
    given_.assign(rows_.size(), false);

    for (const auto& [key, node] : root_) {
      if (key.str() == "base") continue;
      const toml::table* section = node.as_table();
      if (section == nullptr || !known_section(key.str())) unknown_section(key);
      for (const auto& [name, entry] : *section) read_parameter(config, key.str(), name, entry);
    }
    if (complete_) check_complete();
    parameter_table::check_whole(config, file_);
    return config;
  }

 private:
  // The parser recurses once for every part of a dotted key.
  void check_lines(std::string_view text) const {
    constexpr std::size_t longest = 4096;
    std::size_t line = 1, begin = 0;
    while (begin < text.size()) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      if (end - begin > longest)
        throw Fault(FaultKind::input, fmt::format("{}:{}", file_, line), "the line is longer than {} bytes",
                    longest);
      begin = end + 1;
      ++line;
    }
  }

  toml::table parse(std::string_view text) const {
    check_lines(text);
    try {
      return toml::parse(text, file_);
    } catch (const toml::parse_error& error) {
      throw Fault(FaultKind::input, place(file_, error.source()), "{}", error.description());
    }
  }

  MachineConfig base() const {
    const toml::node& node = *root_.get("base");
    const auto* text = node.as_string();
    const std::string where = place(file_, node.source());
    if (text == nullptr)
      throw Fault(FaultKind::input, where, "base is the name of a machine, such as \"trn1\"");
    if (!find_target(text->get())) {
      throw Fault(FaultKind::input, where, "no machine \"{}\"{}", text->get(),
                  suggestion(text->get(), machine_names()));
    }
    return builtin_machine(text->get());
  }

  bool known_section(std::string_view section) const {
    for (const Row& row : rows_) {
      if (row.section == section) return true;
    }
    return false;
  }

  [[noreturn]] void unknown_section(const toml::key& key) const {
    std::vector<std::string_view> known = {"base"};
    for (const Row& row : rows_) {
      if (row.section != known.back()) known.push_back(row.section);
    }
    if (known_section(key.str())) {
      throw Fault(FaultKind::input, place(file_, key.source()), "\"{}\" is a section: write [{}]", key.str(),
                  key.str());
    }
    throw Fault(FaultKind::input, place(file_, key.source()), "no section \"{}\"{}", key.str(),
                suggestion(key.str(), known));
  }

  void read_parameter(MachineConfig& config, std::string_view section, const toml::key& name,
                      const toml::node& entry) {
    const Row* row = nullptr;
    std::vector<std::string_view> known;
    for (const Row& each : rows_) {
      if (each.section != section) continue;
      known.push_back(each.name);
      if (each.name == name.str()) row = &each;
    }
    if (row == nullptr) {
      throw Fault(FaultKind::input, place(file_, name.source()), "no parameter \"{}\" in [{}]{}", name.str(),
                  section, suggestion(name.str(), known));
    }
    const std::string where = place(file_, entry.source());
    given_[row->index] = true;
    if (const toml::table* details = entry.as_table()) {
      read_details(config, *row, *details);
      return;
    }
    if (complete_) {
      throw Fault(
          FaultKind::input, where,
          "{} needs value, mark and source: {{ value = 64, mark = \"doc\", source = \"datasheet 6.0.1\" }}; "
          "plain values go with base = \"{}\" or another machine",
          row->key, Target{}.machine);
    }
    parameter_table::assign(config, *row, value_of(entry, row->key, where), where);
    config.provenance[row->index] = {"set", fmt::format("{}:{}", file_, entry.source().begin.line)};
  }

  void read_details(MachineConfig& config, const Row& row, const toml::table& details) const {
    for (const auto& [key, node] : details) {
      if (key.str() != "value" && key.str() != "mark" && key.str() != "source") {
        throw Fault(FaultKind::input, place(file_, key.source()), "no \"{}\" in a parameter{}", key.str(),
                    suggestion(key.str(), {"value", "mark", "source"}));
      }
    }
    const auto need = [&](std::string_view what) -> const toml::node& {
      const toml::node* node = details.get(what);
      if (node == nullptr) {
        throw Fault(FaultKind::input, place(file_, details.source()), "{} has no {}", row.key, what);
      }
      return *node;
    };
    const toml::node& value = need("value");
    const std::string where = place(file_, value.source());
    parameter_table::assign(config, row, value_of(value, row.key, where), where);
    config.provenance[row.index] = {text(need("mark"), row, "mark"), text(need("source"), row, "source")};
    check_mark(need("mark"), config.provenance[row.index].mark);
  }

  std::string text(const toml::node& node, const Row& row, std::string_view what) const {
    if (const auto* string = node.as_string()) return string->get();
    throw Fault(FaultKind::input, place(file_, node.source()), "the {} of {} is a string", what, row.key);
  }

  void check_mark(const toml::node& node, std::string_view mark) const {
    static const std::vector<std::string_view> marks = {"doc",     "drv",      "derived",
                                                        "assumed", "measured", "set"};
    if (std::find(marks.begin(), marks.end(), mark) != marks.end()) return;
    throw Fault(FaultKind::input, place(file_, node.source()), "mark is \"{}\", expected one of {}{}", mark,
                fmt::join(marks, ", "), suggestion(mark, marks));
  }

  void check_complete() const {
    for (const Row& row : rows_) {
      if (given_[row.index]) continue;
      const toml::node* section = root_.get(row.section);
      const std::string where = section == nullptr ? file_ : place(file_, section->source());
      throw Fault(FaultKind::input, where, "{} is missing; give all parameters, or start from base = \"{}\"",
                  row.key, Target{}.machine);
    }
  }

  std::string file_;
  toml::table root_;
  bool complete_ = true;  // no base: every parameter must be given
  std::vector<Row> rows_;
  std::vector<bool> given_;
};

}  // namespace

MachineConfig builtin_machine(std::string_view name) {
  for (const EmbeddedMachine& machine : embedded_machines()) {
    if (machine.name == name) return parse_machine(machine.toml, fmt::format("{}.toml", name));
  }
  throw Fault(FaultKind::input, "", "no machine \"{}\"; known are {}{}", name,
              fmt::join(machine_names(), ", "), suggestion(name, machine_names()));
}

MachineConfig parse_machine(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

MachineConfig load_machine(const std::string& path) {
  if (std::filesystem::is_directory(path))
    throw Fault(FaultKind::input, path, "is a directory, not a machine file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Fault(FaultKind::input, path, "cannot be read");
  constexpr std::size_t largest = std::size_t{1} << 20;  // a device may have no end
  std::string text(largest + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) throw Fault(FaultKind::input, path, "cannot be read to its end");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > largest) throw Fault(FaultKind::input, path, "is larger than 1 MiB");
  return parse_machine(text, path);
}

}  // namespace ncemu
