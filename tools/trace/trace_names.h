#pragma once

// The texts of a Perfetto trace, each once, with the numbers by which events refer to them.

#include <cstdint>
#include <iterator>
#include <string_view>

#include "emu/observe/timeline.h"
#include "tools/trace/labels.h"
#include "tools/trace/packets.h"

namespace ncemu {

// Names that are no text of the source.
enum class Word : std::uint8_t {
  source,
  stalled_ns,
  stalled_for,
  bytes,
  descriptors,
  packets,
  wait_ns,
  transfer,
  half_rate,
};
inline constexpr std::string_view word_texts[] = {"source",  "stalled_ns",  "stalled_for",
                                                  "bytes",   "descriptors", "packets",
                                                  "wait_ns", "transfer",    "half rate"};

class TraceNames {
 public:
  // Both must outlive the names.
  TraceNames(const Labels& labels, const Program& program) : labels_(labels), program_(program) {}

  // The packets that readers learn the texts from.
  void define(Packets& packets) const;

  // One number space: texts of the source, words, reasons, sites. 0 would mean none.
  std::uint64_t iid(Labels::Text text) const { return std::uint64_t{text} + 1; }
  std::uint64_t iid(Word word) const { return words() + static_cast<std::uint64_t>(word); }
  std::uint64_t iid(StallReason reason) const { return reasons() + static_cast<std::uint64_t>(reason); }
  std::uint64_t site(std::uint32_t site) const { return reasons() + stall_reason_kinds + site; }

 private:
  std::uint64_t words() const { return labels_.texts().size() + 1; }
  std::uint64_t reasons() const { return words() + std::size(word_texts); }

  const Labels& labels_;
  const Program& program_;
};

}  // namespace ncemu
