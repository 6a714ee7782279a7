#include "bench/accuracy/csv.h"

#include <cctype>
#include <charconv>
#include <fstream>
#include <sstream>

#include "isa/fault.h"

namespace ncemu::accuracy {
namespace {

// Fields of the record that starts at `at`, which moves behind its end.
std::vector<std::string> record(std::string_view text, std::size_t& at) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c != '"') {
        fields.back() += c;
      } else if (at + 1 < text.size() && text[at + 1] == '"') {
        fields.back() += text[++at];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      fields.emplace_back();
    } else if (c == '\n') {
      ++at;
      return fields;
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace

Csv Csv::parse(std::string_view text, const std::string& file) {
  Csv table;
  table.file_ = file;
  std::size_t at = 0;
  table.columns_ = record(text, at);
  while (at < text.size()) {
    std::vector<std::string> fields = record(text, at);
    if (fields.size() == 1 && fields.front().empty()) continue;
    if (fields.size() != table.columns_.size()) {
      throw Fault(FaultKind::input, file, "row {} has {} fields, the header has {}", table.rows_.size() + 1,
                  fields.size(), table.columns_.size());
    }
    table.rows_.push_back(std::move(fields));
  }
  return table;
}

Csv Csv::read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Fault(FaultKind::input, path, "cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return parse(text.str(), path);
}

bool Csv::has(std::string_view column) const { return find(column).has_value(); }

const std::string& Csv::text(std::size_t row, std::string_view column) const {
  static const std::string none;
  const std::optional<std::size_t> index = find(column);
  return index ? rows_.at(row).at(*index) : none;
}

std::optional<double> Csv::number(std::size_t row, std::string_view column) const {
  const std::string& field = text(row, column);
  if (field.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size()) {
    throw Fault(FaultKind::input, file_, "row {}, column {}: \"{}\" is not a number", row + 1, column, field);
  }
  return value;
}

std::optional<std::size_t> Csv::find(std::string_view column) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == column) return i;
  }
  return std::nullopt;
}

std::vector<double> numbers_in(std::string_view text) {
  std::vector<double> found;
  for (std::size_t i = 0; i < text.size();) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
      ++i;
      continue;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), value);
    if (error != std::errc{}) break;
    found.push_back(value);
    i = static_cast<std::size_t>(end - text.data());
  }
  return found;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace ncemu::accuracy
