#include "emu/observe/timeline.h"

#include <map>

#include "emu/observe/summary.h"
#include "tests/emu/observe/recorded_runs.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// Keeps every event as it comes.
struct Log : Observer {
  std::vector<Started> starts;
  std::vector<TransferStarted> transfers;
  std::vector<std::int64_t> transfer_bytes;
  std::vector<DmaService::Event> packets;
  std::map<std::uint32_t, Ticks> done;
  std::vector<SemaphoreChanged> semaphores;
  void on_start(const Started& s) override { starts.push_back(s); }
  void on_transfer(const TransferStarted& t) override {
    transfers.push_back(t);
    transfer_bytes.push_back(t.work->bytes);
  }
  void on_dma(const DmaService::Event& e) override {
    if (e.kind == DmaService::Event::Kind::packet) packets.push_back(e);
  }
  void on_transfer_done(DmaService::TransferId t, Ticks at) override { done[t] = at; }
  void on_semaphore(const SemaphoreChanged& c) override { semaphores.push_back(c); }
};

}  // namespace

TEST_CASE("the arrays hold what the machine told, for every kernel and for random programs") {
  for_each_program(20, [](Program program, Mode mode) {
    Log log;
    const RecordedRun run = record(std::move(program), mode, {&log});
    const Timeline& t = run.timeline;
    REQUIRE(run.result.status == RunStatus::finished);
    REQUIRE(t.instructions.size() == log.starts.size());
    bool same = true;
    for (std::size_t i = 0; i < log.starts.size(); ++i) {
      const Started& s = log.starts[i];
      same = same && t.instructions.engine[i] == s.engine && t.instructions.index[i] == s.index &&
             t.instructions.start[i] == s.passage.start &&
             t.instructions.busy_until[i] == s.passage.busy_until &&
             t.instructions.complete[i] == s.passage.complete && t.instructions.reason[i] == s.reason &&
             t.instructions.producer[i] == (s.released ? s.producer_serial : no_serial) &&
             t.work_of(static_cast<Serial>(i)).flops == s.work.flops;
    }
    CHECK(same);
    REQUIRE(t.transfers.size() == log.transfers.size());
    std::vector<std::int64_t> bytes(t.transfers.size());
    for (const DmaService::Event& p : log.packets) bytes[p.transfer] += p.bytes;
    for (std::size_t k = 0; k < log.transfers.size(); ++k) {
      const auto number = static_cast<std::uint32_t>(k);
      CHECK(t.transfers.trigger[k] == log.transfers[k].trigger);
      CHECK(t.transfers.done[k] == log.done[number]);
      CHECK(t.shape(number).bytes == log.transfer_bytes[k]);
      CHECK(t.transfer_of(t.transfers.serial[k]) == number);
    }
    // Spans are the packets, joined.
    std::vector<std::int64_t> span_bytes(t.transfers.size());
    Ticks span_time = 0, packet_time = 0;
    std::size_t packets = 0;
    for (std::size_t i = 0; i < t.spans.size(); ++i) {
      span_bytes[t.spans.transfer[i]] += t.spans.bytes[i];
      span_time += t.spans.end[i] - t.spans.begin[i];
      packets += t.spans.packets[i];
      CHECK(t.spans.begin[i] >= t.transfers.first_packet[t.spans.transfer[i]]);
      CHECK(t.spans.end[i] <= t.transfers.last_packet[t.spans.transfer[i]]);
    }
    for (const DmaService::Event& p : log.packets) packet_time += p.end - p.begin;
    CHECK(span_bytes == bytes);
    CHECK(span_time == packet_time);
    CHECK(packets == log.packets.size());
    CHECK(t.semaphores.size() == log.semaphores.size());
    CHECK(t.total() == run.result.total);
  });
}

TEST_CASE(
    "the merged DMA intervals are those of the summary, and gated intervals are those of gated matmuls") {
  for_each_program(10, [](Program program, Mode mode) {
    SummaryObserver summary(builtin_machine(program.target.machine));
    const RecordedRun run = record(std::move(program), mode, {&summary});
    Ticks active = 0;
    Ticks before = -1;
    for (const Interval& i : dma_intervals(run.timeline)) {
      CHECK(i.begin > before);  // disjoint and apart
      before = i.end;
      active += i.end - i.begin;
    }
    CHECK(active == summary.summary().dma.active);
    Ticks gated = 0;
    for (const Interval& i : gated_intervals(run.timeline)) gated += i.end - i.begin;
    CHECK((gated > 0) == (summary.summary().engine(Engine::tensor).gated > 0));
    CHECK(gated >= summary.summary().engine(Engine::tensor).gated);
  });
}

TEST_CASE("the sides of a transfer in HBM are recorded with their addresses, once each") {
  const RecordedRun run =
      record(assemble_kernel("vector_add.nca", {{"R", "256"}, {"C", "512"}, {"W", "512"}}, "trn1"),
             Mode::timing_only);
  const Timeline& t = run.timeline;
  REQUIRE(t.transfers.size() == 6);  // two row blocks: two loads and a store each
  CHECK(t.hbm_patterns.size() == 6);
  std::map<std::string, std::int64_t> elements;
  for (std::uint32_t k = 0; k < t.transfers.size(); ++k) {
    REQUIRE(t.accesses(k).size() == 1);
    const HbmAccess& access = t.accesses(k).front();
    const HbmPattern& pattern = t.hbm_patterns[access.pattern];
    CHECK(access.write == (run.program.tensors[pattern.tensor].kind == TensorKind::output));
    CHECK_FALSE(access.indexed);
    elements[run.program.tensors[pattern.tensor].name] += pattern.elements();
  }
  REQUIRE(elements.size() == 3);
  for (const auto& [tensor, count] : elements) CHECK(count == 256 * 512);
}
