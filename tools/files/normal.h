#pragma once

// The quantile function of the normal distribution without libm, so that generated data are the same
// bits on every host.

namespace ncemu {

// 0 < p < 1. Relative error about 1e-15 (Wichura, Algorithm AS 241, PPND16, 1988).
double normal_quantile(double p);

// Natural logarithm of a positive normal number, within a few units in the last place.
double portable_log(double x);

}  // namespace ncemu
