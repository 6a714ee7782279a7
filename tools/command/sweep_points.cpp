#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "isa/fault.h"
#include "tools/command/sweep.h"
#include "tools/command/version.h"
#include "tools/files/checksum.h"
#include "tools/files/file.h"

namespace ncemu::command {
namespace {

constexpr std::string_view schema = "ncemu.sweep-points/1";

SweepJson head_of(const Grid& grid) {
  return {{"schema", schema},
          {"version", version_number()},
          {"commit", commit()},
          {"kernel", grid.request().kernel},
          {"inputs", grid.request().inputs},
          {"strict", grid.request().strict}};
}

constexpr std::string_view anew = "remove it, or name another with --points, to begin anew";

}  // namespace

PointsFile::PointsFile(std::string path, const Grid& grid) : path_(std::move(path)) {
  check_writable(path_);
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) throw Fault(FaultKind::input, path_, "cannot write: {}", std::strerror(errno));
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    close(file_);
    throw Fault(FaultKind::input, path_, "another sweep is writing it");
  }
  try {
    const std::vector<std::byte> bytes = read_file(path_);
    read({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, grid);
  } catch (...) {
    close(file_);
    throw;
  }
}

PointsFile::~PointsFile() { close(file_); }

void PointsFile::read(const std::string& text, const Grid& grid) {
  std::map<std::string, std::size_t> numbers;
  for (std::size_t p = 0; p < grid.size(); ++p) numbers[grid.name(p)] = p;
  const std::size_t whole = text.find_last_of('\n') + 1;  // 0 without any
  if (ftruncate(file_, static_cast<off_t>(whole)) != 0 || lseek(file_, 0, SEEK_END) < 0)
    throw Fault(FaultKind::input, path_, "cannot write: {}", std::strerror(errno));
  if (whole == 0) {
    append(head_of(grid));
    return;
  }
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < whole; ++line) {
    const std::size_t end = text.find('\n', begin);
    SweepJson json = SweepJson::parse(text.substr(begin, end - begin), nullptr, false);
    begin = end + 1;
    if (line == 0) {
      if (!json.is_object() || !json.contains("schema") || json["schema"] != schema)
        throw Fault(FaultKind::input, path_, "is no file of points of a sweep");
      const SweepJson wanted = head_of(grid);
      for (const auto& [key, value] : wanted.items()) {
        if (!json.contains(key) || json[key] != value) {
          throw Fault(FaultKind::input, path_, "its points have the {} {}, this sweep has {}: {}", key,
                      json.contains(key) ? json[key].dump() : "of an older ncemu", value.dump(), anew);
        }
      }
      continue;
    }
    if (!json.is_object() || !json.contains("point"))
      throw Fault(FaultKind::input, path_, "line {} is no point of a sweep: {}", line + 1, anew);
    const auto found = numbers.find(json["point"].get<std::string>());
    if (found == numbers.end()) continue;  // of a grid with other values
    check(json, found->second, grid);
    points_[found->second] = std::move(json);
  }
}

// A point that the assembler refused has no sources; it is tried again.
void PointsFile::check(const SweepJson& result, std::size_t point, const Grid& grid) {
  if (!result.contains("sources")) return;
  for (const auto& [file, was] : result.at("sources").items()) {
    std::string& now = checksums_[file];
    if (now.empty()) {
      now =
          std::filesystem::is_regular_file(file) ? fmt::format("{:016x}", checksum(read_file(file))) : "gone";
    }
    if (was != now) throw Fault(FaultKind::input, path_, "its points are of another {}: {}", file, anew);
  }
  const KernelSource source = grid.source(point);
  if (source.machine.empty()) return;  // the kernel's own, which goes with its text
  const std::string hash = config_hash(load_machine_config(source.machine, source.settings));
  if (result.at("config_hash") != hash) {
    throw Fault(FaultKind::input, path_, "its points are of another configuration of {}: {}", source.machine,
                anew);
  }
}

const SweepJson* PointsFile::find(std::size_t point) const {
  const auto found = points_.find(point);
  return found == points_.end() || found->second.contains("error") ? nullptr : &found->second;
}

void PointsFile::add(std::size_t point, SweepJson result) {
  append(result);
  points_[point] = std::move(result);
}

void PointsFile::append(const SweepJson& line) {
  const std::string text = line.dump(-1, ' ', false, SweepJson::error_handler_t::replace) + "\n";
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = write(file_, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Fault(FaultKind::input, path_, "cannot write: {}", std::strerror(errno));
    at += static_cast<std::size_t>(n);
  }
  if (fsync(file_) != 0 && errno != EINVAL)  // a pipe cannot
    throw Fault(FaultKind::input, path_, "cannot write: {}", std::strerror(errno));
}

}  // namespace ncemu::command
