// `ncemu sweep`: a grid of parameters, machines and machine parameters.

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "emu/observe/metrics.h"
#include "isa/diagnostics.h"
#include "isa/fault.h"
#include "tools/command/output_files.h"
#include "tools/command/ranks.h"
#include "tools/command/sweep.h"
#include "tools/command/verbs.h"

namespace ncemu::command {
namespace {

Options sweep_options() {
  Options options(
      "sweep", "sweep KERNEL.nca [-D N=128,256,512] [--machine trn1,trn2] [options]",
      "Runs a kernel at every point of a grid and says which is fastest. Points that are finished are "
      "kept: the same command goes on where it was interrupted. Under mpirun the first process hands "
      "out points and the others run them.",
      1);
  options.group("Grid (values are separated by commas)")
      .values("define,D", "NAME=V1,V2,...", "values of a .param of the source")
      .value("machine", "NAME,FILE.toml,...", "machines")
      .values("set", "KEY=V1,V2,...", "values of one parameter of the machine");
  options.group("Run")
      .values("in", "NAME=SOURCE", "an input, as for 'ncemu run'; without any the mode is timing-only")
      .flag("strict", "treats warnings as errors")
      .value("jobs", "N", "points at a time (default: as many as there are processors)")
      .value("points", "FILE", "keeps finished points (default: the kernel's name and .sweep.jsonl)");
  options.group("Output")
      .values("metric", "NAME", "a metric of the profile beside the time")
      .value("csv", "FILE", "the points as comma-separated values")
      .optional_value("json", "FILE", "-",
                      "the points as JSON, to FILE (write --json=FILE) or to standard output")
      .value("svg", "FILE", "a plot")
      .value("plot", "NAME", "what the plot shows: us (default) or a metric");
  return options;
}

std::vector<std::string> split(const std::string& text, const std::string& option) {
  std::vector<std::string> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    values.push_back(text.substr(begin, end - begin));
    if (values.back().empty()) throw Fault(FaultKind::input, option, "has an empty value in '{}'", text);
    if (std::count(values.begin(), values.end(), values.back()) > 1)
      throw Fault(FaultKind::input, option, "has '{}' twice", values.back());
    begin = end + 1;
  }
  return values;
}

SweepRequest request_of(const Options& options) {
  SweepRequest request;
  request.kernel = options.word("the kernel (.nca or .ncb)");
  if (!std::filesystem::is_regular_file(request.kernel))
    throw Fault(FaultKind::input, request.kernel, "there is no such file");
  request.inputs = options.list("in");
  request.strict = options.on("strict");
  if (options.has("machine"))
    request.axes.push_back({Axis::Kind::machine, "machine", split(options.text("machine"), "--machine")});
  for (const auto& [kind, option, dashed] :
       {std::tuple(Axis::Kind::setting, "set", "--set"), std::tuple(Axis::Kind::define, "define", "-D")}) {
    for (const std::string& text : options.list(option)) {
      auto [name, values] = split_assignment(dashed, text, "NAME=V1,V2,...");
      const bool twice = std::any_of(request.axes.begin(), request.axes.end(),
                                     [&, &n = name](const Axis& a) { return a.name == n && a.kind == kind; });
      if (twice) throw Fault(FaultKind::input, dashed, "'{}' is given twice: write {}=V1,V2", name, name);
      request.axes.push_back({kind, name, split(values, dashed)});
    }
  }
  // A machine that does not exist is a mistake of the command, not a point that cannot run.
  for (const Axis& axis : request.axes) {
    if (axis.kind != Axis::Kind::machine) continue;
    for (const std::string& machine : axis.values) load_machine_config(machine, {});
  }
  return request;
}

void check_metric(const std::string& name, const std::string& option) {
  std::vector<std::string_view> names;
  for (const MetricInfo& info : all_metrics()) names.push_back(info.name);
  if (name == "us" || std::find(names.begin(), names.end(), name) != names.end()) return;
  const std::string_view near = did_you_mean(name, names);
  throw Fault(FaultKind::input, option, "there is no metric '{}'{}", name,
              near.empty() ? "" : fmt::format(", did you mean '{}'?", near));
}

void say(const Grid& grid, std::size_t point, const SweepJson& result, std::size_t done) {
  const auto us = sweep_value(result, "us");
  fmt::print(stderr, "{}/{} {}: {}\n", done, grid.size(), grid.name(point),
             us ? fmt::format("{:.3f} us", *us) : std::string("could not run"));
}

std::vector<std::size_t> missing(const Grid& grid, const PointsFile& file) {
  std::vector<std::size_t> points;
  for (std::size_t p = 0; p < grid.size(); ++p) {
    if (file.find(p) == nullptr) points.push_back(p);
  }
  if (points.size() < grid.size())
    fmt::print(stderr, "{} of {} points are there already\n", grid.size() - points.size(), grid.size());
  return points;
}

// Points that could not be run: the file does not give them back.
using Refused = std::map<std::size_t, SweepJson>;

void keep(const Grid& grid, PointsFile& file, Refused& refused, std::size_t point, SweepJson result,
          std::size_t& done) {
  say(grid, point, result, ++done);
  if (result.contains("error")) refused[point] = result;
  file.add(point, std::move(result));
}

void run_here(const Grid& grid, std::size_t jobs, PointsFile& file, Refused& refused) {
  const std::vector<std::size_t> points = missing(grid, file);
  std::size_t done = grid.size() - points.size();
  run_in_parallel(
      points.size(), jobs, [&](std::size_t i) { return run_point(grid, points[i]).dump(); },
      [&](std::size_t i, const Finished& finished) {
        keep(grid, file, refused, points[i], point_result(grid, points[i], finished), done);
      });
}

// ---- several processes ------------------------------------------------------------------------
// A rank asks with an empty message or a result, and is answered with the number of a point, or with nothing
// when there are no more.

void hand_out(const Grid& grid, Ranks& ranks, PointsFile& file, Refused& refused) {
  const std::vector<std::size_t> points = missing(grid, file);
  std::size_t done = grid.size() - points.size(), next = 0;
  for (int busy = ranks.size() - 1; busy > 0;) {
    const Ranks::Message message = ranks.receive();
    if (!message.text.empty()) {
      const SweepJson answer = SweepJson::parse(message.text);
      keep(grid, file, refused, answer.at("number").get<std::size_t>(), answer.at("result"), done);
    }
    if (next < points.size()) {
      ranks.send(message.from, std::to_string(points[next++]));
    } else {
      ranks.send(message.from, "");
      --busy;
    }
  }
}

void work_for(const Grid& grid, Ranks& ranks) {
  std::string answer;
  while (true) {
    ranks.send(0, answer);
    const std::string task = ranks.receive().text;
    if (task.empty()) return;
    const std::size_t point = std::stoul(task);
    run_in_parallel(
        1, 1, [&](std::size_t) { return run_point(grid, point).dump(); },
        [&](std::size_t, const Finished& finished) {
          answer = SweepJson{{"number", point}, {"result", point_result(grid, point, finished)}}.dump();
        });
  }
}

struct Outputs {
  std::string points, csv, json, svg, plot;
  std::vector<std::string> metrics;
  OutputFiles files;
};

Outputs outputs_of(const Options& options, const SweepRequest& request) {
  Outputs o;
  o.points = options.text("points", std::filesystem::path(request.kernel).stem().string() + ".sweep.jsonl");
  o.csv = options.text("csv");
  o.json = options.text("json");
  o.svg = options.text("svg");
  o.plot = options.text("plot", "us");
  o.metrics = options.list("metric");
  check_metric(o.plot, "--plot");
  for (const std::string& metric : o.metrics) check_metric(metric, "--metric");
  o.files.keep("the kernel", request.kernel);
  o.files.add("--points", o.points);
  o.files.add("--csv", o.csv);
  o.files.add("--json", o.json);
  o.files.add("--svg", o.svg);
  return o;
}

int report(const Grid& grid, Outputs& outputs, const PointsFile& file, const Refused& refused) {
  SweepResults results{&grid, {}, outputs.metrics};
  std::size_t without_time = 0;
  for (std::size_t p = 0; p < grid.size(); ++p) {
    const SweepJson* kept = file.find(p);
    results.points.push_back(kept != nullptr ? *kept : refused.at(p));
    without_time += results.points.back().contains("us") ? 0 : 1;
  }
  if (!outputs.csv.empty()) outputs.files.write(outputs.csv, sweep_csv(results));
  if (!outputs.svg.empty()) outputs.files.write(outputs.svg, sweep_svg(results, outputs.plot));
  if (without_time > 0) fmt::print(stderr, "{} of {} points failed\n", without_time, grid.size());
  if (!outputs.json.empty()) outputs.files.write(outputs.json, sweep_json(results));
  if (outputs.json != "-") outputs.files.write("-", sweep_text(results));
  outputs.files.finish();
  return without_time > 0 ? 1 : 0;
}

int run_sweep(const Options& options, Ranks* ranks) {
  const SweepRequest request = request_of(options);
  Outputs outputs = outputs_of(options, request);
  const Grid grid(request);
  const std::size_t jobs = options.count("jobs").value_or(default_jobs());
  if (jobs == 0) throw Fault(FaultKind::input, "--jobs", "takes at least 1");
  if (ranks != nullptr && ranks->rank() > 0) {
    work_for(grid, *ranks);
    return 0;
  }
  PointsFile file(outputs.points, grid);
  Refused refused;
  if (ranks == nullptr)
    run_here(grid, jobs, file, refused);
  else
    hand_out(grid, *ranks, file, refused);
  return report(grid, outputs, file, refused);
}

}  // namespace

int sweep(const Arguments& arguments) {
  Options options = sweep_options();
  if (!options.parse(arguments)) return 0;
  const std::unique_ptr<Ranks> ranks = join_ranks();
  try {
    const int code = run_sweep(options, ranks.get());
    if (ranks) ranks->leave();
    return code;
  } catch (const Fault& fault) {
    // One that leaves alone would keep the others waiting for ever.
    if (ranks) {
      fmt::print(stderr, "process {}: {}\n", ranks->rank(), fault.what());
      std::fflush(stderr);
      ranks->abort(fault.kind() == FaultKind::program ? 1 : fault.kind() == FaultKind::input ? 2 : 3);
    }
    throw;
  }
}

}  // namespace ncemu::command
