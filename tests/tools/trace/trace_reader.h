#pragma once

// Reads a Perfetto trace as a viewer does: by the published definitions, in the order of the packets, with
// the texts known so far. Throws std::runtime_error where a viewer would lose something.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ncemu::test {

struct TraceSlice {
  std::string row;   // name of its track
  std::string path;  // the names of the tracks above, from the top, and its own
  std::uint64_t begin = 0, end = 0;
  std::string name;
  std::map<std::string, std::string> texts;
  std::map<std::string, std::int64_t> numbers;
  std::vector<std::uint64_t> flows, ending_flows;
};

struct CounterValue {
  std::uint64_t at = 0;
  std::int64_t value = 0;
  friend bool operator==(const CounterValue&, const CounterValue&) = default;
};

struct ReadTrace {
  std::vector<TraceSlice> slices;  // in order of begins
  std::map<std::string, std::vector<CounterValue>> counters;
  std::map<std::string, std::vector<std::uint64_t>> tracks;  // by name; lanes of a row have the same one
  std::size_t bytes = 0;                                     // of the packets, inflated
};

ReadTrace read_trace(const std::string& file);

}  // namespace ncemu::test
