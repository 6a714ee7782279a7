#include "tools/trace/trace_names.h"

#include <string>

namespace ncemu {
namespace {

using perfetto::TracePacket;

// Collects texts into packets of moderate size.
class Definitions {
 public:
  explicit Definitions(Packets& packets) : packets_(packets) {
    packet_.set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
  }
  void event(std::uint64_t iid, std::string_view text) {
    perfetto::EventName& entry = *data().add_event_names();
    entry.set_iid(iid);
    entry.set_name(std::string(text));
  }
  void annotation(std::uint64_t iid, std::string_view text) {
    perfetto::DebugAnnotationName& entry = *data().add_debug_annotation_names();
    entry.set_iid(iid);
    entry.set_name(std::string(text));
  }
  void value(std::uint64_t iid, std::string_view text) {
    perfetto::InternedString& entry = *data().add_debug_annotation_string_values();
    entry.set_iid(iid);
    entry.set_str(std::string(text));
  }
  void flush() {
    if (entries_ == 0) return;
    packet_.set_trusted_packet_sequence_id(trace_sequence);
    packets_.add(packet_);
    packet_.Clear();
    packet_.set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
    entries_ = 0;
  }

 private:
  perfetto::InternedData& data() {
    constexpr int most = 1000;
    if (entries_ == most) flush();
    ++entries_;
    return *packet_.mutable_interned_data();
  }

  Packets& packets_;
  TracePacket packet_;
  int entries_ = 0;
};

}  // namespace

void TraceNames::define(Packets& packets) const {
  Definitions definitions(packets);
  // A text may be a mnemonic, the name of an operand, a value, or several of them.
  const std::vector<std::string>& texts = labels_.texts();
  for (Labels::Text t = 0; t < texts.size(); ++t) {
    definitions.event(iid(t), texts[t]);
    definitions.annotation(iid(t), texts[t]);
    definitions.value(iid(t), texts[t]);
  }
  for (std::size_t w = 0; w < std::size(word_texts); ++w) {
    definitions.event(iid(static_cast<Word>(w)), word_texts[w]);
    definitions.annotation(iid(static_cast<Word>(w)), word_texts[w]);
  }
  for (std::size_t r = 0; r < stall_reason_kinds; ++r) {
    const auto reason = static_cast<StallReason>(r);
    definitions.value(iid(reason), name(reason));
  }
  for (std::uint32_t s = 0; s < program_.sites.size(); ++s)
    definitions.value(site(s), describe_site(program_, s));
  definitions.flush();
}

}  // namespace ncemu
