#include "bench/accuracy/csv.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

#include "isa/fault.h"

namespace ncemu::accuracy {
namespace {

// Fields of the record that starts at `at`, which moves behind its end.
std::vector<std::string> record(std::string_view text, std::size_t& at, const std::string& file) {
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
  if (quoted) throw Fault(FaultKind::input, file, "a quote is not closed at the end of the file");
  return fields;
}

}  // namespace

Csv Csv::parse(std::string_view text, const std::string& file) {
  Csv table;
  table.file_ = file;
  std::size_t at = 0;
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  table.columns_ = record(text, at, file);
  if (table.columns_.size() == 1 && table.columns_.front().empty())
    throw Fault(FaultKind::input, file, "the first line names no columns");
  for (std::size_t i = 0; i < table.columns_.size(); ++i) {
    if (std::count(table.columns_.begin(), table.columns_.end(), table.columns_[i]) > 1)
      throw Fault(FaultKind::input, file, "two columns are named \"{}\"", table.columns_[i]);
  }
  while (at < text.size()) {
    std::vector<std::string> fields = record(text, at, file);
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
  if (error != std::errc{} || end != field.data() + field.size() || !std::isfinite(value)) {
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

double number_in(std::string_view text, std::size_t nth) {
  const std::vector<double> found = numbers_in(text);
  if (nth < found.size()) return found[nth];
  throw Fault(FaultKind::input, "", "\"{}\" has no number where its size is expected", text);
}

std::int64_t whole_number(double value, std::int64_t least, std::int64_t most, std::string_view what) {
  if (value >= static_cast<double>(least) && value <= static_cast<double>(most))
    return static_cast<std::int64_t>(value);
  throw Fault(FaultKind::input, "", "{} of {:g}: expected {} to {}", what, value, least, most);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace ncemu::accuracy
