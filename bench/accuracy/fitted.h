#pragma once

// Which parameters of the machine were fitted to which group of rows. Leave-one-out fits them again without
// one row; a parameter that no other row supports falls back to what would be used without that row.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/accuracy/case.h"

namespace ncemu::accuracy {

struct Fitted {
  std::string_view key;      // "vector.l0"
  std::string_view without;  // the datasheet's value, or the mechanism switched off
};

// Nothing for groups that only use what others were fitted to.
std::span<const Fitted> fitted_to(std::string_view group);

// For each case, all of one machine and expressed, the prediction of a machine that was fitted to the others.
// `predicted` are the predictions as they are.
std::vector<double> leave_one_out(const std::vector<const Case*>& cases, const std::vector<double>& predicted,
                                  std::span<const Fitted> fitted, const MachineConfig& machine);

}  // namespace ncemu::accuracy
