#pragma once

// Predictions and how far they are off, per row and per group.

#include <optional>
#include <string>
#include <vector>

#include "bench/accuracy/case.h"

namespace ncemu::accuracy {

struct Row {
  std::string id, group, unit;
  double measured = 0;
  std::optional<double> predicted;
  std::optional<double> left_out;  // with what was fitted to the group fitted again without this row
  std::string reason;              // why it is not expressed; empty if it is
  std::vector<std::string> marks;  // of the parameters that the prediction depends on

  // Signed, as a fraction of what was measured.
  std::optional<double> error() const { return error_of(predicted); }
  std::optional<double> error_of(std::optional<double> prediction) const;
};

struct Spread {
  double median = 0, p90 = 0;  // of absolute errors
};

struct Group {
  std::string name;
  std::size_t rows = 0, expressed = 0;
  Spread error;
  // With the parameters that were fitted to the group fitted again without the row itself (fitted.h); absent
  // with fewer than 3 rows or where nothing was fitted.
  std::optional<Spread> leave_one_out;
  std::optional<std::size_t> worst;  // index in Report::rows
};

struct Report {
  std::vector<Row> rows;
  std::vector<Group> groups;  // in the order of their first row
};

// Value at a fraction of the sorted values, linear between neighbours. Not for an empty list.
double quantile(std::vector<double> values, double fraction);

// `settings` ("dma.c_core=300") are applied to every machine.
Report evaluate(const Cases& cases, const std::vector<std::string>& settings = {});

}  // namespace ncemu::accuracy
