#include "tools/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "isa/fault.h"

namespace ncemu {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

[[noreturn]] void fail(const std::string& path, std::string_view what) {
  throw Fault(FaultKind::input, path, "{}: {}", what, std::strerror(errno));
}

// Where a path leads. A relative path becomes absolute also if nothing is there, and a link is followed also
// if it leads to nothing yet.
std::filesystem::path followed(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path at = fs::absolute(path, error);
  constexpr int most_links = 40;
  for (int i = 0; i < most_links && fs::is_symlink(at, error); ++i) {
    const fs::path next = fs::read_symlink(at, error);
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  const fs::path canonical = fs::weakly_canonical(at, error);
  return error ? at.lexically_normal() : canonical;
}

// The number in /dev/stdout, /dev/fd/1, /proc/self/fd/1; none for other paths. Whoever opened those wants
// what is written there behind what else is: a name of their own would begin at the start.
std::optional<int> open_descriptor(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view directory : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(directory)) continue;
    int number = -1;
    const char* const end = path.data() + path.size();
    const auto [stopped, error] = std::from_chars(path.data() + directory.size(), end, number);
    if (error == std::errc{} && stopped == end && fcntl(number, F_GETFD) >= 0) return number;
  }
  return std::nullopt;
}

// Where the bytes of a file go until all are there.
struct Target {
  std::string path;       // links followed
  bool in_place = false;  // a device or pipe, which a file must not replace
  std::string temporary() const { return in_place ? path : fmt::format("{}.{}.tmp", path, getpid()); }
};

Target target_of(const std::string& path) {
  struct stat status = {};
  const bool exists = stat(path.c_str(), &status) == 0;
  const bool special = open_descriptor(path) || (exists && !S_ISREG(status.st_mode));
  std::error_code error;
  if (special || !std::filesystem::is_symlink(path, error)) return {path, special};
  return {followed(path).string(), false};
}

}  // namespace

std::vector<std::byte> read_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) fail(path, "cannot open");
  struct stat status = {};
  if (fstat(fileno(file.get()), &status) == 0 && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    fail(path, "cannot read");
  }
  // Not by the size alone: a pipe has none. One that gives more than this (/dev/zero) has no end.
  constexpr std::size_t endless = std::size_t{1} << 30;
  std::vector<std::byte> bytes;
  std::size_t at = 0;
  bytes.resize(status.st_size > 0 ? static_cast<std::size_t>(status.st_size) + 1 : std::size_t{1} << 16);
  while (true) {
    const std::size_t n = std::fread(bytes.data() + at, 1, bytes.size() - at, file.get());
    if (n == 0) break;
    at += n;
    if (!S_ISREG(status.st_mode) && at > endless) {
      throw Fault(FaultKind::input, path, "is not a regular file and gives more than {} bytes", endless);
    }
    if (at == bytes.size()) bytes.resize(2 * bytes.size());
  }
  if (std::ferror(file.get()) != 0) fail(path, "cannot read");
  bytes.resize(at);
  return bytes;
}

void write_file(const std::string& path, std::initializer_list<std::span<const std::byte>> pieces) {
  const Target target = target_of(path);
  const std::string temporary = target.temporary();
  const std::optional<int> descriptor = open_descriptor(path);
  if (descriptor == STDOUT_FILENO) std::fflush(stdout);
  File file(descriptor ? fdopen(dup(*descriptor), "wb") : std::fopen(temporary.c_str(), "wb"));
  if (!file) fail(path, "cannot write");
  bool written = true;
  for (const auto& piece : pieces)
    written = written && std::fwrite(piece.data(), 1, piece.size(), file.get()) == piece.size();
  int reason = written ? 0 : errno;
  if (std::fclose(file.release()) != 0 && reason == 0) reason = errno;
  if (reason == 0 && !target.in_place && std::rename(temporary.c_str(), target.path.c_str()) != 0)
    reason = errno;
  if (reason == 0) return;
  if (!target.in_place) unlink(temporary.c_str());
  errno = reason;
  fail(path, "cannot write");
}

void write_output(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) fail("standard output", "cannot write");
}

bool same_file(const std::string& a, const std::string& b) { return followed(a) == followed(b); }

void check_writable(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty() && !std::filesystem::is_directory(parent)) {
    throw Fault(FaultKind::input, path, "cannot write: there is no directory '{}'", parent.string());
  }
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) errno = EISDIR;
    if (S_ISDIR(status.st_mode) || access(path.c_str(), W_OK) != 0) fail(path, "cannot write");
    if (S_ISCHR(status.st_mode)) {  // /dev/full says so even of nothing
      const int file = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
      const bool takes = file >= 0 && write(file, "", 0) == 0;
      const int reason = errno;
      if (file >= 0) close(file);
      errno = reason;
      if (!takes) fail(path, "cannot write");
    }
  }
  const Target target = target_of(path);
  if (target.in_place) return;
  // Only making a file tells whether one can be made.
  const int file = open(target.temporary().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) fail(path, "cannot write");
  close(file);
  unlink(target.temporary().c_str());
}

void write_file(const std::string& path, std::span<const std::byte> bytes) { write_file(path, {bytes}); }

void write_file(const std::string& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace ncemu
