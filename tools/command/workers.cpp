#include "tools/command/workers.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

#include "isa/fault.h"

namespace ncemu::command {
namespace {

struct Child {
  std::size_t index = 0;
  pid_t process = 0;
  int result = -1, messages = -1;
  std::string text;
};

[[noreturn]] void fail(std::string_view what) {
  throw Fault(FaultKind::input, "--jobs", "cannot {}: {}", what, std::strerror(errno));
}

bool write_all(int file, const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = write(file, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

// A child's life. Never returns to the caller's code: destructors there belong to the parent.
[[noreturn]] void live(const Child& child, pid_t parent,
                       const std::function<std::string(std::size_t)>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(3);  // the parent died before the line above
  dup2(child.messages, STDOUT_FILENO);
  dup2(child.messages, STDERR_FILENO);
  int code = 0;
  try {
    const std::string result = work(child.index);
    if (!write_all(child.result, result)) code = 3;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    code = 3;
  }
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(code);
}

std::string read_messages(int file) {
  std::string text;
  std::array<char, 4096> part{};
  lseek(file, 0, SEEK_SET);
  while (true) {
    const ssize_t n = read(file, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(n));
  }
}

class Pool {
 public:
  ~Pool() {
    for (const Child& child : children_) {
      kill(child.process, SIGKILL);
      waitpid(child.process, nullptr, 0);
      close(child.result);
      close(child.messages);
    }
  }

  std::size_t size() const { return children_.size(); }

  void start(std::size_t index, const std::function<std::string(std::size_t)>& work) {
    std::array<int, 2> pipe_ends{};
    if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) fail("make a pipe");
    Child child{.index = index, .process = 0, .result = pipe_ends[1], .messages = -1, .text = {}};
    child.messages = memfd_create("messages", MFD_CLOEXEC);
    if (child.messages < 0) fail("keep the messages of a process");
    std::fflush(stdout);
    std::fflush(stderr);
    const pid_t parent = getpid();
    child.process = fork();
    if (child.process < 0) fail("start a process");
    if (child.process == 0) live(child, parent, work);
    close(pipe_ends[1]);
    child.result = pipe_ends[0];
    children_.push_back(std::move(child));
  }

  // Waits until a child has finished.
  std::pair<std::size_t, Finished> next() {
    while (true) {
      std::vector<pollfd> files;
      for (const Child& child : children_) files.push_back({child.result, POLLIN, 0});
      if (poll(files.data(), files.size(), -1) < 0) {
        if (errno == EINTR) continue;
        fail("wait for a process");
      }
      for (std::size_t i = 0; i < files.size(); ++i) {
        if (files[i].revents == 0) continue;
        std::array<char, 1 << 16> part{};
        const ssize_t n = read(children_[i].result, part.data(), part.size());
        if (n < 0 && errno == EINTR) continue;
        if (n > 0) {
          children_[i].text.append(part.data(), static_cast<std::size_t>(n));
          continue;
        }
        return finish(i);
      }
    }
  }

 private:
  std::pair<std::size_t, Finished> finish(std::size_t i) {
    Child child = std::move(children_[i]);
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
    int status = 0;
    while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
    }
    Finished finished{std::move(child.text), read_messages(child.messages), {}};
    close(child.result);
    close(child.messages);
    if (WIFSIGNALED(status))
      finished.died =
          fmt::format("was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
      finished.died = fmt::format("ended with exit code {}", WEXITSTATUS(status));
    return {child.index, std::move(finished)};
  }

  std::vector<Child> children_;
};

}  // namespace

void run_in_parallel(std::size_t count, std::size_t jobs, const std::function<std::string(std::size_t)>& work,
                     const std::function<void(std::size_t, const Finished&)>& done) {
  Pool pool;
  std::size_t next = 0;
  while (next < count || pool.size() > 0) {
    while (next < count && pool.size() < std::max<std::size_t>(1, jobs)) pool.start(next++, work);
    const auto [index, finished] = pool.next();
    done(index, finished);
  }
}

std::size_t default_jobs() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return static_cast<std::size_t>(std::max(1, n));
}

}  // namespace ncemu::command
