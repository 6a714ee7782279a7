#include "isa/text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

#include "isa/asm/assembler.h"
#include "isa/codec.h"
#include "tests/support/random_instruction.h"

using namespace ncemu;

namespace {

AccessPattern tile(Space space, DType dtype, int partition, int partitions, std::uint32_t offset,
                   std::vector<Dim> dims = {}) {
  AccessPattern p;
  p.space = space;
  p.dtype = dtype;
  p.partition = static_cast<std::uint8_t>(partition);
  p.partitions = static_cast<std::uint8_t>(partitions);
  p.offset = offset;
  std::copy(dims.begin(), dims.end(), p.dims.begin());
  return p;
}

Program program() {
  Program p;
  p.name = "k";
  Tensor x;
  x.name = "x";
  x.kind = TensorKind::input;
  x.shape = {128, 512};
  Tensor t;
  t.name = "t";
  t.kind = TensorKind::constant;
  t.dtype = DType::bf16;
  t.shape = {3};
  t.data = {std::byte{0x80}, std::byte{0x3F}, std::byte{0}, std::byte{0}, std::byte{0xC0}, std::byte{0x7F}};
  p.tensors = {x, t};
  return p;
}

std::string text(Opcode opcode, Operands operands, Wait wait = {}, Update update = {}) {
  Instruction i;
  i.opcode = opcode;
  i.operands = std::move(operands);
  i.wait = wait;
  i.update = update;
  return print(i, Engine::vector, program());
}

// The value as memset prints it.
std::string immediate(ScalarOperand value) {
  const std::string all =
      text(Opcode::memset, Memset{tile(Space::sbuf, DType::f32, 0, 1, 0), std::move(value)});
  const std::size_t at = all.find("value = ");
  return at == std::string::npos ? "" : all.substr(at + 8);
}

std::string immediate_bits(std::uint32_t bits) { return immediate(std::bit_cast<float>(bits)); }

}  // namespace

TEST_CASE("positional operands come first, named ones follow when they differ from their default") {
  const AccessPattern dst = tile(Space::psum, DType::f32, 0, 128, 2048, {{1, 512}});
  const AccessPattern moving = tile(Space::sbuf, DType::f8e4m3, 0, 128, 4096, {{1, 512}});
  CHECK(text(Opcode::matmul, Matmul{dst, moving, false}) ==
        "matmul .ap(psum, f32, 0, 128, 2048, [[1, 512]]), .ap(sbuf, f8e4m3, 0, 128, 4096, [[1, 512]])");
  CHECK(text(Opcode::matmul, Matmul{dst, moving, true}) ==
        "matmul .ap(psum, f32, 0, 128, 2048, [[1, 512]]), .ap(sbuf, f8e4m3, 0, 128, 4096, [[1, 512]]), "
        "accumulate = true");
  Activation a;
  a.dst = a.src = tile(Space::sbuf, DType::f32, 64, 32, 0, {{1, 8}});
  a.func = ActivationFunction::exp;
  a.scale = 0.125F;
  a.bias = PointerOperand{Space::psum, DType::bf16, 96, 4};
  a.reduce_cmd = ReduceCommand::reset_reduce;
  CHECK(text(Opcode::activation, a) ==
        "activation .ap(sbuf, f32, 64, 32, 0, [[1, 8]]), .ap(sbuf, f32, 64, 32, 0, [[1, 8]]), func = exp, "
        "scale = 0.125, "
        "bias = .ap(psum, bf16, 96, 32, 4, []), reduce_cmd = reset_reduce");
  CHECK(text(Opcode::memset, Memset{}) == "memset .ap(sbuf, f32, 0, 1, 0, [])");
}

TEST_CASE("dimensions are written slowest first; only unit ones without step at the slow end are dropped") {
  const auto dims = [](std::vector<Dim> d) {
    const std::string all =
        text(Opcode::read_accumulator, Destination{tile(Space::sbuf, DType::i8, 0, 1, 0, d)});
    return all.substr(all.find('['), all.rfind(']') + 1 - all.find('['));
  };
  CHECK(dims({}) == "[]");
  CHECK(dims({{1, 8}}) == "[[1, 8]]");
  CHECK(dims({{1, 8}, {16, 4}, {-64, 3}, {0, 2}}) == "[[0, 2], [-64, 3], [16, 4], [1, 8]]");
  CHECK(dims({{0, 1}, {16, 4}}) == "[[16, 4], [0, 1]]");
  CHECK(dims({{1, 8}, {0, 1}, {0, 1}}) == "[[1, 8]]");
  CHECK(dims({{1, 8}, {5, 1}}) == "[[5, 1], [1, 8]]");
}

TEST_CASE("index registers and their strides end a pattern") {
  AccessPattern p = tile(Space::sbuf, DType::f32, 0, 1, 8, {{1, 4}});
  p.index = Register{5};
  p.index_step = -512;
  CHECK(text(Opcode::read_accumulator, Destination{p}) ==
        "read_accumulator .ap(sbuf, f32, 0, 1, 8, [[1, 4]], r5, -512)");
  HbmPattern h;
  h.offset = -7;
  h.dims[0] = {1, 16};
  h.dims[1] = {65536, 70000};
  h.index = Register{63};
  h.index_step = 3;
  CHECK(text(Opcode::dma_copy, DmaCopy{p, h, 0, DgeMode::static_}) ==
        "dma_copy .ap(sbuf, f32, 0, 1, 8, [[1, 4]], r5, -512), .hbm(x, f32, -7, [[65536, 70000], [1, 16]], "
        "r63, 3), "
        "queue = 0, mode = static");
}

TEST_CASE("f32 immediates never look like integers and read back to the same bits") {
  CHECK(immediate(1.0F) == "1.0");
  CHECK(immediate(-2.5F) == "-2.5");
  CHECK(immediate(1e30F) == "1e+30");
  CHECK(immediate(16777216.0F) == "16777216.0");
  CHECK(immediate(0.1F) == "0.1");
  CHECK(immediate(-0.0F) == "-0.0");
  CHECK(immediate(std::numeric_limits<float>::infinity()) == "inf");
  CHECK(immediate(-std::numeric_limits<float>::infinity()) == "-inf");
  CHECK(immediate_bits(0x7FC00000) == "nan");
  CHECK(immediate_bits(0x7FC00001) == "bits(0x7fc00001)");
  CHECK(immediate_bits(0xFFC00000) == "bits(0xffc00000)");
  CHECK(immediate_bits(0x7F800001) == "bits(0x7f800001)");
  CHECK(immediate(0.0F).empty());  // the default
  CHECK(immediate(2) == "2");
  CHECK(immediate(INT32_MIN) == "-2147483648");
  CHECK(immediate(Register{9}) == "r9");
  // As the assembler reads numbers: text to double, double to f32. A stride through all exponents and signs.
  std::size_t wrong = 0;
  for (std::uint64_t bits = 1; bits < 0x100000000; bits += 65521) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const std::string written = immediate(value);
    if (value != value || value - value != 0) continue;
    const auto read = static_cast<float>(std::strtod(written.c_str(), nullptr));
    if (std::bit_cast<std::uint32_t>(read) != bits || written.find_first_of(".e") == std::string::npos)
      ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("waits and signals name their semaphore, condition and time") {
  const auto wait = [](Wait w) { return text(Opcode::nop, NoOperands{}, w); };
  CHECK(wait({3, Comparison::ge, false, 4}) == "nop wait S[3] >= 4");
  CHECK(wait({3, Comparison::lt, false, 4}) == "nop wait S[3] < 4");
  CHECK(wait({3, Comparison::le, false, 4}) == "nop wait S[3] <= 4");
  CHECK(wait({3, Comparison::eq, false, 4}) == "nop wait S[3] == 4");
  CHECK(wait({3, Comparison::ne, false, 4}) == "nop wait S[3] != 4");
  CHECK(wait({3, Comparison::gt, true, 7}) == "nop wait S[3] > r7");
  const auto signal = [](Update u) { return text(Opcode::nop, NoOperands{}, {}, u); };
  using enum UpdateOperation;
  CHECK(signal({4, sem_inc, UpdateWhen::complete, 0}) == "nop signal S[4] ++ @complete");
  CHECK(signal({4, sem_dec, UpdateWhen::read, 0}) == "nop signal S[4] -- @read");
  CHECK(signal({4, sem_add_imm, UpdateWhen::complete, 1}) == "nop signal S[4] += 1 @complete");
  CHECK(signal({4, sem_sub_imm, UpdateWhen::complete, 2}) == "nop signal S[4] -= 2 @complete");
  CHECK(signal({4, sem_wr_imm, UpdateWhen::complete, 0}) == "nop signal S[4] = 0 @complete");
  CHECK(signal({5, evt_set, UpdateWhen::complete, 0}) == "nop signal E[5] set @complete");
  CHECK(signal({5, evt_clr, UpdateWhen::read, 0}) == "nop signal E[5] clear @read");
  CHECK(
      text(Opcode::memset, Memset{}, {1, Comparison::ge, false, 2}, {3, sem_inc, UpdateWhen::complete, 0}) ==
      "memset .ap(sbuf, f32, 0, 1, 0, []) wait S[1] >= 2 signal S[3] ++ @complete");
}

TEST_CASE("control instructions write registers, integers and labels") {
  CHECK(text(Opcode::register_move, RegisterMove{Register{1}, -5}) == "register_move r1, -5");
  CHECK(text(Opcode::register_alu, RegisterAlu{Register{1}, Register{2}, Register{3}, AluOp::subtract}) ==
        "register_alu r1, r2, r3, op = subtract");
  CHECK(text(Opcode::compare_branch, CompareBranch{Register{1}, 10, Comparison::lt, {3}}) ==
        "compare_branch r1, 10, op = lt, target = L3");
  CHECK(text(Opcode::compare_branch, CompareBranch{{}, 0, Comparison::always, {3}}) ==
        "compare_branch target = L3");
  HbmPattern one;
  one.offset = 4;
  CHECK(text(Opcode::register_load, RegisterLoad{Register{9}, one}) ==
        "register_load r9, .hbm(x, f32, 4, [])");
  CHECK(text(Opcode::write, Write{2, 16, 1, 20, 2}) ==
        "write count = 2, address0 = 16, data0 = 1, address1 = 20, data1 = 2");
}

TEST_CASE("a disassembly is a source file with machine, tensors, constants and one block per stream") {
  Program p = program();
  const auto add = [&](Engine e, Opcode opcode, Operands operands) {
    Instruction i;
    i.opcode = opcode;
    i.operands = std::move(operands);
    p.stream(e).push_back(i);
  };
  add(Engine::sync, Opcode::register_move, RegisterMove{Register{1}, 0});
  add(Engine::sync, Opcode::register_alu, RegisterAlu{Register{1}, Register{1}, 1, AluOp::add});
  add(Engine::sync, Opcode::compare_branch, CompareBranch{Register{1}, 10, Comparison::lt, {1}});
  add(Engine::sync, Opcode::compare_branch, CompareBranch{{}, 0, Comparison::always, {4}});
  add(Engine::tensor, Opcode::nop, NoOperands{});
  CHECK(disassemble(p) ==
        "# k\n"
        ".machine trn1\n"
        ".sync manual\n"
        ".tables manual\n"
        "\n"
        ".input x : f32[128, 512]\n"
        ".const t : bf16[3] = bits [0x3f80, 0x0000, 0x7fc0]\n"
        "\n"
        ".engine tensor\n"
        "  nop\n"
        ".end\n"
        "\n"
        ".engine sync\n"
        "  register_move r1, 0\n"
        "L1:\n"
        "  register_alu r1, r1, 1\n"
        "  compare_branch r1, 10, op = lt, target = L1\n"
        "  compare_branch target = L4\n"
        "L4:\n"
        ".end\n");
}

TEST_CASE("100,000 random legal instructions print as a source that assembles to the same words") {
  for (const std::string_view machine : {"trn1", "trn2"}) {
    const std::uint64_t seed = 42;
    CAPTURE(machine);
    CAPTURE(seed);
    test::RandomInstructions random(seed, *find_target(machine));
    Program p = random.program();
    for (auto& stream : p.streams) stream.clear();
    for (int i = 0; i < 50000; ++i) {
      const auto sample = random.next();
      p.stream(sample.engine).push_back(sample.instruction);
    }
    const std::string source = disassemble(p);
    const Assembly assembly = assemble_text(source, "random.nca");
    REQUIRE_MESSAGE(assembly.ok(), assembly.diagnostics.text());
    for (const Engine e : all_engines) {
      REQUIRE(assembly.program.stream(e).size() == p.stream(e).size());
      for (std::size_t i = 0; i < p.stream(e).size(); ++i) {
        const std::string line = print(p.stream(e)[i], e, p);
        CAPTURE(line);
        REQUIRE(encode_words(assembly.program.stream(e)[i]) == encode_words(p.stream(e)[i]));
      }
    }
  }
}
