// Transfers with an index, bounds and several sources, from source text to memory.

#include <doctest/doctest.h>

#include "isa/asm/assembler.h"
#include "isa/container.h"
#include "tests/support/kernel.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

Program assembled(const std::string& text) {
  Assembly assembly = assemble_text(text, "rows.nca");
  REQUIRE_MESSAGE(assembly.ok(), assembly.diagnostics.text());
  return std::move(assembly.program);
}

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  const auto raw = std::as_bytes(std::span(values));
  return {raw.begin(), raw.end()};
}

const std::string gather_source = R"(
.input table : i32[3, 2]
.input rows : u32[4, 1]
.output out : i32[4, 2]
.sbuf r : u32[4, 1]
.sbuf t : i32[4, 2]
memset t, value = 7
dma_copy r, rows
dma_copy t, table, index = r, bounds = BOUNDS
dma_copy out, t
)";

std::string with_bounds(const char* bounds, const char* machine) {
  std::string text = gather_source;
  text.replace(text.find("BOUNDS"), 6, bounds);
  return std::string(".machine ") + machine + text;
}

const std::map<std::string, Bytes> gather_inputs = {
    {"table", bytes_of<std::int32_t>({16777217, 2147483647, 3, 4, 5, 6})},
    {"rows", bytes_of<std::uint32_t>({2, 0, 3, 1})}};

}  // namespace

TEST_CASE("bounds = skip leaves the destination of the row past the end alone, on both generations") {
  for (const char* machine : {"trn1", "trn2"}) {
    const KernelResult result = run_program(assembled(with_bounds("skip", machine)), gather_inputs, {});
    REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
    CHECK(result.outputs.at("out") == bytes_of<std::int32_t>({5, 6, 16777217, 2147483647, 7, 7, 3, 4}));
  }
}

TEST_CASE("bounds = error ends the run with index, extent, partition and source line") {
  const KernelResult result = run_program(assembled(with_bounds("error", "trn1")), gather_inputs, {});
  CHECK(result.run.status == RunStatus::fault);
  CHECK_MESSAGE(result.run.message.find("rows.nca:9:") == 0, result.run.message);
  CHECK_MESSAGE(
      result.run.message.find("index 3 of partition 2 is outside the 3 rows of 'table'") != std::string::npos,
      result.run.message);
}

TEST_CASE("skipped rows take the time of those that move") {
  std::map<std::string, Bytes> inside = gather_inputs;
  inside["rows"] = bytes_of<std::uint32_t>({2, 0, 1, 1});
  const Program p = assembled(with_bounds("skip", "trn2"));
  const Ticks all = run_program(p, inside, {}).run.total;
  CHECK(all > 0);
  CHECK(run_program(p, gather_inputs, {}).run.total == all);
  RunOptions timing_only;
  timing_only.mode = Mode::timing_only;
  CHECK(run_program(p, {}, timing_only).run.total == all);
}

TEST_CASE("a register that leads outside: an error, or with skip nothing moves") {
  const auto source = [](const char* bounds) {
    return std::string(R"(
.input rows : i32[4, 8]
.output out : i32[4, 8]
.sbuf t : i32[1, 8]
memset t, value = 7
.loop i = 0 .. 4
  dma_copy t, rows[i*2:+1, :], bounds = )") +
           bounds + "\n  dma_copy out[i:+1, :], t\n.end\n";
  };
  std::vector<std::int32_t> table;
  for (int i = 0; i < 32; ++i) table.push_back(i / 8);
  const std::map<std::string, Bytes> inputs = {{"rows", bytes_of(table)}};
  const KernelResult skipped = run_program(assembled(source("skip")), inputs, {});
  REQUIRE_MESSAGE(skipped.run.status == RunStatus::finished, skipped.run.message);
  std::vector<std::int32_t> expected;
  for (const int row : {0, 2, 2, 2}) expected.insert(expected.end(), 8, row);
  CHECK(skipped.outputs.at("out") == bytes_of(expected));
  const KernelResult failed = run_program(assembled(source("error")), inputs, {});
  CHECK(failed.run.status == RunStatus::fault);
  CHECK_MESSAGE(failed.run.message.find("tensor 'rows'") != std::string::npos, failed.run.message);
}

TEST_CASE("automatic synchronisation orders an index, its table and what is added to") {
  const std::string source = R"(
.inout table : f32[6, 4]
.input rows : u32[4, 1]
.input more : f32[4, 4]
.output out : f32[4, 4]
.sbuf r : u32[4, 1]
.sbuf t : f32[4, 4]
dma_copy r, rows
dma_copy t, more
tensor_scalar t, t, op0 = mult, scalar0 = 2.0
dma_copy table, t, index = r, accumulate = true
dma_copy t, table, index = r
dma_copy t, more, accumulate = true
dma_copy out, t
)";
  std::vector<float> table(24), more(16), out;
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(100 * (i / 4) + i % 4);
  for (std::size_t i = 0; i < more.size(); ++i) more[i] = static_cast<float>(i);
  const std::vector<std::uint32_t> rows = {5, 0, 2, 3};
  std::vector<float> changed = table;
  for (std::size_t p = 0; p < 4; ++p) {
    for (std::size_t i = 0; i < 4; ++i) {
      changed[rows[p] * 4 + i] += 2 * more[p * 4 + i];
      out.push_back(changed[rows[p] * 4 + i] + more[p * 4 + i]);
    }
  }
  for (const Mode mode : {Mode::functional, Mode::timed}) {
    RunOptions options;
    options.mode = mode;
    const KernelResult result = run_program(
        assembled(source), {{"table", bytes_of(table)}, {"rows", bytes_of(rows)}, {"more", bytes_of(more)}},
        options);
    REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
    CHECK(result.outputs.at("table") == bytes_of(changed));
    CHECK(result.outputs.at("out") == bytes_of(out));
  }
}

TEST_CASE("a program with transfers of several words survives its container") {
  const std::string source = R"(
.input a : f32[4, 8]
.input b : bf16[4, 8]
.output out : f32[8, 4]
.sbuf s : f32[4, 8]
.sbuf t : f32[8, 4]
dma_compute s, a, b, a, b, a, op = fma, scale1 = -2.0
dma_transpose t, s
dma_copy out, t
)";
  const Program p = assembled(source);
  const Program back = read_container(write_container(p), "test.ncb");
  std::map<std::string, Bytes> inputs = {{"a", to_bytes(DType::f32, random_values(32, 1))},
                                         {"b", to_bytes(DType::bf16, random_values(32, 2))}};
  const std::vector<float> a = to_floats(DType::f32, inputs["a"]), b = to_floats(DType::bf16, inputs["b"]);
  std::vector<float> expected(32);
  for (std::size_t i = 0; i < 32; ++i) {
    float sum = a[i];
    sum += -2 * b[i];  // exact: a power of two
    sum += a[i];
    sum += b[i];
    sum += a[i];
    expected[i % 8 * 4 + i / 8] = sum;
  }
  for (const Program* program : {&p, &back}) {
    const KernelResult result = run_program(*program, inputs, {});
    REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
    CHECK(result.outputs.at("out") == to_bytes(DType::f32, expected));
  }
}
