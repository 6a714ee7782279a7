// References written in Python.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "isa/fault.h"
#include "tools/command/suite_reference.h"
#include "tools/command/tensors.h"
#include "tools/files/file.h"
#include "tools/files/load.h"

namespace ncemu::command {
namespace {

namespace fs = std::filesystem;

// Gone with what is in it at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_((fs::temp_directory_path() / "ncemu-reference-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr)
      throw Fault(FaultKind::input, path_, "cannot make a directory: {}", std::strerror(errno));
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Standard output and standard error of the program go to a file. The exit code, or 128 + the signal.
int run(std::vector<std::string> words, const std::string& output_file) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw Fault(FaultKind::input, words[0], "cannot start it: {}", std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string text_of(const std::string& path) {
  if (!fs::exists(path)) return {};
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// numpy has no such types: as values.
bool needs_float32(DType type) { return !is_integer(type) && type != DType::f32 && type != DType::f16; }

}  // namespace

std::vector<ExpectedOutput> python_outputs(const std::string& script, const SuiteCase& c,
                                           const Program& program, const std::vector<Input>& inputs) {
  const TemporaryDirectory directory;
  const std::string in = directory.path() + "/in", out = directory.path() + "/out",
                    printed = directory.path() + "/printed";
  fs::create_directory(in);
  fs::create_directory(out);
  for (const Input& input : inputs) {
    const Tensor& tensor = program.tensors[input.tensor];
    save_npy(fmt::format("{}/{}.npy", in, tensor.name), wanted(tensor), input.bytes,
             needs_float32(tensor.dtype));
  }
  nlohmann::ordered_json params = nlohmann::ordered_json::object();
  for (const auto& [name, value] : c.params) params[name] = value;
  write_file(in + "/params.json", params.dump() + "\n");

  const char* const python = std::getenv("NCEMU_PYTHON");
  const int code = run({python == nullptr ? "python3" : python, script, in, out}, printed);
  const std::string said = text_of(printed);
  if (code != 0) {
    throw Fault(FaultKind::input, script, "the reference ended with exit code {}{}{}", code,
                said.empty() ? "" : "; it said:\n", said);
  }
  std::vector<ExpectedOutput> all;
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    const std::string path = fmt::format("{}/{}.npy", out, tensor.name);
    if (!fs::exists(path)) continue;
    ExpectedOutput expected{.tensor = static_cast<std::uint16_t>(t),
                            .source = c.reference,
                            .tolerance = c.tolerance(tensor.name),
                            .values = {},
                            .magnitude = {},
                            .patterns = {}};
    const FileSpec file = parse_file_spec(path, script);
    if (expected.tolerance.bits)
      expected.patterns = load_tensor(file, wanted(tensor)).bytes;
    else
      expected.values = load_values(file, wanted(tensor));
    all.push_back(std::move(expected));
  }
  if (all.empty()) {
    throw Fault(
        FaultKind::input, script,
        "the reference wrote no output: it is called with two directories, and saves each output into "
        "the second as NAME.npy{}{}",
        said.empty() ? "" : "; it said:\n", said);
  }
  return all;
}

}  // namespace ncemu::command
