#pragma once

// Text in aligned columns.

#include <string>
#include <vector>

namespace ncemu::command {

class Table {
 public:
  // Columns named here with a leading '>' are aligned to the right.
  explicit Table(std::vector<std::string> heads);
  void row(std::vector<std::string> cells);
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

}  // namespace ncemu::command
