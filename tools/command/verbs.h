#pragma once

// The verbs of the command. Each takes the words after its name, prints results to standard output and
// returns the exit code 0 (fine) or 1 (the kernel or a check failed); it throws Fault for everything else.

#include <span>
#include <string_view>

#include "tools/command/options.h"

namespace ncemu::command {

int run(const Arguments& arguments);
int profile(const Arguments& arguments);
int diff(const Arguments& arguments);
int test_suite(const Arguments& arguments);
int sweep(const Arguments& arguments);
int check(const Arguments& arguments);
int assemble(const Arguments& arguments);
int disassemble(const Arguments& arguments);
int isa(const Arguments& arguments);
int nki(const Arguments& arguments);
int machine(const Arguments& arguments);

struct Verb {
  std::string_view name;
  int (*function)(const Arguments&);
  std::string_view sentence;
};
std::span<const Verb> verbs();

}  // namespace ncemu::command
