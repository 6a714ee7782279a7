// The command itself, as a user meets it: exit codes, messages, files.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "isa/npy.h"
#include "tests/tools/command/runner.h"
#include "tools/files/file.h"
#include "tools/files/safetensors.h"

using namespace ncemu;
using namespace ncemu::test;
using Json = nlohmann::json;

namespace {

void write_floats(const std::string& name, std::vector<std::int64_t> shape,
                  const std::vector<float>& values) {
  NpyArray array;
  array.shape = std::move(shape);
  array.data.resize(values.size() * 4);
  std::memcpy(array.data.data(), values.data(), array.data.size());
  write_file(directory() + "/" + name, format_npy(array));
}

std::vector<float> floats_of(const std::string& name) {
  const NpyArray array = read_npy(directory() + "/" + name);
  std::vector<float> values(array.data.size() / 4);
  std::memcpy(values.data(), array.data.data(), array.data.size());
  return values;
}

// y = F * x, the multiplication in line 7.
void write_scale() {
  write_source("scale.nca",
               ".param R = 4\n"
               ".param F = 2\n"
               ".input  x : f32[R, 8]\n"
               ".output y : f32[R, 8]\n"
               ".sbuf t : f32[R, 8]\n"
               "dma_copy t, x\n"
               "tensor_scalar t, t, op0 = mult, scalar0 = F\n"
               "dma_copy y, t\n");
}

}  // namespace

TEST_CASE("without a verb the help goes to standard error and the exit code is 2") {
  const Outcome o = ncemu_run("");
  CHECK(o.code == 2);
  CHECK(o.out.empty());
  CHECK(o.says("Usage: ncemu"));
}

TEST_CASE("help and every verb's help go to standard output with exit code 0") {
  CHECK(ncemu_run("help").prints("run      assemble (or load) a kernel and execute it"));
  for (const char* verb : {"run", "check", "asm", "disasm", "isa", "machine"}) {
    CAPTURE(verb);
    const Outcome o = ncemu_run(fmt::format("{} --help", verb));
    CHECK(o.code == 0);
    CHECK(o.err.empty());
    CHECK(o.prints(fmt::format("Usage: ncemu {}", verb)));
    CHECK(ncemu_run(fmt::format("help {}", verb)).out == o.out);
  }
}

TEST_CASE("the version names commit and machine configuration") {
  const Outcome o = ncemu_run("--version");
  CHECK(o.code == 0);
  CHECK(o.out.starts_with("ncemu 0."));
  CHECK(o.prints("(commit "));
  CHECK(o.prints(", machine trn1 "));
}

TEST_CASE("every verb tells the version") {
  for (const char* verb : {"run", "check", "asm", "disasm", "isa", "machine"}) {
    CAPTURE(verb);
    const Outcome o = ncemu_run(fmt::format("{} --version", verb));
    CHECK(o.code == 0);
    CHECK(o.out == ncemu_run("--version").out);
  }
}

TEST_CASE("a misspelt verb or option offers the right one and ends with 2") {
  const Outcome verb = ncemu_run("rum kernel.nca");
  CHECK(verb.code == 2);
  CHECK(verb.says("there is no verb 'rum', did you mean 'run'?"));
  const Outcome option = ncemu_run("run kernel.nca --expekt y=y.npy");
  CHECK(option.code == 2);
  CHECK(option.says("unknown option '--expekt', did you mean '--expect'?"));
  CHECK(ncemu_run("--log-level loud run x").code == 2);
}

TEST_CASE("a run saves what the kernel computed") {
  write_scale();
  write_floats("x.npy", {4, 8}, [] {
    std::vector<float> values;
    for (int i = 0; i < 32; ++i) values.push_back(static_cast<float>(i) - 15.5F);
    return values;
  }());
  remove_file("y.npy");
  const Outcome o = ncemu_run("run scale.nca --in x=x.npy --out y=y.npy");
  CHECK(o.code == 0);
  CHECK(o.err.empty());
  CHECK(o.prints("device time"));
  CHECK(o.prints("host time"));
  CHECK(o.prints("machine        trn1, configuration "));
  const std::vector<float> y = floats_of("y.npy");
  REQUIRE(y.size() == 32);
  for (int i = 0; i < 32; ++i) CHECK(y[static_cast<std::size_t>(i)] == 2 * (static_cast<float>(i) - 15.5F));
}

TEST_CASE("JSON has its schema, accounts for every moment, and differs between runs by host time only") {
  write_scale();
  const Outcome o = ncemu_run("run scale.nca --in x=random:seed=4 --json");
  CHECK(o.code == 0);
  Json first = Json::parse(o.out),
       second = Json::parse(ncemu_run("run scale.nca --in x=random:seed=4 --json").out);
  CHECK(first["schema"] == "ncemu.run/1");
  CHECK(first["passed"] == true);
  CHECK(first["inputs"][0]["source"] == "random:seed=4");
  CHECK(first["engines"].size() == 5);
  const double total = first["device_time_us"];
  CHECK(total > 0);
  for (const Json& engine : first["engines"]) {
    const double sum = engine["busy_us"].get<double>() + engine["stalled_us"].get<double>() +
                       engine["idle_us"].get<double>();
    CHECK(sum == doctest::Approx(total).epsilon(1e-12));
  }
  CHECK(first["dma"]["hbm_read_bytes"] == 4 * 8 * 4);
  CHECK(first["dma"]["hbm_write_bytes"] == 4 * 8 * 4);
  first.erase("host_time_s");
  second.erase("host_time_s");
  CHECK(first == second);
}

TEST_CASE("JSON goes to a file beside the text when a file is named") {
  write_scale();
  remove_file("report.json");
  const Outcome o = ncemu_run("run --json=report.json scale.nca --in x=iota");
  CHECK(o.code == 0);
  CHECK(o.prints("device time"));
  CHECK(Json::parse(text_of(directory() + "/report.json"))["command_line"] ==
        "ncemu run --json=report.json scale.nca --in x=iota");
}

TEST_CASE("missing inputs are listed with an example to paste") {
  write_scale();
  const Outcome o = ncemu_run("run scale.nca");
  CHECK(o.code == 2);
  CHECK(o.says("the kernel needs data for\n  x : f32[4, 8]\nfor example: --in x=random"));
}

TEST_CASE("names that the kernel does not have are errors") {
  write_scale();
  CHECK(ncemu_run("run scale.nca --in z=zeros").says("--in: the kernel has no tensor 'z' (it has: x, y)"));
  CHECK(ncemu_run("run scale.nca --in y=zeros").says("--in: 'y' is an output of the kernel, not an input"));
  CHECK(ncemu_run("run scale.nca --in x=zeros --out x=a.npy")
            .says("--out: 'x' is an input of the kernel, not an output"));
  CHECK(ncemu_run("run scale.nca --in x=zeros --in x=ones").says("--in: 'x' is given twice"));
  CHECK(ncemu_run("run scale.nca --in x=zeros --out y=y.csv").code == 2);
}

TEST_CASE("input files of the wrong shape, cut short or absent end with 2 and name the file") {
  write_scale();
  write_floats("wrong.npy", {8, 4}, std::vector<float>(32));
  const Outcome shape = ncemu_run("run scale.nca --in x=wrong.npy");
  CHECK(shape.code == 2);
  CHECK(shape.says("wrong.npy: 'x' is f32[4, 8], found float32[8, 4]"));

  write_floats("right.npy", {4, 8}, std::vector<float>(32));
  std::vector<std::byte> bytes = read_file(directory() + "/right.npy");
  bytes.resize(bytes.size() - 1);
  write_file(directory() + "/short.npy", bytes);
  const Outcome cut = ncemu_run("run scale.nca --in x=short.npy");
  CHECK(cut.code == 2);
  CHECK(cut.says("short.npy"));

  const Outcome absent = ncemu_run("run scale.nca --in x=absent.npy");
  CHECK(absent.code == 2);
  CHECK(absent.says("absent.npy"));
  CHECK(ncemu_run("run absent.nca").code == 2);
  CHECK(
      ncemu_run("run scale.nca --in x=zeros --out y=no/such/y.npy").says("there is no directory 'no/such'"));
}

TEST_CASE("a mistake in the source is shown at its column and ends with 2") {
  write_source("bad.nca", ".input x : f32[4, 8]\n.sbuf t : f32[4, 8]\ndma_copy u, x\n");
  const Outcome o = ncemu_run("run bad.nca --in x=zeros");
  CHECK(o.code == 2);
  CHECK(o.says("bad.nca:3:10: error:"));
}

TEST_CASE("a result that differs from its reference ends with 1 and shows the worst element") {
  write_scale();
  std::vector<float> twice(32, 2.0F);
  write_floats("two.npy", {4, 8}, twice);
  CHECK(ncemu_run("run scale.nca --in x=ones --expect y=two.npy --bits").code == 0);
  twice[11] = 2.5F;
  write_floats("other.npy", {4, 8}, twice);
  const Outcome o = ncemu_run("run scale.nca --in x=ones --expect y=other.npy");
  CHECK(o.code == 1);
  // Once: in the report, or with JSON on standard output on standard error.
  const std::string text =
      "1 of 32 elements differ; worst at [1, 3]: got 2, expected 2.5 (error 0.5) (other.npy)";
  CHECK(o.prints("y DIFFERS: " + text));
  CHECK(o.out.find(text) == o.out.rfind(text));
  CHECK(o.err.empty());
  const Outcome j = ncemu_run("run scale.nca --in x=ones --expect y=other.npy --json");
  CHECK(j.says(text));
  CHECK(Json::parse(j.out)["failures"] == Json::array({"output 'y': " + text}));
  CHECK(ncemu_run("run scale.nca --in x=ones --expect y=other.npy --rtol 0.2").code == 0);
  CHECK(ncemu_run("run scale.nca --in x=ones --expect y=other.npy --bits --rtol 0.2").code == 2);
}

TEST_CASE("an output that is not written, or not wholly, ends with 1 and is not saved") {
  write_source("none.nca",
               ".input x : f32[4, 8]\n.output y : f32[4, 8]\n.sbuf t : f32[4, 8]\ndma_copy t, x\n");
  remove_file("y.npy");
  const Outcome none = ncemu_run("run none.nca --in x=zeros --out y=y.npy");
  CHECK(none.code == 1);
  CHECK(none.says("output 'y' was never written"));
  CHECK(!exists("y.npy"));

  write_source("part.nca",
               ".input x : f32[4, 8]\n.output y : f32[4, 8]\n.sbuf t : f32[4, 8]\ndma_copy t, x\n"
               "dma_copy y[0:3, :], t[0:3, :]\n");
  const Outcome part = ncemu_run("run part.nca --in x=zeros --out y=y.npy");
  CHECK(part.code == 1);
  CHECK(part.says("output 'y': 8 of 32 elements were never written, the first at y[3, 0]"));
  CHECK(!exists("y.npy"));
}

TEST_CASE("modes without values need no inputs and refuse what would need values") {
  write_scale();
  for (const char* mode : {"timing-only", "check"}) {
    CAPTURE(mode);
    CHECK(ncemu_run(fmt::format("run scale.nca --mode {}", mode)).code == 0);
    const Outcome o = ncemu_run(fmt::format("run scale.nca --mode {} --out y=y.npy", mode));
    CHECK(o.code == 2);
    CHECK(o.says(fmt::format("--out: needs values, and a run in mode {} has none", mode)));
  }
  CHECK(ncemu_run("run scale.nca --mode fast")
            .says("--mode: 'fast' is not one of: functional timed timing-only check"));
}

TEST_CASE("timing-only reports the time of the timed run, functional reports none") {
  write_scale();
  const Json timed = Json::parse(ncemu_run("run scale.nca --in x=iota --json").out);
  const Json alone = Json::parse(ncemu_run("run scale.nca --mode timing-only --json").out);
  const Json functional = Json::parse(ncemu_run("run scale.nca --in x=iota --mode functional --json").out);
  CHECK(timed["core_cycles"] == alone["core_cycles"]);
  CHECK(timed["engines"] == alone["engines"]);
  CHECK(functional["device_time_us"].is_null());
}

TEST_CASE("a run that reaches its limit ends with 1 and says that its figures are partial") {
  write_scale();
  const Outcome o = ncemu_run("run scale.nca --in x=iota --max-instructions 1");
  CHECK(o.code == 1);
  CHECK(o.prints("PARTIAL"));
  CHECK(o.says("limit"));
  const Json json = Json::parse(ncemu_run("run scale.nca --in x=iota --max-instructions 1 --json").out);
  CHECK(json["partial"] == true);
  CHECK(json["passed"] == false);
}

TEST_CASE("a kernel that waits for ever ends with 1, and so does its check") {
  write_source("stuck.nca",
               ".sync manual\n.input x : f32[4, 8]\n.semaphore ready\n.sbuf t : f32[4, 8]\n"
               "dma_copy t, x, wait ready >= 1\n");
  const Outcome run = ncemu_run("run stuck.nca --in x=zeros");
  CHECK(run.code == 1);
  CHECK(run.says("stuck.nca:5"));
  CHECK(ncemu_run("check stuck.nca").code == 1);
}

TEST_CASE("an endless loop ends at --max-time with a partial report") {
  write_source(
      "endless.nca",
      ".sync manual\n.engine vector\nagain:\n  compare_branch r0, 0, op = eq, target = again\n.end\n");
  const Outcome o = ncemu_run("run endless.nca --max-time 0.2");
  CHECK(o.code == 1);
  CHECK(o.prints("PARTIAL"));
  CHECK(o.says("the time limit of 0.2 s of host time"));
}

TEST_CASE("a kernel without instructions is refused") {
  write_source("empty.nca", ".param N = 1\n");
  const Outcome o = ncemu_run("run empty.nca");
  CHECK(o.code == 2);
  CHECK(o.says("has no instructions"));
}

TEST_CASE("a container runs as its source does, and its disassembly assembles to the same container") {
  write_scale();
  CHECK(ncemu_run("asm scale.nca -D F=3 -o scale.ncb").code == 0);
  Json source = Json::parse(ncemu_run("run scale.nca -D F=3 --in x=iota --json").out);
  Json container = Json::parse(ncemu_run("run scale.ncb --in x=iota --json").out);
  CHECK(source["core_cycles"] == container["core_cycles"]);
  CHECK(source["engines"] == container["engines"]);

  const Outcome text = ncemu_run("disasm scale.ncb");
  CHECK(text.code == 0);
  write_source("again.nca", text.out);
  CHECK(ncemu_run("asm again.nca -o again.ncb").code == 0);
  const auto body = [](const std::string& out) {
    return out.substr(out.find('\n'));
  };  // the first line is the name
  CHECK(body(ncemu_run("disasm again.ncb").out) == body(text.out));
  CHECK(ncemu_run("run scale.ncb -D F=3 --in x=iota").says("-D changes a source, but this is a container"));
}

TEST_CASE("a damaged container ends with 2, wherever the damage is") {
  write_scale();
  CHECK(ncemu_run("asm scale.nca -o scale.ncb").code == 0);
  const std::vector<std::byte> bytes = read_file(directory() + "/scale.ncb");
  for (std::size_t at = 0; at < bytes.size(); at += bytes.size() / 12 + 1) {
    auto damaged = bytes;
    damaged[at] ^= std::byte{0x5A};
    write_file(directory() + "/damaged.ncb", damaged);
    CAPTURE(at);
    CHECK(ncemu_run("run damaged.ncb --in x=iota").code == 2);
  }
}

TEST_CASE("a container that is not legal on the chosen machine is refused with the difference") {
  write_scale();
  CHECK(ncemu_run("asm scale.nca -o scale.ncb").code == 0);
  const Outcome o = ncemu_run("run scale.ncb --in x=iota --set target.partitions=2");
  CHECK(o.code == 2);
}

TEST_CASE("unknown machines and parameters end with 2 and name the known ones") {
  write_scale();
  const Outcome machine = ncemu_run("run scale.nca --in x=iota --machine trn9");
  CHECK(machine.code == 2);
  CHECK(machine.says("trn1"));
  const Outcome key = ncemu_run("run scale.nca --in x=iota --set vector.ii_gapp=3");
  CHECK(key.code == 2);
  CHECK(key.says("vector.ii_gap"));
}

TEST_CASE("a changed parameter changes the hash and the time") {
  write_scale();
  const Json plain = Json::parse(ncemu_run("run scale.nca --mode timing-only --json").out);
  const Json slower =
      Json::parse(ncemu_run("run scale.nca --mode timing-only --set dma.l_trig_ns=5000 --json").out);
  CHECK(plain["machine"]["config_hash"] != slower["machine"]["config_hash"]);
  CHECK(slower["core_cycles"] > plain["core_cycles"]);
}

TEST_CASE("tensors come from and go to safetensors files") {
  write_scale();
  std::vector<float> values(32, 1.5F);
  SafeTensor tensor{
      .name = "model.x", .type = SafeType::F32, .shape = {4, 8}, .data = std::vector<std::byte>(128)};
  std::memcpy(tensor.data.data(), values.data(), 128);
  write_file(directory() + "/in.safetensors", write_safetensors(std::span(&tensor, 1)));
  CHECK(ncemu_run("run scale.nca --in x=in.safetensors:model.x --out out.safetensors").code == 0);
  const auto result = read_safetensors(read_file(directory() + "/out.safetensors"), "out");
  REQUIRE(result.size() == 1);
  CHECK(result[0].name == "y");
  std::memcpy(values.data(), result[0].data.data(), 128);
  CHECK(values == std::vector<float>(32, 3.0F));
}

TEST_CASE("--dump shows a tile after the instructions of a line") {
  write_scale();
  const Outcome o = ncemu_run("run scale.nca -D R=1 --in x=iota --dump t@line=7");
  CHECK(o.code == 0);
  CHECK(o.prints("[[ 0  2  4  6  8 10 12 14]]"));
  CHECK(o.prints("scale.nca:7"));
  CHECK(ncemu_run("run scale.nca --in x=iota --dump t@line=2")
            .says("line 2 has no instruction; the nearest that have: 6"));
  CHECK(
      ncemu_run("run scale.nca --in x=iota --dump tt@line=7").says("the kernel has no tensor or tile 'tt'"));
}

TEST_CASE("--first-difference names the first instruction whose result differs, and both values") {
  write_scale();
  const Outcome o = ncemu_run("run scale.nca --in x=iota --first-difference scale.nca --other-define F=3");
  CHECK(o.code == 1);
  CHECK(o.prints("first difference: tensor_scalar on vector, scale.nca:7"));
  CHECK(o.prints("f32[4, 8] at [0, 1]: 2 (bits 0x40000000) and 3 (bits 0x40400000)"));
  const Outcome same =
      ncemu_run("run scale.nca --in x=iota --first-difference scale.nca --other-machine trn2");
  CHECK(same.code == 0);
  CHECK(same.prints("no difference"));
}

TEST_CASE("--first-difference of programs that part compares outputs and names their last writers") {
  write_scale();
  write_source("more.nca",
               ".input x : f32[4, 8]\n.output y : f32[4, 8]\n.sbuf t : f32[4, 8]\ndma_copy t, x\n"
               "tensor_tensor t, t, t, op = mult\ndma_copy y, t\n");
  const Outcome o = ncemu_run("run scale.nca --in x=iota --first-difference more.nca");
  CHECK(o.code == 1);
  CHECK(o.prints(
      "the programs part at tensor_scalar on vector (scale.nca:7:1): the other executes tensor_tensor"));
  CHECK(o.prints("output 'y' differs first at [0, 1]: 2 (bits 0x40000000) and 1 (bits 0x3f800000)"));
  CHECK(o.prints("last written by dma_copy on gpsimd, scale.nca:8"));
  CHECK(o.prints("in the other by dma_copy on gpsimd, more.nca:6"));
}

TEST_CASE("values outside a function's range are a warning with their place, and an error with --strict") {
  write_source("sine.nca",
               ".input x : f32[4, 8]\n.output y : f32[4, 8]\n.sbuf t : f32[4, 8]\ndma_copy t, x\n"
               "activation t, t, func = sin\ndma_copy y, t\n");
  const Outcome fine = ncemu_run("run sine.nca --in x=ones");
  CHECK(fine.code == 0);
  CHECK(fine.err.empty());
  const Outcome warned = ncemu_run("run sine.nca --in x=iota");
  CHECK(warned.code == 0);
  CHECK(warned.says("sine.nca:5:1: warning: activation: inputs outside the valid range of sin"));
  CHECK(warned.says("the first is 4 for t[0, 4]"));  // 4 is the first beyond pi
  CHECK(ncemu_run("run sine.nca --in x=iota --strict").code == 1);
}

TEST_CASE("check prints the memory in use") {
  write_scale();
  const Outcome o = ncemu_run("check scale.nca");
  CHECK(o.code == 0);
  CHECK(o.prints("SBUF          32 of 196608 bytes per partition"));
  CHECK(o.prints("\nfine\n"));
}

TEST_CASE("isa lists every mnemonic and prints pages; an unknown one offers the nearest") {
  CHECK(ncemu_run("isa").prints("tensor_scalar"));
  CHECK(ncemu_run("isa matmul").prints("matmul"));
  CHECK(ncemu_run("isa --encoding").code == 0);
  CHECK(ncemu_run("isa --coverage").prints("nc_find_index8"));
  CHECK(ncemu_run("isa --coverage --json").prints("\"schema\": \"ncemu.coverage/1\""));
  CHECK(ncemu_run("isa --json").code == 2);
  const Outcome o = ncemu_run("isa matmull");
  CHECK(o.code == 2);
  CHECK(o.says("matmul"));
}

TEST_CASE("a machine file printed by the command is the same machine") {
  const Outcome o = ncemu_run("machine trn2 --set vector.ii_gap=11 --toml");
  CHECK(o.code == 0);
  write_source("mine.toml", o.out);
  CHECK(ncemu_run("machine mine.toml --toml").out == o.out);
  CHECK(Json::parse(ncemu_run("machine mine.toml --json").out)["config_hash"] ==
        Json::parse(ncemu_run("machine trn2 --set vector.ii_gap=11 --json").out)["config_hash"]);
  CHECK(ncemu_run("machine").prints("trn1"));
  CHECK(ncemu_run("machine trn1").prints("vector.ii_gap"));
  CHECK(ncemu_run("machine --toml").code == 2);
}

TEST_CASE("host vector code of every kind gives the same result, and an unknown kind is an error") {
  write_scale();
  CHECK(ncemu_run("run scale.nca --in x=random --out y=best.npy").code == 0);
  CHECK(ncemu_run("run scale.nca --in x=random --out y=scalar.npy --vector-target scalar").code == 0);
  CHECK(read_file(directory() + "/best.npy") == read_file(directory() + "/scalar.npy"));
  CHECK(ncemu_run("run scale.nca --in x=random --vector-target mmx").code == 2);
}

TEST_CASE("the report replaces neither the kernel nor a tensor's file, however the path is spelled") {
  write_source("keep.nca",
               ".output y : f32[1, 4]\n.sbuf t : f32[1, 4]\nmemset t, value = 1\ndma_copy y, t\n");
  const std::string before = text_of(directory() + "/keep.nca");
  const Outcome kernel = ncemu_run("run keep.nca --json=./keep.nca");
  CHECK(kernel.code == 2);
  CHECK(kernel.says("--json would replace the kernel"));
  CHECK(ncemu_run("asm keep.nca -o ./keep.nca").code == 2);
  CHECK(text_of(directory() + "/keep.nca") == before);
  CHECK(ncemu_run("run keep.nca --out y=keep.npy --json=keep.npy")
            .says("would replace the file of 'y=keep.npy'"));
  CHECK(ncemu_run("run keep.nca --json=nowhere/r.json").says("there is no directory 'nowhere'"));
}

TEST_CASE("a report that does not arrive is not success") {
  write_source("full.nca",
               ".output y : f32[1, 4]\n.sbuf t : f32[1, 4]\nmemset t, value = 1\ndma_copy y, t\n");
  for (const std::string verb : {"run full.nca", "run full.nca --json", "machine trn1", "isa"}) {
    const std::string command =
        fmt::format("cd '{}' && '{}' {} >/dev/full 2>stderr.txt", directory(), NCEMU_COMMAND, verb);
    const int status = std::system(command.c_str());
    INFO(verb);
    CHECK(WEXITSTATUS(status) == 2);
    CHECK(text_of(directory() + "/stderr.txt").starts_with("standard output: "));
  }
}

TEST_CASE("a kernel may come from a pipe, and one without end is refused") {
  write_source("pipe.nca",
               ".output y : f32[1, 4]\n.sbuf t : f32[1, 4]\nmemset t, value = 1\ndma_copy y, t\n");
  CHECK(ncemu_run("run /dev/stdin < pipe.nca").code == 0);
  CHECK(std::system(fmt::format("cd '{}' && cat pipe.nca | '{}' check /dev/stdin > stdout.txt", directory(),
                                NCEMU_COMMAND)
                        .c_str()) == 0);
  CHECK(ncemu_run("run /dev/zero").code == 2);
  write_source("endless.nca", ".include \"/dev/zero\"\n");
  const Outcome endless = ncemu_run("check endless.nca");
  CHECK(endless.code == 2);
  CHECK(endless.says("is larger than 256 MiB"));
}

TEST_CASE("a machine too large for the host is no bug of the program") {
  write_source("large.nca",
               ".output y : f32[1, 4]\n.sbuf t : f32[1, 4]\nmemset t, value = 1\ndma_copy y, t\n");
  const Outcome outcome = ncemu_run(
      "run large.nca --set target.psum_banks=2147483647 --set target.psum_bank_bytes=2147483647 "
      "--set target.sbuf_partition_bytes=2147483647");
  CHECK(outcome.code == 2);
  CHECK(outcome.says("out of memory"));
}

TEST_CASE("stochastic rounding rounds both ways, repeats with its seed and tells it in the report") {
  write_source("narrow.nca",
               ".input x : f32[128, 64]\n"
               ".output y : bf16[128, 64]\n"
               ".sbuf a : f32[128, 64]\n"
               ".sbuf b : bf16[128, 64]\n"
               "dma_copy a, x\n"
               "tensor_copy b, a\n"
               "dma_copy y, b\n");
  const float value = 1.0F + 1.0F / 512;  // a quarter of a bf16 step above 1
  write_floats("narrow_x.npy", {128, 64}, std::vector<float>(128 * 64, value));
  const auto run = [](const std::string& options, const std::string& file) {
    const Outcome outcome =
        ncemu_run(fmt::format("run narrow.nca --in x=narrow_x.npy --out y={} {}", file, options));
    CHECK(outcome.code == 0);
    return outcome;
  };
  CHECK(run("--stochastic-rounding 7", "first.npy").prints("stochastic, seed 7"));
  run("--stochastic-rounding 7 --mode functional", "again.npy");
  run("--stochastic-rounding 8", "other.npy");
  run("", "nearest.npy");
  const auto bits = [](const std::string& file) {
    const NpyArray array = read_npy(directory() + "/" + file);
    std::vector<std::uint16_t> values(128 * 64);
    std::memcpy(values.data(), array.data.data(), values.size() * 2);
    return values;
  };
  const auto first = bits("first.npy");
  const auto ones = std::count(first.begin(), first.end(), 0x3F80);
  const auto above = std::count(first.begin(), first.end(), 0x3F81);
  CHECK(ones + above == 128 * 64);
  CHECK(above > 128 * 64 / 5);
  CHECK(above < 128 * 64 * 3 / 10);
  CHECK((bits("again.npy") == first));
  CHECK_FALSE((bits("other.npy") == first));
  CHECK((bits("nearest.npy") == std::vector<std::uint16_t>(128 * 64, 0x3F80)));
}

TEST_CASE("an input outside a function's range is a warning at its line, once, with the value") {
  write_source("range.nca",
               ".output y : f32[128, 4]\n"
               ".sbuf x : f32[128, 4]\n"
               "memset x, value = 1.0\n"
               "memset x[:, 3:4], value = 9.0\n"
               ".loop r = 0 .. 5\n"
               "  activation x, x, func = sin\n"
               "  memset x[:, 3:4], value = 9.0\n"
               ".end\n"
               "activation x[:, 0:3], x[:, 0:3], func = sin\n"
               "dma_copy y, x\n");
  const Outcome o = ncemu_run("run range.nca");
  CHECK(o.code == 0);
  CHECK(
      o.says("range.nca:6:3: warning: activation: inputs outside the valid range of sin, the first is 9 for "
             "x[0, 3] (5 times) [ranges]"));
  CHECK_FALSE(o.says("range.nca:9"));
}

TEST_CASE("overlapping live tiles run, the second's value is read, and the run counts as failed") {
  write_source("overlap.nca",
               ".output y : f32[128, 8]\n"
               ".sbuf first : f32[128, 8] @ offset = 64\n"
               ".sbuf second : f32[128, 8] @ offset = 64\n"
               "memset first, value = 1.0\n"
               "memset second, value = 2.0\n"
               "dma_copy y, first\n");
  const Outcome o = ncemu_run("run overlap.nca --out y=overlap.npy");
  CHECK(o.code == 1);
  CHECK(o.says("tile 'second' overlaps the live tile 'first'"));
  const NpyArray y = read_npy(directory() + "/overlap.npy");
  float value = 0;
  std::memcpy(&value, y.data.data(), sizeof value);
  CHECK(value == 2.0F);
  CHECK(ncemu_run("check overlap.nca").code == 1);
}
