#pragma once

// Every kernel of the library at a small size, for properties that all of them have.

#include <string>
#include <vector>

#include "tests/support/kernel.h"

namespace ncemu::test {

struct LibraryKernel {
  std::string file;  // below kernels/
  Params params;
  std::string machine = "trn1";
};

// The smallest sizes that use every buffer again.
const std::vector<LibraryKernel>& small_library();

}  // namespace ncemu::test
