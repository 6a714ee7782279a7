// numpy's universal functions on the number types: values in fp32, one rounding for each element.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "emu/data/convert.h"
#include "tools/python/module/number_type.h"

namespace ncemu::python {
namespace {

constexpr std::size_t chunk = 256;  // elements computed at a time

using Unary = float (*)(float);
using Binary = float (*)(float, float);
using Test = bool (*)(float);
using Relation = bool (*)(float, float);

template <typename Function>
struct Row {
  const char* name;
  Function function;
};

float sign(float x) { return std::isnan(x) ? x : static_cast<float>((x > 0) - (x < 0)); }
float square(float x) { return x * x; }
float python_remainder(float a, float b) {
  const float r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0F, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
// As numpy does: the quotient of what fmod leaves is a whole number but for its rounding.
float floor_divide(float a, float b) {
  if (b == 0) return a / b;
  const float left = std::fmod(a, b);
  float quotient = (a - left) / b;
  if (left != 0 && (left < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0F, a / b);
  const float whole = std::floor(quotient);
  return quotient - whole > 0.5F ? whole + 1 : whole;
}
float propagating_max(float a, float b) { return std::isnan(a) || a > b ? a : b; }
float propagating_min(float a, float b) { return std::isnan(a) || a < b ? a : b; }
float log_add_exp(float a, float b) {
  if (a == b) return a + std::log(2.0F);
  const float top = std::max(a, b), bottom = std::min(a, b);
  return top + std::log1p(std::exp(bottom - top));
}

// clang-format off
constexpr Row<Unary> unary_rows[] = {
    {"negative",   [](float x) { return -x; }},
    {"positive",   [](float x) { return x; }},
    {"absolute",   [](float x) { return std::fabs(x); }},
    {"fabs",       [](float x) { return std::fabs(x); }},
    {"conjugate",  [](float x) { return x; }},
    {"sign",       &sign},
    {"square",     &square},
    {"reciprocal", [](float x) { return 1 / x; }},
    {"sqrt",       [](float x) { return std::sqrt(x); }},
    {"cbrt",       [](float x) { return std::cbrt(x); }},
    {"rint",       [](float x) { return std::nearbyint(x); }},
    {"floor",      [](float x) { return std::floor(x); }},
    {"ceil",       [](float x) { return std::ceil(x); }},
    {"trunc",      [](float x) { return std::trunc(x); }},
    {"exp",        [](float x) { return std::exp(x); }},
    {"exp2",       [](float x) { return std::exp2(x); }},
    {"expm1",      [](float x) { return std::expm1(x); }},
    {"log",        [](float x) { return std::log(x); }},
    {"log2",       [](float x) { return std::log2(x); }},
    {"log10",      [](float x) { return std::log10(x); }},
    {"log1p",      [](float x) { return std::log1p(x); }},
    {"sin",        [](float x) { return std::sin(x); }},
    {"cos",        [](float x) { return std::cos(x); }},
    {"tan",        [](float x) { return std::tan(x); }},
    {"arcsin",     [](float x) { return std::asin(x); }},
    {"arccos",     [](float x) { return std::acos(x); }},
    {"arctan",     [](float x) { return std::atan(x); }},
    {"sinh",       [](float x) { return std::sinh(x); }},
    {"cosh",       [](float x) { return std::cosh(x); }},
    {"tanh",       [](float x) { return std::tanh(x); }},
    {"arcsinh",    [](float x) { return std::asinh(x); }},
    {"arccosh",    [](float x) { return std::acosh(x); }},
    {"arctanh",    [](float x) { return std::atanh(x); }},
};
constexpr Row<Binary> binary_rows[] = {
    {"add",          [](float a, float b) { return a + b; }},
    {"subtract",     [](float a, float b) { return a - b; }},
    {"multiply",     [](float a, float b) { return a * b; }},
    {"divide",       [](float a, float b) { return a / b; }},
    {"floor_divide", &floor_divide},
    {"remainder",    &python_remainder},
    {"fmod",         [](float a, float b) { return std::fmod(a, b); }},
    {"power",        [](float a, float b) { return std::pow(a, b); }},
    {"maximum",      &propagating_max},
    {"minimum",      &propagating_min},
    {"fmax",         [](float a, float b) { return std::fmax(a, b); }},
    {"fmin",         [](float a, float b) { return std::fmin(a, b); }},
    {"copysign",     [](float a, float b) { return std::copysign(a, b); }},
    {"arctan2",      [](float a, float b) { return std::atan2(a, b); }},
    {"hypot",        [](float a, float b) { return std::hypot(a, b); }},
    {"logaddexp",    &log_add_exp},
};
constexpr Row<Test> test_rows[] = {
    {"isnan",       [](float x) { return std::isnan(x); }},
    {"isinf",       [](float x) { return std::isinf(x); }},
    {"isfinite",    [](float x) { return std::isfinite(x); }},
    {"signbit",     [](float x) { return std::signbit(x); }},
    {"logical_not", [](float x) { return x == 0; }},
};
constexpr Row<Relation> relation_rows[] = {
    {"equal",         [](float a, float b) { return a == b; }},
    {"not_equal",     [](float a, float b) { return a != b; }},
    {"less",          [](float a, float b) { return a < b; }},
    {"less_equal",    [](float a, float b) { return a <= b; }},
    {"greater",       [](float a, float b) { return a > b; }},
    {"greater_equal", [](float a, float b) { return a >= b; }},
    {"logical_and",   [](float a, float b) { return a != 0 && b != 0; }},
    {"logical_or",    [](float a, float b) { return a != 0 || b != 0; }},
    {"logical_xor",   [](float a, float b) { return (a != 0) != (b != 0); }},
};
// clang-format on

struct Strided {
  char* at;
  npy_intp step;
};

template <DType type>
constexpr auto width = static_cast<npy_intp>(size_of(type));

// Elements as fp32, wherever they are.
template <DType type>
void gather(const Strided& from, std::size_t first, std::size_t count, float* values) {
  const char* at = from.at + static_cast<npy_intp>(first) * from.step;
  if (from.step == width<type>) {
    to_f32(type, reinterpret_cast<const std::byte*>(at), values, count);
    return;
  }
  std::array<std::byte, chunk * 4> packed;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(packed.data() + i * static_cast<std::size_t>(width<type>),
                at + static_cast<npy_intp>(i) * from.step, static_cast<std::size_t>(width<type>));
  }
  to_f32(type, packed.data(), values, count);
}

template <DType type>
void scatter(const float* values, std::size_t first, std::size_t count, const Strided& to) {
  char* at = to.at + static_cast<npy_intp>(first) * to.step;
  if (to.step == width<type>) {
    from_f32(type, values, reinterpret_cast<std::byte*>(at), count);
    return;
  }
  std::array<std::byte, chunk * 4> packed;
  from_f32(type, values, packed.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(at + static_cast<npy_intp>(i) * to.step,
                packed.data() + i * static_cast<std::size_t>(width<type>),
                static_cast<std::size_t>(width<type>));
  }
}

// A reduction or an accumulation reads what it has just written: element after element then.
bool depends(const Strided& in, const Strided& out, npy_intp n, npy_intp element) {
  if (in.at == out.at && in.step == out.step && in.step != 0) return false;
  const auto range = [&](const Strided& s) {
    const char *a = s.at, *b = s.at + (n - 1) * s.step;
    return std::pair(std::min(a, b), std::max(a, b) + element);
  };
  const auto [in_begin, in_end] = range(in);
  const auto [out_begin, out_end] = range(out);
  return in_begin < out_end && out_begin < in_end;
}

template <DType type>
void unary_loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void* data) {
  const auto* row = static_cast<const Row<Unary>*>(data);
  const Strided in{args[0], steps[0]}, out{args[1], steps[1]};
  const auto n = static_cast<std::size_t>(dimensions[0]);
  if (n == 0) return;
  const std::size_t most = depends(in, out, dimensions[0], width<type>) ? 1 : chunk;
  std::array<float, chunk> values;
  for (std::size_t done = 0; done < n;) {
    const std::size_t count = std::min(most, n - done);
    gather<type>(in, done, count, values.data());
    for (std::size_t i = 0; i < count; ++i) values[i] = row->function(values[i]);
    scatter<type>(values.data(), done, count, out);
    done += count;
  }
}

template <DType type>
void binary_loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void* data) {
  const auto* row = static_cast<const Row<Binary>*>(data);
  const Strided a{args[0], steps[0]}, b{args[1], steps[1]}, out{args[2], steps[2]};
  const auto n = static_cast<std::size_t>(dimensions[0]);
  if (n == 0) return;
  const bool one_by_one =
      depends(a, out, dimensions[0], width<type>) || depends(b, out, dimensions[0], width<type>);
  const std::size_t most = one_by_one ? 1 : chunk;
  std::array<float, chunk> x, y;
  for (std::size_t done = 0; done < n;) {
    const std::size_t count = std::min(most, n - done);
    gather<type>(a, done, count, x.data());
    gather<type>(b, done, count, y.data());
    for (std::size_t i = 0; i < count; ++i) x[i] = row->function(x[i], y[i]);
    scatter<type>(x.data(), done, count, out);
    done += count;
  }
}

template <DType type>
void test_loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void* data) {
  const auto* row = static_cast<const Row<Test>*>(data);
  for (npy_intp i = 0; i < dimensions[0]; ++i)
    *reinterpret_cast<npy_bool*>(args[1] + i * steps[1]) = row->function(load<type>(args[0] + i * steps[0]));
}

template <DType type>
void relation_loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void* data) {
  const auto* row = static_cast<const Row<Relation>*>(data);
  for (npy_intp i = 0; i < dimensions[0]; ++i) {
    *reinterpret_cast<npy_bool*>(args[2] + i * steps[2]) =
        row->function(load<type>(args[0] + i * steps[0]), load<type>(args[1] + i * steps[1]));
  }
}

// (m, k), (k, n) -> (m, n): sums in fp32, k ascending, one rounding at the end.
template <DType type>
void matmul_loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void*) {
  const npy_intp m = dimensions[1], k = dimensions[2], n = dimensions[3];
  for (npy_intp outer = 0; outer < dimensions[0]; ++outer) {
    const char *a = args[0] + outer * steps[0], *b = args[1] + outer * steps[1];
    char* to = args[2] + outer * steps[2];
    for (npy_intp i = 0; i < m; ++i) {
      for (npy_intp j = 0; j < n; ++j) {
        float sum = 0;
        for (npy_intp l = 0; l < k; ++l)
          sum += load<type>(a + i * steps[3] + l * steps[4]) * load<type>(b + l * steps[5] + j * steps[6]);
        store<type>(to + i * steps[7] + j * steps[8], sum);
      }
    }
  }
}

bool add_loop(PyObject* numpy, const char* name, int number, PyUFuncGenericFunction loop, int* types,
              void* data) {
  PyObject* found = PyObject_GetAttrString(numpy, name);
  if (found == nullptr) return false;
  const bool fine =
      PyUFunc_RegisterLoopForType(reinterpret_cast<PyUFuncObject*>(found), number, loop, types, data) == 0;
  Py_DECREF(found);
  return fine;
}

template <typename Function, std::size_t rows>
bool add_rows(PyObject* numpy, const Row<Function> (&table)[rows], int number, PyUFuncGenericFunction loop,
              int* types) {
  return std::all_of(std::begin(table), std::end(table), [&](const Row<Function>& row) {
    return add_loop(numpy, row.name, number, loop, types, const_cast<Row<Function>*>(&row));
  });
}

template <DType type>
bool add_all(PyObject* numpy) {
  const int t = number_type(type).number;
  int same[] = {t, t, t}, test[] = {t, NPY_BOOL}, relation[] = {t, t, NPY_BOOL};
  return add_rows(numpy, unary_rows, t, &unary_loop<type>, same) &&
         add_rows(numpy, binary_rows, t, &binary_loop<type>, same) &&
         add_rows(numpy, test_rows, t, &test_loop<type>, test) &&
         add_rows(numpy, relation_rows, t, &relation_loop<type>, relation) &&
         add_loop(numpy, "matmul", t, &matmul_loop<type>, same, nullptr);
}

}  // namespace

bool register_ufuncs() {
  PyObject* numpy = PyImport_ImportModule("numpy");
  if (numpy == nullptr) return false;
  const bool fine =
      for_all_number_types([&]<DType type>(const NumberTypeInfo&) { return add_all<type>(numpy); });
  Py_DECREF(numpy);
  return fine;
}

}  // namespace ncemu::python
