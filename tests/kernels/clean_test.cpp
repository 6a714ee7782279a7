// What `ncemu check --strict` says of every kernel of the library, at the sizes that it declares. Those of
// published/ are for the machine they were measured on and have tests of their own.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "emu/machine/machine.h"
#include "emu/machine_config.h"
#include "isa/asm/assembler.h"

using namespace ncemu;

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Sources that others include are no kernels themselves.
std::set<std::string> included(const std::string& text) {
  std::set<std::string> names;
  const std::string mark = ".include \"";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::size_t begin = at + mark.size();
    names.insert(
        std::filesystem::path(text.substr(begin, text.find('"', begin) - begin)).filename().string());
  }
  return names;
}

}  // namespace

TEST_CASE(
    "every kernel of the library assembles without a warning and runs to its end on the machines it is for") {
  std::set<std::filesystem::path> sources;
  std::set<std::string> parts = {"std.nca"};
  for (const auto& entry : std::filesystem::directory_iterator(NCEMU_SOURCE_DIR "/kernels")) {
    if (entry.path().extension() != ".nca") continue;
    sources.insert(entry.path());
    parts.merge(included(text_of(entry.path())));
  }
  int kernels = 0;
  for (const std::filesystem::path& source : sources) {
    if (parts.contains(source.filename().string())) continue;
    // One that says from which generation on it runs is asked on that only.
    const bool from_v3 = text_of(source).find(".assert machine.generation >= 3") != std::string::npos;
    for (const std::string_view machine : machine_names()) {
      const MachineConfig config = builtin_machine(machine);
      if (from_v3 && config.target.generation < 3) continue;
      CAPTURE(source.filename().string());
      CAPTURE(std::string(machine));
      AssembleOptions options;
      options.target = find_target(machine);
      const Assembly assembly = assemble_file(source.string(), options);
      CHECK_MESSAGE(assembly.diagnostics.all().empty(), assembly.diagnostics.text());
      if (!assembly.ok()) continue;
      RunOptions check;
      check.mode = Mode::check;
      const RunResult result = Machine(config, assembly.program, check).run();
      CHECK_MESSAGE(result.status == RunStatus::finished, result.message);
      ++kernels;
    }
  }
  CHECK(kernels > 50);
}
