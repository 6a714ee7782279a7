// `ncemu test SUITE.toml`: kernels against references, limits and baselines.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <regex>

#include "isa/fault.h"
#include "tools/command/junit.h"
#include "tools/command/output_files.h"
#include "tools/command/suite_table.h"
#include "tools/command/verbs.h"
#include "tools/command/version.h"
#include "tools/files/file.h"

namespace ncemu::command {
namespace {

Options test_options() {
  Options options(
      "test", "test SUITE.toml [options]",
      "Runs the cases of a suite: results against references, times against limits and against the "
      "baseline that --update records. kernels/SUITE.md explains the file.",
      1);
  options.group("Cases")
      .value("filter", "REGEX", "only cases whose 'NAME on MACHINE' matches")
      .flag("list", "prints the cases and runs nothing")
      .value("jobs", "N", "cases at a time (default: as many as there are processors)");
  options.group("Baseline")
      .flag("update", "records times and profiles of the cases run, and says what moved");
  options.group("Output")
      .optional_value("json", "FILE", "-",
                      "results as JSON, to FILE (write --json=FILE) or to standard output")
      .value("junit", "FILE", "results as JUnit XML")
      .value("table", "FILE.md", "writes the table of times between the marks of this file")
      .value("check-table", "FILE.md", "fails if the table in this file is another");
  return options;
}

std::string text_of(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<const SuiteCase*> chosen(const Suite& suite, const Options& options) {
  std::vector<const SuiteCase*> cases;
  std::regex filter;
  try {
    filter = std::regex(options.text("filter", ""));
  } catch (const std::regex_error& error) {
    throw Fault(FaultKind::input, "--filter", "'{}' is no regular expression: {}", options.text("filter"),
                error.what());
  }
  for (const SuiteCase& c : suite.cases) {
    if (std::regex_search(c.id(), filter)) cases.push_back(&c);
  }
  if (cases.empty())
    throw Fault(FaultKind::input, "--filter", "no case matches '{}'; --list prints them",
                options.text("filter"));
  return cases;
}

std::string indented(const std::string& text, std::size_t columns) {
  std::string out, line;
  for (const char c : text + (text.empty() || text.back() == '\n' ? "" : "\n")) {
    line += c;
    if (c != '\n') continue;
    out += std::string(columns, ' ') + line;
    line.clear();
  }
  return out;
}

std::string result_text(const CaseResult& r) {
  std::string text = r.passed() ? "ok    " : "FAIL  ";
  text += r.id;
  if (!r.record.is_null()) text += fmt::format("  {:.3f} us", r.record.at("us").get<double>());
  text += "\n";
  for (const CaseFailure& f : r.failures)
    text += indented(fmt::format("{}: {}", f.kind, f.message), 6) + indented(f.detail, 8);
  return text;
}

// Prints results in the order of the cases as soon as all before them are there.
class Printer {
 public:
  Printer(std::FILE* file, std::size_t count) : file_(file), texts_(count) {}
  void add(std::size_t i, const CaseResult& result) {
    texts_[i] = result_text(result);
    for (; next_ < texts_.size() && !texts_[next_].empty(); ++next_) std::fputs(texts_[next_].c_str(), file_);
    std::fflush(file_);
  }

 private:
  std::FILE* file_;
  std::vector<std::string> texts_;
  std::size_t next_ = 0;
};

std::string json_text(const Suite& suite, const std::vector<CaseResult>& results) {
  Record cases = Record::array();
  for (const CaseResult& r : results) {
    Record failures = Record::array();
    for (const CaseFailure& f : r.failures)
      failures.push_back({{"kind", f.kind}, {"message", f.message}, {"detail", f.detail}});
    Record one = {{"case", r.id}, {"passed", r.passed()}, {"failures", failures}, {"compared", r.compared}};
    const bool ran = !r.record.is_null();
    one["us"] = ran ? r.record.at("us") : Record(nullptr);
    one["ticks"] = ran ? r.record.at("ticks") : Record(nullptr);
    one["config_hash"] = ran ? r.record.at("config_hash") : Record(nullptr);
    one["roofline_percent"] = ran ? Record(r.roofline_percent) : Record(nullptr);
    one["metrics"] = ran ? r.record.at("metrics") : Record::object();
    one["host_time_s"] = r.host_seconds;
    cases.push_back(std::move(one));
  }
  const Record json = {{"schema", "ncemu.test/1"},
                       {"version", version_number()},
                       {"commit", commit()},
                       {"suite", suite.path},
                       {"cases", cases}};
  return json.dump(1, ' ', false, Record::error_handler_t::replace) + "\n";
}

// Records the cases that ran and are compared with a baseline, and says what moved. One that fails keeps its
// old record.
void update(const Suite& suite, const std::vector<const SuiteCase*>& cases, Baseline& baseline,
            const std::vector<CaseResult>& results, std::FILE* out) {
  std::size_t moved = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const CaseResult& r = results[i];
    if (r.record.is_null() || !r.passed() || !cases[i]->max_slower_percent) continue;
    const Record* before = baseline.find(r.id);
    if (before == nullptr) {
      fmt::print(out, "new   {}  {:.3f} us\n", r.id, r.record.at("us").get<double>());
      ++moved;
    } else if (before->at("ticks") != r.record.at("ticks")) {
      fmt::print(out, "moved {}\n{}", r.id, indented(explain(*before, r.record), 6));
      ++moved;
    } else if (before->at("config_hash") != r.record.at("config_hash")) {
      fmt::print(out, "same  {}  with another configuration of the machine\n", r.id);
    }
    baseline.set(r.id, r.record);
  }
  std::vector<std::string> ids;
  for (const SuiteCase& c : suite.cases) {
    if (c.max_slower_percent) ids.push_back(c.id());
  }
  baseline.erase_others(ids);
  write_file(suite.baseline, baseline.text());
  fmt::print(out, "{}: {} new or moved\n", suite.baseline, moved);
}

// The table is of the whole suite: half of it would take the place of the other half.
bool handle_table(const Options& options, const std::vector<const SuiteCase*>& cases,
                  const std::vector<CaseResult>& results) {
  bool right = true;
  for (const char* option : {"table", "check-table"}) {
    if (!options.has(option)) continue;
    const std::string path = options.text(option), before = text_of(path);
    const std::string after = with_table(before, times_table(cases, results), path);
    if (std::string_view(option) == "table") {
      if (after != before) write_file(path, after);
    } else if (after != before) {
      fmt::print(stderr, "{}: the table is not that of this run; --table {} writes it\n", path, path);
      right = false;
    }
  }
  return right;
}

}  // namespace

int test_suite(const Arguments& arguments) {
  Options options = test_options();
  if (!options.parse(arguments)) return 0;
  const Suite suite = read_suite(options.word("the suite (.toml)"));
  const std::vector<const SuiteCase*> cases = chosen(suite, options);
  if (options.on("list")) {
    for (const SuiteCase* c : cases) fmt::print("{}\n", c->id());
    return 0;
  }
  const bool whole = cases.size() == suite.cases.size();
  if (!whole && (options.has("table") || options.has("check-table")))
    throw Fault(FaultKind::input, "--table", "needs the whole suite: leave out --filter");
  const std::size_t jobs = options.count("jobs").value_or(default_jobs());
  if (jobs == 0) throw Fault(FaultKind::input, "--jobs", "takes at least 1");
  OutputFiles files;
  files.keep("the suite", suite.path);
  files.keep("the suite's baseline", suite.baseline);
  const std::string json = options.text("json"), junit_file = options.text("junit");
  files.add("--json", json);
  files.add("--junit", junit_file);
  files.add("--table", options.text("table"));
  if (options.on("update")) check_writable(suite.baseline);
  Baseline baseline = Baseline::read(suite.baseline);
  const bool updating = options.on("update");
  std::FILE* const out = json == "-" ? stderr : stdout;

  const auto began = std::chrono::steady_clock::now();
  std::vector<CaseResult> results(cases.size());
  Printer printer(out, cases.size());
  run_in_parallel(
      cases.size(), jobs, [&](std::size_t i) { return run_case(*cases[i]); },
      [&](std::size_t i, const Finished& finished) {
        results[i] = read_result(*cases[i], finished);
        if (!updating) compare_with_baseline(*cases[i], baseline, results[i]);
        printer.add(i, results[i]);
      });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;

  if (updating) update(suite, cases, baseline, results, out);
  const bool table_right = handle_table(options, cases, results);
  const auto failed =
      std::count_if(results.begin(), results.end(), [](const auto& r) { return !r.passed(); });
  fmt::print(out, "{} cases, {} failed, {:.1f} s of host time\n", results.size(), failed, seconds.count());
  if (!junit_file.empty()) files.write(junit_file, junit(suite, cases, results));
  if (!json.empty()) files.write(json, json_text(suite, results));
  for (const CaseResult& r : results) {
    for (const CaseFailure& f : r.failures) {
      if (f.kind == "bug") throw Fault(FaultKind::internal, r.id, "{}", f.message);
    }
  }
  files.finish();
  return failed > 0 || !table_right ? 1 : 0;
}

}  // namespace ncemu::command
