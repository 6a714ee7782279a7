#pragma once

// Range reduction of angles so large that pi/2 in double precision no longer does: against the binary digits
// of 2/pi, exactly (after Payne and Hanek). Plain integer code; the same on every host.

#include <cstdint>

namespace ncemu {

// Up to here three parts of pi/2 suffice: the number of quarter turns has at most 20 bits.
inline constexpr double largest_small_angle = 1 << 20;

// The angle is quadrant * pi/2 + rest, |rest| <= pi/4, up to whole turns.
struct LargeAngle {
  std::int64_t quadrant;
  double rest;
};

// Of a finite angle above `largest_small_angle` in magnitude.
LargeAngle reduce_large_angle(float angle);

}  // namespace ncemu
