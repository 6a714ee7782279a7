#include "tools/command/verbs.h"

#include <array>

namespace ncemu::command {
namespace {

// clang-format off
constexpr auto table = std::to_array<Verb>({
    {"run",     run,         "assemble (or load) a kernel and execute it"},
    {"profile", profile,     "run a kernel and report where its time went, why, and what would help"},
    {"diff",    diff,        "say what changed between two profiles"},
    {"test",    test_suite,  "run a suite: results against references, times against limits and baselines"},
    {"sweep",   sweep,       "run a grid of parameters or machines and say what is fastest"},
    {"check",   check,       "legality, synchronisation, deadlock and capacity, without data"},
    {"asm",     assemble,    "assemble a source into a container"},
    {"disasm",  disassemble, "print a container as source"},
    {"isa",     isa,         "list the instructions, or print one's reference page"},
    {"nki",     nki,         "run a Python script whose NKI kernels execute here"},
    {"machine", machine,     "list the machines, or print one's parameters"},
});
// clang-format on

}  // namespace

std::span<const Verb> verbs() { return table; }

}  // namespace ncemu::command
