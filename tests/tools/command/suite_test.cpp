// `ncemu test` on suites whose outcome is known: what passes, what fails and why, and what is no suite.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/command/runner.h"

using namespace ncemu;
using namespace ncemu::test;
using Json = nlohmann::json;

namespace {

// Doubles x, one tile of W columns after the other, in `buffers` tiles, on an engine; four times, so that the
// engine has about as much to do as the transfers.
void write_double(std::string_view engine = "vector", int buffers = 3, int width = 256) {
  write_source("double.nca", fmt::format(".param C = 2048\n"
                                         ".let W = {}\n"
                                         ".input  x : bf16[128, C]\n"
                                         ".output y : bf16[128, C]\n"
                                         ".for c in 0 .. C step W\n"
                                         "  .sbuf t : bf16[128, W], buffers = {}\n"
                                         "  .sbuf u : bf16[128, W], buffers = {}\n"
                                         "  dma_copy t, x[:, c:+W]\n"
                                         "  .for i in 0 .. 4\n"
                                         "    tensor_tensor u, t, t, op = add, engine = {}\n"
                                         "  .end\n"
                                         "  dma_copy y[:, c:+W], u\n"
                                         ".end\n",
                                         width, buffers, buffers, engine));
}

constexpr std::string_view twice =
    "import sys, numpy\n"
    "x = numpy.load(sys.argv[1] + '/x.npy')\n"
    "numpy.save(sys.argv[2] + '/y.npy', 2 * x)\n";

// The one with numpy, whatever else is on the path.
const int python = setenv("NCEMU_PYTHON", "/usr/bin/python3", 0);

void write_suite(std::string_view cases) { write_source("s.toml", cases); }

Outcome run_suite(std::string_view cases, const std::string& options = "") {
  write_suite(cases);
  return ncemu_run("test s.toml " + options);
}

}  // namespace

TEST_CASE("a case passes whose reference agrees, and fails with the worst element where it does not") {
  write_double();
  write_source("twice.py", twice);
  const Outcome right =
      run_suite("[[case]]\nkernel = 'double.nca'\nreference = 'python:twice.py'\nbits = true\n");
  CAPTURE(right.out);
  CHECK(right.code == 0);
  CHECK(right.prints("ok    double on trn1"));
  write_source("thrice.py",
               "import sys, numpy\n"
               "x = numpy.load(sys.argv[1] + '/x.npy')\n"
               "y = 2 * x\n"
               "y[3, 5] += 1\n"
               "numpy.save(sys.argv[2] + '/y.npy', y)\n");
  const Outcome wrong =
      run_suite("[[case]]\nkernel = 'double.nca'\nreference = 'python:thrice.py'\nrtol = 1e-6\n");
  CHECK(wrong.code == 1);
  CHECK(wrong.prints("FAIL  double on trn1"));
  CHECK(wrong.prints("values: output 'y': 1 of 262144 elements differ; worst at [3, 5]"));
}

TEST_CASE("a compiled reference is known by its name, and a wrong one is answered with the nearest") {
  const std::string kernel = NCEMU_SOURCE_DIR "/kernels/softmax.nca";
  const std::string head =
      fmt::format("[[case]]\nkernel = '{}'\nparams = {{ R = 130, C = 40, T = 'f32' }}\n", kernel);
  CHECK(run_suite(head + "reference = 'builtin:softmax'\nrtol = 1e-5\natol = 1e-37\n").code == 0);
  // fp32 does not give the double-precision values to the bit.
  CHECK(run_suite(head + "reference = 'builtin:softmax'\n").code == 1);
  const Outcome o = run_suite(head + "reference = 'builtin:sofmax'\n");
  CHECK(o.code == 1);
  CHECK(o.prints("did you mean builtin:softmax?"));
}

TEST_CASE("a Python reference that fails is quoted, and one that writes nothing is told how") {
  write_double();
  write_source("fails.py", "raise ValueError('no such thing')\n");
  const Outcome fails = run_suite("[[case]]\nkernel = 'double.nca'\nreference = 'python:fails.py'\n");
  CHECK(fails.code == 1);
  CHECK(fails.prints("ValueError: no such thing"));
  write_source("silent.py", "pass\n");
  const Outcome silent = run_suite("[[case]]\nkernel = 'double.nca'\nreference = 'python:silent.py'\n");
  CHECK(silent.code == 1);
  CHECK(silent.prints("the reference wrote no output"));
}

TEST_CASE("limits on time, on the roofline and on metrics hold or fail with their figures") {
  write_double();
  const auto with = [](std::string_view limit) {
    return run_suite(fmt::format("[[case]]\nkernel = 'double.nca'\n{}\n", limit));
  };
  CHECK(with("max_us = 1000").code == 0);
  const Outcome slow = with("max_us = 1");
  CHECK(slow.code == 1);
  CHECK(slow.prints("us, at most 1 us are allowed"));
  // 512 KiB in and 512 KiB out, each byte once.
  CHECK(with("require = ['dma_transfer_total_bytes == 1048576', 'hbm_read_bytes <= 524288']").code == 0);
  const Outcome moved = with("require = 'dma_transfer_total_bytes == 1048577'");
  CHECK(moved.code == 1);
  CHECK(moved.prints("dma_transfer_total_bytes is 1048576 B"));
  CHECK(with("min_roofline_percent = 10").code == 0);
  CHECK(with("min_roofline_percent = 100").code == 1);
  const Outcome none = with("require = 'mfu_estimated_percent >= 1'");
  CHECK(none.code == 1);
  CHECK(none.prints("metric: "));
  // By machine.
  CHECK(run_suite("[[case]]\nkernel = 'double.nca'\nmachines = ['trn1', 'trn2']\nmax_us = { trn2 = 1000 }\n")
            .code == 0);
  CHECK(run_suite("[[case]]\nkernel = 'double.nca'\nmachines = ['trn1', 'trn2']\nmax_us = { trn1 = 1 }\n")
            .code == 1);
}

TEST_CASE("the checks are on: a kernel with a race fails although its values are right") {
  write_source("race.nca",
               ".sync manual\n"
               ".input  x : f32[128, 64]\n"
               ".output y : f32[128, 64]\n"
               ".sbuf t : f32[128, 64]\n"
               "dma_copy t, x\n"
               "dma_copy y, t\n");
  const Outcome o = run_suite("[[case]]\nkernel = 'race.nca'\n");
  CAPTURE(o.out);
  CHECK(o.code == 1);
}

TEST_CASE("what a suite cannot have is refused with its place") {
  write_double();
  const struct {
    std::string_view text, answer;
  } wrong[] = {
      {"[[case]]\nkernel = 'double.nca'\nmax_ms = 3\n",
       "s.toml:3:1: a case has no key 'max_ms', did you mean 'max_us'?"},
      {"[[case]]\nkernel = 'treble.nca'\n", "there is no kernel"},
      {"[[case]]\nkernel = 'double.nca'\nrequire = 'dma_transfer_cont >= 1'\n",
       "did you mean 'dma_transfer_count'?"},
      {"[[case]]\nkernel = 'double.nca'\nrequire = 'dma_transfer_count'\n", "compares nothing"},
      {"[[case]]\nkernel = 'double.nca'\nrequire = 'model_flops >= 1'\n", "has no value here"},
      {"[[case]]\nkernel = 'double.nca'\n[[case]]\nkernel = 'double.nca'\n", "another case 'double on trn1'"},
      {"[[case]]\nkernel = 'double.nca'\nbits = true\nrtol = 1\n", "bits allows no tolerance"},
      {"[[case]]\nkernel = 'double.nca'\nmax_us = { trn3 = 1 }\n", "where the case does not run"},
      {"[defaults]\nname = 'x'\n[[case]]\nkernel = 'double.nca'\n", "[defaults] has no key 'name'"},
      {"[[cases]]\nkernel = 'double.nca'\n", "did you mean 'case'?"},
      {"", "has no cases"},
      {"[[case]\n", "s.toml:1"},
  };
  for (const auto& [text, answer] : wrong) {
    CAPTURE(std::string(text));
    const Outcome o = run_suite(text);
    CAPTURE(o.err);
    CHECK(o.code == 2);
    CHECK(o.says(answer));
  }
  CHECK(ncemu_run("test none.toml").code == 2);
  write_suite("[[case]]\nkernel = 'double.nca'\n");
  CHECK(ncemu_run("test s.toml --filter '['").code == 2);
  CHECK(ncemu_run("test s.toml --filter nothing").says("no case matches"));
}

TEST_CASE("a filter chooses, a list runs nothing, and results are printed in the suite's order") {
  write_double();
  const std::string_view suite =
      "[[case]]\nkernel = 'double.nca'\nmachines = ['trn2', 'trn1']\n"
      "sizes = [{ C = 4096 }, { C = 256 }, { C = 512 }]\n";
  const Outcome list = run_suite(suite, "--list");
  CHECK(list.out ==
        "double C=4096 on trn2\ndouble C=4096 on trn1\ndouble C=256 on trn2\ndouble C=256 on trn1\n"
        "double C=512 on trn2\ndouble C=512 on trn1\n");
  const Outcome some = run_suite(suite, "--filter 'C=(256|512) on trn2' --jobs 3");
  CHECK(some.code == 0);
  CHECK(some.prints("2 cases, 0 failed"));
  const Outcome all = run_suite(suite, "--jobs 4");
  std::size_t last = 0;
  for (const char* size : {"C=4096 on trn2", "C=256 on trn1", "C=512 on trn1"}) {
    const std::size_t at = all.out.find(size);
    REQUIRE(at != std::string::npos);
    CHECK(at >= last);
    last = at;
  }
}

TEST_CASE("JUnit and JSON have every case, with its failure in words and without markup of their own") {
  write_double();
  const Outcome o = run_suite(
      "[[case]]\nkernel = 'double.nca'\nname = 'a <b> & \"c\"'\nmax_us = 1\n"
      "[[case]]\nkernel = 'double.nca'\nname = 'fine'\n",
      "--junit r.xml --json=r.json");
  CHECK(o.code == 1);
  const std::string xml = text_of(directory() + "/r.xml");
  CHECK(xml.find("tests=\"2\" failures=\"1\"") != std::string::npos);
  CHECK(xml.find("name=\"a &lt;b&gt; &amp; &quot;c&quot;\"") != std::string::npos);
  CHECK(xml.find("<failure type=\"time\"") != std::string::npos);
  const Json json = Json::parse(text_of(directory() + "/r.json"));
  REQUIRE(json["cases"].size() == 2);
  CHECK(json["cases"][0]["passed"] == false);
  CHECK(json["cases"][0]["failures"][0]["kind"] == "time");
  CHECK(json["cases"][1]["passed"] == true);
  CHECK(json["cases"][0]["ticks"] == json["cases"][1]["ticks"]);
}

// ---- baselines ------------------------------------------------------------------------------

namespace {

constexpr std::string_view watched = "[[case]]\nkernel = 'double.nca'\nmax_slower_percent = 1\n";

// A baseline of the kernel as it should be; then the suite with another.
Outcome slowed(std::string_view engine, int buffers, int width) {
  remove_file("s.baseline.json");
  write_double();
  const Outcome recorded = run_suite(watched, "--update");
  REQUIRE(recorded.code == 0);
  REQUIRE(run_suite(watched).code == 0);
  write_double(engine, buffers, width);
  return run_suite(watched);
}

}  // namespace

TEST_CASE("a case without a baseline says how to record it") {
  remove_file("s.baseline.json");
  write_double();
  const Outcome o = run_suite(watched);
  CHECK(o.code == 1);
  CHECK(o.prints("there is no baseline; --update records it"));
  CHECK_FALSE(exists("s.baseline.json"));
}

TEST_CASE("the wrong engine fails the suite, and the message names the line and the engine") {
  const Outcome o = slowed("gpsimd", 3, 256);
  CAPTURE(o.out);
  CHECK(o.code == 1);
  CHECK(o.prints("over the baseline of"));
  CHECK(o.prints(
      "double.nca:10 was 'tensor_tensor u, t, t, op = add, engine = vector', is 'tensor_tensor u, t, t, "
      "op = add, engine = gpsimd'"));
  CHECK(o.prints("gpsimd busy"));
}

TEST_CASE("a lost double buffer fails the suite, and the message names the tile and who waits") {
  const Outcome o = slowed("vector", 1, 256);
  CAPTURE(o.out);
  CHECK(o.code == 1);
  CHECK(o.prints("tile t was bf16 [128, 256], 3 buffers, is bf16 [128, 256], 1 buffer"));
  CHECK(o.prints("by semaphore"));
}

TEST_CASE("a smaller tile fails the suite, and the message has the smaller transfers") {
  const Outcome o = slowed("vector", 3, 16);
  CAPTURE(o.out);
  CHECK(o.code == 1);
  CHECK(o.prints("tile t was bf16 [128, 256], 3 buffers, is bf16 [128, 16], 3 buffers"));
  CHECK(o.prints("average_dma_size was 512, is 32"));
  CHECK(o.prints("dma_transfer_count was 16, is 256"));
}

TEST_CASE("a faster kernel passes, and --update says what moved and keeps the others") {
  remove_file("s.baseline.json");
  write_double("vector", 1, 256);
  const std::string two = std::string(watched) +
                          "[[case]]\nkernel = 'double.nca'\nname = 'other'\n"
                          "max_slower_percent = 1\n";
  REQUIRE(run_suite(two, "--update").code == 0);
  const std::string before = text_of(directory() + "/s.baseline.json");
  write_double("vector", 3, 256);
  CHECK(run_suite(two).code == 0);
  CHECK(text_of(directory() + "/s.baseline.json") == before);
  const Outcome updated = run_suite(two, "--update --filter '^double'");
  CHECK(updated.code == 0);
  CHECK(updated.prints("moved double on trn1"));
  CHECK(updated.prints("us faster ("));
  const Json old_json = Json::parse(before), json = Json::parse(text_of(directory() + "/s.baseline.json"));
  CHECK(json["cases"]["other on trn1"] == old_json["cases"]["other on trn1"]);
  CHECK(json["cases"]["double on trn1"]["ticks"] < old_json["cases"]["double on trn1"]["ticks"]);
  // Without the filter what is no case any more goes.
  REQUIRE(run_suite(watched, "--update").code == 0);
  CHECK_FALSE(Json::parse(text_of(directory() + "/s.baseline.json"))["cases"].contains("other on trn1"));
}

TEST_CASE("a baseline of another configuration is not compared, and the message says so") {
  remove_file("s.baseline.json");
  write_double();
  REQUIRE(run_suite(watched, "--update").code == 0);
  const Outcome o = run_suite(std::string(watched) + "set = { vector.l0 = 400 }\n");
  CAPTURE(o.out);
  CHECK(o.code == 1);
  CHECK(o.prints("the baseline is of another configuration of trn1"));
}

TEST_CASE("two runs with any number of jobs record the same bytes") {
  write_double();
  const std::string_view suite =
      "[[case]]\nkernel = 'double.nca'\nmachines = ['trn1', 'trn2']\n"
      "sizes = [{ C = 256 }, { C = 2048 }]\nmax_slower_percent = 1\n";
  remove_file("s.baseline.json");
  REQUIRE(run_suite(suite, "--update --jobs 1").code == 0);
  const std::string one = text_of(directory() + "/s.baseline.json");
  remove_file("s.baseline.json");
  REQUIRE(run_suite(suite, "--update --jobs 4").code == 0);
  CHECK(text_of(directory() + "/s.baseline.json") == one);
}

TEST_CASE("the table goes between its marks, and a stale one is noticed") {
  write_double();
  const std::string_view suite =
      "[[case]]\nkernel = 'double.nca'\nmachines = ['trn1', 'trn2']\ntable = '128 x 2048'\n";
  write_source("t.md", "before\n<!-- times: begin -->\nold\n<!-- times: end -->\nafter\n");
  CHECK(run_suite(suite, "--check-table t.md").code == 1);
  CHECK(run_suite(suite, "--table t.md").code == 0);
  const std::string text = text_of(directory() + "/t.md");
  CHECK(text.starts_with("before\n<!-- times: begin -->\n| kernel | at | trn1 | trn2 |\n"));
  CHECK(text.find("| `double.nca` | 128 x 2048 | ") != std::string::npos);
  CHECK(text.ends_with("<!-- times: end -->\nafter\n"));
  CHECK(run_suite(suite, "--check-table t.md").code == 0);
  write_source("no.md", "nothing\n");
  CHECK(run_suite(suite, "--table no.md").code == 2);
}

namespace {

// A kernel of the library in the test's own copy, where `was` reads `is`; what the suite says of the change.
Outcome library_slowed(const std::string& kernel, const std::string& machine, const std::string& was,
                       const std::string& is) {
  remove_file("s.baseline.json");
  const std::string suite =
      fmt::format("[[case]]\nkernel = '{}'\nmachines = ['{}']\nmax_slower_percent = 1\n", kernel, machine);
  std::string text = text_of(NCEMU_SOURCE_DIR "/kernels/" + kernel);
  write_source(kernel, text);
  REQUIRE(run_suite(suite, "--update").code == 0);
  REQUIRE(text.find(was) != std::string::npos);
  for (std::size_t at = text.find(was); at != std::string::npos; at = text.find(was, at + is.size()))
    text.replace(at, was.size(), is);
  write_source(kernel, text);
  return run_suite(suite);
}

}  // namespace

TEST_CASE("a kernel of the library that is slowed fails its suite with the cause") {
  Outcome o = library_slowed("vector_add.nca", "trn1", "buffers = 3", "buffers = 1");
  CAPTURE(o.out);
  CHECK(o.code == 1);
  CHECK(o.prints("tile x was f32 [128, 2000], 3 buffers, is f32 [128, 2000], 1 buffer"));
  o = library_slowed("vector_add.nca", "trn1", ".param W = 2000", ".param W = 100");
  CHECK(o.code == 1);
  CHECK(o.prints("tile x was f32 [128, 2000], 3 buffers, is f32 [128, 100], 3 buffers"));
  CHECK(o.prints("average_dma_size was 8000, is 400"));
  o = library_slowed("rotary_embedding.nca", "trn2", "op = add, engine = E", "op = add, engine = gpsimd");
  CHECK(o.code == 1);
  CHECK(o.prints("op = add, engine = gpsimd'"));
  CHECK(o.prints("gpsimd busy"));
}
