#pragma once

// A file's bytes where the system already has them, without a copy.

#include <cstddef>
#include <span>
#include <string>

namespace ncemu {

class MappedFile {
 public:
  // Empty for what cannot be mapped (a pipe, an empty file, a file that is not there): read it the usual way,
  // which says what is wrong with it.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace ncemu
