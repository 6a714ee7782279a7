#pragma once

// A grid of runs of one kernel, and the file that keeps each point as soon as it is finished.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/command/kernel.h"
#include "tools/command/workers.h"

namespace ncemu::command {

using SweepJson = nlohmann::ordered_json;

// One dimension of the grid: a parameter of the kernel, the machine, or a parameter of the machine.
struct Axis {
  enum class Kind : std::uint8_t { define, machine, setting };
  Kind kind = Kind::define;
  std::string name;  // "N", "machine", "dma.l_trig_ns"
  std::vector<std::string> values;
};

struct SweepRequest {
  std::string kernel;
  std::vector<Axis> axes;  // the last varies fastest
  std::vector<std::string> inputs;
  bool strict = false;
};

// By number, the values of its axes.
class Grid {
 public:
  // Throws Fault(input) for a grid of more than a million points.
  explicit Grid(const SweepRequest& request);
  std::size_t size() const { return size_; }
  std::vector<std::string> values(std::size_t point) const;
  KernelSource source(std::size_t point) const;
  // "N=128 machine=trn2": names the point in the file and in messages.
  std::string name(std::size_t point) const;
  const SweepRequest& request() const { return *request_; }

 private:
  const SweepRequest* request_;
  std::size_t size_ = 1;
};

// Runs it: what the file keeps of a point. "error" instead of a time if it cannot be run.
SweepJson run_point(const Grid& grid, std::size_t point);
// From a process that ran it.
SweepJson point_result(const Grid& grid, std::size_t point, const Finished& finished);

// Lines of JSON: a head that says what ran, then the points in the order in which they finished. A line is on
// the disk before the next point is handed out; one that was cut short by an interruption is run again.
class PointsFile {
 public:
  // Opens or makes it. Throws Fault(input, path, ...) if its points are of another kernel, machine, input or
  // version, or if another sweep is writing it.
  PointsFile(std::string path, const Grid& grid);
  ~PointsFile();
  PointsFile(const PointsFile&) = delete;
  PointsFile& operator=(const PointsFile&) = delete;

  // Null for a point that is not there, or that could not be run and is to be tried again.
  const SweepJson* find(std::size_t point) const;
  void add(std::size_t point, SweepJson result);

 private:
  void read(const std::string& text, const Grid& grid);
  void check(const SweepJson& result, std::size_t point, const Grid& grid);
  void append(const SweepJson& line);

  std::string path_;
  int file_ = -1;
  std::map<std::size_t, SweepJson> points_;
  std::map<std::string, std::string> checksums_;  // of source files, as they are now
};

// ---- results (sweep_report.cpp, sweep_plot.cpp) -----------------------------------------------

struct SweepResults {
  const Grid* grid;
  std::vector<SweepJson> points;     // by number; all of them
  std::vector<std::string> metrics;  // beside the time, by name
};
std::string sweep_text(const SweepResults& results);  // a table, and the best point of each machine
std::string sweep_csv(const SweepResults& results);
std::string sweep_json(const SweepResults& results);
// The time, or a metric, over the axis with most values that are numbers; a line per value of the others.
std::string sweep_svg(const SweepResults& results, const std::string& metric);
// Absent for a point that could not run, or that has no such metric.
std::optional<double> sweep_value(const SweepJson& point, const std::string& metric);

}  // namespace ncemu::command
