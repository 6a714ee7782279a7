#include <filesystem>

#include "emu/observe/profile.h"
#include "isa/fault.h"
#include "tools/command/execution.h"
#include "tools/command/sweep.h"
#include "tools/files/checksum.h"
#include "tools/files/file.h"

namespace ncemu::command {
namespace {

SweepJson source_checksums(const Program& program) {
  SweepJson json = SweepJson::object();
  for (const std::string& path : program.files) {
    if (std::filesystem::is_regular_file(path))
      json[path] = fmt::format("{:016x}", checksum(read_file(path)));
  }
  return json;
}

SweepJson all_metric_values(const Metrics& metrics) {
  SweepJson json = SweepJson::object();
  for (std::size_t m = 0; m < metric_count; ++m) {
    if (metrics[m]) json[std::string(all_metrics()[m].name)] = *metrics[m];
  }
  return json;
}

}  // namespace

Grid::Grid(const SweepRequest& request) : request_(&request) {
  constexpr std::size_t most = 1'000'000;
  for (const Axis& axis : request.axes) {
    size_ *= axis.values.size();
    if (size_ > most) throw Fault(FaultKind::input, "ncemu sweep", "the grid has more than {} points", most);
  }
}

std::vector<std::string> Grid::values(std::size_t point) const {
  std::vector<std::string> values(request_->axes.size());
  for (std::size_t a = values.size(); a-- > 0;) {
    const std::vector<std::string>& all = request_->axes[a].values;
    values[a] = all[point % all.size()];
    point /= all.size();
  }
  return values;
}

KernelSource Grid::source(std::size_t point) const {
  KernelSource source;
  source.path = request_->kernel;
  source.strict = request_->strict;
  const std::vector<std::string> at = values(point);
  for (std::size_t a = 0; a < at.size(); ++a) {
    const Axis& axis = request_->axes[a];
    switch (axis.kind) {
      case Axis::Kind::define: source.defines.push_back(axis.name + "=" + at[a]); break;
      case Axis::Kind::machine: source.machine = at[a]; break;
      case Axis::Kind::setting: source.settings.push_back(axis.name + "=" + at[a]); break;
    }
  }
  return source;
}

std::string Grid::name(std::size_t point) const {
  const std::vector<std::string> at = values(point);
  std::string text;
  for (std::size_t a = 0; a < at.size(); ++a)
    text += fmt::format("{}{}={}", a == 0 ? "" : " ", request_->axes[a].name, at[a]);
  return text.empty() ? "the kernel as it is" : text;
}

SweepJson run_point(const Grid& grid, std::size_t point) {
  SweepJson json = {{"point", grid.name(point)}};
  try {
    const Kernel kernel = load_kernel(grid.source(point));
    json["config_hash"] = config_hash(kernel.machine);
    json["sources"] = source_checksums(kernel.program);
    RunRequest request;
    request.in = grid.request().inputs;
    request.mode = request.in.empty() ? Mode::timing_only : Mode::timed;
    request.strict = grid.request().strict;
    TimelineObserver recorder;
    request.observers.push_back(&recorder);
    const RunReport run = execute(kernel, request, stdout);
    const std::vector<std::string> failures = run.all_failures();
    if (!failures.empty()) {
      json["failed"] = failures.front();
      return json;
    }
    const Profile profile(recorder.take(), run.summary, kernel.program, kernel.machine, {}, 1);
    json["ticks"] = profile.timeline.total();
    json["us"] = profile.us(profile.timeline.total());
    json["metrics"] = all_metric_values(profile.metrics);
  } catch (const Fault& fault) {
    if (fault.kind() == FaultKind::internal) throw;
    json["error"] = fault.what();
  }
  return json;
}

SweepJson point_result(const Grid& grid, std::size_t point, const Finished& finished) {
  if (!finished.died.empty()) {
    throw Fault(FaultKind::internal, grid.name(point), "the process of the run {}\n{}", finished.died,
                finished.messages);
  }
  SweepJson json = SweepJson::parse(finished.result);
  // What the assembler said is more than how it ended.
  if (json.contains("error") && !finished.messages.empty())
    json["error"] = finished.messages.substr(0, finished.messages.find('\n'));
  return json;
}

}  // namespace ncemu::command
