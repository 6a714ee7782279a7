#include "tools/trace/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "emu/observe/account.h"
#include "isa/fault.h"
#include "tools/trace/columns.h"
#include "tools/trace/embedded_page.h"
#include "tools/trace/labels.h"

namespace ncemu {
namespace {

constexpr int version = 1;  // tools/report/src/trace.ts knows it

void add_program(Columns& columns, const Program& program, const Labels& labels) {
  const std::uint32_t rows = labels.rows();
  columns.add("row_mnemonic", rows,
              [&](std::size_t r) { return labels.mnemonic(static_cast<std::uint32_t>(r)); });
  columns.add("row_site", rows, [&](std::size_t r) { return labels.site(static_cast<std::uint32_t>(r)); });
  std::vector<std::int64_t> begin = {0}, name, text;
  for (std::uint32_t r = 0; r < rows; ++r) {
    for (const Labels::Operand& o : labels.operands(r)) {
      name.push_back(o.name);
      text.push_back(o.value);
    }
    begin.push_back(static_cast<std::int64_t>(name.size()));
  }
  columns.add("row_operand_begin", begin, true);
  columns.add("operand_name", name);
  columns.add("operand_text", text);
  const std::vector<Site>& sites = program.sites;
  columns.add("site_file", sites.size(), [&](std::size_t s) { return sites[s].file; });
  columns.add("site_line", sites.size(), [&](std::size_t s) { return sites[s].line; });
  columns.add("site_parent", sites.size(), [&](std::size_t s) { return sites[s].parent; });
}

void add_instructions(Columns& columns, const Profile& profile, const Labels& labels) {
  const Timeline& timeline = profile.timeline;
  const Timeline::Instructions& all = timeline.instructions;
  const std::size_t n = all.size();
  columns.add("engine", n, [&](std::size_t i) { return all.engine[i]; });
  columns.add("row", n, [&](std::size_t i) { return labels.row(all.engine[i], all.index[i]); });
  columns.add(
      "start", n, [&](std::size_t i) { return all.start[i] - timeline.begin; }, true);
  columns.add("stalled", n, [&](std::size_t i) { return all.start[i] - all.stalled_since[i]; });
  columns.add("busy", n, [&](std::size_t i) { return all.busy_until[i] - all.start[i]; });
  columns.add("latency", n, [&](std::size_t i) { return all.complete[i] - all.start[i]; });
  columns.add("reason", n, [&](std::size_t i) { return all.reason[i]; });
  columns.add("gated", n, [&](std::size_t i) { return all.gated[i]; });
  columns.add("flops", n, [&](std::size_t i) { return timeline.work_of(static_cast<Serial>(i)).flops; });
  columns.add("slack", n, [&](std::size_t i) { return profile.slack[i]; });
  // What was waited for started before; 0 stands for none.
  columns.add("producer_distance", n, [&](std::size_t i) {
    const auto serial = static_cast<Serial>(i);
    const bool stalled = all.stalled_since[i] < all.start[i];
    const Serial producer = stalled ? waited_for(timeline, serial) : all.producer[i];
    return producer == no_serial ? 0 : static_cast<std::int64_t>(i) - producer;
  });
}

void add_transfers(Columns& columns, const Timeline& timeline) {
  const Timeline::Transfers& all = timeline.transfers;
  const std::size_t n = all.size();
  const auto shape = [&](std::size_t t) -> const TransferShape& {
    return timeline.shape(static_cast<std::uint32_t>(t));
  };
  columns.add(
      "transfer_instruction", n, [&](std::size_t t) { return all.serial[t]; }, true);
  columns.add("transfer_queue", n, [&](std::size_t t) { return all.queue[t]; });
  columns.add(
      "transfer_trigger", n, [&](std::size_t t) { return all.trigger[t] - timeline.begin; }, true);
  columns.add("transfer_wait", n, [&](std::size_t t) { return all.first_packet[t] - all.trigger[t]; });
  columns.add("transfer_service", n, [&](std::size_t t) { return all.done[t] - all.first_packet[t]; });
  columns.add("transfer_bytes", n, [&](std::size_t t) { return shape(t).bytes; });
  columns.add("transfer_descriptors", n, [&](std::size_t t) { return shape(t).descriptors; });

  const Timeline::Spans& spans = timeline.spans;
  const std::size_t s = spans.size();
  columns.add("span_transfer", s, [&](std::size_t i) { return spans.transfer[i]; });
  columns.add("span_engine", s, [&](std::size_t i) { return spans.dma_engine[i]; });
  columns.add(
      "span_begin", s, [&](std::size_t i) { return spans.begin[i] - timeline.begin; }, true);
  columns.add("span_length", s, [&](std::size_t i) { return spans.end[i] - spans.begin[i]; });
  columns.add("span_bytes", s, [&](std::size_t i) { return spans.bytes[i]; });

  const Timeline::SemaphoreChanges& changes = timeline.semaphores;
  columns.add(
      "semaphore_at", changes.size(), [&](std::size_t i) { return changes.at[i] - timeline.begin; }, true);
  columns.add("semaphore_number", changes.size(), [&](std::size_t i) { return changes.semaphore[i]; });
  columns.add("semaphore_value", changes.size(), [&](std::size_t i) { return changes.value[i]; });
}

// Adds the tiles' names to the texts.
void add_memory(Columns& columns, const Profile& profile, std::vector<std::string>& texts) {
  const Program& program = *profile.program;
  const Timeline& timeline = profile.timeline;
  const std::vector<PlaceLife>& lives = profile.lives;
  std::vector<std::int64_t> text_of_place(program.places.size(), -1);
  std::vector<std::int64_t> text;
  for (const PlaceLife& life : lives) {
    const Tile& tile = program.tiles[program.places[life.place].tile];
    std::int64_t& known = text_of_place[life.place];
    if (known < 0) {
      known = static_cast<std::int64_t>(texts.size());
      texts.push_back(tile.buffers > 1 ? fmt::format("{}#{}", tile.name, life.place - tile.first_place)
                                       : tile.name);
    }
    text.push_back(known);
  }
  const auto place = [&](std::size_t i) -> const Place& { return program.places[lives[i].place]; };
  const auto tile = [&](std::size_t i) -> const Tile& { return program.tiles[place(i).tile]; };
  columns.add("tile_text", text);
  columns.add("tile_space", lives.size(), [&](std::size_t i) { return tile(i).space; });
  columns.add("tile_offset", lives.size(), [&](std::size_t i) { return place(i).offset; });
  columns.add("tile_bytes", lives.size(), [&](std::size_t i) { return tile(i).bytes; });
  columns.add("tile_partition", lives.size(), [&](std::size_t i) { return place(i).partition; });
  columns.add("tile_partitions", lives.size(),
              [&](std::size_t i) { return tile(i).shape.empty() ? 1 : tile(i).shape[0]; });
  columns.add(
      "tile_from", lives.size(), [&](std::size_t i) { return lives[i].begin - timeline.begin; }, true);
  columns.add("tile_live", lives.size(), [&](std::size_t i) { return lives[i].end - lives[i].begin; });

  const std::vector<Interval> gates = gated_intervals(timeline);
  columns.add(
      "gate_begin", gates.size(), [&](std::size_t i) { return gates[i].begin - timeline.begin; }, true);
  columns.add("gate_length", gates.size(), [&](std::size_t i) { return gates[i].end - gates[i].begin; });
}

void add_path(Columns& columns, const Profile& profile) {
  const std::vector<Step>& path = profile.path;
  const auto serial = [&](std::size_t i) {
    return path[i].serial == no_serial ? -1 : static_cast<std::int64_t>(path[i].serial);
  };
  columns.add("path_serial", path.size(), serial, true);
  columns.add("path_kind", path.size(), [&](std::size_t i) { return path[i].kind; });
  columns.add(
      "path_begin", path.size(), [&](std::size_t i) { return path[i].begin - profile.timeline.begin; }, true);
  columns.add("path_length", path.size(), [&](std::size_t i) { return path[i].end - path[i].begin; });
}

nlohmann::json metric_words() {
  nlohmann::json all = nlohmann::json::object();
  for (const MetricInfo& metric : all_metrics())
    all[std::string(metric.name)] = {{"unit", metric.unit}, {"formula", metric.formula}};
  return all;
}

nlohmann::json files(const Program& program, const std::vector<std::string>& sources) {
  nlohmann::json all = nlohmann::json::array();
  for (std::size_t f = 0; f < program.files.size(); ++f) {
    nlohmann::json file = {{"name", program.files[f]}};
    if (f < sources.size() && !sources[f].empty()) file["text"] = sources[f];
    all.push_back(std::move(file));
  }
  return all;
}

// Replaces the one place where the page asks for `what`.
void insert(std::string& page, std::string_view what, std::string_view text) {
  const std::string mark = fmt::format("<!--ncemu:{}-->", what);
  const std::size_t at = page.find(mark);
  ensure(at != std::string::npos, "the page has no place for its data");
  page.replace(at, mark.size(), text);
}

}  // namespace

std::string trace_data(const Profile& profile, const std::vector<std::string>& sources) {
  const Program& program = *profile.program;
  const MachineConfig& machine = *profile.machine;
  const Labels labels(program);
  std::vector<std::string> texts = labels.texts();
  Columns columns;
  add_program(columns, program, labels);
  add_instructions(columns, profile, labels);
  add_transfers(columns, profile.timeline);
  add_memory(columns, profile, texts);
  add_path(columns, profile);

  std::vector<std::string> reasons;
  for (std::size_t r = 0; r < stall_reason_kinds; ++r)
    reasons.emplace_back(name(static_cast<StallReason>(r)));
  std::vector<std::string> steps;
  for (std::size_t k = 0; k < step_kind_count; ++k) steps.emplace_back(name(static_cast<StepKind>(k)));
  std::vector<std::string> semaphores;
  for (const NamedSemaphore& s : program.semaphores) {
    if (s.number >= semaphores.size()) semaphores.resize(std::size_t{s.number} + 1);
    semaphores[s.number] = s.name;
  }
  const Target& target = machine.target;
  return columns.pack({{"version", version},
                       {"ticks_per_us", ticks_per_us(machine)},
                       {"total", profile.timeline.total()},
                       {"engines", names<Engine>()},
                       {"reasons", reasons},
                       {"step_kinds", steps},
                       {"texts", texts},
                       {"files", files(program, sources)},
                       {"metrics", metric_words()},
                       {"semaphores", semaphores},
                       {"sbuf_bytes", target.sbuf_partition_bytes},
                       {"psum_bytes", target.psum_partition_bytes()},
                       {"psum_bank_bytes", target.psum_bank_bytes}});
}

std::string html_page(const std::string& profile_json, const std::string& trace) {
  std::string page(embedded_page());
  // Inside a script element only '<' could end it or open a comment.
  std::string json;
  for (const char c : profile_json) {
    if (c == '<') {
      json += "\\u003c";
    } else {
      json += c;
    }
  }
  insert(page, "profile", json);
  insert(page, "trace", trace);
  return page;
}

}  // namespace ncemu
