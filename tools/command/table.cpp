#include "tools/command/table.h"

#include <algorithm>

#include "isa/fault.h"

namespace ncemu::command {

Table::Table(std::vector<std::string> heads) {
  for (std::string& head : heads) {
    right_.push_back(head.starts_with('>'));
    if (right_.back()) head.erase(0, 1);
  }
  rows_.push_back(std::move(heads));
}

void Table::row(std::vector<std::string> cells) {
  ensure(cells.size() == right_.size(), "a table row has a cell per column");
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(right_.size());
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) line += "  ";
      const std::string space(widths[c] - row[c].size(), ' ');
      line += right_[c] ? space + row[c] : row[c] + space;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace ncemu::command
