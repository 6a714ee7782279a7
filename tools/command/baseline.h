#pragma once

// What a suite remembers of a run, to compare a later one with: the time to the tick, the main metrics, the
// tiles and a summary of the profile that `ncemu diff` understands. One readable file for a suite.

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "emu/observe/profile.h"
#include "tools/command/kernel.h"
#include "tools/command/source_blocks.h"

namespace ncemu::command {

using Record = nlohmann::ordered_json;

Record make_record(const Kernel& kernel, const Profile& profile, const SourceText& source,
                   const std::string& name);

class Baseline {
 public:
  // Empty if there is no such file. Throws Fault(input, path, ...) for one that is no baseline.
  static Baseline read(const std::string& path);

  const Record* find(const std::string& id) const;
  void set(const std::string& id, Record record) { records_[id] = std::move(record); }
  void erase_others(const std::vector<std::string>& ids);
  bool empty() const { return records_.empty(); }
  // Sorted by case; a line for each thing that may change by itself.
  std::string text() const;

 private:
  std::map<std::string, Record> records_;
};

// Why the later run takes another time: what `ncemu diff` says of the two, lines and tiles that are written
// otherwise, metrics that moved. Several lines of text.
std::string explain(const Record& before, const Record& after);

}  // namespace ncemu::command
