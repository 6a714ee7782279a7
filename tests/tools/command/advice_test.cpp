// Each kind of advice: a kernel with the fault, its line and the time that a second run without it takes; and
// the same work written without the fault, of which nothing is said and whose time confirms the gain.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "tests/tools/command/runner.h"

using namespace ncemu;
using namespace ncemu::test;
using Json = nlohmann::json;

namespace {

struct Advised {
  Json profile;
  double total = 0;  // us

  const Json* find(std::string_view name) const {
    for (const Json& a : profile["advice"]) {
      if (a["name"] == name) return &a;
    }
    return nullptr;
  }
};

Advised advised(const std::string& machine, const std::string& text, const std::string& options = {}) {
  write_source("a.nca", ".machine " + machine + "\n" + text);
  const Outcome o = ncemu_run("profile a.nca " + options + " --json=a.json");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  Advised result{Json::parse(text_of(directory() + "/a.json"))};
  result.total = result.profile["total_us"].get<double>();
  return result;
}

// The finding `name` of a kernel that has it, on that line, and the time without what it names.
double without(const Advised& faulty, std::string_view name, int line, std::string_view finding) {
  const Json* found = faulty.find(name);
  REQUIRE(found != nullptr);
  CHECK((*found)["place"]["file"] == "a.nca");
  CHECK((*found)["place"]["line"] == line);
  CAPTURE((*found)["finding"]);
  CHECK((*found)["finding"].get<std::string>().find(finding) != std::string::npos);
  const double total = (*found)["total_us"].get<double>();
  CHECK(total < faulty.total);
  CHECK((*found)["gain_us"].get<double>() == doctest::Approx(faulty.total - total));
  return total;
}

}  // namespace

TEST_CASE("small descriptors: rows of 32 bytes, 64 apart, against rows that lie together") {
  // Line 5 loads 512 pieces for each of 128 partitions.
  const Advised faulty = advised("trn1",
                                 ".input  x : bf16[8, 128, 512, 32]\n"
                                 ".for i in 0 .. 8\n"
                                 "  .sbuf t : bf16[128, 512, 16], buffers = 4\n"
                                 "  dma_copy t, x[i, :, :, 0:16]\n"
                                 ".end\n");
  const Advised mended = advised("trn1",
                                 ".input  x : bf16[8, 128, 512, 16]\n"
                                 ".for i in 0 .. 8\n"
                                 "  .sbuf t : bf16[128, 512, 16], buffers = 4\n"
                                 "  dma_copy t, x[i, :, :, :]\n"
                                 ".end\n");
  const double total = without(faulty, "small_descriptors", 5, "move 32 bytes each on average");
  CHECK(mended.find("small_descriptors") == nullptr);
  CHECK(total == doctest::Approx(mended.total).epsilon(0.02));
}

TEST_CASE("small transfers: a tile of 4 KiB at a time against all of them with one transfer") {
  const Advised faulty = advised("trn1",
                                 ".input  x : bf16[128, 64, 16]\n.output y : bf16[128, 64, 16]\n"
                                 ".for i in 0 .. 64\n"
                                 "  .sbuf t : bf16[128, 16], buffers = 4\n"
                                 "  dma_copy t, x[:, i, :]\n"
                                 "  tensor_scalar t, t, op0 = mult, scalar0 = 2.0\n"
                                 "  dma_copy y[:, i, :], t\n"
                                 ".end\n");
  const Advised mended = advised("trn1",
                                 ".input  x : bf16[128, 1024]\n.output y : bf16[128, 1024]\n"
                                 ".sbuf t : bf16[128, 1024]\n"
                                 "dma_copy t, x\n"
                                 "tensor_scalar t, t, op0 = mult, scalar0 = 2.0\n"
                                 "dma_copy y, t\n");
  const double total = without(faulty, "small_transfers", 6, "128 transfers move 4096 bytes each");
  CHECK(mended.find("small_transfers") == nullptr);
  // One of each is still started and completed; 63 instructions of vector are gone too.
  CHECK(faulty.total - mended.total > 0.9 * (faulty.total - total));
}

TEST_CASE("uneven DMA engines: 16 partitions against 128 with as many bytes") {
  const auto text = [](int rows, int columns) {
    return fmt::format(
        ".input  x : bf16[4, {0}, {1}]\n.output y : bf16[4, {0}, {1}]\n"
        ".for i in 0 .. 4\n"
        "  .sbuf t : bf16[{0}, {1}], buffers = 2\n"
        "  dma_copy t, x[i, :, :]\n"
        "  dma_copy y[i, :, :], t\n"
        ".end\n",
        rows, columns);
  };
  const Advised faulty = advised("trn1", text(16, 32768)), mended = advised("trn1", text(128, 4096));
  const double total = without(faulty, "uneven_dma_engines", 6, "8.0 times the mean of the 16");
  CHECK(mended.find("uneven_dma_engines") == nullptr);
  CHECK(total == doctest::Approx(mended.total).epsilon(0.05));
}

TEST_CASE("reloads: the same tile for each of four results, against one that stays") {
  const Advised faulty = advised("trn1",
                                 ".input  x : f32[128, 4096]\n.output y : f32[4, 128, 4096]\n"
                                 ".for i in 0 .. 4\n"
                                 "  .sbuf t : f32[128, 4096], buffers = 2\n"
                                 "  dma_copy t, x\n"
                                 "  dma_copy y[i, :, :], t\n"
                                 ".end\n");
  const Advised mended = advised("trn1",
                                 ".input  x : f32[128, 4096]\n.output y : f32[4, 128, 4096]\n"
                                 ".sbuf t : f32[128, 4096]\n"
                                 "dma_copy t, x\n"
                                 ".for i in 0 .. 4\n"
                                 "  dma_copy y[i, :, :], t\n"
                                 ".end\n");
  const double total = without(faulty, "reloads", 6, "tensor 'x' is loaded 4 times");
  CHECK(mended.find("reloads") == nullptr);
  // Those that move nothing are still triggered and waited for.
  CHECK(total == doctest::Approx(mended.total).epsilon(0.15));
}

TEST_CASE("transposes: an operand turned on the tensor engine against one that comes turned") {
  const std::string head =
      ".input  at : bf16[128, 8, 128]\n.input  b : bf16[128, 512]\n"
      ".sbuf a : bf16[128, 8, 128]\n.sbuf turned : bf16[128, 8, 128]\n.sbuf w : bf16[128, 512]\n"
      ".sbuf unit : bf16[128, 128]\n"
      "dma_copy a, at\ndma_copy w, b\n"
      "memset unit, value = 1.0, engine = gpsimd\n"
      "affine_select unit, unit, pattern = [[-1, 128]], channel_multiplier = 1, cmp = eq, on_false = 0.0\n";
  const std::string turns =
      ".for i in 0 .. 8\n"
      "  .psum p : bf16[128, 128], buffers = 2\n"
      "  load_stationary a[:, i, :], transpose = true\n"
      "  matmul p, unit, transpose = true\n"
      "  tensor_copy turned[:, i, :], p\n"
      ".end\n";
  const auto products = [](const char* from) {
    return fmt::format(
        ".for i in 0 .. 8\n"
        "  .psum acc : f32[128, 512], buffers = 2\n"
        "  .sbuf out : bf16[128, 512], buffers = 2\n"
        "  load_stationary {}[:, i, :]\n"
        "  matmul acc, w\n"
        "  activation out, acc, func = copy\n"
        ".end\n",
        from);
  };
  const Advised faulty = advised("trn2", head + turns + products("turned"));
  const Advised mended = advised("trn2", head + products("a"));
  // 8 x 128 columns beside 8 x 512: a fifth of the FLOPs.
  const double total = without(faulty, "transposes", 15, "20 % of the tensor engine's FLOPs transpose");
  CHECK(mended.find("transposes") == nullptr);
  // Taken out are the matmuls that turn, not what carries their results.
  CHECK(mended.total < total);
}

TEST_CASE("a stationary tile for one matmul each against one for four") {
  const std::string head =
      ".input  at : bf16[128, 8, 128]\n.input  b : bf16[128, 4, 128]\n"
      ".sbuf a : bf16[128, 8, 128]\n.sbuf w : bf16[128, 4, 128]\n"
      "dma_copy a, at\ndma_copy w, b\n";
  // The same 512 products.
  const Advised faulty = advised("trn1", head +
                                             ".for r in 0 .. 16\n  .for j in 0 .. 4\n    .for i in 0 .. 8\n"
                                             "      .psum acc : f32[128, 128], buffers = 8\n"
                                             "      load_stationary a[:, i, :]\n"
                                             "      matmul acc, w[:, j, :]\n"
                                             "    .end\n  .end\n.end\n");
  const Advised mended = advised("trn1", head +
                                             ".for r in 0 .. 16\n  .for i in 0 .. 8\n"
                                             "    load_stationary a[:, i, :]\n"
                                             "    .for j in 0 .. 4\n"
                                             "      .psum acc : f32[128, 128], buffers = 8\n"
                                             "      matmul acc, w[:, j, :]\n"
                                             "    .end\n  .end\n.end\n");
  const double total = without(faulty, "stationary_not_reused", 12, "512 weight loads serve 512 matmuls");
  CHECK(mended.find("stationary_not_reused") == nullptr);
  // Without any load it is faster still than with a quarter of them.
  CHECK(total <= mended.total);
  CHECK(mended.total < faulty.total);
  CHECK(faulty.total - mended.total > (faulty.total - total) / 2);
}

TEST_CASE("a tensor engine that waits for loads, against one whose operands come ahead") {
  const auto text = [](int buffers) {
    return fmt::format(
        ".input  at : bf16[128, 128]\n.input  b : bf16[16, 128, 4096]\n"
        ".sbuf a : bf16[128, 128]\n"
        "dma_copy a, at\n"
        "load_stationary a\n"
        ".for i in 0 .. 16\n"
        "  .sbuf w : bf16[128, 4096], buffers = {}\n"
        "  dma_copy w, b[i, :, :]\n"
        "  .for r in 0 .. 2\n"
        "    .for j in 0 .. 8\n"
        "      .psum acc : f32[128, 512], buffers = 8\n"
        "      matmul acc, w[:, j*512:+512]\n"
        "    .end\n  .end\n.end\n",
        buffers);
  };
  const Advised faulty = advised("trn1", text(1)), mended = advised("trn1", text(3));
  const double total =
      without(faulty, "tensor_engine_starved", 13, "waits longest for the transfers on a.nca:9");
  CHECK(mended.find("tensor_engine_starved") == nullptr);
  // Transfers that move nothing are still waited for one by one.
  CHECK(total == doctest::Approx(mended.total).epsilon(0.1));
  CHECK(mended.total < faulty.total);
}

TEST_CASE("a tensor engine that waits for vector is told so, with the line that it waits for") {
  const Advised faulty =
      advised("trn1",
              ".input  at : bf16[128, 128]\n.input  b : bf16[128, 512]\n"
              ".sbuf a : bf16[128, 128]\n.sbuf w : bf16[128, 512]\n.sbuf out : f32[128, 512]\n"
              "dma_copy a, at\ndma_copy w, b\nload_stationary a\n"
              ".for i in 0 .. 64\n"
              "  .psum acc : f32[128, 512], buffers = 2\n"
              "  matmul acc, w\n"
              "  tensor_scalar out, acc, op0 = mult, scalar0 = 2.0, engine = vector\n"
              ".end\n");
  const double total = without(faulty, "tensor_engine_starved", 12, "waits longest for vector on a.nca:13");
  // As many matmuls that nothing holds up: 64 of 512 cycles at 2.8 GHz, and their operands.
  CHECK(total > 64 * 512 / 2.8e3);
  CHECK(total < faulty.total / 2);
}

TEST_CASE("table reloads: functions in turn against one after the other") {
  const std::string head =
      ".sbuf a : f32[128, 64]\n.sbuf b : f32[128, 64]\n.sbuf c : f32[128, 64]\nmemset a, value = 1.0\n";
  const Advised faulty = advised("trn1", head +
                                             ".for i in 0 .. 16\n"
                                             "  activation b, a, func = gelu\n"
                                             "  activation c, a, func = exp\n"
                                             ".end\n");
  const Advised mended = advised("trn1", head +
                                             ".for i in 0 .. 16\n  activation b, a, func = gelu\n.end\n"
                                             ".for i in 0 .. 16\n  activation c, a, func = exp\n.end\n");
  const Json* found = faulty.find("table_reloads");
  REQUIRE(found != nullptr);
  CHECK((*found)["finding"] == "32 table loads for 2 sets of functions");
  const int line = (*found)["place"]["line"].get<int>();
  const double total = without(faulty, "table_reloads", line, "32 table loads");
  CHECK((line == 7 || line == 8));
  CHECK(mended.find("table_reloads") == nullptr);
  // 30 loads of 32 are gone.
  CHECK(faulty.total - mended.total == doctest::Approx((faulty.total - total) * 30 / 32).epsilon(0.05));
}

TEST_CASE("the clock gate: a tensor engine with pauses, against the machine without a gate") {
  const std::string text =
      ".input  at : bf16[128, 128]\n.input  b : bf16[16, 128, 4096]\n"
      ".sbuf a : bf16[128, 128]\n"
      "dma_copy a, at\n"
      "load_stationary a\n"
      ".for i in 0 .. 16\n"
      "  .sbuf w : bf16[128, 4096], buffers = 1\n"
      "  dma_copy w, b[i, :, :]\n"
      "  .for r in 0 .. 2\n"
      "    .for j in 0 .. 8\n"
      "      .psum acc : f32[128, 512], buffers = 8\n"
      "      matmul acc, w[:, j*512:+512]\n"
      "    .end\n  .end\n.end\n";
  const Advised faulty = advised("trn2", text);
  const double total = without(faulty, "clock_gate", 13, "half rate");
  // A machine without a gate takes just that, and has nothing to say of it.
  const Advised mended = advised("trn2", text, "--set gate.window=0");
  CHECK(mended.find("clock_gate") == nullptr);
  CHECK(mended.total == doctest::Approx(total));
  CHECK(advised("trn1", text).find("clock_gate") == nullptr);
}

TEST_CASE("port conflicts: vector and gpsimd in SBUF at once, against a machine that lets them") {
  const std::string text =
      ".sbuf a : f32[128, 2048]\n.sbuf b : f32[128, 2048]\n.sbuf c : f32[128, 2048]\n"
      "memset a, value = 1.0\n"
      ".for i in 0 .. 16\n"
      "  tensor_copy b, a, engine = vector\n"
      "  tensor_copy c, a, engine = gpsimd\n"
      ".end\n";
  const Advised faulty = advised("trn1", text);
  const Json* found = faulty.find("port_conflicts");
  REQUIRE(found != nullptr);
  const int line = (*found)["place"]["line"].get<int>();
  CHECK((line == 7 || line == 8));
  const double total = without(faulty, "port_conflicts", line, "us of waiting");
  // Without the rule the slower of the two sets the pace: each alone tells.
  const auto alone = [&](const char* engine) {
    return advised("trn1", fmt::format(".sbuf a : f32[128, 2048]\n.sbuf b : f32[128, 2048]\n"
                                       "memset a, value = 1.0\n.for i in 0 .. 16\n"
                                       "  tensor_copy b, a, engine = {}\n.end\n",
                                       engine));
  };
  const Advised vector = alone("vector"), gpsimd = alone("gpsimd");
  CHECK(total == doctest::Approx(std::max(vector.total, gpsimd.total)).epsilon(0.05));
  CHECK(vector.find("port_conflicts") == nullptr);
}

TEST_CASE("a threshold that is crossed at no cost is not advice") {
  // The rows of `s` are 4-byte descriptors, most of all there are, and vector sets the pace.
  const Advised faulty = advised("trn1",
                                 ".input  s : f32[8, 128, 1]\n.sbuf a : f32[128, 4096]\n"
                                 ".sbuf b : f32[128, 4096]\n"
                                 "memset a, value = 1.0\n"
                                 ".for i in 0 .. 8\n"
                                 "  .sbuf u : f32[128, 1], buffers = 2\n"
                                 "  dma_copy u, s[i, :, :]\n"
                                 "  tensor_scalar b, a, op0 = mult, scalar0 = u, engine = vector\n"
                                 ".end\n");
  CHECK(faulty.profile["verdict"]["bound"] == "vector");
  CHECK(faulty.find("small_descriptors") == nullptr);
  CHECK(faulty.find("small_transfers") == nullptr);
}
