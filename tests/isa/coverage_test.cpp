#include "isa/coverage.h"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "isa/instruction.h"

using namespace ncemu;

namespace {

const CoverageRow& row_of(std::string_view name) {
  for (const CoverageRow& row : coverage()) {
    if (row.name == name) return row;
  }
  throw std::runtime_error("no such row");
}

bool cites(std::string_view section) {
  for (const CoverageRow& row : coverage()) {
    if (row.section == section) return true;
  }
  return false;
}

std::vector<std::string> datasheet() {
  std::ifstream in(std::string(NCEMU_SOURCE_DIR) + "/isa/DATASHEET.md");
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  REQUIRE(lines.size() > 1000);
  return lines;
}

bool starts(const std::string& line, std::string_view with) {
  return line.compare(0, with.size(), with) == 0;
}

// The first cells of the first table after the heading, without its two head lines.
std::vector<std::string> first_column(const std::vector<std::string>& lines, std::string_view heading) {
  std::vector<std::string> cells;
  std::size_t at = 0;
  while (at < lines.size() && !starts(lines[at], heading)) ++at;
  while (at < lines.size() && !starts(lines[at], "|")) ++at;
  for (at += 2; at < lines.size() && starts(lines[at], "|"); ++at) {
    const std::string cell = lines[at].substr(2, lines[at].find(" |", 2) - 2);
    cells.push_back(cell);
  }
  REQUIRE_FALSE(cells.empty());
  return cells;
}

// "a, b (c) / d [e]" is a, b, d: the names of a cell.
std::vector<std::string> names_in(const std::string& cell) {
  std::vector<std::string> names;
  std::string name;
  int depth = 0;
  const auto end = [&] {
    if (!name.empty()) names.push_back(name);
    name.clear();
  };
  for (const char c : cell) {
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    if (depth > 0 || c == ')' || c == ']' || c == ' ') continue;
    if (c == ',' || c == '/') {
      end();
    } else {
      name += c;
    }
  }
  end();
  return names;
}

}  // namespace

TEST_CASE("every entry of the datasheet's section of instructions is in the list") {
  // What is no instruction: the timing model, where registers are told of, KLR's names and costs again.
  const std::set<std::string> no_instruction = {"6.11", "6.13", "6.14"};
  std::vector<std::string> entries;
  for (const std::string& line : datasheet()) {
    const bool group = starts(line, "### 6."), entry = starts(line, "#### 6.");
    if (!group && !entry) continue;
    const std::size_t from = line.find(' ') + 1;
    const std::string section = line.substr(from, line.find(' ', from) - from);
    if (starts(section, "6.0") || no_instruction.contains(section)) continue;
    // The heading of a group gives way to its entries.
    if (entry && !entries.empty() && starts(section, entries.back() + ".")) entries.pop_back();
    entries.push_back(section);
  }
  CHECK(entries.size() > 40);
  for (const std::string& section : entries) {
    CAPTURE(section);
    CHECK(cites(section));
  }
}

TEST_CASE("every operator of the datasheet's inventory is in the list") {
  const std::map<std::string, std::string_view> rows = {
      {"Activate", "activation"},
      {"Activate2", "activate2"},
      {"AffineSelect", "affine_select"},
      {"BatchNormStats", "bn_stats"},
      {"BatchNormAggregate", "bn_aggr"},
      {"Copy", "tensor_copy"},
      {"CopyPredicated", "tensor_copy_predicated"},
      {"DmaCopy", "dma_copy"},
      {"DmaTranspose", "dma_transpose"},
      {"DmaCompute", "dma_compute"},
      {"Dropout", "dropout"},
      {"FindIndex8", "nc_find_index8"},
      {"MatchReplace8", "nc_match_replace8"},
      {"Max8", "max8"},
      {"MatchValueLoad", "nc_find_index8"},
      {"Iota", "iota"},
      {"LoadMaskRegister", "nc_stream_shuffle"},
      {"Shuffle", "nc_stream_shuffle"},
      {"LoadStationary", "nc_matmul"},
      {"MatMul", "nc_matmul"},
      {"LocalGather", "local_gather"},
      {"MemSet", "memset"},
      {"RangeSelect", "range_select"},
      {"SelectReduce", "select_reduce"},
      {"Reciprocal", "reciprocal"},
      {"ScalarTensorTensor", "scalar_tensor_tensor"},
      {"TensorReduce", "tensor_reduce"},
      {"TensorScalar", "tensor_scalar"},
      {"TensorTensor", "tensor_tensor"},
      {"TensorScalarReduce", "tensor_scalar_reduce"},
      {"TensorScalarCumulative", "tensor_scalar_cumulative"},
      {"TensorTensorScan", "tensor_tensor_scan"},
      {"Transpose", "nc_transpose, vector engine"},
      {"TensorPartitionReduce", "tensor_partition_reduce"},
      {"SequenceBounds", "sequence_bounds"},
      {"TensorLoad", "TensorLoad"},
      {"TensorStore", "TensorStore"},
      {"RegisterMove", "RegisterMove"},
      {"RegisterAluOp", "RegisterAluOp"},
      {"CmpBranch", "CmpBranch"},
      {"QuantizeMX", "quantize_mx"},
      {"MatMulMX", "nc_matmul_mx"},
      {"Exponential", "exponential"},
      {"CoreBarrier", "core_barrier"},
      {"RankId", "RankId and CurrentProcessingRankId"},
      {"CurrentProcessingRankId", "RankId and CurrentProcessingRankId"},
      {"Rng", "rng"},
      {"Rand2", "rand2"},
      {"RandGetState", "rand_get_state"},
      {"RandSetState", "rand_set_state"},
      {"SetRngSeed", "set_rng_seed"},
      {"ExtendedInst", "ExtendedInst"},
  };
  const std::set<std::string> collectives = {"AllReduce", "AllGather", "ReduceScatter", "CollectivePermute",
                                             "Broadcast", "AllToAll",  "Send",          "Recv"};
  for (const std::string& cell : first_column(datasheet(), "### 6.13")) {
    for (const std::string& name : names_in(cell)) {
      CAPTURE(name);
      if (collectives.contains(name)) {
        CHECK(row_of("collectives").section == "8.3");
        continue;
      }
      REQUIRE(rows.contains(name));
      CHECK_NOTHROW((void)row_of(rows.at(name)));
    }
  }
}

TEST_CASE("every sequencer opcode that the datasheet names is in the list") {
  const std::vector<std::string> lines = datasheet();
  std::size_t at = 0;
  while (at < lines.size() && !starts(lines[at], "### 2.7")) ++at;
  const std::map<std::string, std::string_view> rows = {{"TENSOR_LOAD", "TensorLoad"}};
  const std::vector<std::string> names = names_in(lines.at(at + 2).substr(0, lines.at(at + 2).find('.')));
  CHECK(names.size() == 10);
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK_NOTHROW((void)row_of(rows.contains(name) ? rows.at(name) : std::string_view(name)));
  }
}

TEST_CASE("every operator and function of the datasheet has its name here") {
  const std::map<std::string, std::string> here = {{"arith_shift_left", "logical_shift_left"}};
  for (const std::string& cell : first_column(datasheet(), "### 5.1")) {
    for (const std::string& name : names_in(cell)) {
      CAPTURE(name);
      if (name == "logical_not") continue;  // of the language above, not of the machine
      CHECK(find<AluOp>(here.contains(name) ? here.at(name) : name));
    }
  }
  for (const std::string& cell : first_column(datasheet(), "### 5.3")) {
    for (const std::string& name : names_in(cell)) {
      CAPTURE(name);
      CHECK(find<ActivationFunction>(name));
    }
  }
}

TEST_CASE("of the generations that have machines, nothing of the list is missing") {
  for (const CoverageRow& row : coverage()) {
    CAPTURE(row.name);
    for (const int generation : coverage_generations) CHECK(row.state(generation) != CoverageState::missing);
  }
}

TEST_CASE("a mode is listed after its instruction") {
  std::set<std::string_view> before;
  for (const CoverageRow& row : coverage()) {
    CAPTURE(row.name);
    const std::string_view instruction = row.name.substr(0, row.name.find(','));
    if (instruction != row.name && instruction != "nc_transpose") CHECK(before.contains(instruction));
    before.insert(row.name);
  }
}

TEST_CASE("every instruction of the table stands for one of the datasheet's") {
  std::set<std::string_view> named;
  for (const CoverageRow& row : coverage()) named.insert(row.mnemonics.begin(), row.mnemonics.end());
  for (const InstructionInfo& row : all_instructions()) {
    CAPTURE(row.mnemonic);
    CHECK(named.contains(row.mnemonic));
  }
}

TEST_CASE("a row has mnemonics or a reason why it is outside, and a name of its own") {
  std::set<std::string_view> names;
  for (const CoverageRow& row : coverage()) {
    CAPTURE(row.name);
    CHECK(row.mnemonics.empty() == !row.reason.empty());
    CHECK(names.insert(row.name).second);
  }
}

TEST_CASE("the state of a row is that of the generation") {
  CHECK(row_of("iota").state(2) == CoverageState::implemented);
  CHECK(row_of("nonzero_with_count").state(2) == CoverageState::absent);
  CHECK(row_of("nonzero_with_count").state(3) == CoverageState::implemented);
  CHECK(row_of("sendrecv").state(2) == CoverageState::absent);
  CHECK(row_of("sendrecv").state(3) == CoverageState::outside);
  CHECK(row_of("exponential").state(3) == CoverageState::absent);
  CHECK(CoverageRow{"x", "1", 2, {"no_such_instruction"}, {}}.state(2) == CoverageState::missing);
  CHECK(CoverageRow{"x", "1", 2, {"topk"}, {}}.state(2) == CoverageState::missing);
}
