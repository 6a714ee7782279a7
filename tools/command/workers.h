#pragma once

// Work shared out to processes: each piece runs in a child of its own, so that one that dies takes nothing
// else along, and what it prints does not mix with the others'.

#include <cstddef>
#include <functional>
#include <string>

namespace ncemu::command {

struct Finished {
  std::string result;    // what the work returned
  std::string messages;  // what it printed to standard output and standard error
  std::string died;      // why there is no result: "was ended by signal 11"; empty if there is one
};

// Calls work(0) ... work(count - 1) in children, `jobs` at a time, and done(i, ...) here, in the order in
// which they finish. A Fault thrown by `done` ends the children. The caller has no other threads.
void run_in_parallel(std::size_t count, std::size_t jobs, const std::function<std::string(std::size_t)>& work,
                     const std::function<void(std::size_t, const Finished&)>& done);

// --jobs: what is given, or the number of processors this process may use.
std::size_t default_jobs();

}  // namespace ncemu::command
