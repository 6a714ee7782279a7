// ncemu_accuracy: the timing model against measured hardware. Run it with tools/accuracy.

#include <boost/program_options.hpp>

#include <fstream>
#include <iostream>
#include <iterator>

#include "bench/accuracy/evaluate.h"
#include "bench/accuracy/report.h"
#include "bench/accuracy/rows.h"
#include "isa/fault.h"

namespace options = boost::program_options;
using namespace ncemu;

namespace {

void write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw Fault(FaultKind::input, path, "cannot be written");
}

int table_in(const std::string& path, const accuracy::Report& report, bool only_check) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Fault(FaultKind::input, path, "cannot be read");
  const std::string before{std::istreambuf_iterator<char>(in), {}};
  const std::string after = accuracy::with_table(before, report, path);
  if (before == after) return 0;
  if (only_check) {
    std::cerr << path << ": the accuracy table is not that of today; run tools/accuracy --readme\n";
    return 1;
  }
  write(path, after);
  return 0;
}

int run(int argc, char** argv) {
  std::string data, kernels, json, svg, readme;
  std::vector<std::string> settings;
  options::options_description description("Options");
  // clang-format off
  description.add_options()
      ("help",     "this text")
      ("data",     options::value(&data)->default_value("bench/calibration"), "directory of .csv files")
      ("kernels",  options::value(&kernels)->default_value("kernels"),        "directory of the .nca sources")
      ("json",     options::value(&json),                                     "writes groups and rows to a file")
      ("svg",      options::value(&svg),                                      "writes a picture to a file")
      ("readme",   options::value(&readme),                                   "rewrites the table in a Markdown file, between its two marks")
      ("check",    "with --readme: compares only, and fails when the table is not that of today")
      ("set",      options::value(&settings)->composing(),                    "changes a parameter: --set dma.c_core=300")
      ("markdown", "prints the groups as a Markdown table");
  // clang-format on
  options::variables_map given;
  try {
    options::store(options::parse_command_line(argc, argv, description), given);
    options::notify(given);
  } catch (const options::error& error) {
    throw Fault(FaultKind::input, "ncemu_accuracy", "{}", error.what());
  }
  if (given.contains("help")) {
    std::cout << "ncemu_accuracy: measured rows against the model's predictions\n" << description;
    return 0;
  }
  const accuracy::Report report = accuracy::evaluate(accuracy::all_cases(data, kernels), settings);
  if (!readme.empty()) return table_in(readme, report, given.contains("check"));
  std::cout << (given.contains("markdown") ? accuracy::to_markdown(report) : accuracy::to_text(report));
  if (!json.empty()) write(json, accuracy::to_json(report));
  if (!svg.empty()) write(svg, accuracy::to_svg(report));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Fault& fault) {
    std::cerr << "error: " << fault.what() << "\n";
    return fault.kind() == FaultKind::program ? 1 : fault.kind() == FaultKind::input ? 2 : 3;
  } catch (const std::exception& error) {
    std::cerr << "internal error: " << error.what() << "\n";
    return 3;
  }
}
