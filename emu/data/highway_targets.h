#pragma once

// The instruction sets this room compiles vector code for; include it before <hwy/foreach_target.h>.
// One plain target, always present, and those with a fused multiply-add and vectors of fixed size: the
// matrix kernel needs both.

#define HWY_COMPILE_ALL_ATTAINABLE
#define HWY_DISABLED_TARGETS (~(HWY_SCALAR | HWY_EMU128 | HWY_AVX2 | HWY_AVX3 | HWY_NEON))

// In code compiled once per target: is this the plain one?
#define NCEMU_PLAIN_TARGET (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128)
