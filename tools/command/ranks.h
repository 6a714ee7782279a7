#pragma once

// Processes that mpirun started together, seen without MPI: the functions are in a module (tools/mpi) that is
// loaded only when mpirun started this process, so that the command itself needs no MPI.

#include <memory>
#include <string>
#include <string_view>

namespace ncemu::command {

class Ranks {
 public:
  struct Message {
    int from = 0;
    std::string text;
  };
  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void send(int to, std::string_view text) = 0;
  // Sleeps between looks: a rank that waits leaves the processor to others.
  virtual Message receive() = 0;
  // The end of the program for all; each calls it once.
  virtual void leave() = 0;
  // Ends all processes with this exit code. Does not return.
  virtual void abort(int code) = 0;
};

// Null if this process is alone. Throws Fault(input) if mpirun started it and the module is not there.
std::unique_ptr<Ranks> join_ranks();

}  // namespace ncemu::command
