#pragma once

// A measured row as a question to the model: what would the emulator say?

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/machine_config.h"

namespace ncemu::accuracy {

using Predict = std::function<double(const MachineConfig&)>;

struct Case {
  std::string id;
  std::string group;
  std::string unit;
  double measured = 0;
  std::string machine;  // "trn2"
  Predict predict;      // absent: not expressed, and `reason` says why
  std::string reason;
  // A shorter run that depends on the same parameters, where `predict` is long.
  Predict probe = {};
  // Sections of the machine that the prediction can depend on: "vector".
  std::vector<std::string_view> sections = {};
};

using Cases = std::vector<Case>;

inline Case not_expressed(std::string id, std::string group, std::string unit, double measured,
                          std::string reason) {
  return {.id = std::move(id),
          .group = std::move(group),
          .unit = std::move(unit),
          .measured = measured,
          .machine = {},
          .predict = {},
          .reason = std::move(reason)};
}

// "trn2.3xlarge, 1 core" is trn2; the first machine named counts; empty when none is.
std::string machine_of(std::string_view hardware);

}  // namespace ncemu::accuracy
