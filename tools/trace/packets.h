#pragma once

// A Perfetto trace as bytes: packets are serialised one by one and kept deflated, so that a trace of a
// million instructions stays small while it grows.

#include <cstdint>
#include <string>

#include "perfetto.pb.h"

namespace ncemu {

inline constexpr std::uint32_t trace_sequence = 1;  // all packets are of one writer

class Packets {
 public:
  void add(const perfetto::TracePacket& packet);
  // The whole file. Nothing may be added afterwards.
  std::string finish();

 private:
  void deflate_block();

  std::string block_;  // serialised, not deflated yet
  std::string file_;
};

}  // namespace ncemu
