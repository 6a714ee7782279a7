#include "emu/data/vector_target.h"

#include <cstdint>

#include "emu/data/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/data/vector_target.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ncemu::HWY_NAMESPACE {

// The target that dispatch really reaches.
std::int64_t this_target() { return HWY_TARGET; }

}  // namespace ncemu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "isa/fault.h"

namespace ncemu {
namespace {

HWY_EXPORT(this_target);

constexpr std::int64_t plain = HWY_SCALAR | HWY_EMU128;

struct NamedTarget {
  std::string_view name;
  std::int64_t targets;
};

constexpr NamedTarget named_targets[] = {
    {"scalar", plain}, {"avx2", HWY_AVX2}, {"avx3", HWY_AVX3}, {"neon", HWY_NEON}};

// Compiled, and possible on this host; the plain target always is.
std::int64_t available() { return (hwy::SupportedTargets() | plain) & HWY_TARGETS; }

}  // namespace

void restrict_vector_targets(std::string_view name) {
  if (name == "best") {
    hwy::GetChosenTarget().Update(available());
    return;
  }
  for (const NamedTarget& target : named_targets) {
    if (target.name != name) continue;
    if ((target.targets & available()) == 0) {
      throw Fault(FaultKind::input, "",
                  "this host cannot run the vector target '{}'; 'best' takes what it has", name);
    }
    hwy::GetChosenTarget().Update(target.targets);
    return;
  }
  throw Fault(FaultKind::input, "", "unknown vector target '{}'; known are scalar, avx2, avx3 and best",
              name);
}

std::string vector_target() {
  const std::int64_t current = HWY_DYNAMIC_DISPATCH(this_target)();
  for (const NamedTarget& target : named_targets) {
    if (target.targets & current) return std::string(target.name);
  }
  throw Fault(FaultKind::internal, "ncemu", "internal error: vector target {} has no name", current);
}

}  // namespace ncemu
#endif  // HWY_ONCE
