#pragma once

// The files of reports that a verb is asked for: looked at before the run, written after it.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ncemu::command {

class OutputFiles {
 public:
  // A file that no report may replace. `what`: "the kernel", "the file of 'y=y.npy'".
  void keep(std::string what, std::string path);
  // `option` as it is typed: "--html". An empty path is no file; "-" is standard output, which only --json
  // takes. Throws Fault(input) if the file cannot be written now, would replace one that is kept, or is
  // another option's too, however the path is spelled.
  void add(std::string_view option, const std::string& path);

  // Nothing for an empty path. One that cannot be written does not keep the others from being written.
  void write(const std::string& path, std::string_view text);
  // Throws one Fault(input) with all that went wrong in write().
  void finish() const;

 private:
  using Named = std::pair<std::string, std::string>;  // what, path
  std::vector<Named> kept_, added_;
  std::vector<Named> failures_;  // path, message
};

}  // namespace ncemu::command
