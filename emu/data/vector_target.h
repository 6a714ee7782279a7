#pragma once

// Which instruction set the vector code of this room uses. Results do not depend on it: tests run every
// one, and a user who doubts a result can run the plain code.

#include <string>
#include <string_view>

namespace ncemu {

// "scalar" (plain C++), "avx2", "avx3" (AVX-512) or "best" (the default). For the whole process; call it
// while nothing executes. Throws Fault(input) for another name and for a set this host does not have.
void restrict_vector_targets(std::string_view name);

// The set in use: "scalar", "avx2", "avx3" or "neon".
std::string vector_target();

}  // namespace ncemu
