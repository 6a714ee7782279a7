#include "tools/command/suite.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "isa/diagnostics.h"
#include "isa/fault.h"
#include "tools/files/file.h"
#include "tools/files/generate.h"

namespace ncemu::command {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> suite_keys = {"baseline", "defaults", "case"};
// Those that [defaults] may have come first.
constexpr std::array<std::string_view, 20> case_keys = {
    "machines", "set",       "rtol",    "atol",
    "ttol",     "bits",      "max_us",  "max_slower_percent",
    "strict",   "checks",    "require", "min_roofline_percent",
    "name",     "kernel",    "params",  "sizes",
    "inputs",   "reference", "expect",  "table"};
constexpr std::size_t default_keys = 12;

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), directory_(fs::path(path).parent_path()) {
    const std::vector<std::byte> bytes = read_file(path);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    try {
      root_ = toml::parse(text, path);
    } catch (const toml::parse_error& error) {
      throw Fault(FaultKind::input, place(error.source()), "{}", error.description());
    }
  }

  Suite read() {
    check_keys(root_, suite_keys, "a suite");
    Suite suite;
    suite.path = path_;
    suite.baseline =
        root_.contains("baseline")
            ? resolved(word(*root_.get("baseline"), "baseline"))
            : (fs::path(path_).parent_path() / (fs::path(path_).stem().string() + ".baseline.json")).string();
    if (const toml::node* node = root_.get("defaults")) {
      defaults_ = table(*node, "defaults");
      check_keys(*defaults_, std::span(case_keys).first(default_keys), "[defaults]");
    }
    const toml::node* cases = root_.get("case");
    const toml::array* list = cases == nullptr ? nullptr : cases->as_array();
    if (list == nullptr || list->empty())
      throw Fault(FaultKind::input, path_, "has no cases: each begins with [[case]]");
    for (const toml::node& node : *list) read_case(table(node, "case"), suite);
    std::set<std::string> ids;
    for (const SuiteCase& c : suite.cases) {
      if (!ids.insert(c.id()).second)
        throw Fault(FaultKind::input, c.where, "there is another case '{}': give one of them a name", c.id());
    }
    return suite;
  }

 private:
  // ---- TOML in the user's words ------------------------------------------------------------

  std::string place(const toml::source_region& region) const {
    return fmt::format("{}:{}:{}", path_, region.begin.line, region.begin.column);
  }
  [[noreturn]] void wrong(const toml::node& node, std::string_view key, std::string_view expected) const {
    throw Fault(FaultKind::input, place(node.source()), "{} takes {}", key, expected);
  }
  const toml::table* table(const toml::node& node, std::string_view key) const {
    if (const toml::table* t = node.as_table()) return t;
    wrong(node, key, "a table");
  }
  std::string word(const toml::node& node, std::string_view key) const {
    if (const auto* text = node.as_string()) return text->get();
    wrong(node, key, "a string");
  }
  double number(const toml::node& node, std::string_view key) const {
    const std::optional<double> value = node.value<double>();
    if (!node.is_number() || !value || !(*value >= 0)) wrong(node, key, "a number of at least 0");
    return *value;
  }
  bool truth(const toml::node& node, std::string_view key) const {
    if (const auto* value = node.as_boolean()) return value->get();
    wrong(node, key, "true or false");
  }
  // A value as -D and --set take it.
  std::string value_text(const toml::node& node, std::string_view key) const {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
    if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
    if (const auto* yes = node.as_boolean()) return yes->get() ? "true" : "false";
    wrong(node, key, "numbers, strings, true or false");
  }
  std::vector<std::string> words(const toml::node& node, std::string_view key) const {
    if (node.is_string()) return {word(node, key)};
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty()) wrong(node, key, "a string or a list of strings");
    std::vector<std::string> all;
    for (const toml::node& one : *list) all.push_back(word(one, key));
    return all;
  }

  void check_keys(const toml::table& given, std::span<const std::string_view> known,
                  std::string_view what) const {
    for (const auto& [key, node] : given) {
      if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
      const std::string_view near = did_you_mean(key.str(), {known.begin(), known.end()});
      throw Fault(FaultKind::input, place(key.source()), "{} has no key '{}'{}", what, key.str(),
                  near.empty() ? fmt::format(": it has {}", fmt::join(known, ", "))
                               : fmt::format(", did you mean '{}'?", near));
    }
  }

  // Paths in a suite are relative to the suite.
  std::string resolved(const std::string& path) const { return (directory_ / path).string(); }

  const toml::node* find(const toml::table& given, std::string_view key) const {
    if (const toml::node* node = given.get(key)) return node;
    return defaults_ == nullptr ? nullptr : defaults_->get(key);
  }

  // A value for all machines, or a table by machine; null: none for this one.
  const toml::node* of_machine(const toml::table& given, std::string_view key,
                               const std::string& machine) const {
    const toml::node* node = find(given, key);
    if (node == nullptr || !node->is_table()) return node;
    for (const auto& [name, value] : *node->as_table()) {
      if (std::find(machines_.begin(), machines_.end(), name.str()) == machines_.end() &&
          given.get(key) == node)
        throw Fault(FaultKind::input, place(name.source()),
                    "{} has a value for '{}', where the case does not run: {}", key, name.str(),
                    fmt::join(machines_, ", "));
    }
    return node->as_table()->get(machine);
  }

  // ---- a case ------------------------------------------------------------------------------

  void read_case(const toml::table* given, Suite& suite) {
    check_keys(*given, case_keys, "a case");
    SuiteCase c;
    c.where = place(given->source());
    if (!given->contains("kernel")) throw Fault(FaultKind::input, c.where, "the case has no kernel");
    const toml::node& kernel = *given->get("kernel");
    c.kernel = resolved(word(kernel, "kernel"));
    if (!fs::is_regular_file(c.kernel))
      throw Fault(FaultKind::input, place(kernel.source()), "there is no kernel '{}'", c.kernel);
    c.name = given->contains("name") ? word(*given->get("name"), "name")
                                     : fs::path(word(kernel, "kernel")).replace_extension().string();
    if (const toml::node* node = given->get("params")) c.params = assignments(*node, "params");
    if (const toml::node* node = find(*given, "set")) {
      for (const auto& [key, value] : assignments(*node, "set")) c.settings.push_back(key + "=" + value);
    }
    if (const toml::node* node = given->get("table")) c.table = word(*node, "table");
    read_values(*given, c);
    if (const toml::node* node = find(*given, "checks"))
      c.checks = CheckSet::parse(word(*node, "checks"), place(node->source()));
    if (const toml::node* node = find(*given, "strict")) c.strict = truth(*node, "strict");
    const toml::node* machines = find(*given, "machines");
    machines_ = machines == nullptr ? std::vector<std::string>{"trn1"} : words(*machines, "machines");

    for (const auto& size : sizes(*given)) {
      SuiteCase sized = c;
      for (const auto& [key, value] : size) {
        sized.name += " " + key + "=" + value;
        std::erase_if(sized.params, [&](const auto& p) { return p.first == key; });
        sized.params.emplace_back(key, value);
      }
      for (const std::string& machine : machines_) {
        sized.machine = machine;
        sized.machine_file = machine.ends_with(".toml") ? resolved(machine) : machine;
        suite.cases.push_back(sized);
        read_limits(*given, suite.cases.back());
      }
    }
  }

  std::vector<std::pair<std::string, std::string>> assignments(const toml::node& node,
                                                               std::string_view key) const {
    std::vector<std::pair<std::string, std::string>> all;
    flatten(*table(node, key), "", key, all);
    return all;
  }
  // TOML reads `vector.l0 = 1` as a table in a table.
  void flatten(const toml::table& given, const std::string& prefix, std::string_view key,
               std::vector<std::pair<std::string, std::string>>& all) const {
    for (const auto& [name, value] : given) {
      const std::string full = prefix + std::string(name.str());
      if (const toml::table* inner = value.as_table())
        flatten(*inner, full + ".", key, all);
      else
        all.emplace_back(full, value_text(value, key));
    }
  }

  std::vector<std::vector<std::pair<std::string, std::string>>> sizes(const toml::table& given) const {
    const toml::node* node = given.get("sizes");
    if (node == nullptr) return {{}};
    const toml::array* list = node->as_array();
    if (list == nullptr || list->empty()) wrong(*node, "sizes", "a list of tables: [{ M = 1 }, { M = 129 }]");
    std::vector<std::vector<std::pair<std::string, std::string>>> all;
    for (const toml::node& one : *list) all.push_back(assignments(one, "sizes"));
    return all;
  }

  void read_values(const toml::table& given, SuiteCase& c) const {
    if (const toml::node* node = given.get("inputs")) {
      c.data = true;
      for (const auto& [name, source] : *table(*node, "inputs")) {
        const std::string text = word(source, "inputs");
        const bool generated = parse_generator(text, place(source.source())).has_value();
        c.inputs[std::string(name.str())] = generated ? text : resolved(text);
      }
    }
    if (const toml::node* node = given.get("expect")) {
      c.data = true;
      for (const auto& [name, file] : *table(*node, "expect"))
        c.expect[std::string(name.str())] = resolved(word(file, "expect"));
    }
    if (const toml::node* node = given.get("reference")) {
      c.data = true;
      c.reference = word(*node, "reference");
      const std::string python = "python:";
      if (c.reference.starts_with(python)) {
        const std::string script = resolved(c.reference.substr(python.size()));
        if (!fs::is_regular_file(script))
          throw Fault(FaultKind::input, place(node->source()), "there is no script '{}'", script);
        c.reference = python + script;
      } else if (!c.reference.starts_with("builtin:")) {
        wrong(*node, "reference", "builtin:NAME or python:FILE.py; for values in a file use expect");
      }
    }
    read_tolerances(given, c);
  }

  void read_tolerances(const toml::table& given, SuiteCase& c) const {
    c.tolerances[""] = {};
    for (const std::string_view key : {"rtol", "atol", "ttol", "bits"}) {
      const toml::node* node = find(given, key);
      if (node == nullptr) continue;
      if (const toml::table* by_output = node->as_table()) {
        for (const auto& [name, value] : *by_output) {
          auto& all = c.tolerances;
          if (all.count(std::string(name.str())) == 0) all[std::string(name.str())] = all.at("");
          set_tolerance(all[std::string(name.str())], key, value);
        }
      } else {
        for (auto& [name, tolerance] : c.tolerances) set_tolerance(tolerance, key, *node);
      }
    }
    for (const auto& [name, t] : c.tolerances) {
      if (t.bits && (t.relative > 0 || t.absolute > 0 || t.terms > 0))
        throw Fault(FaultKind::input, c.where, "bits allows no tolerance: leave out rtol, atol and ttol");
    }
  }
  void set_tolerance(OutputTolerance& t, std::string_view key, const toml::node& node) const {
    if (key == "bits")
      t.bits = truth(node, key);
    else
      (key == "rtol" ? t.relative : key == "atol" ? t.absolute : t.terms) = number(node, key);
  }

  void read_limits(const toml::table& given, SuiteCase& c) const {
    const auto limit = [&](std::string_view key) -> std::optional<double> {
      const toml::node* node = of_machine(given, key, c.machine);
      return node == nullptr ? std::nullopt : std::optional(number(*node, key));
    };
    c.max_us = limit("max_us");
    c.max_slower_percent = limit("max_slower_percent");
    c.min_roofline_percent = limit("min_roofline_percent");
    if (const toml::node* node = of_machine(given, "require", c.machine)) {
      for (const std::string& text : words(*node, "require"))
        c.requirements.push_back(parse_requirement(text, place(node->source())));
    }
  }

  std::string path_;
  fs::path directory_;
  toml::table root_;
  const toml::table* defaults_ = nullptr;
  std::vector<std::string> machines_;  // of the case that is being read
};

}  // namespace

const OutputTolerance& SuiteCase::tolerance(const std::string& output) const {
  const auto found = tolerances.find(output);
  return found == tolerances.end() ? tolerances.at("") : found->second;
}

Suite read_suite(const std::string& path) { return Reader(path).read(); }

}  // namespace ncemu::command
