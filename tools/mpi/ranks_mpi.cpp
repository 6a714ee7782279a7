// The module that joins ncemu to the processes mpirun started (tools/command/ranks.h).

#define OMPI_SKIP_MPICXX 1  // only the C functions
#include <mpi.h>

#include <chrono>
#include <thread>

#include "tools/command/ranks.h"

namespace {

class MpiRanks : public ncemu::command::Ranks {
 public:
  MpiRanks() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, std::string_view text) override {
    MPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, to, 0, MPI_COMM_WORLD);
  }

  Message receive() override {
    MPI_Status status;
    int there = 0;
    while (true) {
      MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &status);
      if (there != 0) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    Message message{status.MPI_SOURCE, std::string(static_cast<std::size_t>(size), '\0')};
    MPI_Recv(message.text.data(), size, MPI_BYTE, message.from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return message;
  }

  void leave() override { MPI_Finalize(); }
  void abort(int code) override { MPI_Abort(MPI_COMM_WORLD, code); }

 private:
  int rank_ = 0, size_ = 1;
};

}  // namespace

extern "C" ncemu::command::Ranks* ncemu_join_ranks();
extern "C" ncemu::command::Ranks* ncemu_join_ranks() { return new MpiRanks; }
