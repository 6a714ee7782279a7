#include "isa/codec.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "isa/fault.h"
#include "tests/support/random_instruction.h"

using namespace ncemu;

namespace {

AccessPattern chip(Space space, DType dtype, int partition, int partitions, std::uint32_t offset,
                   std::vector<Dim> dims) {
  AccessPattern p;
  p.space = space;
  p.dtype = dtype;
  p.partition = static_cast<std::uint8_t>(partition);
  p.partitions = static_cast<std::uint8_t>(partitions);
  p.offset = offset;
  std::copy(dims.begin(), dims.end(), p.dims.begin());
  return p;
}

Instruction make(Opcode opcode, Operands operands, Wait wait = {}, Update update = {}) {
  Instruction i;
  i.opcode = opcode;
  i.operands = operands;
  i.wait = wait;
  i.update = update;
  return i;
}

// The instructions of tests/golden/isa/words.txt.
std::vector<Instruction> golden_instructions() {
  constexpr Space sbuf = Space::sbuf, psum = Space::psum;
  AccessPattern moving = chip(sbuf, DType::f8e4m3, 0, 128, 4096, {{1, 512}});
  moving.index = Register{3};
  moving.index_step = 512;
  HbmPattern element;
  element.tensor = 2;
  element.dtype = DType::i32;
  element.offset = 1000;
  HbmPattern rows;
  rows.tensor = 1;
  rows.offset = -3;
  rows.index = Register{7};
  rows.index_step = -2;
  rows.dims[0] = {1, 512};
  rows.dims[1] = {1024, 128};
  Activation activation{.dst = chip(sbuf, DType::bf16, 64, 64, 32, {{1, 256}}),
                        .src = chip(psum, DType::f32, 64, 64, 0, {{1, 256}}),
                        .func = ActivationFunction::exp,
                        .scale = 0.125F,
                        .bias = PointerOperand{sbuf, DType::f32, 64, 128},
                        .reduce_cmd = ReduceCommand::reset_reduce};
  TensorScalar tensor_scalar{.dst = chip(sbuf, DType::f32, 0, 128, 0, {{1, 512}}),
                             .src = chip(sbuf, DType::f32, 0, 128, 2048, {{1, 512}}),
                             .op0 = AluOp::mult,
                             .scalar0 = 2.0F,
                             .op1 = AluOp::subtract,
                             .scalar1 = Register{5},
                             .reverse1 = true};
  const auto row_of = [&](std::uint32_t offset) {
    return chip(sbuf, DType::f32, 0, 128, offset, {{1, 512}});
  };
  ShuffleMask mask;
  mask.source[0] = ShuffleMask::keep;
  for (std::uint8_t lane = 1; lane < 32; ++lane)
    mask.source[lane] = lane < 16 ? lane : static_cast<std::uint8_t>(47 - lane);
  HbmPattern square;
  square.dtype = DType::bf16;
  square.dims[0] = {1, 128};
  square.dims[3] = {128, 16};
  DmaCompute compute;
  compute.dst = chip(sbuf, DType::f32, 0, 32, 0, {{1, 8}});
  compute.op = ComputeOp::fma;
  compute.sources = {{chip(sbuf, DType::bf16, 32, 32, 256, {{1, 8}}), 0.5F},
                     {chip(sbuf, DType::f32, 64, 32, 512, {{1, 8}}), 1.0F},
                     {square, -2.0F},
                     {chip(sbuf, DType::i32, 96, 32, 1024, {{1, 8}}), 1.0F}};
  return {
      make(Opcode::event_semaphore, NoOperands{}, {3, Comparison::ge, true, 7},
           {4, UpdateOperation::sem_add_imm, UpdateWhen::complete, 500}),
      make(Opcode::semaphore_clear, SemaphoreRange{96, 4}),
      make(Opcode::register_move, RegisterMove{Register{7}, -5}),
      make(Opcode::register_alu, RegisterAlu{Register{1}, Register{2}, Register{63}, AluOp::subtract}),
      make(Opcode::register_load, RegisterLoad{Register{9}, element}),
      make(Opcode::register_store, RegisterStore{chip(sbuf, DType::i32, 5, 1, 64, {}), Register{9}}),
      make(Opcode::compare_branch, CompareBranch{Register{1}, 10, Comparison::lt, BranchTarget{258}}),
      make(Opcode::write, Write{2, 0x02701800, 1, 0x02701804, 0xDEADBEEF}),
      make(Opcode::notify, Notify{0xDEADBEEF}),
      make(Opcode::load_stationary, LoadStationary{chip(sbuf, DType::f8e4m3, 0, 128, 4096, {{1, 128}})}),
      make(Opcode::matmul, Matmul{chip(psum, DType::f32, 0, 128, 2048, {{1, 512}}), moving, true},
           {16, Comparison::ge, false, 16}, {0, UpdateOperation::sem_inc, UpdateWhen::complete, 0}),
      make(Opcode::activation, activation),
      make(Opcode::act_table_load, TableLoad{TableSet::gelu}),
      make(Opcode::read_accumulator, Destination{chip(sbuf, DType::f32, 0, 128, 4, {})}),
      make(Opcode::tensor_copy, Unary{chip(sbuf, DType::bf16, 0, 32, 0, {{1, 8}, {16, 4}, {-64, 3}, {0, 2}}),
                                      chip(psum, DType::f32, 96, 32, 16, {{1, 192}})}),
      make(Opcode::memset, Memset{chip(sbuf, DType::f32, 0, 128, 0, {{1, 512}}), -1.0F}),
      make(Opcode::tensor_scalar, tensor_scalar),
      make(Opcode::tensor_tensor,
           TensorTensor{chip(sbuf, DType::i32, 0, 16, 0, {{1, 4}}),
                        chip(sbuf, DType::i32, 0, 16, 16, {{1, 4}}),
                        chip(sbuf, DType::i32, 0, 16, 32, {{1, 4}}), AluOp::bitwise_and}),
      make(Opcode::tensor_reduce, TensorReduce{chip(sbuf, DType::f32, 0, 128, 0, {{1, 2}}),
                                               chip(psum, DType::f32, 0, 128, 0, {{1, 4}, {4, 3}, {12, 2}}),
                                               AluOp::max, Axes::XY, true}),
      make(Opcode::tensor_copy_predicated,
           CopyPredicated{.dst = chip(sbuf, DType::f32, 0, 64, 0, {{1, 100}}),
                          .predicate = chip(psum, DType::u16, 64, 64, 8, {{1, 100}}),
                          .src = chip(sbuf, DType::f32, 0, 64, 4096, {{2, 100}}),
                          .reverse = true}),
      make(Opcode::scalar_tensor_tensor,
           ScalarTensorTensor{.dst = chip(sbuf, DType::bf16, 0, 128, 0, {{1, 512}}),
                              .src0 = chip(psum, DType::f32, 0, 128, 0, {{1, 512}}),
                              .src1 = chip(sbuf, DType::f32, 0, 128, 64, {{1, 512}}),
                              .op0 = AluOp::subtract,
                              .scalar0 = PointerOperand{sbuf, DType::f32, 0, 12},
                              .reverse0 = true,
                              .op1 = AluOp::mult}),
      make(Opcode::dropout, Dropout{row_of(0), row_of(2048), 0.5F, ThresholdType::keep_rate}),
      make(Opcode::tensor_scalar_reduce,
           TensorScalarReduce{.dst = row_of(0),
                              .src = row_of(2048),
                              .op0 = AluOp::mult,
                              .scalar0 = 2.0F,
                              .reduce_op = AluOp::max,
                              .reduce_cmd = ReduceCommand::reduce,
                              .reduce_res = PointerOperand{psum, DType::f32, 0, 16},
                              .negate = true}),
      make(Opcode::tensor_scalar_cumulative,
           TensorScalarCumulative{.dst = row_of(0),
                                  .src = row_of(2048),
                                  .op0 = AluOp::add,
                                  .scalar0 = -1.0F,
                                  .op1 = AluOp::subtract,
                                  .scalar1 = Register{5},
                                  .reduce_cmd = ReduceCommand::load_reduce}),
      make(Opcode::tensor_tensor_scan,
           TensorTensorScan{.dst = row_of(0),
                            .src0 = chip(psum, DType::f32, 0, 128, 0, {{1, 512}}),
                            .src1 = chip(sbuf, DType::f32, 0, 128, 64, {{0, 512}}),
                            .reverse1 = true,
                            .initial = 1.0F}),
      make(Opcode::range_select, RangeSelect{.dst = chip(sbuf, DType::bf16, 0, 128, 0, {{1, 512}}),
                                             .src = chip(psum, DType::f32, 0, 128, 0, {{1, 512}}),
                                             .bound0 = PointerOperand{sbuf, DType::f32, 0, 0},
                                             .bound1 = PointerOperand{sbuf, DType::f32, 0, 4},
                                             .range_start = 512}),
      make(Opcode::select_reduce,
           SelectReduce{row_of(0), chip(psum, DType::f32, 0, 128, 0, {{1, 512}}),
                        chip(sbuf, DType::u8, 0, 128, 4096, {{1, 512}}), -1.0F, true, ReduceCommand::reduce}),
      make(Opcode::match_replace8,
           MatchReplace{row_of(0), row_of(0), -1.0F, chip(sbuf, DType::u16, 0, 128, 2048, {{1, 8}})}),
      make(Opcode::load_mask, LoadMask{mask}),
      make(Opcode::iota, Iota{chip(sbuf, DType::i32, 0, 128, 0, {{1, 512}}),
                              AffineDims{{{{2, 128}, {-70000, 4}}}}, 100, -10}),
      make(Opcode::affine_select,
           AffineSelect{chip(sbuf, DType::bf16, 64, 64, 0, {{1, 512}}),
                        chip(sbuf, DType::f32, 64, 64, 4096, {{1, 512}}), AffineDims{{{{-1, 512}}}}, -3, 1,
                        Comparison::ge, Register{9}}),
      make(Opcode::local_gather, LocalGather{chip(sbuf, DType::u16, 0, 32, 0, {{1, 80}}),
                                             chip(sbuf, DType::u16, 0, 32, 1024, {{1, 500}}),
                                             chip(sbuf, DType::u16, 0, 32, 4096, {{1, 2}}), 4, 20}),
      make(Opcode::n_gather, Gather{chip(sbuf, DType::f32, 0, 128, 0, {{1, 12}}),
                                    chip(sbuf, DType::f32, 0, 128, 64, {{3, 100}}),
                                    chip(sbuf, DType::u32, 0, 128, 4096, {{1, 12}})}),
      make(Opcode::tensor_partition_reduce,
           PartitionReduce{chip(sbuf, DType::f32, 32, 1, 0, {{1, 12}}),
                           chip(sbuf, DType::bf16, 0, 128, 64, {{1, 12}}), AluOp::average}),
      make(Opcode::nonzero_with_count,
           NonzeroWithCount{chip(sbuf, DType::i32, 0, 128, 0, {{1, 13}}),
                            chip(sbuf, DType::f32, 0, 128, 64, {{1, 12}}), -512, 7}),
      make(Opcode::topk,
           TopK{chip(sbuf, DType::bf16, 0, 64, 0, {{1, 4}}), chip(sbuf, DType::u32, 0, 64, 64, {{1, 4}}),
                chip(sbuf, DType::bf16, 0, 64, 4096, {{1, 500}}), 7990, 50}),
      make(Opcode::rand_set_state, Source{chip(sbuf, DType::u32, 0, 128, 0, {{1, 6}})}),
      make(Opcode::dma_copy,
           DmaCopy{chip(sbuf, DType::f32, 0, 128, 0, {{1, 512}}), rows, 3, DgeMode::software}, {},
           {16, UpdateOperation::sem_inc, UpdateWhen::complete, 0}),
      make(Opcode::dma_transpose,
           DmaTranspose{chip(sbuf, DType::bf16, 0, 128, 64, {{1, 16}}), square, 2, DgeMode::hardware}),
      make(Opcode::dma_compute, compute),
  };
}

using Words = std::vector<Word>;

// The words of one instruction as the bytes that decode() takes.
Instruction decode_words(const Words& words, const std::string& where) {
  return decode(std::as_bytes(std::span(words)), where);
}

std::map<std::string, Words> read_golden() {
  std::ifstream in(NCEMU_SOURCE_DIR "/tests/golden/isa/words.txt");
  std::map<std::string, Words> words;
  std::string line, current;
  std::size_t at = 0;
  while (std::getline(in, line)) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] != ' ') {
      current = line;
      words[current] = {Word{}};
      at = 0;
      continue;
    }
    std::istringstream bytes(line.substr(0, line.find('|')));
    for (std::string byte; bytes >> byte; ++at) {
      Words& written = words[current];
      if (at == written.size() * word_bytes) written.emplace_back();
      written.back().at(at % word_bytes) = static_cast<std::byte>(std::stoi(byte, nullptr, 16));
    }
  }
  return words;
}

Word word_of(Opcode opcode) {
  for (const Instruction& i : golden_instructions()) {
    if (i.opcode == opcode) return encode(i);
  }
  throw std::runtime_error("no such golden instruction");
}

std::string decode_error(const Word& word) {
  try {
    (void)decode(word, "k.ncb: tensor instruction 3");
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::input);
    return fault.what();
  }
  return "";
}

// decode() gave a result or a Fault about the input, and a result encodes to the same word.
bool decodes_to_itself(const Words& words) {
  try {
    return encode_words(decode_words(words, "word")) == words;
  } catch (const Fault& fault) {
    return fault.kind() == FaultKind::input;
  }
}

}  // namespace

TEST_CASE("one instruction of each operand form has the word that the layout describes") {
  const auto golden = read_golden();
  std::set<std::size_t> forms;
  for (const Instruction& i : golden_instructions()) {
    const std::string mnemonic(info(i.opcode).mnemonic);
    CAPTURE(mnemonic);
    REQUIRE(golden.contains(mnemonic));
    CHECK(encode_words(i) == golden.at(mnemonic));
    CHECK(decode_words(golden.at(mnemonic), "golden") == i);
    forms.insert(i.operands.index());
  }
  CHECK(golden.size() == golden_instructions().size());
  CHECK(forms.size() == std::variant_size_v<Operands>);
}

TEST_CASE("100,000 random legal instructions survive encoding and decoding") {
  for (const std::string_view machine : {"trn1", "trn2"}) {
    const std::uint64_t seed = 20240601;
    CAPTURE(machine);
    CAPTURE(seed);
    test::RandomInstructions random(seed, *find_target(machine));
    std::set<Opcode> seen;
    std::size_t different = 0;
    for (int i = 0; i < 50000; ++i) {
      const Instruction instruction = random.next().instruction;
      const Words words = encode_words(instruction);
      const Instruction back = decode_words(words, "word");
      // NaN immediates differ from themselves, their bits do not.
      if (encode_words(back) != words || back.opcode != instruction.opcode || back.wait != instruction.wait ||
          back.update != instruction.update) {
        ++different;
      }
      bool has_nan = false;
      for_each_field(instruction.operands, [&](std::string_view, const auto& field, Role) {
        using T = std::decay_t<decltype(field)>;
        if constexpr (std::is_same_v<T, float>) has_nan = has_nan || std::isnan(field);
        if constexpr (std::is_same_v<T, ScalarOperand>) {
          const auto* f = std::get_if<float>(&field);
          has_nan = has_nan || (f != nullptr && std::isnan(*f));
        }
      });
      if (!has_nan && !(back == instruction)) ++different;
      seen.insert(instruction.opcode);
    }
    CHECK(different == 0);
    const auto exists = [&](const InstructionInfo& row) {
      return !row.engines(random.program().target.generation).empty();
    };
    CHECK(std::ranges::count_if(all_instructions(), exists) == static_cast<std::ptrdiff_t>(seen.size()));
  }
}

TEST_CASE("random bytes are refused or decode to an instruction of the same word") {
  std::mt19937_64 random(7);
  std::size_t wrong = 0;
  for (int i = 0; i < 100000; ++i) {
    Word word{};
    for (std::byte& b : word) b = static_cast<std::byte>(random());
    // An opcode of the table, else nearly every word ends at its first byte.
    const auto& row = all_instructions()[random() % all_instructions().size()];
    if (i % 2 == 0) word[0] = static_cast<std::byte>(row.opcode), word[1] = {};
    if (!decodes_to_itself({word})) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a legal word with any byte changed is refused or decodes to an instruction of the same word") {
  test::RandomInstructions random(11, *find_target("trn2"));
  std::size_t wrong = 0;
  for (int i = 0; i < 500; ++i) {
    const Words words = encode_words(random.next().instruction);
    for (std::size_t at = 0; at < words.size() * word_bytes; ++at) {
      for (const unsigned bits : {0x01U, 0x80U, 0xFFU, 1U + static_cast<unsigned>(random.below(255))}) {
        Words changed = words;
        changed[at / word_bytes][at % word_bytes] ^= static_cast<std::byte>(bits);
        if (!decodes_to_itself(changed)) ++wrong;
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a refused word names the byte and the field") {
  Word word = word_of(Opcode::tensor_tensor);
  word[0] = std::byte{0xEE};
  CHECK(decode_error(word) ==
        "k.ncb: tensor instruction 3: byte 0 of the instruction word (opcode): found 238, expected a code of "
        "the "
        "instruction table");

  word = word_of(Opcode::tensor_tensor);
  word[49] = std::byte{14};
  CHECK(decode_error(word).find("byte 49 of the instruction word (src0 type): found 14, expected 0 to 13") !=
        std::string::npos);

  word = word_of(Opcode::tensor_tensor);
  word[48] = std::byte{2};  // HBM is no memory of a data path operand
  CHECK(decode_error(word).find("byte 48 of the instruction word (src0 space)") != std::string::npos);

  word = word_of(Opcode::matmul);
  word[80] = std::byte{2};
  CHECK(decode_error(word).find("byte 80 of the instruction word (accumulate): found 2, expected 0 or 1") !=
        std::string::npos);

  word = word_of(Opcode::matmul);
  word[127] = std::byte{1};
  CHECK(decode_error(word).find("byte 127 of the instruction word (reserved): found 1, expected 0") !=
        std::string::npos);
}

TEST_CASE("an instruction of several words needs exactly the words that its header and sources give") {
  DmaCompute compute;
  compute.dst = compute.sources[0].src = chip(Space::sbuf, DType::f32, 0, 1, 0, {{1, 4}});
  for (std::size_t sources = 1; sources <= DmaCompute::most_sources; ++sources) {
    compute.sources.resize(sources, compute.sources[0]);
    Words words = encode_words(make(Opcode::dma_compute, compute));
    CHECK(words.size() == 1 + sources / 2);  // one in the first, two in each further
    CHECK(word_count(words[0]) == words.size());
    CHECK(std::get<DmaCompute>(decode_words(words, "word").operands).sources.size() == sources);
    words.emplace_back();
    CHECK_THROWS_AS(decode_words(words, "word"), Fault);
    words.resize(words.size() - 2);
    if (!words.empty()) CHECK_THROWS_AS(decode_words(words, "word"), Fault);
  }
}

TEST_CASE("fields without meaning must be zero") {
  const Word nop = encode(make(Opcode::nop, NoOperands{}));
  for (const std::size_t at : {2U, 3U, 4U, 6U, 8U, 10U, 11U, 12U, 15U, 16U}) {
    CAPTURE(at);
    Word word = nop;
    word[at] = std::byte{1};
    CHECK_FALSE(decode_error(word).empty());
  }
  Word word = nop;
  word[14] = std::byte{2};
  CHECK(decode_error(word).find("words") != std::string::npos);
}

TEST_CASE("an offset beyond 56 bits is refused with the mnemonic") {
  HbmPattern far;
  far.offset = std::int64_t{1} << 55;
  try {
    (void)encode(make(Opcode::dma_copy, DmaCopy{AccessPattern{}, far, 0, DgeMode::static_}));
    FAIL("encoded");
  } catch (const Fault& fault) {
    CHECK(std::string(fault.what()).find("dma_copy") == 0);
  }
  far.offset = -(std::int64_t{1} << 55);
  const Instruction i = make(Opcode::dma_copy, DmaCopy{AccessPattern{}, far, 0, DgeMode::static_});
  CHECK(decode(encode(i), "word") == i);
}

TEST_CASE("the description gives every operand the offset that the encoder uses") {
  const std::string text = describe_encoding();
  for (const InstructionInfo& row : all_instructions()) {
    CAPTURE(row.mnemonic);
    CHECK(text.find(std::string(row.mnemonic) + " (0x") != std::string::npos);
  }
  // By hand: 16 header, two patterns of 32, then op0, scalar0 (8), reverse0, op1, scalar1.
  CHECK(text.find("    91     8  scalar1          scalar operand") != std::string::npos);
  CHECK(text.find("   112     1  queue            u8") != std::string::npos);
}
