#pragma once

// Random edits of a kernel's source, for tests that whatever follows ends with a result or with messages.

#include <random>
#include <string>

namespace ncemu::test {

// One to four edits: characters, words of the language, lines and numbers, from this text and from others.
std::string mutate(std::string text, std::mt19937_64& random);

}  // namespace ncemu::test
