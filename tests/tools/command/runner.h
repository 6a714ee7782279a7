#pragma once

// Runs the command as a user does, in a directory of the test's own, and keeps what it says.

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tools/files/file.h"

namespace ncemu::test {

struct Outcome {
  int code = -1;
  std::string out, err;
  bool says(std::string_view text) const { return err.find(text) != std::string::npos; }
  bool prints(std::string_view text) const { return out.find(text) != std::string::npos; }
};

inline std::string directory() {
  std::filesystem::create_directories(NCEMU_TEST_DIR);
  return NCEMU_TEST_DIR;
}

inline std::string text_of(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Runs `ncemu WORDS` in the test's directory.
inline Outcome ncemu_run(const std::string& words) {
  const std::string command =
      fmt::format("cd '{}' && '{}' {} >stdout.txt 2>stderr.txt", directory(), NCEMU_COMMAND, words);
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(directory() + "/stdout.txt"),
          text_of(directory() + "/stderr.txt")};
}

inline void write_source(const std::string& name, std::string_view text) {
  write_file(directory() + "/" + name, text);
}

inline bool exists(const std::string& name) { return std::filesystem::exists(directory() + "/" + name); }
inline void remove_file(const std::string& name) { std::filesystem::remove(directory() + "/" + name); }

}  // namespace ncemu::test
