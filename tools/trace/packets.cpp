#include "tools/trace/packets.h"

#include <zlib.h>

#include "isa/fault.h"

namespace ncemu {
namespace {

// The format wants deflated packets below 512 KB; a block ends after the packet that passes half of that.
constexpr std::size_t block_bytes = 256 * 1024;

// Blocks that may be deflated at a time: beside the thread that fills the next.
constexpr std::size_t most_at_work = 3;

// A packet the way a Trace holds it. A Trace of one packet is that already, and traces may be put one behind
// the other.
void append(Wire& trace, std::string_view packet) {
  trace.bytes(perfetto::Trace::kPacketFieldNumber, packet);
}

std::string deflated_packet(const Wire& block) {
  const std::string_view bytes = block.view();
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string deflated(size, '\0');
  // The fastest level: a trace repeats itself so much that the others gain little.
  const int status =
      compress2(reinterpret_cast<Bytef*>(deflated.data()), &size,
                reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()), Z_BEST_SPEED);
  ensure(status == Z_OK, "zlib deflates into a buffer of the size that it asked for");
  Wire packet, trace;
  packet.bytes(perfetto::TracePacket::kCompressedPacketsFieldNumber,
               std::string_view(deflated).substr(0, size));
  append(trace, packet.view());
  return std::string(trace.view());
}

}  // namespace

void Packets::add(const perfetto::TracePacket& packet) {
  std::string bytes;
  ensure(packet.SerializeToString(&bytes), "a trace packet is complete");
  append(block_, bytes);
  if (block_.size() >= block_bytes) deflate_block();
}

void Packets::add(const Wire& packet) {
  append(block_, packet.view());
  if (block_.size() >= block_bytes) deflate_block();
}

void Packets::deflate_block() {
  if (block_.size() == 0) return;
  if (work_.size() == most_at_work) take_oldest();
  work_.push_back(std::async(std::launch::async, deflated_packet, std::move(block_)));
  block_ = {};
}

void Packets::take_oldest() {
  file_ += work_.front().get();
  work_.pop_front();
}

std::string Packets::finish() {
  deflate_block();
  while (!work_.empty()) take_oldest();
  return std::move(file_);
}

}  // namespace ncemu
