#include "tests/tools/trace/trace_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <optional>
#include <stdexcept>

#include "published.pb.h"

namespace ncemu::test {
namespace {

[[noreturn]] void lost(const std::string& what) { throw std::runtime_error("a viewer loses " + what); }

std::string inflated(const std::string& data) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw std::runtime_error("zlib does not start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  std::string out;
  int status = Z_OK;
  while (status == Z_OK) {
    char piece[1 << 16];
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(piece, sizeof piece - stream.avail_out);
  }
  const bool all = status == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  if (!all) lost("a compressed packet");
  return out;
}

// Fields whose numbers are not of the published definitions, at any depth.
void check_fields(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& fields = *message.GetReflection();
  if (!fields.GetUnknownFields(message).empty())
    lost("fields of " + std::string(message.GetDescriptor()->name()));
  std::vector<const google::protobuf::FieldDescriptor*> set;
  fields.ListFields(message, &set);
  for (const auto* field : set) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      check_fields(fields.GetMessage(message, field));
      continue;
    }
    for (int i = 0; i < fields.FieldSize(message, field); ++i)
      check_fields(fields.GetRepeatedMessage(message, field, i));
  }
}

class Reader {
 public:
  ReadTrace read(const std::string& file) {
    published::Trace outer;
    if (!outer.ParseFromString(file)) lost("the file");
    for (const published::TracePacket& packet : outer.packet()) {
      check_fields(packet);
      if (!packet.has_compressed_packets()) {
        take(packet);
        continue;
      }
      // "should be less than 512KB", says the definition.
      if (packet.ByteSizeLong() >= 512 * 1024) lost("a packet of more than 512 KB");
      const std::string bytes = inflated(packet.compressed_packets());
      trace_.bytes += bytes.size();
      published::Trace inner;
      if (!inner.ParseFromString(bytes)) lost("packets inside a compressed one");
      for (const published::TracePacket& p : inner.packet()) {
        check_fields(p);
        take(p);
      }
    }
    for (const auto& [uuid, slice] : open_) {
      if (slice) lost("the end of a slice on " + names_.at(uuid));
    }
    return std::move(trace_);
  }

 private:
  void take(const published::TracePacket& packet) {
    constexpr std::uint32_t cleared = 1, needed = 2;  // SEQ_INCREMENTAL_STATE_CLEARED, SEQ_NEEDS_...
    if (packet.trusted_packet_sequence_id() == 0) lost("a packet without a sequence");
    if (packet.sequence_flags() == cleared) {
      texts_known_ = true;
      event_names_.clear();
      annotation_names_.clear();
      values_.clear();
    }
    if (packet.sequence_flags() == needed && !texts_known_) lost("a packet that needs texts");
    learn(packet.interned_data());
    if (packet.has_track_descriptor()) describe(packet.track_descriptor());
    if (!packet.has_track_event()) return;
    if (packet.timestamp() < now_) lost("the order of time");
    now_ = packet.timestamp();
    if (packet.track_event().has_name_iid() && packet.sequence_flags() != needed)
      lost("a name: the packet does not say that it needs texts");
    event(packet.track_event());
  }

  void learn(const published::InternedData& data) {
    for (const auto& e : data.event_names()) event_names_[e.iid()] = e.name();
    for (const auto& e : data.debug_annotation_names()) annotation_names_[e.iid()] = e.name();
    for (const auto& e : data.debug_annotation_string_values()) values_[e.iid()] = e.str();
  }

  void describe(const published::TrackDescriptor& track) {
    if (track.uuid() == 0 || names_.contains(track.uuid())) lost("a track whose number is taken");
    if (track.parent_uuid() != 0 && !names_.contains(track.parent_uuid())) lost("a track without its parent");
    names_[track.uuid()] = track.name();
    const std::string above = track.parent_uuid() == 0 ? "" : paths_[track.parent_uuid()] + " / ";
    paths_[track.uuid()] = above + track.name();
    counts_[track.uuid()] = track.has_counter();
    trace_.tracks[track.name()].push_back(track.uuid());
  }

  static const std::string& known(const std::map<std::uint64_t, std::string>& texts, std::uint64_t iid) {
    const auto found = texts.find(iid);
    if (found == texts.end()) lost(fmt::format("text {}", iid));
    return found->second;
  }

  void event(const published::TrackEvent& e) {
    const std::uint64_t track = e.track_uuid();
    if (!names_.contains(track)) lost("an event on an unknown track");
    const bool counter = e.type() == published::TrackEvent::TYPE_COUNTER;
    if (counter != counts_[track]) lost("an event on the wrong kind of track, " + names_[track]);
    std::optional<std::size_t>& open = open_[track];
    switch (e.type()) {
      case published::TrackEvent::TYPE_COUNTER:
        if (!e.has_counter_value()) lost("a counter's value");
        trace_.counters[names_[track]].push_back({now_, e.counter_value()});
        return;
      case published::TrackEvent::TYPE_SLICE_END:
        if (!open) lost("an end without a begin on " + names_[track]);
        trace_.slices[*open].end = now_;
        open.reset();
        return;
      case published::TrackEvent::TYPE_SLICE_BEGIN: break;
      default: lost("an event without a type");
    }
    if (open) lost("the begin of a slice inside another one on " + names_[track]);
    open = trace_.slices.size();
    TraceSlice slice;
    slice.row = names_[track];
    slice.path = paths_[track];
    slice.begin = now_;
    slice.name = known(event_names_, e.name_iid());
    for (const auto& a : e.debug_annotations()) {
      const std::string& name = known(annotation_names_, a.name_iid());
      if (a.has_string_value_iid()) {
        slice.texts[name] = known(values_, a.string_value_iid());
      } else if (a.has_int_value()) {
        slice.numbers[name] = a.int_value();
      } else {
        lost("the value of " + name);
      }
    }
    slice.flows.assign(e.flow_ids().begin(), e.flow_ids().end());
    slice.ending_flows.assign(e.terminating_flow_ids().begin(), e.terminating_flow_ids().end());
    trace_.slices.push_back(std::move(slice));
  }

  ReadTrace trace_;
  std::map<std::uint64_t, std::string> names_, paths_;
  std::map<std::uint64_t, bool> counts_;
  std::map<std::uint64_t, std::optional<std::size_t>> open_;
  std::map<std::uint64_t, std::string> event_names_, annotation_names_, values_;
  std::uint64_t now_ = 0;
  bool texts_known_ = false;
};

}  // namespace

ReadTrace read_trace(const std::string& file) { return Reader().read(file); }

}  // namespace ncemu::test
