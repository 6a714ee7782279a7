// Small kernels, synchronised by hand, whose races are argued in their names.

#include "emu/observe/races.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "emu/machine/machine.h"
#include "emu/observe/sync_misuse.h"
#include "isa/asm/assembler.h"

using namespace ncemu;

namespace {

Program assembled(const std::string& text) {
  AssembleOptions options;
  options.target = find_target("trn1");
  Assembly a = assemble_text(
      ".sync manual\n.semaphore s\n.semaphore q\n.semaphore back\n"
      ".input x : f32[128, 64]\n.output y : f32[128, 64]\n"
      ".sbuf a : f32[128, 64]\n.sbuf b : f32[128, 64]\n.sbuf c : f32[128, 64]\n" +
          text,
      "test.nca", options);
  REQUIRE_MESSAGE(a.ok(), a.diagnostics.text());
  return std::move(a.program);
}

std::vector<Finding> check(const Program& program, Mode mode) {
  RaceObserver observer(program);
  RunOptions options;
  options.mode = mode;
  Machine machine(builtin_machine(program.target.machine), program, options);
  machine.add(observer);
  machine.run();
  return observer.findings();
}

// The same in every mode.
std::vector<Finding> check(const std::string& text) {
  const Program program = assembled(text);
  const std::vector<Finding> findings = check(program, Mode::check);
  for (const Mode mode : {Mode::functional, Mode::timed, Mode::timing_only}) {
    const std::vector<Finding> others = check(program, mode);
    REQUIRE(others.size() == findings.size());
  }
  return findings;
}

std::size_t races(const std::string& text) {
  const auto findings = check(text);
  return static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(),
                                                [](const Finding& f) { return f.kind == CheckKind::races; }));
}

std::string only(const std::vector<Finding>& findings) {
  REQUIRE(findings.size() == 1);
  return findings.front().message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string vector_writes = "memset a, value = 1.0, engine = vector";
const std::string gpsimd_reads = "tensor_copy b, a, engine = gpsimd";

}  // namespace

TEST_CASE("a read of another engine's result is a race without a wait, or with one for the end of reading") {
  CHECK(races(vector_writes + " signal s ++ @complete\n" + gpsimd_reads + " wait s >= 1\n") == 0);
  CHECK(races(vector_writes + "\n" + gpsimd_reads + "\n") == 1);
  CHECK(races(vector_writes + " signal s ++ @read\n" + gpsimd_reads + " wait s >= 1\n") == 1);
  CHECK(races(vector_writes + " signal s ++ @complete\n" + gpsimd_reads + " wait s >= 0\n") == 1);
}

TEST_CASE("a write over what another engine reads may follow the end of its reading") {
  const std::string read = "tensor_copy b, a, engine = gpsimd";
  CHECK(races(read + " signal s ++ @read\n" + vector_writes + " wait s >= 1\n") == 0);
  CHECK(races(read + "\n" + vector_writes + "\n") == 1);
}

TEST_CASE("on one engine only a read of an earlier result needs a wait") {
  const std::string second = "tensor_copy b, a, engine = vector";
  CHECK(races(vector_writes + "\n" + second + "\n") == 1);
  CHECK(races(vector_writes + " signal s ++ @complete\n" + second + " wait s >= 1\n") == 0);
  CHECK(races(vector_writes + "\n" + vector_writes + "\n") == 0);
  CHECK(races(second + "\n" + vector_writes + "\n") == 0);
  CHECK(races(vector_writes + "\ndrain engine = vector\n" + second + "\n") == 0);
}

TEST_CASE("matmuls into one PSUM word and the weights before them need no wait") {
  const std::string operands = ".psum p : f32[128, 64]\n.sbuf w : bf16[128, 128]\n.sbuf m : bf16[128, 64]\n";
  CHECK(races(operands +
              "load_stationary w\nmatmul p, m\nmatmul p, m, accumulate = true\nload_stationary w\n") == 0);
  CHECK(races(operands + "load_stationary w\nmatmul p, m\ntensor_copy a, p, engine = vector\n") == 1);
  CHECK(races(operands + "load_stationary w\nmatmul p, m signal s ++ @complete\n"
                         "tensor_copy a, p, engine = vector wait s >= 1\n") == 0);
}

TEST_CASE(
    "a semaphore says nothing about the data path when the sequencer signals it, but does after a drain") {
  const std::string signal = "event_semaphore engine = vector signal s ++ @complete\n";
  CHECK(races(vector_writes + "\n" + signal + gpsimd_reads + " wait s >= 1\n") == 1);
  CHECK(races(vector_writes + "\ndrain engine = vector\n" + signal + gpsimd_reads + " wait s >= 1\n") == 0);
  CHECK(races(vector_writes + "\ndrain engine = vector signal s ++ @complete\n" + gpsimd_reads +
              " wait s >= 1\n") == 0);
}

TEST_CASE("bytes between each other and lanes beside each other do not race") {
  CHECK(races("memset a[:, 0:64:2], value = 1.0, engine = vector\n"
              "tensor_copy b[:, 0:32], a[:, 1:64:2], engine = gpsimd\n") == 0);
  CHECK(races("memset a[:, 0:64:2], value = 1.0, engine = vector\n"
              "tensor_copy b[:, 0:16], a[:, 0:64:4], engine = gpsimd\n") == 1);
  CHECK(races("memset a[0:32, :], value = 1.0, engine = vector\n"
              "tensor_copy b[0:32, :], a[32:64, :], engine = gpsimd\n") == 0);
}

TEST_CASE("a transfer is over when all its 16 increments have come") {
  const std::string load = "dma_copy a, x signal s ++\n";
  const std::string use = "tensor_copy b, a, engine = vector wait s >= ";
  CHECK(races(load + use + "16\n") == 0);
  CHECK(races(load + use + "15\n") == 1);
}

TEST_CASE("two transfers in flight on one semaphore are known by their sum only") {
  const std::string loads = "dma_copy a, x signal s ++\ndma_copy c, x signal s ++\n";
  const std::string use = "tensor_copy b, a, engine = vector wait s >= ";
  CHECK(races(loads + use + "16\n") == 1);
  CHECK(races(loads + use + "31\n") == 1);
  CHECK(races(loads + use + "32\n") == 0);
  // The issuer has waited for the first before it triggers the second.
  CHECK(races("dma_copy a, x signal s ++\ndma_copy c, x wait s >= 16 signal s ++\n" + use + "16\n") == 0);
}

TEST_CASE("a thousand transfers in flight on one semaphore are judged in no time") {
  const int n = 1000;
  std::string loads, uses;
  for (int i = 0; i < n; ++i) {
    const std::string part = "a[:, " + std::to_string(i % 64) + ":+1]";
    loads += "dma_copy " + part + ", x[:, 0:1], queue = " + std::to_string(i % 16) + " signal s ++\n";
    uses += "tensor_copy b[:, 0:1], " + part + ", engine = vector wait s >= " + std::to_string(16 * i + 16) +
            "\n";
  }
  const Program one_by_one = assembled(loads + uses);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(!check(one_by_one, Mode::check).empty());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));  // loosely: n cubed takes longer
}

TEST_CASE("two transfers of one queue are not ordered by the queue") {
  CHECK(races("dma_copy a, x, queue = 1\ndma_copy a, x, queue = 1\n") == 1);
  CHECK(races("dma_copy a, x, queue = 1 signal s ++\ndma_copy a, x, queue = 1 wait s >= 16\n") == 0);
  CHECK(races("dma_copy y, a, issuer = gpsimd\ndma_copy y, b, issuer = sync\n") == 1);
}

TEST_CASE("of two producers, a wait for one signal proves neither, a wait for two both") {
  const std::string producers =
      "memset a, value = 1.0, engine = vector signal s ++ @complete\n"
      "memset b, value = 1.0, engine = gpsimd signal s ++ @complete\n";
  CHECK(races(producers + "activation c, a, func = copy wait s >= 1\n") == 1);
  CHECK(races(producers + "activation c, a, func = copy wait s >= 2\n") == 0);
}

TEST_CASE("signals that can only come after the wait do not count against it") {
  // Two producers and a consumer go round; each round waits for the consumer's answer to the last.
  const auto rounds = [](bool answered) {
    std::string text;
    for (int r = 0; r < 3; ++r) {
      const std::string wait = r == 0 || !answered ? "" : " wait back >= " + std::to_string(r);
      text += "memset a, value = 1.0, engine = vector" + wait + " signal s ++ @complete\n";
      text += "memset b, value = 1.0, engine = gpsimd" + wait + " signal s ++ @complete\n";
      text += "activation c, a, func = copy wait s >= " + std::to_string(2 * r + 2) + "\n";
      text += "activation c, b, func = copy signal back ++ @read\n";
    }
    return text;
  };
  CHECK(races(rounds(true)) == 0);
  CHECK(races(rounds(false)) > 0);
}

TEST_CASE("two consumers and two producers that answer each other in every round do not race") {
  // Each wait needs the other engine's signals of its own round, and later ones follow it.
  std::string text;
  for (int r = 0; r < 6; ++r) {
    const std::string full = std::to_string(2 * r + 2), empty = std::to_string(2 * r);
    const std::string wait = r == 0 ? "" : " wait back >= " + empty;
    text += "memset a, value = 1.0, engine = vector" + wait + " signal s ++ @complete\n";
    text += "memset b, value = 1.0, engine = gpsimd" + wait + " signal s ++ @complete\n";
    text += "activation c, a, func = copy wait s >= " + full + " signal back ++ @complete\n";
    text += "dma_copy y, b, issuer = sync wait s >= " + full + " signal q ++\n";
    text += "event_semaphore engine = sync wait q >= " + std::to_string(16 * r + 16) +
            " signal back ++ @complete\n";
  }
  CHECK(races(text) == 0);
}

TEST_CASE("the acquire form orders round after round though the counter goes up and down") {
  std::string text, broken;
  for (int r = 0; r < 4; ++r) {
    const std::string acquire = "event_semaphore engine = gpsimd wait s >= 1 signal s -= 1\n";
    const std::string back =
        r == 0 ? "" : "event_semaphore engine = vector wait back >= 1 signal back -= 1\n";
    text += back + vector_writes + " signal s ++ @complete\n" + acquire + gpsimd_reads +
            " signal back ++ @read\n";
    broken += vector_writes + " signal s ++ @complete\n" + acquire + gpsimd_reads + " signal back ++ @read\n";
  }
  CHECK(check(text).empty());
  CHECK(races(broken) > 0);
}

TEST_CASE("after a clear a semaphore counts anew, and older signals prove nothing") {
  const std::string once =
      vector_writes + " signal s ++ @complete\n" + gpsimd_reads + " wait s >= 1 signal q ++ @complete\n";
  const std::string clear =
      "event_semaphore engine = vector wait q >= 1\nsemaphore_clear first = 96, count = 1, engine = vector\n"
      "event_semaphore engine = vector signal back ++ @complete\n";
  const std::string behind = "event_semaphore engine = gpsimd wait back >= 1\n";
  CHECK(check(once + clear + vector_writes + " signal s ++ @complete\n" + behind + gpsimd_reads +
              " wait s >= 1\n")
            .empty());
  // Without the wait for the clear, gpsimd may still see the first signal.
  CHECK(races(once + clear + vector_writes + " signal s ++ @complete\n" + gpsimd_reads +
              " wait s >= 1\nevent_semaphore engine = scalar wait back >= 1\n") == 1);
}

TEST_CASE("each pair of static instructions is one finding with the number of its executions") {
  const std::string loop =
      ".engine gpsimd\n  register_move r1, 0\nagain:\n  tensor_copy b, a\n"
      "  register_alu r1, r1, 1, op = add\n  compare_branch r1, 5, op = lt, target = again\n.end\n";
  const auto findings = check(vector_writes + "\n" + loop);
  REQUIRE(findings.size() == 1);
  CHECK(findings.front().count == 5);
}

TEST_CASE("the instructions that an unrolled loop makes of one place are one finding") {
  const auto findings = check(
      vector_writes + "\n.for i in 0 .. 7\ntensor_copy b[:, i:+1], a[:, i:+1], engine = gpsimd\n.end\n");
  REQUIRE(findings.size() == 1);
  CHECK(findings.front().count == 7);
}

TEST_CASE("an operand that a register moves races where it is moved to") {
  const auto loop = [](const std::string& column) {
    return ".sbuf t[4] : f32[128, 8]\nmemset t[3], value = 1.0, engine = vector\n"
           ".engine gpsimd\n  register_move r1, " +
           column + "\n  tensor_copy b[:, 0:8], t[r1]\n.end\n";
  };
  CHECK(races(loop("3")) == 1);
  CHECK(races(loop("2")) == 0);
}

TEST_CASE("rows chosen by an index race where they are, if the run has data, else anywhere in the table") {
  const auto kernel = [](const std::string& rows) {
    return assembled(
        ".const numbers : u32[128, 1] = iota\n.inout table : f32[256, 64]\n.sbuf ids : u32[128, 1]\n"
        "dma_copy ids, numbers signal q ++\n"
        "dma_copy table, a, index = ids, issuer = gpsimd wait q >= 16\n"  // rows 0 to 127
        "dma_copy b, table[" +
        rows + ", :]\n");
  };
  for (const Mode mode : {Mode::functional, Mode::timed}) {
    CHECK(check(kernel("128:256"), mode).empty());
    CHECK(check(kernel("0:128"), mode).size() == 1);
  }
  for (const Mode mode : {Mode::timing_only, Mode::check}) {
    CHECK(check(kernel("128:256"), mode).size() == 1);
    CHECK(check(kernel("0:128"), mode).size() == 1);
  }
}

TEST_CASE("a word written through the address window races with what reads it") {
  const std::string word = "write address0 = 0, data0 = 7, engine = sync";
  const std::string read = "tensor_copy b[0:32, 0:4], .ap(sbuf, f32, 0, 32, 0, [[1, 4]]), engine = gpsimd";
  const std::string elsewhere =
      "tensor_copy b[0:32, 0:4], .ap(sbuf, f32, 0, 32, 4, [[1, 4]]), engine = gpsimd";
  CHECK(races(word + "\n" + read + "\n") == 1);
  CHECK(races(word + "\n" + elsewhere + "\n") == 0);
  CHECK(races(word + " signal s ++ @complete\n" + read + " wait s >= 1\n") == 0);
}

TEST_CASE("a race names both instructions, the bytes and what to wait for") {
  const auto findings = check(
      "memset a, value = 1.0, engine = vector signal s ++ @complete\n"
      "memset a[:, 8:16], value = 2.0, engine = vector signal s ++ @complete\n"
      "tensor_copy b[32:64, 0:8], a[32:64, 8:16], engine = gpsimd wait s >= 1\n");
  REQUIRE(findings.size() == 1);
  const Finding& f = findings.front();
  CHECK(contains(f.message, "gpsimd's tensor_copy reads a[32, 8]"));
  CHECK(contains(f.message, "while vector's memset may still be writing it"));
  REQUIRE(f.involved.size() == 2);
  CHECK(f.involved[0].engine == Engine::gpsimd);
  CHECK(f.involved[0].index == 0);
  CHECK(f.involved[1].engine == Engine::vector);
  CHECK(f.involved[1].index == 1);
  CHECK(contains(f.involved[0].says, "reads src a[32, 8]"));
  CHECK(contains(f.involved[0].says, "partitions 32 to 63"));
  CHECK(f.fix == "gpsimd must wait for S[96] (s) >= 2 before its tensor_copy (it waits for 1)");
  CHECK(f.count == 1);
}

TEST_CASE("a race is told in the order of the text, whichever instruction the run came to first") {
  // sync issues its transfer after it has waited for vector, scalar starts at once.
  const auto findings = check(
      "memset c, value = 1.0, engine = vector signal q ++ @complete\n"
      "dma_copy a, x, issuer = sync wait q >= 1 signal s ++\n"
      "activation b, a, func = copy\n");
  REQUIRE(findings.size() >= 1);
  const Finding& f = findings.front();
  CHECK(contains(f.message,
                 "scalar's activation reads a[0, 0] while sync's transfer (dma_copy) may still be writing"));
  CHECK(f.fix == "scalar must wait for S[96] (s) >= 16 before its activation");
}

TEST_CASE("misuse of semaphores: what nobody waits for, what never comes, what may go below zero") {
  CHECK(contains(only(check(vector_writes + " signal s ++ @complete\n")), "no instruction waits for it"));
  CHECK(contains(only(find_impossible_waits(assembled(gpsimd_reads + " wait s >= 1\n"))),
                 "nothing signals it"));
  CHECK(contains(only(find_impossible_waits(assembled(vector_writes + " signal s ++ @complete\n" +
                                                      gpsimd_reads + " wait s >= 2\n"))),
                 "add up to 1"));
  CHECK(contains(only(find_impossible_waits(assembled("memset a, value = 1.0, engine = vector wait s >= 1\n" +
                                                      vector_writes + " signal s ++ @complete\n"))),
                 "only its own later instructions"));
  CHECK(find_impossible_waits(assembled("dma_copy a, x signal s ++\n" + vector_writes + " wait s >= 16\n"))
            .empty());

  const std::string twice = "memset a, value = 1.0, engine = vector signal s ++ @complete\n";
  const std::string taken = "event_semaphore engine = vector signal s -= 1\n";
  CHECK(
      contains(only(check(twice + "drain engine = vector\nevent_semaphore engine = gpsimd signal s -= 1\n")),
               "there may be less in it"));
  CHECK(check(twice + "event_semaphore engine = gpsimd wait s >= 1 signal s -= 1\n").empty());
  CHECK(
      check(twice + "drain engine = vector\nevent_semaphore engine = vector wait s >= 1\n" + taken).empty());
}

TEST_CASE("a clear that may come before or after a signal is reported") {
  const auto findings = check("semaphore_clear first = 96, count = 1, engine = sync\n" + vector_writes +
                              " signal s ++ @complete\n" + gpsimd_reads + " wait s >= 1\n");
  CHECK(std::any_of(findings.begin(), findings.end(),
                    [](const Finding& f) { return contains(f.message, "it may be lost"); }));
}
