// Each function is a few lines over double_math-inl.h, written so that nothing cancels: a result is wrong by
// some 2^-50 before its one rounding to fp32. At -infinity, where a formula reads -infinity x 0, the limit 0
// is returned. NaN gives NaN (assumed; the hardware's answer is not published).

#include "emu/data/activation_functions.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "emu/data/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/data/activation_functions.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "emu/data/alu.h"
#include "emu/data/double_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ncemu::HWY_NAMESPACE {
namespace {

constexpr double root_2 = 0x1.6a09e667f3bcdp+0;
constexpr double root_2_over_pi = 0x1.9884533d43651p-1;
constexpr double two_over_root_pi = 0x1.20dd750429b6dp+0;

// Below this number all functions of the x * sigmoid family are 0 in fp32. The bound keeps x finite.
constexpr double lowest = -1000;

HWY_INLINE DoubleVector one() { return doubles(1.0); }
HWY_INLINE DoubleVector bounded(DoubleVector x) { return hn::Max(x, doubles(lowest)); }

// x / (1 + e^-z): x times the sigmoid of z.
HWY_INLINE DoubleVector times_sigmoid(DoubleVector x, DoubleVector z) {
  return hn::Div(x, hn::Add(one(), exp(hn::Neg(z))));
}

// s (1 + z (1 - s)), s the sigmoid of z: the derivative of x * sigmoid(c x) at z = c x. 1 - s is e^-z s.
HWY_INLINE DoubleVector sigmoid_slope(DoubleVector z) {
  z = hn::Min(bounded(z), doubles(-lowest));
  const DoubleVector e = exp(hn::Neg(z));
  const DoubleVector s = hn::Div(one(), hn::Add(one(), e));
  return hn::Mul(s, hn::Add(one(), hn::Mul(z, hn::Mul(e, s))));
}

// One struct per function; `imm` is prelu's slope.

struct Prelu {
  static HWY_INLINE DoubleVector of(DoubleVector x, double imm) {
    return hn::IfThenElse(hn::Gt(x, doubles(0.0)), x, hn::Mul(doubles(imm), x));
  }
};

struct Sign {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) {
    const DoubleVector up = hn::IfThenElseZero(hn::Gt(x, doubles(0.0)), one());
    return hn::IfThenElse(hn::Lt(x, doubles(0.0)), doubles(-1.0), up);
  }
};

struct Exp {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) { return exp(x); }
};

struct Log {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) { return log(x); }
};

// A square root or quotient of fp32 numbers rounded to double and then to fp32 is the correctly rounded one.
struct Sqrt {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) { return hn::Sqrt(x); }
};

struct Rsqrt {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) { return hn::Div(one(), hn::Sqrt(x)); }
};

struct Reciprocal {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) { return hn::Div(one(), x); }
};

struct Sigmoid {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) { return times_sigmoid(one(), x); }
};

// x Phi(x), Phi(x) = 1 - Phi(-x); the tail's factor e^(-x^2/2) is exact in x^2.
struct Gelu {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) {
    const DoubleVector a = hn::Min(hn::Abs(x), doubles(largest_tail));
    const DoubleVector tail = hn::Mul(exp(hn::Mul(hn::Mul(a, a), doubles(-0.5))), scaled_tail(a));
    const auto negative = hn::Lt(x, doubles(0.0));
    return hn::Mul(hn::IfThenElse(negative, hn::Neg(a), x),
                   hn::IfThenElse(negative, tail, hn::Sub(one(), tail)));
  }
};

// Phi(x) + x phi(x); for x = -a this is e^(-a^2/2) (G(a) - a / sqrt(2 pi)), for x = a it is 1 minus that.
struct GeluDx {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) {
    const DoubleVector a = hn::Min(hn::Abs(x), doubles(largest_tail));
    const DoubleVector steep = exp(hn::Mul(hn::Mul(a, a), doubles(-0.5)));
    const DoubleVector density = hn::Mul(a, doubles(root_2_over_pi / 2));
    const DoubleVector below = hn::Mul(steep, hn::Sub(scaled_tail(a), density));
    return hn::IfThenElse(hn::Lt(x, doubles(0.0)), below, hn::Sub(one(), below));
  }
};

// 0.5 x (1 + tanh u) = x sigmoid(2u).
struct GeluApprxTanh {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) {
    x = bounded(x);
    const DoubleVector cubic = hn::Mul(doubles(0.044715), hn::Mul(x, hn::Mul(x, x)));
    return times_sigmoid(x, hn::Mul(doubles(2 * root_2_over_pi), hn::Add(x, cubic)));
  }
};

constexpr double gelu_sigmoid_factor = 1.702;

struct GeluApprxSigmoid {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) {
    x = bounded(x);
    return times_sigmoid(x, hn::Mul(doubles(gelu_sigmoid_factor), x));
  }
};

struct GeluApprxSigmoidDx {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) {
    return sigmoid_slope(hn::Mul(doubles(gelu_sigmoid_factor), x));
  }
};

struct Silu {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) {
    x = bounded(x);
    return times_sigmoid(x, x);
  }
};

struct SiluDx {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) { return sigmoid_slope(x); }
};

// tanh |x| = -E / (E + 2), E = e^(-2|x|) - 1.
struct Tanh {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) {
    const DoubleVector e = expm1(hn::Mul(doubles(-2.0), hn::Abs(x)));
    return hn::CopySign(hn::Div(hn::Neg(e), hn::Add(e, doubles(2.0))), x);
  }
};

struct Softplus {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) {
    return hn::Add(hn::Max(x, doubles(0.0)), log1p(exp(hn::Neg(hn::Abs(x)))));
  }
};

// With w = e^x, tanh(ln(1 + w)) = w (w + 2) / (w (w + 2) + 2); from x = 40 on it is 1 in double.
struct Mish {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) {
    const DoubleVector w = exp(hn::Min(x, doubles(40.0)));
    const DoubleVector n = hn::Mul(w, hn::Add(w, doubles(2.0)));
    return hn::Mul(bounded(x), hn::Div(n, hn::Add(n, doubles(2.0))));
  }
};

// 2/sqrt(pi) times (-1)^n / (n! (2n + 1)): the remainder is below 2^-51 for |x| <= 1/2.
constexpr double erf_series[] = {1.0,          -1.0 / 3,       1.0 / 10,      -1.0 / 42,
                                 1.0 / 216,    -1.0 / 1320,    1.0 / 9360,    -1.0 / 75600,
                                 1.0 / 685440, -1.0 / 6894720, 1.0 / 76204800};

// Near 0 the series; elsewhere 1 - 2 Phi(-sqrt(2) |x|).
struct Erf {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) {
    const DoubleVector square = hn::Mul(x, x);
    const DoubleVector near = hn::Mul(x, hn::Mul(doubles(two_over_root_pi), polynomial(square, erf_series)));
    const DoubleVector a = hn::Min(hn::Mul(hn::Abs(x), doubles(root_2)), doubles(largest_tail));
    const DoubleVector tail = hn::Mul(exp(hn::Neg(square)), scaled_tail(a));
    const DoubleVector far = hn::CopySign(hn::Sub(one(), hn::Add(tail, tail)), x);
    return hn::IfThenElse(hn::Lt(hn::Abs(x), doubles(0.5)), near, far);
  }
};

struct ErfDx {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) {
    return hn::Mul(doubles(two_over_root_pi), exp(hn::Neg(hn::Mul(x, x))));
  }
};

// The sine itself, also outside the hardware's [-pi, pi] (datasheet 5.3: invalid there).
struct Sin {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) {
    const DoubleVector nan = doubles(std::numeric_limits<double>::quiet_NaN());
    const auto finite = hn::Lt(hn::Abs(x), doubles(std::numeric_limits<double>::infinity()));
    return hn::IfThenElse(finite, sin(x), nan);
  }
};

struct Arctan {
  static HWY_INLINE DoubleVector of(DoubleVector x, double) { return atan(x); }
};

// One vector: which NaN an operation returns differs between hosts, so all become the canonical one.
template <typename Function>
HWY_INLINE void step(double imm, const float* in, float* out) {
  const DoubleVector x = load_doubles(in);
  const DoubleVector value = Function::of(x, imm);
  const auto is_number = hn::And(hn::Eq(x, x), hn::Eq(value, value));
  store_floats(hn::IfThenElse(is_number, value, doubles(std::numeric_limits<double>::quiet_NaN())), out);
}

template <typename Function>
void run(float imm, const float* in, float* out, std::size_t count) {
  const std::size_t lanes = hn::Lanes(Doubles());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) step<Function>(imm, in + i, out + i);
  if (i == count) return;
  float rest[hn::MaxLanes(Doubles())] = {};
  std::memcpy(rest, in + i, (count - i) * sizeof(float));
  step<Function>(imm, rest, rest);
  std::memcpy(out + i, rest, (count - i) * sizeof(float));
}

void all_activations(ActivationFunction function, float imm, const float* in, float* out, std::size_t count) {
  using F = ActivationFunction;
  switch (function) {
    // clang-format off
    case F::prelu:                 return run<Prelu>(imm, in, out, count);
    case F::sign:                  return run<Sign>(imm, in, out, count);
    case F::exp:                   return run<Exp>(imm, in, out, count);
    case F::log:                   return run<Log>(imm, in, out, count);
    case F::sqrt:                  return run<Sqrt>(imm, in, out, count);
    case F::rsqrt:                 return run<Rsqrt>(imm, in, out, count);
    case F::reciprocal:            return run<Reciprocal>(imm, in, out, count);
    case F::sigmoid:               return run<Sigmoid>(imm, in, out, count);
    case F::gelu:                  return run<Gelu>(imm, in, out, count);
    case F::gelu_dx:               return run<GeluDx>(imm, in, out, count);
    case F::gelu_apprx_tanh:       return run<GeluApprxTanh>(imm, in, out, count);
    case F::gelu_apprx_sigmoid:    return run<GeluApprxSigmoid>(imm, in, out, count);
    case F::gelu_apprx_sigmoid_dx: return run<GeluApprxSigmoidDx>(imm, in, out, count);
    case F::silu:                  return run<Silu>(imm, in, out, count);
    case F::silu_dx:               return run<SiluDx>(imm, in, out, count);
    case F::tanh:                  return run<Tanh>(imm, in, out, count);
    case F::softplus:              return run<Softplus>(imm, in, out, count);
    case F::mish:                  return run<Mish>(imm, in, out, count);
    case F::erf:                   return run<Erf>(imm, in, out, count);
    case F::erf_dx:                return run<ErfDx>(imm, in, out, count);
    case F::sin:                   return run<Sin>(imm, in, out, count);
    case F::arctan:                return run<Arctan>(imm, in, out, count);
    case F::copy: case F::square: case F::relu: case F::abs: break;  // the ALU's
      // clang-format on
  }
}

}  // namespace
}  // namespace ncemu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ncemu {

HWY_EXPORT(all_activations);

void apply(ActivationFunction function, float imm, const float* in, float* out, std::size_t count) {
  // What the ALU does exactly, in fp32.
  if (function == ActivationFunction::copy) return apply(AluOp::bypass, in, in, out, count);
  if (function == ActivationFunction::square) return apply(AluOp::square, in, in, out, count);
  if (function == ActivationFunction::relu) return apply(AluOp::relu, in, in, out, count);
  if (function == ActivationFunction::abs) return apply(AluOp::abs, in, in, out, count);
  HWY_DYNAMIC_DISPATCH(all_activations)(function, imm, in, out, count);
}

ValidRange valid_range(ActivationFunction function) {
  constexpr float pi = 3.14159274F;  // the nearest fp32 number
  constexpr float unbounded = std::numeric_limits<float>::infinity();
  constexpr bool value = false, magnitude = true;
  static constexpr ValidRange ranges[] = {
#define FUNCTION(name, formula, low, high, what) {low, high, what},
#include "isa/functions.def"
#undef FUNCTION
  };
  return ranges[static_cast<std::size_t>(function)];
}

}  // namespace ncemu
#endif  // HWY_ONCE
