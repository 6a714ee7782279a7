#include <filesystem>
#include <fstream>

#include "tests/isa/asm/assemble.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// What a source does at assembly time, seen through `register_move r0, value` on the sync stream.
std::vector<std::int64_t> trace(const std::string& text, const AssembleOptions& options = {}) {
  const Program p = assembled(".sync manual\n" + text, options);
  std::vector<std::int64_t> values;
  for (const Instruction& i : p.stream(Engine::sync)) {
    if (const auto* move = std::get_if<RegisterMove>(&i.operands))
      values.push_back(std::get<std::int32_t>(move->src));
  }
  return values;
}

using Values = std::vector<std::int64_t>;

// Files in a directory of their own, removed at the end.
class Directory {
 public:
  explicit Directory(const std::string& name) : path_(std::filesystem::temp_directory_path() / name) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE(".for counts up by its step and down by a negative one, and never reaches its end") {
  CHECK(trace(".for i in 0 .. 3\nregister_move r0, i\n.end\n") == Values{0, 1, 2});
  CHECK(trace(".for i in 2 .. 9 step 3\nregister_move r0, i\n.end\n") == Values{2, 5, 8});
  CHECK(trace(".for i in 3 .. 0 step -2\nregister_move r0, i\n.end\n") == Values{3, 1});
  CHECK(trace(".for i in 5 .. 5\nregister_move r0, i\n.end\n").empty());
  CHECK(trace(".for i in 9223372036854775806 .. 9223372036854775807\nregister_move r0, 1\n.end\n") ==
        Values{1});
}

TEST_CASE(".if takes the first branch whose condition holds") {
  const std::string text =
      ".for i in 0 .. 4\n.if i == 0\nregister_move r0, 10\n.elif i % 2 == 1\nregister_move r0, 11\n"
      ".else\nregister_move r0, 12\n.end\n.end\n";
  CHECK(trace(text) == Values{10, 11, 12, 11});
}

TEST_CASE("a name given in a branch belongs to the block around it") {
  CHECK(trace(".if true\n.let x = 1\n.else\n.let x = 2\n.end\nregister_move r0, x\n") == Values{1});
  CHECK(trace(".let x = 5\n.for i in 0 .. 2\n.if i == 1\n.let x = 6\n.end\nregister_move r0, x\n.end\n") ==
        Values{5, 6});
}

TEST_CASE(".let is fixed in its block and may hide an outer name") {
  CHECK(trace(".let x = 1\n.scope\n.let x = x + 1\nregister_move r0, x\n.end\nregister_move r0, x\n") ==
        Values{2, 1});
  CHECK(contains(errors(".let x = 1\n.let x = 2\n"), "'x' exists already in this block"));
}

TEST_CASE(".set changes the counter of the block that made it") {
  const std::string text =
      ".set u = 0\n.for i in 0 .. 3\n.if i != 1\n.set u = u + 10\n.end\n.end\nregister_move r0, u\n"
      ".scope\n.set v = 1\n.set v = v + 1\nregister_move r0, v\n.end\n";
  CHECK(trace(text) == Values{20, 2});
  CHECK(contains(errors(".let x = 1\n.set x = 2\n"), "'x' is not a counter"));
}

TEST_CASE("macro parameters are values and its names are its own") {
  const std::string text =
      ".macro m(a, b)\n.let t = a * b\nregister_move r0, t\n.end\n.let t = 100\nm(2, 3)\nm(t, "
      "1)\nregister_move r0, t\n";
  CHECK(trace(text) == Values{6, 100, 100});
}

TEST_CASE("a macro may call itself and finds its names again") {
  const std::string text =
      ".macro down(n)\n.let before = n\n.if n > 0\ndown(n - 1)\n.end\nregister_move r0, "
      "before\n.end\ndown(3)\n";
  CHECK(trace(text) == Values{0, 1, 2, 3});
  CHECK(contains(errors(".macro m()\nm()\n.end\nm()\n"), "nested more than 64 deep"));
}

TEST_CASE("a macro takes views, arrays of tiles and words") {
  const Program p = assembled(
      ".macro fill(tile, array, word)\n  memset tile, value = 1.0\n"
      "  tensor_scalar array[1], tile, op0 = word, scalar0 = 2.0\n.end\n"
      ".sbuf t : f32[128, 4]\n.sbuf a[2] : f32[128, 4]\nfill(t, a, max)\n");
  CHECK(std::get<TensorScalar>(all_of(p, Opcode::tensor_scalar).at(0).operands).op0 == AluOp::max);
}

TEST_CASE("-D replaces a parameter's default") {
  const std::string text =
      ".param M = 4\n.param T = bf16\n.param F = exp\n.param S = 1.0\nregister_move r0, M * sizeof(T)\n"
      ".if F == \"log\" and S == 0.5\nregister_move r0, 99\n.end\n";
  CHECK(trace(text) == Values{8});
  AssembleOptions options;
  options.params = {{"M", "2 * 8"}, {"T", "f32"}, {"F", "log"}, {"S", "0.5"}};
  CHECK(trace(text, options) == Values{64, 99});
}

TEST_CASE("-D names what the kernel has and values of its kind") {
  AssembleOptions options;
  options.params = {{"SIZ", "1"}};
  CHECK(contains(errors(".param SIZE = 4\n", options), "did you mean 'SIZE'?"));
  options.params = {{"SIZE", "bf16"}};
  CHECK(contains(errors(".param SIZE = 4\n", options),
                 "parameter 'SIZE' is the integer 4 by default and cannot become the type bf16"));
  options.params = {{"SIZE", "4 +"}};
  CHECK(contains(errors(".param SIZE = 4\n", options), "-D SIZE:1:4: error: expected a value"));
}

TEST_CASE(".machine is the default and the caller's target comes first") {
  const std::string text = ".machine trn2\nregister_move r0, machine.generation\n";
  CHECK(trace(text) == Values{3});
  AssembleOptions options;
  options.target = find_target("inf2");
  CHECK(trace(text, options) == Values{2});
  options = {};
  options.find_machine = [](std::string_view name) -> std::optional<Target> {
    if (name != "big") return std::nullopt;
    Target t;
    t.psum_banks = 16;
    return t;
  };
  CHECK(trace(".machine big\nregister_move r0, machine.psum_banks\n", options) == Values{16});
}

TEST_CASE(".include stands for the text of the file beside its source") {
  const Directory d("ncemu_include_test");
  d.write("lib/inner.nca", ".macro put(v)\nregister_move r0, v + base\n.end\n");
  d.write("lib/outer.nca", ".include \"inner.nca\"\n");
  const std::string main = d.write("main.nca",
                                   ".sync manual\n.let base = 40\n.include \"lib/outer.nca\"\n"
                                   ".include \"lib/inner.nca\"\nput(2)\n");
  const Assembly a = assemble_file(main);
  REQUIRE_MESSAGE(a.ok(), a.diagnostics.text());
  CHECK(std::get<std::int32_t>(std::get<RegisterMove>(a.program.stream(Engine::sync).at(0).operands).src) ==
        42);
}

TEST_CASE("a file that includes itself is an error, and so is one that is missing") {
  const Directory d("ncemu_cycle_test");
  d.write("b.nca", ".include \"a.nca\"\n");
  const std::string text =
      assemble_file(d.write("a.nca", ".include \"b.nca\"\n.include \"c.nca\"\n")).diagnostics.text();
  CHECK(contains(text, "\"a.nca\" includes itself"));
  CHECK(contains(text, "\"c.nca\" cannot be read"));
  CHECK(
      contains(assemble_file("/nowhere/x.nca").diagnostics.text(), "/nowhere/x.nca: error: cannot be read"));
}

TEST_CASE("buffers rotate, one place per execution of the declaration") {
  const Program p = assembled(".for i in 0 .. 3\n.sbuf t : f32[128, 8], buffers = 2\nmemset t\n.end\n");
  const auto sets = all_of(p, Opcode::memset);
  const auto offset = [&](std::size_t i) { return std::get<Memset>(sets.at(i).operands).dst.offset; };
  CHECK(offset(0) != offset(1));
  CHECK(offset(0) == offset(2));
}

TEST_CASE("tiles are where the source places them") {
  const Program p = assembled(
      ".sbuf a : f32[32, 8] @ partition = 32 offset = 4096\n.psum b : f32[128, 512] @ bank = 3\n"
      "memset a\nmemset b, engine = vector\n");
  const auto sets = all_of(p, Opcode::memset);
  CHECK(std::get<Memset>(sets.at(0).operands).dst.partition == 32);
  CHECK(std::get<Memset>(sets.at(0).operands).dst.offset == 4096);
  CHECK(std::get<Memset>(sets.at(1).operands).dst.space == Space::psum);
  CHECK(std::get<Memset>(sets.at(1).operands).dst.offset == 3 * 2048);
}

TEST_CASE("named operands come in any order, and a scalar is a number, a register or one value per lane") {
  const Program p = assembled(
      ".sbuf t : f32[128, 4]\n.sbuf u : i32[128, 4]\n.sbuf s : f32[128, 1]\n"
      "tensor_scalar t, t, scalar0 = 3, op0 = mult, scalar1 = s, op1 = add\n"
      "tensor_scalar u, u, scalar0 = 3, op0 = bitwise_and\n"
      "tensor_scalar u, u, op0 = bitwise_or, scalar0 = 0xFFFF0000\n"
      "memset u, value = 7\nmemset t, value = 7\n");
  const auto all = all_of(p, Opcode::tensor_scalar);
  const auto first = std::get<TensorScalar>(all.at(0).operands);
  CHECK(std::get<float>(first.scalar0) == 3.0F);
  CHECK(std::holds_alternative<PointerOperand>(first.scalar1));
  CHECK(first.op1 == AluOp::add);
  CHECK(std::get<std::int32_t>(std::get<TensorScalar>(all.at(1).operands).scalar0) == 3);
  CHECK(std::get<std::int32_t>(std::get<TensorScalar>(all.at(2).operands).scalar0) == -65536);
  const auto sets = all_of(p, Opcode::memset);
  CHECK(std::get<std::int32_t>(std::get<Memset>(sets.at(0).operands).value) == 7);
  CHECK(std::get<float>(std::get<Memset>(sets.at(1).operands).value) == 7.0F);
}

TEST_CASE("engine, issuer, queue and mode place the work") {
  const Program p = assembled(
      ".input x : f32[128, 4]\n.sbuf t : f32[128, 4]\n"
      "dma_copy t, x, issuer = scalar, queue = 11\nmemset t, engine = gpsimd\n");
  REQUIRE(all_of(p, Opcode::dma_copy).size() == 1);
  bool found = false;
  for (const Instruction& i : p.stream(Engine::scalar)) found = found || i.opcode == Opcode::dma_copy;
  CHECK(found);
  CHECK(std::get<DmaCopy>(all_of(p, Opcode::dma_copy).at(0).operands).queue == 11);
  found = false;
  for (const Instruction& i : p.stream(Engine::gpsimd)) found = found || i.opcode == Opcode::memset;
  CHECK(found);
}

TEST_CASE("an engine block keeps its labels, branches, waits and signals") {
  const Program p = assembled(
      ".sync manual\n.semaphore ready\n.semaphore done\n.engine vector\n"
      "  nop\n.end\n.engine vector\n"
      "  register_move r1, 0\n"
      "again:\n"
      "  register_alu r1, r1, 1, op = add\n"
      "  compare_branch r1, 10, op = lt, target = again\n"
      "  compare_branch op = always, target = leave\n"
      "  nop\n"
      "leave:\n"
      "  nop wait ready >= 3 signal done += 2 @complete\n"
      "  nop wait S[97] == r5, signal S[4]++ @read\n"
      "  nop signal E[7] set\n.end\n");
  const auto& stream = p.stream(Engine::vector);
  REQUIRE(stream.size() == 9);
  // Targets are indices in the stream: the first block has one instruction.
  CHECK(std::get<CompareBranch>(stream[3].operands).target.index == 2);
  CHECK(std::get<CompareBranch>(stream[4].operands).target.index == 6);
  CHECK(stream[6].wait == Wait{96, Comparison::ge, false, 3});
  CHECK(stream[6].update == Update{97, UpdateOperation::sem_add_imm, UpdateWhen::complete, 2});
  CHECK(stream[7].wait == Wait{97, Comparison::eq, true, 5});
  CHECK(stream[7].update == Update{4, UpdateOperation::sem_inc, UpdateWhen::read, 0});
  CHECK(stream[8].update == Update{7, UpdateOperation::evt_set, UpdateWhen::complete, 0});
  REQUIRE(p.semaphores.size() == 2);
  CHECK(p.semaphores[1].name == "done");
}

TEST_CASE("labels of a macro or a loop body are its own, and see those around it") {
  const Program p = assembled(
      ".macro skip()\n  compare_branch op = always, target = over\n  nop\nover:\n.end\n"
      ".sync manual\n.engine scalar\n  skip()\n  skip()\n"
      "  .for i in 0 .. 2\n    compare_branch op = always, target = out\n  .end\nout:\n.end\n");
  const auto& stream = p.stream(Engine::scalar);
  REQUIRE(stream.size() == 6);
  const auto target = [&](std::size_t i) { return std::get<CompareBranch>(stream[i].operands).target.index; };
  CHECK(target(0) == 2);
  CHECK(target(2) == 4);
  CHECK(target(4) == 6);
  CHECK(target(5) == 6);
}

TEST_CASE("a run-time loop indexes views by its counter") {
  const Program p = assembled(
      ".input x : f32[1024, 64]\n.sbuf t[4] : f32[128, 64]\n.sbuf u : f32[128, 8, 64]\n"
      ".loop r = 0 .. 4\n  dma_copy t[r], x[r*128 + 256:+128, :], issuer = gpsimd, mode = software\n"
      "  tensor_copy u[:, 2*r + 1, :], t[r], engine = vector\n.end\n");
  const auto copy = std::get<DmaCopy>(all_of(p, Opcode::dma_copy).at(0).operands);
  const auto dst = std::get<AccessPattern>(copy.dst);
  const auto src = std::get<HbmPattern>(copy.src);
  CHECK(dst.index.present());
  CHECK(dst.index_step == 64);  // elements from one tile of the array to the next
  CHECK(src.index_step == 128 * 64);
  CHECK(src.offset == 256 * 64);
  const auto unary = std::get<Unary>(all_of(p, Opcode::tensor_copy).at(0).operands);
  CHECK(unary.dst.index_step == 2 * 64);
  CHECK(unary.src.index_step == 64);
}

TEST_CASE("unroll copies the body and leaves the remainder straight") {
  // 7 iterations by 3: two rounds of three copies and one copy behind.
  const Program p = assembled(
      ".sbuf u : f32[128, 8, 64]\n.loop r = 0 .. 7, unroll = 3\n  memset u[:, r, :], engine = "
      "vector\n.end\n");
  const auto sets = all_of(p, Opcode::memset);
  REQUIRE(sets.size() == 4);
  const auto dst = [&](std::size_t i) { return std::get<Memset>(sets.at(i).operands).dst; };
  const std::uint32_t start = dst(0).offset;
  CHECK(dst(0).index.present());
  CHECK(dst(1).offset == start + 256);
  CHECK(dst(2).offset == start + 512);
  CHECK_FALSE(dst(3).index.present());
  CHECK(dst(3).offset == start + 6 * 256);
}

TEST_CASE("a mistake in a loop is reported once, and the other mistakes too") {
  const Assembly a = assemble_text(
      ".sbuf t : f32[128, 4]\n.for i in 0 .. 1000\n  memset t[:, 5]\n  memset u\n.end\nmemse t\n",
      "test.nca");
  CHECK(a.diagnostics.errors() == 3);
}

TEST_CASE("a value that failed is not blamed again where it is used") {
  const Assembly a =
      assemble_text(".let n = 1 / 0\n.let m = n + 1\n.sbuf t : f32[128, m]\nmemset t\n", "test.nca");
  CHECK(a.diagnostics.errors() == 1);
}

TEST_CASE("after fifty errors the assembler stops") {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "nonsense" + std::to_string(i) + "\n";
  const Assembly a = assemble_text(text, "test.nca");
  CHECK(a.diagnostics.errors() == 51);
  CHECK(contains(a.diagnostics.text(), "too many errors"));
}

TEST_CASE("rules and placement speak of the source's lines and macro calls") {
  const std::string text = errors(
      ".sbuf t : f32[128, 4]\n.macro bad(x)\n  tensor_tensor x[48:+48], x[48:+48], "
      "x[48:+48]\n.end\nbad(t)\n");
  CHECK(contains(text, "test.nca:3:3: error:"));
  CHECK(contains(text, "tensor_tensor x[48:+48]"));
  CHECK(contains(text, "test.nca:5:1: note:"));
}

TEST_CASE("tiles that do not fit are an error with the declarations' lines") {
  const std::string text = errors(
      ".sbuf a : u8[128, 98568]\n.sbuf b : u8[128, 98568]\n.sbuf c : u8[128, 888]\nmemset a\nmemset "
      "b\nmemset c\n");
  CHECK(contains(text, "98568"));
  CHECK(contains(text, "196608"));
  CHECK(contains(text, "test.nca:1"));
}

TEST_CASE("a loop without end stops with an error that says so") {
  AssembleOptions options;
  options.most_steps = 100'000;
  CHECK(contains(errors(".for i in 0 .. 1000000000000\n.end\n", options), "runs for too many steps"));
  options = {};
  options.most_instructions = 1000;
  CHECK(contains(errors(".for i in 0 .. 1000000\nnop\n.end\n", options),
                 "more instructions than a program may have"));
}

TEST_CASE(".print records what to show") {
  const Program p = assembled(".sbuf t : f32[128, 4]\nmemset t\n.print t[0:2, :]\n");
  REQUIRE(p.probes.size() == 1);
  CHECK(p.probes[0].label == "t[0:2, :]");
}

TEST_CASE("parameters() lists what a kernel lets its user choose") {
  const Directory d("ncemu_parameters_test");
  const auto list =
      parameters(d.write("k.nca", ".param M = 512   # rows of C\n.param T = bf16\n.let x = M\n"));
  REQUIRE(list.size() == 2);
  CHECK(list[0].name == "M");
  CHECK(list[0].value == "512");
  CHECK(list[0].comment == "rows of C");
  CHECK(list[1].comment.empty());
}
