#include "tools/trace/packets.h"

#include <zlib.h>

#include "isa/fault.h"

namespace ncemu {
namespace {

// The format wants deflated packets below 512 KB; a block ends after the packet that passes half of that.
constexpr std::size_t block_bytes = 256 * 1024;

// Appends the packet the way a Trace holds it. A Trace of one packet is that already, and traces may be put
// one behind the other.
void append(std::string& trace, const perfetto::TracePacket& packet) {
  constexpr char packet_tag = (1 << 3) | 2;  // field 1, length-delimited
  trace.push_back(packet_tag);
  std::size_t length = packet.ByteSizeLong();
  for (; length >= 0x80; length >>= 7U) trace.push_back(static_cast<char>(0x80 | (length & 0x7F)));
  trace.push_back(static_cast<char>(length));
  ensure(packet.AppendToString(&trace), "a trace packet is complete");
}

}  // namespace

void Packets::add(const perfetto::TracePacket& packet) {
  append(block_, packet);
  if (block_.size() >= block_bytes) deflate_block();
}

void Packets::deflate_block() {
  if (block_.empty()) return;
  uLongf size = compressBound(static_cast<uLong>(block_.size()));
  std::string deflated(size, '\0');
  // The fastest level: a trace repeats itself so much that the others gain little.
  const int status = compress2(reinterpret_cast<Bytef*>(deflated.data()), &size,
                               reinterpret_cast<const Bytef*>(block_.data()),
                               static_cast<uLong>(block_.size()), Z_BEST_SPEED);
  ensure(status == Z_OK, "zlib deflates into a buffer of the size that it asked for");
  deflated.resize(size);
  perfetto::TracePacket packet;
  packet.set_compressed_packets(std::move(deflated));
  append(file_, packet);
  block_.clear();
}

std::string Packets::finish() {
  deflate_block();
  return std::move(file_);
}

}  // namespace ncemu
