#include "tools/command/options.h"

#include <boost/program_options/parsers.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "isa/diagnostics.h"

namespace ncemu::command {
namespace po = boost::program_options;
namespace {

constexpr unsigned help_width = 110;

// "define,D" -> "define"
std::string long_name(std::string_view declared) {
  return std::string(declared.substr(0, declared.find(',')));
}

}  // namespace

Options::Options(std::string verb, std::string usage, std::string summary, std::size_t positional)
    : verb_(std::move(verb)),
      usage_(std::move(usage)),
      summary_(std::move(summary)),
      positional_(positional) {}

po::options_description& Options::last() {
  if (groups_.empty()) group("Options");
  return groups_.back();
}

Options& Options::group(std::string title) {
  groups_.emplace_back(title, help_width);
  return *this;
}

Options& Options::flag(const char* name, const char* help) {
  last().add_options()(name, po::bool_switch(), help);
  names_.push_back(long_name(name));
  return *this;
}

Options& Options::value(const char* name, const char* value_name, const char* help) {
  last().add_options()(name, po::value<std::string>()->value_name(value_name), help);
  names_.push_back(long_name(name));
  return *this;
}

Options& Options::values(const char* name, const char* value_name, const char* help) {
  last().add_options()(name, po::value<std::vector<std::string>>()->value_name(value_name), help);
  names_.push_back(long_name(name));
  return *this;
}

Options& Options::optional_value(const char* name, const char* value_name, const char* implicit,
                                 const char* help) {
  last().add_options()(name, po::value<std::string>()->value_name(value_name), help);
  names_.push_back(long_name(name));
  implicit_.emplace_back("--" + long_name(name), fmt::format("--{}={}", long_name(name), implicit));
  return *this;
}

Options& Options::note(std::string text) {
  note_ = std::move(text);
  return *this;
}

Options& Options::add_note(std::string text) {
  if (!note_.empty()) note_ += '\n';
  note_ += text;
  return *this;
}

std::string Options::help() const {
  std::ostringstream text;
  text << summary_ << "\n\nUsage: ncemu " << usage_ << "\n";
  for (const auto& group : groups_) text << "\n" << group;
  text << "\n  -h [ --help ]  print this page\n";
  if (!note_.empty()) text << "\n" << note_ << "\n";
  return text.str();
}

std::string Options::nearest(std::string_view name) const {
  while (name.starts_with('-')) name.remove_prefix(1);
  name = name.substr(0, name.find('='));
  const std::vector<std::string_view> candidates(names_.begin(), names_.end());
  const std::string_view found = did_you_mean(name, candidates);
  return found.empty() ? std::string() : "--" + std::string(found);
}

Fault Options::unusable(const std::string& message) const {
  return Fault(FaultKind::input, "ncemu " + verb_, "{}; see 'ncemu {} --help'", message, verb_);
}

// Boost's own implicit values would take the next word, if there is one, for the value.
Arguments Options::with_implicit_values(Arguments arguments) const {
  for (std::string& word : arguments) {
    if (word == "--") break;
    for (const auto& [bare, full] : implicit_) {
      if (word == bare) word = full;
    }
  }
  return arguments;
}

bool Options::parse(const Arguments& arguments) {
  po::options_description all;
  for (const auto& group : groups_) all.add(group);
  po::options_description hidden;
  hidden.add_options()("help,h", po::bool_switch(), "")("word", po::value<std::vector<std::string>>(), "");
  all.add(hidden);
  po::positional_options_description positions;
  positions.add("word", -1);
  try {
    const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(with_implicit_values(arguments))
                  .options(all)
                  .positional(positions)
                  .style(style)
                  .run(),
              map_);
    po::notify(map_);
  } catch (const po::unknown_option& error) {
    const std::string near = nearest(error.get_option_name());
    throw unusable(fmt::format("unknown option '{}'{}", error.get_option_name(),
                               near.empty() ? "" : fmt::format(", did you mean '{}'?", near)));
  } catch (const po::error& error) {
    throw unusable(error.what());
  }
  if (map_.at("help").as<bool>()) {
    std::fputs(help().c_str(), stdout);
    return false;
  }
  words_ = list("word");
  if (words_.size() > positional_)
    throw unusable(fmt::format("unexpected argument '{}'", words_[positional_]));
  return true;
}

std::string Options::text(const std::string& name, std::string_view otherwise) const {
  return has(name) ? map_.at(name).as<std::string>() : std::string(otherwise);
}

std::vector<std::string> Options::list(const std::string& name) const {
  return has(name) ? map_.at(name).as<std::vector<std::string>>() : std::vector<std::string>{};
}

std::optional<double> Options::number(const std::string& name) const {
  if (!has(name)) return std::nullopt;
  const std::string value = text(name);
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || !std::isfinite(number) || number < 0) {
    throw unusable(fmt::format("--{} takes a number of at least 0, found '{}'", name, value));
  }
  return number;
}

std::optional<std::uint64_t> Options::count(const std::string& name) const {
  if (!has(name)) return std::nullopt;
  const std::string value = text(name);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) {
    throw unusable(fmt::format("--{} takes a count, found '{}'", name, value));
  }
  return number;
}

const std::string& Options::word(std::string_view what) const {
  if (words_.empty()) throw unusable(fmt::format("{} is missing", what));
  return words_.front();
}

std::pair<std::string, std::string> split_assignment(const std::string& option, const std::string& text,
                                                     std::string_view form) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw Fault(FaultKind::input, option, "expected {}, found '{}'", form, text);
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace ncemu::command
