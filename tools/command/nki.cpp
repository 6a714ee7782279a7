// `ncemu nki`: the Python interface reads the options and runs the script; this verb finds both.

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "isa/fault.h"
#include "tools/command/build_version.h"
#include "tools/command/verbs.h"

namespace ncemu::command {
namespace {

std::filesystem::path own_path() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path("ncemu") : path;
}

// The extension beside the command in a build directory, and the package of the checkout; an installed
// package needs neither.
std::string python_path(const std::filesystem::path& command) {
  std::string path;
  for (const auto& directory :
       {command.parent_path() / "python", std::filesystem::path(build_source) / "tools" / "python"}) {
    if (std::filesystem::is_directory(directory)) path += directory.string() + ":";
  }
  if (const char* given = std::getenv("PYTHONPATH"); given != nullptr) path += given;
  return path;
}

}  // namespace

int nki(const Arguments& arguments) {
  const auto command = own_path();
  const char* chosen = std::getenv("NCEMU_PYTHON");
  std::string python = chosen != nullptr ? chosen : build_python;
  setenv("PYTHONPATH", python_path(command).c_str(), 1);
  setenv("NCEMU_COMMAND", command.c_str(), 1);
  std::array<std::string, 2> fixed = {"-m", "ncemu.nki.command"};
  std::vector<char*> words = {python.data(), fixed[0].data(), fixed[1].data()};
  std::vector<std::string> own(arguments.begin(), arguments.end());
  for (std::string& word : own) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(python.c_str(), words.data());
  throw Fault(FaultKind::input, "ncemu nki", "the Python interpreter '{}' cannot be started", python);
}

}  // namespace ncemu::command
