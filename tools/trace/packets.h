#pragma once

// A Perfetto trace as bytes: packets are serialised one by one and kept deflated, so that a trace of a
// million instructions stays small while it grows.

#include <cstdint>
#include <deque>
#include <future>
#include <string>

#include "perfetto.pb.h"
#include "tools/trace/wire.h"

namespace ncemu {

inline constexpr std::uint32_t trace_sequence = 1;  // all packets are of one writer

class Packets {
 public:
  void add(const perfetto::TracePacket& packet);
  void add(const Wire& packet);  // the fields of a TracePacket
  // The whole file. Nothing may be added afterwards.
  std::string finish();

 private:
  void deflate_block();
  void take_oldest();

  Wire block_;                                 // not deflated yet
  std::deque<std::future<std::string>> work_;  // blocks that other threads deflate, in order
  std::string file_;
};

}  // namespace ncemu
