#pragma once

// The options of a verb: declared once, with their help; read without guessing abbreviations; what is unknown
// is an error with the nearest option.

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/fault.h"

namespace ncemu::command {

using Arguments = std::vector<std::string>;

class Options {
 public:
  // `usage`: "run KERNEL [options]"; `summary`: one sentence. `positional`: how many words beside options the
  // verb takes at most.
  Options(std::string verb, std::string usage, std::string summary, std::size_t positional);

  // A heading in the help for the options added after it.
  Options& group(std::string title);
  Options& flag(const char* name, const char* help);
  Options& value(const char* name, const char* value_name, const char* help);
  Options& values(const char* name, const char* value_name, const char* help);  // may be repeated
  // `--json` or `--json=FILE`: the value when none is attached.
  Options& optional_value(const char* name, const char* value_name, const char* implicit, const char* help);
  Options& note(std::string text);      // printed after the options
  Options& add_note(std::string text);  // below it

  // False: help was asked for and printed. Throws Fault(input) for anything else that cannot be used.
  bool parse(const Arguments& arguments);

  bool has(const std::string& name) const { return map_.count(name) > 0; }
  bool on(const std::string& name) const { return map_.at(name).as<bool>(); }
  std::string text(const std::string& name, std::string_view otherwise = {}) const;
  std::vector<std::string> list(const std::string& name) const;
  std::optional<double> number(const std::string& name) const;  // finite, >= 0
  std::optional<std::uint64_t> count(const std::string& name) const;
  const std::vector<std::string>& words() const { return words_; }
  // The only word; a Fault that names what is missing otherwise.
  const std::string& word(std::string_view what) const;

  std::string help() const;
  // The known option nearest to `name`, with its dashes; empty if none is near.
  std::string nearest(std::string_view name) const;

 private:
  std::string verb_, usage_, summary_;
  std::size_t positional_;
  std::vector<boost::program_options::options_description> groups_;
  std::vector<std::string> names_;                             // long names
  std::vector<std::pair<std::string, std::string>> implicit_;  // "--json", "--json=-"
  std::string note_;
  boost::program_options::variables_map map_;
  std::vector<std::string> words_;

  boost::program_options::options_description& last();
  Arguments with_implicit_values(Arguments arguments) const;
  Fault unusable(const std::string& message) const;
};

// "name=rest"; a Fault(input) that shows the expected form otherwise.
std::pair<std::string, std::string> split_assignment(const std::string& option, const std::string& text,
                                                     std::string_view form);

}  // namespace ncemu::command
