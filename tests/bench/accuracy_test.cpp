// The program that compares the model with measurements: its reading of tables, its arithmetic, and streams
// whose time can be worked out by hand.

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "bench/accuracy/csv.h"
#include "bench/accuracy/evaluate.h"
#include "bench/accuracy/fitted.h"
#include "bench/accuracy/patterns.h"
#include "bench/accuracy/report.h"
#include "bench/accuracy/rows.h"
#include "bench/accuracy/transfers.h"
#include "isa/fault.h"

using namespace ncemu;
using namespace ncemu::accuracy;

namespace {

constexpr const char* instruction_columns =
    "id,hw,engine,opcode,function,dtype,src,src_ap,dst,dst_ap,partitions,n,min_ns,p50_ns,max_ns,"
    "n_back_to_back,issue_interval_min_ns,issue_interval_p50_ns,repos\n";

// One cycle of the vector engine of trn2 is 1000 / 960 ns.
const std::vector<std::string> plain_vector = {"vector.l0=150", "vector.ii_gap=70", "vector.pair_l0=0",
                                               "vector.sbuf_other_k=0.5", "vector.pair_sbuf_k=1"};
double vector_ns(double cycles) { return cycles * 1000 / 960; }

Report of_instructions(const std::string& rows) {
  return evaluate(instruction_cases(Csv::parse(instruction_columns + rows, "rows.csv")), plain_vector);
}

}  // namespace

TEST_CASE("quoted fields keep their commas, doubled quotes and line ends") {
  const Csv rows = Csv::parse("a,b,c\n1,\"x, y\",\"he said \"\"no\"\"\"\r\n2,\"two\nlines\",\n", "t.csv");
  REQUIRE(rows.size() == 2);
  CHECK(rows.text(0, "b") == "x, y");
  CHECK(rows.text(0, "c") == "he said \"no\"");
  CHECK(rows.text(1, "b") == "two\nlines");
  CHECK(rows.number(1, "a") == 2.0);
  CHECK_FALSE(rows.number(1, "c").has_value());
  CHECK(rows.text(0, "no such column").empty());
}

TEST_CASE("a row with a field too few or a word for a number is an error that names it") {
  CHECK_THROWS_WITH_AS(Csv::parse("a,b\n1\n", "t.csv"), doctest::Contains("row 1 has 1 fields"), Fault);
  const Csv rows = Csv::parse("a\nfast\n", "t.csv");
  CHECK_THROWS_WITH_AS(rows.number(0, "a"), doctest::Contains("\"fast\" is not a number"), Fault);
}

TEST_CASE("numbers are found in any notation of a record") {
  CHECK(numbers_in("7/9/20") == std::vector<double>{7, 9, 20});
  CHECK(numbers_in("517-541") == std::vector<double>{517, 541});
  CHECK(numbers_in("272.6 (profile 274.4)") == std::vector<double>{272.6, 274.4});
  CHECK(numbers_in("no number").empty());
}

TEST_CASE("a pattern is read slowest dimension first") {
  const auto p = pattern_named(" 2(s224)x222(s1)");
  REQUIRE(p.has_value());
  CHECK(p->dims[0] == Dim{1, 222});
  CHECK(p->dims[1] == Dim{224, 2});
  CHECK(p->elements() == 444);
  CHECK(pattern_named("4(s-32)x1(s0)x32(s-1)")->elements() == 128);
  for (const char* wrong : {"", "-", "12", "12(1)", "12(s1", "12(s1)x", "0(s1)", "70000(s1)", "2(s40000)"})
    CHECK_MESSAGE(!pattern_named(wrong).has_value(), wrong);
}

TEST_CASE("a machine is the first one that the hardware's text names") {
  CHECK(machine_of("trn2.3xlarge, 1 core") == "trn2");
  CHECK(machine_of("trn1/inf2 (NC-v2)") == "trn1");
  CHECK(machine_of("inf2.xlarge") == "inf2");
  CHECK(machine_of("unspecified").empty());
}

TEST_CASE("a duration is latency and stream, an interval stream and gap") {
  const Report report = of_instructions(
      "A,trn2,DVE,COPY,,fp32->fp32,SBUF,128(s1),SBUF,128(s1),128,9,200,220,230,5,130,140,x\n"
      "B,trn2,DVE,TENSOR_TENSOR,ADD,\"fp32,fp32->fp32\",SBUF+SBUF,\"444(s1) , "
      "444(s1)\",SBUF,444(s1),128,9,1,618,"
      "1,0,,,x\n");
  REQUIRE(report.rows.size() == 3);
  CHECK(report.rows[0].group == "trn2 vector duration");
  CHECK(*report.rows[0].predicted == doctest::Approx(vector_ns(150 + 64)));
  CHECK(report.rows[1].group == "trn2 vector interval");
  CHECK(*report.rows[1].predicted == doctest::Approx(vector_ns(70 + 64)));
  CHECK(report.rows[1].measured == 140);
  CHECK(*report.rows[2].predicted == doctest::Approx(vector_ns(150 + 444)));
}

TEST_CASE("an interval longer than the duration counts by its minimum, or is not back to back") {
  const Report report = of_instructions(
      "A,trn2,DVE,COPY,,fp32->fp32,SBUF,128(s1),SBUF,128(s1),128,9,200,220,230,5,130,300,x\n"
      "B,trn2,DVE,COPY,,fp32->fp32,SBUF,128(s1),SBUF,128(s1),128,9,200,220,230,5,250,300,x\n");
  REQUIRE(report.rows.size() == 4);
  CHECK(report.rows[1].measured == 130);
  CHECK(report.rows[1].predicted.has_value());
  CHECK_FALSE(report.rows[3].predicted.has_value());
  CHECK(report.rows[3].reason.find("back to back") != std::string::npos);
}

TEST_CASE("what cannot be expressed is counted with its reason") {
  const Report report = of_instructions(
      "A,trn2,DVE,SING,,fp32->fp32,SBUF,1(s1),SBUF,1(s1),128,9,1,2,3,0,,,x\n"
      "B,trn2,DVE,COPY,,fp32->fp32,SBUF,?,SBUF,1(s1),128,9,1,2,3,0,,,x\n"
      "C,moon,DVE,COPY,,fp32->fp32,SBUF,1(s1),SBUF,1(s1),128,9,1,2,3,0,,,x\n");
  REQUIRE(report.rows.size() == 3);
  CHECK(report.rows[0].reason == "the instruction set has no SING");
  CHECK(report.rows[1].reason == "operands are not fully specified");
  CHECK(report.rows[2].reason == "unknown machine");
  CHECK(report.groups[0].rows == 2);
  CHECK(report.groups[0].expressed == 0);
  CHECK(to_text(report).find("the instruction set has no SING: A") != std::string::npos);
}

TEST_CASE("a prediction names the marks of the parameters that move it and of no others") {
  const Report report = of_instructions("A,trn2,ACT,ACT_TABLE_LOAD,,,,,,,,93,1283.3,1283.3,1283.3,0,,,x\n");
  REQUIRE(report.rows[0].predicted.has_value());
  CHECK(report.rows[0].marks == std::vector<std::string>{"measured"});
}

TEST_CASE("quantiles lie between neighbours") {
  CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(quantile({4, 1, 3, 2}, 1) == 4);
  CHECK(quantile({7}, 0.9) == 7);
  CHECK(quantile({0, 10}, 0.9) == doctest::Approx(9));
}

namespace {

// What a machine's description says for a key.
double parameter(const MachineConfig& machine, std::string_view key) {
  for (const ParameterInfo& p : parameters(machine)) {
    if (p.key == key) return std::stod(p.value);
  }
  return -1;
}

// A row that is the parameter itself, in units of its value on `trn2`.
Case row_of(std::string id, double measured) {
  return {.id = std::move(id),
          .group = "g",
          .unit = "ns",
          .measured = measured,
          .machine = "trn2",
          .predict = [](const MachineConfig& m) { return parameter(m, "vector.l0"); },
          .reason = {}};
}

}  // namespace

TEST_CASE("leave one out fits each row by the others alone") {
  const MachineConfig machine = builtin_machine("trn2");
  const double now = parameter(machine, "vector.l0");
  const Fitted fitted[] = {{"vector.l0", "7"}};
  const Case as_it_is = row_of("a", now), twice = row_of("b", 2 * now), twice_too = row_of("c", 2 * now);
  // Without the first row the others want twice the value; without one of those, both values cost the same
  // and the present one stays.
  const std::vector<double> left_out =
      leave_one_out({&as_it_is, &twice, &twice_too}, {now, now, now}, fitted, machine);
  CHECK(left_out[0] == doctest::Approx(2 * now).epsilon(0.01));
}

TEST_CASE("a parameter that no other row supports falls back to what it is without that row") {
  const MachineConfig machine = builtin_machine("trn2");
  const double now = parameter(machine, "vector.l0");
  const Fitted fitted[] = {{"vector.l0", "7"}};
  const Case alone = row_of("a", now);
  Case other = row_of("b", 5);
  other.predict = [](const MachineConfig&) { return 5.0; };
  const std::vector<double> left_out = leave_one_out({&alone, &other}, {now, 5}, fitted, machine);
  CHECK(left_out == std::vector<double>{7, 5});
}

TEST_CASE("the long run of a kernel is repeated only where its short one says that the parameter counts") {
  const MachineConfig machine = builtin_machine("trn2");
  const double now = parameter(machine, "vector.l0");
  const Fitted fitted[] = {{"vector.l0", "7"}};
  int runs = 0;
  Case kernel = row_of("a", now), moved = row_of("b", 2 * now), moved_too = row_of("c", 2 * now);
  kernel.predict = [&](const MachineConfig&) { return ++runs, 5.0; };
  kernel.probe = [](const MachineConfig&) { return 1.0; };
  const std::vector<double> left_out =
      leave_one_out({&kernel, &moved, &moved_too}, {5, now, now}, fitted, machine);
  CHECK(runs == 1);  // with the machine as the others have it
  CHECK(left_out[0] == 5);
}

TEST_CASE("errors are signed fractions of what was measured, and the group keeps the worst") {
  Cases cases;
  const double predictions[] = {110, 80, 100};
  for (const double p : predictions) {
    cases.push_back({.id = std::to_string(static_cast<int>(p)),
                     .group = "g",
                     .unit = "ns",
                     .measured = 100,
                     .machine = "trn1",
                     .predict = [p](const MachineConfig&) { return p; },
                     .reason = {}});
  }
  cases.push_back(not_expressed("no", "g", "ns", 5, "because"));
  const Report report = evaluate(cases);
  CHECK(*report.rows[0].error() == doctest::Approx(0.1));
  CHECK(*report.rows[1].error() == doctest::Approx(-0.2));
  REQUIRE(report.groups.size() == 1);
  const Group& g = report.groups[0];
  CHECK(g.rows == 4);
  CHECK(g.expressed == 3);
  CHECK(g.error.median == doctest::Approx(0.1));
  CHECK(g.error.p90 == doctest::Approx(0.18));
  CHECK(report.rows[*g.worst].id == "80");
  CHECK(to_json(report).find("\"reason\": \"because\"") != std::string::npos);
  CHECK(to_svg(report).find("3 predictions") != std::string::npos);
}

TEST_CASE("a descriptor alone on its engine runs at the engine's peak, sixteen share the core's rate") {
  MachineConfig machine = builtin_machine("trn2");
  for (const char* set : {"dma.r_peak=25", "dma.c_core=200", "dma.o_desc_ns=5", "hbm.bytes_per_ns=1000"})
    set_parameter(machine, set);
  const auto packet = [&](const Replay& r) {
    return ns_from_ticks(machine, r.packets.front().event.end - r.packets.front().event.begin);
  };
  CHECK(packet(descriptors(machine, 4000, 1, 1)) == doctest::Approx(5 + 160).epsilon(0.002));
  set_parameter(machine, "dma.stagger_ns=0");
  CHECK(packet(descriptors(machine, 4000, 1, 16)) == doctest::Approx(5 + 320).epsilon(0.002));
}

TEST_CASE("a long stream of tiles moves all its bytes at the core's rate") {
  MachineConfig machine = builtin_machine("trn1");
  for (const char* set : {"dma.c_core=160", "dma.o_desc_ns=0", "dma.t_sem_ns=0", "dma.desc_min_ns=0"})
    set_parameter(machine, set);
  TileStream tiles{.columns = 4096, .tiles = 32};
  const Replay loads = stream(machine, tiles);
  std::int64_t moved = 0;
  for (const Packet& p : loads.packets) moved += p.event.bytes;
  CHECK(moved == tiles.bytes());
  const double ns = ns_from_ticks(machine, loads.window(false));
  CHECK(static_cast<double>(tiles.bytes()) / ns == doctest::Approx(160).epsilon(0.01));
}

TEST_CASE("rows of the same kind are read by their words, whatever their id") {
  const char* columns =
      "id,group,hw,item,spec,value,unit,stat,conditions,source,kernel_source,confidence,note\n";
  const Csv rows = Csv::parse(std::string(columns) +
                                  "mine,2,trn2,\"DMA packet on one engine, HWDGE queue\",2048 B,70/80/90,ns,"
                                  "\"min/p50/max, n=3\",,,,A,\n"
                                  "other,2,trn2,something new,,1,ns,,,,,A,\n",
                              "records.csv");
  const Cases cases = record_cases(rows, "kernels");
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].measured == 80);
  CHECK(cases[0].predict);
  CHECK(cases[1].reason == "the record's kind is not read: something new");
}

TEST_CASE("every row of the tables that come with the project is counted once or more") {
  const std::string top = NCEMU_SOURCE_DIR;
  const Cases cases = all_cases(top + "/bench/calibration", top + "/kernels");
  for (const Case& c : cases) {
    CAPTURE(c.id);
    CHECK_FALSE(c.group.empty());
    CHECK((c.predict != nullptr) == c.reason.empty());
  }
  std::size_t windows = 0;
  for (const Case& c : cases) windows += c.id.starts_with("G2-S-") && c.predict ? 1 : 0;
  CHECK(windows == 30);
}

TEST_CASE("a kernel's sizes, type and what is known of its schedule come from the row's words") {
  const std::string kernels = NCEMU_SOURCE_DIR "/kernels";
  const char* columns = "id,group,hw,item,spec,value,unit,stat,conditions,source\n";
  const auto row = [&](const std::string& text) {
    const Cases cases = record_cases(Csv::parse(columns + text + "\n", "records.csv"), kernels);
    REQUIRE(!cases.empty());
    REQUIRE(cases[0].predict);
    return cases[0];
  };
  const MachineConfig trn2 = builtin_machine("trn2");
  // Of one kernel: the runtimes of 2026 add 8.5 us to its window, earlier ones what the machine says, and the
  // window begins with the first packet.
  const Case bf16 = row("a,3,trn2,\"fused bf16 s512 attention\",,36,us,single,total_time,somewhere");
  const Case of_2026 =
      row("b,3,trn2,fused attention,bf16 seq 512 d 128,28,us,p50,nc_latency,report of 20260307");
  CHECK(bf16.group == "trn2 whole kernel");
  CHECK(of_2026.group == "trn2 whole kernel");
  const double between = bf16.predict(trn2) - of_2026.predict(trn2);
  CHECK(between > trn2.runtime.overhead_us - 8.5);
  CHECK(between < trn2.runtime.overhead_us - 8.5 + 3);
  // The words decide the type: twice the bytes, and weights that load twice.
  const Case f32 = row("c,3,trn2,\"fused fp32 s512 attention\",,38,us,single,total_time,somewhere");
  CHECK(f32.predict(trn2) > bf16.predict(trn2));
  // One transfer of four bytes after the other: the time is that of twice as many for twice the numbers.
  const Case rows = row("d,3,trn2,\"vector add, tile rows=1 (n=400)\",fp32,1,us,p99,nc_latency,somewhere"),
             twice = row("e,3,trn2,\"vector add, tile rows=1 (n=800)\",fp32,1,us,p99,nc_latency,somewhere");
  CHECK(rows.group == "trn2 kernel, schedule assumed");
  CHECK(twice.predict(trn2) - trn2.runtime.overhead_us ==
        doctest::Approx(2 * (rows.predict(trn2) - trn2.runtime.overhead_us)).epsilon(0.02));
}
