#include "tools/command/output_files.h"

#include <filesystem>

#include "isa/fault.h"
#include "tools/files/file.h"

namespace ncemu::command {
namespace {

// Devices and pipes take any number of reports.
bool is_device(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error);
}

}  // namespace

void OutputFiles::keep(std::string what, std::string path) {
  kept_.emplace_back(std::move(what), std::move(path));
}

void OutputFiles::add(std::string_view option, const std::string& path) {
  if (path.empty()) return;
  if (path == "-") {
    if (option == "--json") return;
    throw Fault(FaultKind::input, std::string(option),
                "'-' is standard output, which only --json writes to; a file of that name is './-'");
  }
  check_writable(path);
  if (is_device(path)) return;
  for (const auto& [what, kept] : kept_) {
    if (same_file(path, kept)) throw Fault(FaultKind::input, path, "{} would replace {}", option, what);
  }
  for (const auto& [other, taken] : added_) {
    if (same_file(path, taken)) throw Fault(FaultKind::input, path, "both {} and {} write it", other, option);
  }
  added_.emplace_back(option, path);
}

void OutputFiles::write(const std::string& path, std::string_view text) {
  if (path.empty()) return;
  try {
    if (path == "-") {
      write_output(text);
    } else {
      write_file(path, text);
    }
  } catch (const Fault& fault) {
    failures_.emplace_back(fault.where(), fault.message());
  }
}

void OutputFiles::finish() const {
  if (failures_.empty()) return;
  std::string message = failures_.front().second;
  for (std::size_t i = 1; i < failures_.size(); ++i)
    message += "\n" + failures_[i].first + ": " + failures_[i].second;
  throw Fault(FaultKind::input, failures_.front().first, "{}", message);
}

}  // namespace ncemu::command
