#pragma once

// Tables of measured rows: comma-separated, the first line names the columns, fields may be quoted.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ncemu::accuracy {

class Csv {
 public:
  // Throws Fault(input) with file and row when there is no header, a column's name is there twice, a quote is
  // not closed, or a row has another number of fields than the header.
  static Csv parse(std::string_view text, const std::string& file);
  static Csv read(const std::string& path);

  std::size_t size() const { return rows_.size(); }
  bool has(std::string_view column) const;
  // The field as it is written; empty when the table has no such column.
  const std::string& text(std::size_t row, std::string_view column) const;
  // Absent: empty field or no such column. Throws Fault(input) when it is not a finite number.
  std::optional<double> number(std::size_t row, std::string_view column) const;

 private:
  std::optional<std::size_t> find(std::string_view column) const;

  std::string file_;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// The numbers in a text, in order: "7/9/20" has three, "517-541" two, "about 35" one.
std::vector<double> numbers_in(std::string_view text);

// The nth of them. Throws Fault(input) naming the text when it has not so many.
double number_in(std::string_view text, std::size_t nth = 0);
// Throws Fault(input) when the value is no size between these.
std::int64_t whole_number(double value, std::int64_t least, std::int64_t most, std::string_view what);

bool contains(std::string_view text, std::string_view part);

}  // namespace ncemu::accuracy
