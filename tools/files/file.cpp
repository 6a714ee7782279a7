#include "tools/files/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

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
  // A device or pipe (/dev/null, /dev/stdout) must not be replaced by a file.
  struct stat status = {};
  const bool special = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  const std::string temporary = special ? path : fmt::format("{}.{}.tmp", path, getpid());
  File file(std::fopen(temporary.c_str(), "wb"));
  if (!file) fail(path, "cannot write");
  bool written = true;
  for (const auto& piece : pieces)
    written = written && std::fwrite(piece.data(), 1, piece.size(), file.get()) == piece.size();
  const bool closed = std::fclose(file.release()) == 0;
  if (written && closed && (special || std::rename(temporary.c_str(), path.c_str()) == 0)) return;
  const int reason = errno;
  if (!special) unlink(temporary.c_str());
  errno = reason;
  fail(path, "cannot write");
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  const auto first = std::filesystem::weakly_canonical(a, error);
  const auto second = std::filesystem::weakly_canonical(b, error);
  return error ? a == b : first == second;
}

void check_directory(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty() && !std::filesystem::is_directory(parent)) {
    throw Fault(FaultKind::input, path, "cannot write: there is no directory '{}'", parent.string());
  }
}

void write_file(const std::string& path, std::span<const std::byte> bytes) { write_file(path, {bytes}); }

void write_file(const std::string& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace ncemu
