#include "emu/observe/finding.h"

#include <array>

namespace ncemu {
namespace {

constexpr auto checks = std::to_array<CheckInfo>({
#define NCEMU_CHECK(name, severity, sentence) {#name, severity, sentence},
#include "emu/observe/checks.def"
#undef NCEMU_CHECK
});

}  // namespace

const CheckInfo& info(CheckKind kind) { return checks.at(static_cast<std::size_t>(kind)); }

}  // namespace ncemu
