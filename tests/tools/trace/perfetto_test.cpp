// A trace is read back with the published definitions and compared with the run it shows.
#include "tools/trace/perfetto.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "emu/observe/summary.h"
#include "isa/asm/assembler.h"
#include "tests/emu/observe/recorded_runs.h"
#include "tests/tools/command/runner.h"
#include "tests/tools/trace/trace_reader.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

struct TracedRun {
  RecordedRun run;
  Profile profile;
  ReadTrace trace;
};

// On the heap, where the profile's references to the run stay valid.
std::unique_ptr<TracedRun> traced(Program program, Mode mode, RunOptions options = {}) {
  SummaryObserver summary(builtin_machine(program.target.machine));
  auto run = std::make_unique<RecordedRun>(record(std::move(program), mode, {&summary}, std::move(options)));
  const Profile once(run->timeline, summary.summary(), run->program, run->machine, {}, 1);
  const std::string file = perfetto_trace("the kernel", once);
  auto result = std::make_unique<TracedRun>(TracedRun{std::move(*run), once, read_trace(file)});
  result->profile.program = &result->run.program;
  result->profile.machine = &result->run.machine;
  return result;
}

std::uint64_t ns(const RecordedRun& run, Ticks at) {
  return static_cast<std::uint64_t>((at - run.timeline.begin) * 1000 / ticks_per_us(run.machine));
}

bool below(const TraceSlice& slice, const std::string& group) {
  return slice.path.starts_with("the kernel / " + group + " / ");
}

const Instruction& instruction(const RecordedRun& run, Serial s) {
  const auto& all = run.timeline.instructions;
  return run.program.stream(all.engine[s])[all.index[s]];
}

std::string row_of(const RecordedRun& run, Serial s) {
  const InstructionInfo& row = info(instruction(run, s).opcode);
  const std::string engine(name(run.timeline.instructions.engine[s]));
  if (row.mnemonic == "load_stationary") return engine + " weight loads";
  return row.is_control() || row.is_dma() ? engine + " sequencer" : engine;
}

}  // namespace

TEST_CASE("every instruction is a slice of its engine's row, with its times, its line and why it waited") {
  for_each_program(30, [](Program program, Mode mode) {
    const auto traced_run = traced(std::move(program), mode);
    const RecordedRun& run = traced_run->run;
    using Shown =
        std::tuple<std::string, std::uint64_t, std::uint64_t, std::string, std::string, std::string>;
    std::multiset<Shown> expected, found;
    const auto& all = run.timeline.instructions;
    for (Serial s = 0; s < all.size(); ++s) {
      const Instruction& i = instruction(run, s);
      expected.insert({row_of(run, s), ns(run, all.start[s]), ns(run, all.busy_until[s]),
                       std::string(info(i.opcode).mnemonic), describe_site(run.program, i.site),
                       all.reason[s] == StallReason::none ? "" : std::string(name(all.reason[s]))});
    }
    for (const TraceSlice& slice : traced_run->trace.slices) {
      if (!below(slice, "engines") || slice.row == "tensor clock gate") continue;
      const auto reason = slice.texts.find("stalled_for");
      found.insert({slice.row, slice.begin, slice.end, slice.name, slice.texts.at("source"),
                    reason == slice.texts.end() ? "" : reason->second});
    }
    CHECK(expected == found);
    // An engine does one thing at a time; matmuls in different tiles of the array overlap.
    for (const Engine e : {Engine::vector, Engine::scalar, Engine::gpsimd, Engine::sync}) {
      CAPTURE(name(e));
      const auto tracks = traced_run->trace.tracks.find(std::string(name(e)));
      if (tracks != traced_run->trace.tracks.end()) CHECK(tracks->second.size() == 1);
    }
  });
}

TEST_CASE("a transfer is a slice from trigger to completion, and its packets carry all its bytes") {
  for_each_program(30, [](Program program, Mode mode) {
    const auto traced_run = traced(std::move(program), mode);
    const RecordedRun& run = traced_run->run;
    const auto& all = run.timeline.transfers;
    using Shown = std::tuple<std::string, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>;
    std::multiset<Shown> expected, found;
    std::vector<std::int64_t> bytes(all.size());
    for (std::uint32_t t = 0; t < all.size(); ++t) {
      const TransferShape& shape = run.timeline.shape(t);
      expected.insert({"queue " + std::to_string(all.queue[t]), ns(run, all.trigger[t]), ns(run, all.done[t]),
                       shape.bytes, shape.descriptors});
    }
    std::size_t packets = 0;
    for (const TraceSlice& slice : traced_run->trace.slices) {
      if (below(slice, "DMA queues")) {
        found.insert(
            {slice.row, slice.begin, slice.end, slice.numbers.at("bytes"), slice.numbers.at("descriptors")});
      } else if (below(slice, "DMA engines")) {
        bytes.at(static_cast<std::size_t>(slice.numbers.at("transfer"))) += slice.numbers.at("bytes");
        packets += static_cast<std::size_t>(slice.numbers.at("packets"));
      }
    }
    CHECK(expected == found);
    std::size_t recorded_packets = 0;
    std::vector<std::int64_t> recorded(all.size());
    for (std::size_t i = 0; i < run.timeline.spans.size(); ++i) {
      recorded_packets += run.timeline.spans.packets[i];
      recorded[run.timeline.spans.transfer[i]] += run.timeline.spans.bytes[i];
    }
    CHECK(packets == recorded_packets);
    CHECK(bytes == recorded);
  });
}

TEST_CASE("the bytes of the microseconds add up to those of the packets") {
  for_each_program(30, [](Program program, Mode mode) {
    const auto traced_run = traced(std::move(program), mode);
    const RecordedRun& run = traced_run->run;
    std::int64_t moved = 0;
    for (const std::int64_t bytes : run.timeline.spans.bytes) moved += bytes;
    std::int64_t shown = 0;
    const auto found = traced_run->trace.counters.find("bytes moved per us");
    if (found != traced_run->trace.counters.end()) {
      const std::vector<CounterValue>& values = found->second;
      for (std::size_t i = 0; i + 1 < values.size(); ++i) {
        CHECK(values[i].at % 1000 == 0);
        shown += values[i].value * static_cast<std::int64_t>((values[i + 1].at - values[i].at) / 1000);
      }
      CHECK(values.back().value == 0);
    }
    CHECK(shown == moved);
  });
}

TEST_CASE("counters show the semaphores, the transfers in flight and the memory in use") {
  for_each_program(30, [](Program program, Mode mode) {
    const auto traced_run = traced(std::move(program), mode);
    const RecordedRun& run = traced_run->run;
    const ReadTrace& trace = traced_run->trace;

    const auto& changes = run.timeline.semaphores;
    std::map<int, std::vector<CounterValue>> semaphores, shown;
    for (std::size_t i = 0; i < changes.size(); ++i)
      semaphores[changes.semaphore[i]].push_back({ns(run, changes.at[i]), changes.value[i]});
    for (const auto& [name, values] : trace.counters) {
      int number = 0;
      if (std::sscanf(name.c_str(), "semaphore %d", &number) == 1) shown[number] = values;
    }
    CHECK(shown == semaphores);

    const auto& transfers = run.timeline.transfers;
    const auto in_flight = trace.counters.find("transfers in flight");
    if (in_flight != trace.counters.end()) {
      // The last value of a nanosecond is what was in flight when it was over.
      const std::vector<CounterValue>& values = in_flight->second;
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i + 1 < values.size() && values[i + 1].at == values[i].at) continue;
        std::int64_t count = 0;
        for (std::size_t t = 0; t < transfers.size(); ++t) {
          count += ns(run, transfers.trigger[t]) <= values[i].at;
          count -= ns(run, transfers.done[t]) <= values[i].at;
        }
        CHECK(values[i].value == count);
      }
      CHECK(values.back().value == 0);
    }
    CHECK((in_flight == trace.counters.end()) == (transfers.size() == 0));

    for (const auto& [name, peak] :
         {std::pair{"SBUF bytes per partition", traced_run->profile.memory.sbuf_peak},
          std::pair{"PSUM bytes per partition", traced_run->profile.memory.psum_peak}}) {
      std::int64_t most = 0;
      const auto found = trace.counters.find(name);
      if (found != trace.counters.end()) {
        for (const CounterValue& v : found->second) most = std::max(most, v.value);
        CHECK(found->second.back().value == 0);
      }
      CHECK(most == peak);
    }
  });
}

TEST_CASE("an arrow leads from what signalled to each instruction that waited for it, and forward in time") {
  std::size_t arrows = 0;
  for_each_program(30, [&](Program program, Mode mode) {
    const auto traced_run = traced(std::move(program), mode);
    const RecordedRun& run = traced_run->run;
    std::map<std::uint64_t, std::vector<const TraceSlice*>> from, to;
    for (const TraceSlice& slice : traced_run->trace.slices) {
      for (const std::uint64_t id : slice.flows) from[id].push_back(&slice);
      for (const std::uint64_t id : slice.ending_flows) to[id].push_back(&slice);
    }
    using End = std::tuple<std::string, std::uint64_t>;  // row, begin
    std::multiset<std::pair<End, End>> expected, found;
    const auto& all = run.timeline.instructions;
    for (Serial s = 0; s < all.size(); ++s) {
      const Serial producer = all.producer[s];
      if (producer == no_serial) continue;
      const End waiting{row_of(run, s), ns(run, all.start[s])};
      if (all.reason[s] == StallReason::semaphore)
        expected.insert({{row_of(run, producer), ns(run, all.start[producer])}, waiting});
      if (all.reason[s] == StallReason::dma) {
        const auto& transfers = run.timeline.transfers;
        for (std::size_t t = 0; t < transfers.size(); ++t) {
          if (transfers.serial[t] == producer)
            expected.insert(
                {{"queue " + std::to_string(transfers.queue[t]), ns(run, transfers.trigger[t])}, waiting});
        }
      }
    }
    CHECK(from.size() == to.size());
    for (const auto& [id, begins] : from) {
      REQUIRE(begins.size() == 1);
      REQUIRE(to[id].size() == 1);
      CHECK(begins[0]->begin <= to[id][0]->begin);
      found.insert({{begins[0]->row, begins[0]->begin}, {to[id][0]->row, to[id][0]->begin}});
    }
    CHECK(expected == found);
    arrows += found.size();
  });
  CHECK(arrows > 1000);
}

TEST_CASE("the clock gate is a row of the tensor engine, as long as the intervals it slowed down") {
  const auto gated =
      traced(assemble_kernel("fp8_double_row_gemm.nca", {{"M", "512"}, {"K", "512"}, {"N", "512"}}, "trn2"),
             Mode::timing_only);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> shown, expected;
  for (const TraceSlice& slice : gated->trace.slices) {
    if (slice.row == "tensor clock gate") shown.push_back({slice.begin, slice.end});
  }
  // Any matmul that the gate slowed down lies in a slice, and a slice begins and ends with such a matmul.
  const auto& all = gated->run.timeline.instructions;
  std::set<std::uint64_t> begins, ends;
  for (Serial s = 0; s < all.size(); ++s) {
    if (all.gated[s] == 0) continue;
    const std::uint64_t begin = ns(gated->run, all.start[s]), end = ns(gated->run, all.busy_until[s]);
    begins.insert(begin);
    ends.insert(end);
    CHECK(std::any_of(shown.begin(), shown.end(),
                      [&](const auto& g) { return g.first <= begin && end <= g.second; }));
  }
  REQUIRE_FALSE(shown.empty());
  for (const auto& [begin, end] : shown) {
    CHECK(begins.contains(begin));
    CHECK(ends.contains(end));
  }
}

TEST_CASE("operands and options of an instruction are the texts of its slice") {
  AssembleOptions options;
  Assembly assembly = assemble_text(
      ".machine trn1\n.sbuf a : f32[128, 4, 8]\n.sbuf b : f32[128, 8]\n"
      "memset a, value = 1.0\ntensor_scalar b, a[:, 2, :], op0 = mult, scalar0 = 2.0\n",
      "t.nca", options);
  REQUIRE(assembly.ok());
  const auto run = traced(std::move(assembly.program), Mode::timing_only);
  const auto found = std::find_if(run->trace.slices.begin(), run->trace.slices.end(),
                                  [](const TraceSlice& s) { return s.name == "tensor_scalar"; });
  REQUIRE(found != run->trace.slices.end());
  CHECK(found->texts.at("dst") == "b[:, :]");
  CHECK(found->texts.at("src") == "a[:, 2, :]");
  CHECK(found->texts.at("with").find("op0=mult") != std::string::npos);
  CHECK(found->texts.at("source") == "t.nca:5:1");
}

TEST_CASE("a run that ended early is shown as far as it came") {
  const Program program =
      assemble_kernel("vector_add.nca", {{"R", "300"}, {"C", "700"}, {"W", "512"}}, "trn1");
  RunOptions options;
  options.max_instructions = 20;
  const auto run = traced(program, Mode::timing_only, options);
  CHECK(run->run.result.status == RunStatus::limit);
  const auto shown = std::count_if(run->trace.slices.begin(), run->trace.slices.end(),
                                   [](const TraceSlice& s) { return below(s, "engines"); });
  CHECK(static_cast<std::size_t>(shown) == run->run.timeline.instructions.size());
  CHECK(shown > 0);
}

TEST_CASE("a long trace stays below 60 bytes an instruction") {
  Assembly assembly = assemble_text(
      ".machine trn1\n.sbuf a : f32[128, 8]\n.sbuf b : f32[128, 8]\n.sbuf c : f32[128, 8]\n"
      "memset b, value = 1.0\n"
      ".for i in 0 .. 20000\n  tensor_copy a, b, engine = vector\n  activation c, a, func = copy\n.end\n",
      "t.nca");
  REQUIRE(assembly.ok());
  SummaryObserver summary(builtin_machine("trn1"));
  const RecordedRun run = record(std::move(assembly.program), Mode::timing_only, {&summary});
  const Profile profile(run.timeline, summary.summary(), run.program, run.machine, {}, 1);
  const std::string file = perfetto_trace("the kernel", profile);
  CHECK(run.timeline.instructions.size() >= 40'000);
  CHECK(file.size() < 60 * run.timeline.instructions.size());
  // Two runs are the same bytes.
  CHECK(file == perfetto_trace("the kernel", profile));
}

TEST_CASE("`ncemu profile --perfetto` writes what --json of the same run counts") {
  const Outcome o = ncemu_run("profile " NCEMU_SOURCE_DIR
                              "/kernels/fp8_gemm.nca -D M=256 -D K=512 -D N=1024 --json=p.json "
                              "--perfetto p.pftrace");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  const auto json = nlohmann::json::parse(text_of(directory() + "/p.json"));
  const ReadTrace trace = read_trace(text_of(directory() + "/p.pftrace"));
  std::map<std::string, std::size_t> instructions, transfers;
  std::map<std::string, std::int64_t> bytes;
  std::uint64_t last = 0;
  for (const TraceSlice& slice : trace.slices) {
    last = std::max(last, slice.end);
    if (slice.path.find(" / engines / ") != std::string::npos && slice.row != "tensor clock gate")
      ++instructions[slice.row.substr(0, slice.row.find(' '))];
    if (slice.path.find(" / DMA queues / ") == std::string::npos) continue;
    ++transfers[slice.row];
    bytes[slice.row] += slice.numbers.at("bytes");
  }
  for (const auto& engine : json["engines"])
    CHECK(instructions[engine["engine"].get<std::string>()] ==
          engine["instruction_count"].get<std::size_t>());
  CHECK(json["dma"]["queues"].size() == transfers.size());
  for (const auto& queue : json["dma"]["queues"]) {
    const std::string row = "queue " + std::to_string(queue["queue"].get<int>());
    CHECK(transfers[row] == queue["transfer_count"].get<std::size_t>());
    CHECK(bytes[row] == queue["bytes"].get<std::int64_t>());
  }
  // The last transfer's completion ends the kernel window.
  CHECK(static_cast<double>(last) == doctest::Approx(json["total_us"].get<double>() * 1000).epsilon(1e-3));
  std::int64_t most = 0;
  for (const CounterValue& v : trace.counters.at("SBUF bytes per partition")) most = std::max(most, v.value);
  CHECK(most == json["memory"]["sbuf_peak_bytes_per_partition"].get<std::int64_t>());
}

TEST_CASE("a trace does not replace the kernel it shows") {
  write_source("k.nca", ".machine trn1\n.sbuf a : f32[128, 8]\nmemset a, value = 1.0\n");
  const Outcome o = ncemu_run("profile k.nca --perfetto k.nca");
  CHECK(o.code == 2);
  CHECK(o.says("k.nca"));
  CHECK(text_of(directory() + "/k.nca").starts_with(".machine"));
}
