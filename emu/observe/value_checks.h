#pragma once

// What the values of a run did: inputs outside an activation function's valid range, the first results that
// are not finite though their operands are, values that a destination's type cannot hold. Once per kind and
// source place; a run without data has none.

#include <map>
#include <tuple>
#include <vector>

#include "emu/machine/observer.h"
#include "emu/observe/finding.h"

namespace ncemu {

class ValueChecks : public Observer {
 public:
  explicit ValueChecks(const Program& program) : program_(program) {}

  void on_numeric(const NumericEvent& event) override;
  std::vector<Finding> findings() const;

 private:
  struct Seen {
    CheckKind kind = CheckKind::ranges;
    Involved by;
    std::string first;  // where and what, in words
    std::uint64_t times = 0;
    std::int64_t values = 0;
  };
  using Key = std::tuple<CheckKind, std::uint32_t, Engine, std::uint32_t>;

  const Program& program_;
  std::vector<Seen> seen_;
  std::map<Key, std::size_t> index_;
};

}  // namespace ncemu
