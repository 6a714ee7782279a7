// The numpy dtypes of the number types: how arrays read, write, compare and print their elements; and casts.

#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>
#include <utility>

#include "emu/data/convert.h"
#include "tools/python/module/number_type.h"

namespace ncemu::python {
namespace {

template <DType type>
constexpr std::size_t width = static_cast<std::size_t>(size_of(type));

template <DType type>
PyObject* get_item(void* data, void*) {
  return make_scalar(type, load_bits<type>(data));
}

template <DType type>
int set_item(PyObject* item, void* data, void*) {
  if (PyObject_TypeCheck(item, number_type(type).scalar)) {
    store_bits<type>(data, bits_of(item));
    return 0;
  }
  if (PyUnicode_Check(item)) {
    PyObject* made = PyObject_CallOneArg(reinterpret_cast<PyObject*>(number_type(type).scalar), item);
    if (made == nullptr) return -1;
    store_bits<type>(data, bits_of(made));
    Py_DECREF(made);
    return 0;
  }
  float value = 0;
  if (!value_of(item, value)) return -1;
  store<type>(data, value);
  return 0;
}

template <DType type>
void swap_bytes(void* at) {
  auto* bytes = static_cast<unsigned char*>(at);
  for (std::size_t i = 0; i < width<type> / 2; ++i) std::swap(bytes[i], bytes[width<type> - 1 - i]);
}

template <DType type>
void copy_swap(void* to, void* from, int swap, void*) {
  if (from != nullptr) std::memcpy(to, from, width<type>);
  if (swap != 0) swap_bytes<type>(to);
}

template <DType type>
void copy_swap_n(void* to, npy_intp to_step, void* from, npy_intp from_step, npy_intp n, int swap, void*) {
  for (npy_intp i = 0; i < n; ++i) {
    char* at = static_cast<char*>(to) + i * to_step;
    if (from != nullptr) std::memmove(at, static_cast<char*>(from) + i * from_step, width<type>);
    if (swap != 0) swap_bytes<type>(at);
  }
}

template <DType type>
npy_bool nonzero(void* data, void*) {
  return load<type>(data) != 0 ? NPY_TRUE : NPY_FALSE;
}

// NaN comes behind all numbers, as numpy sorts.
template <DType type>
int compare(const void* a, const void* b, void*) {
  const float x = load<type>(a), y = load<type>(b);
  if (x < y) return -1;
  if (y < x) return 1;
  return static_cast<int>(std::isnan(x)) - static_cast<int>(std::isnan(y));
}

// The first of the best; a NaN is better than any number.
template <DType type, bool greatest>
int arg_best(void* data, npy_intp n, npy_intp* found, void*) {
  const auto at = [&](npy_intp i) {
    return load<type>(static_cast<char*>(data) + i * static_cast<npy_intp>(width<type>));
  };
  npy_intp best = 0;
  for (npy_intp i = 0; i < n; ++i) {
    if (std::isnan(at(i))) {
      best = i;
      break;
    }
    if (greatest ? at(i) > at(best) : at(i) < at(best)) best = i;
  }
  *found = best;
  return 0;
}

template <DType type>
void dot(void* a, npy_intp a_step, void* b, npy_intp b_step, void* to, npy_intp n, void*) {
  float sum = 0;
  for (npy_intp i = 0; i < n; ++i)
    sum += load<type>(static_cast<char*>(a) + i * a_step) * load<type>(static_cast<char*>(b) + i * b_step);
  store<type>(to, sum);
}

// numpy.arange gives the first two elements.
template <DType type>
int fill(void* data, npy_intp n, void*) {
  auto* at = static_cast<char*>(data);
  const float start = load<type>(at), step = load<type>(at + width<type>) - start;
  for (npy_intp i = 2; i < n; ++i)
    store<type>(at + i * static_cast<npy_intp>(width<type>), start + static_cast<float>(i) * step);
  return 0;
}

template <DType type>
int fill_with_scalar(void* data, npy_intp n, void* value, void*) {
  for (npy_intp i = 0; i < n; ++i)
    std::memcpy(static_cast<char*>(data) + i * static_cast<npy_intp>(width<type>), value, width<type>);
  return 0;
}

template <DType type>
bool make(const NumberTypeInfo& info) {
  NumberType& made = number_type(type);
  PyArray_InitArrFuncs(&made.functions);
  made.functions.getitem = reinterpret_cast<PyArray_GetItemFunc*>(&get_item<type>);
  made.functions.setitem = reinterpret_cast<PyArray_SetItemFunc*>(&set_item<type>);
  made.functions.copyswap = &copy_swap<type>;
  made.functions.copyswapn = &copy_swap_n<type>;
  made.functions.nonzero = &nonzero<type>;
  made.functions.compare = &compare<type>;
  made.functions.argmax = &arg_best<type, true>;
  made.functions.argmin = &arg_best<type, false>;
  made.functions.dotfunc = &dot<type>;
  made.functions.fill = &fill<type>;
  made.functions.fillwithscalar = &fill_with_scalar<type>;
  PyArray_Descr* descr = PyObject_New(PyArray_Descr, &PyArrayDescr_Type);
  if (descr == nullptr) return false;
  PyObject head = descr->ob_base;
  *descr = PyArray_Descr{};
  descr->ob_base = head;
  descr->typeobj = made.scalar;
  Py_INCREF(made.scalar);
  // Not 'f': numpy would write and read bf16 as its own float of the same size.
  descr->kind = 'V';
  descr->type = info.letter;
  descr->byteorder = '=';
  // Only these two touch objects of Python; the rest works without its lock.
  descr->flags = NPY_USE_GETITEM | NPY_USE_SETITEM;
  descr->elsize = static_cast<int>(width<type>);
  descr->alignment = static_cast<int>(width<type>);
  descr->f = &made.functions;
  descr->hash = -1;
  made.number = PyArray_RegisterDataType(descr);
  if (made.number < 0) return false;
  made.descr = PyArray_DescrFromType(made.number);
  return made.descr != nullptr;
}

// ---- casts ----------------------------------------------------------------------------------

constexpr std::size_t chunk = 1024;  // elements converted at a time

// Out of range is the least value, as numpy's own casts give on the hosts we know.
template <typename Integer>
Integer truncated(float value) {
  constexpr auto lowest = static_cast<float>(std::numeric_limits<Integer>::lowest());
  constexpr auto beyond = static_cast<float>(std::numeric_limits<Integer>::max()) + 1.0F;
  if (!(value > lowest - 1.0F) || !(value < beyond)) return std::numeric_limits<Integer>::lowest();
  return static_cast<Integer>(value);
}

// numpy's bool is its 8-bit integer, but other values become it.
struct Truth {
  npy_bool value;
};

template <typename Host>
Host of_float(float value) {
  if constexpr (std::is_same_v<Host, Truth>) {
    return {static_cast<npy_bool>(value != 0 ? NPY_TRUE : NPY_FALSE)};
  } else if constexpr (std::is_integral_v<Host>) {
    return truncated<Host>(value);
  } else {
    return Host(value);
  }
}

struct Half {
  npy_half bits;
};
template <>
Half of_float<Half>(float value) {
  return {static_cast<npy_half>(to_bits(DType::f16, value))};
}

// A complex number's real part, as numpy casts.
template <typename Host>
float to_float(const Host& value) {
  if constexpr (std::is_same_v<Host, Half>) {
    return from_bits(DType::f16, value.bits);
  } else if constexpr (std::is_same_v<Host, Truth>) {
    return value.value != NPY_FALSE ? 1.0F : 0.0F;
  } else if constexpr (requires { value.real(); }) {
    return static_cast<float>(value.real());
  } else {
    return static_cast<float>(value);
  }
}

template <DType type, typename Host>
void cast_to(void* from, void* to, npy_intp n, void*, void*) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<Host*>(to);
  std::array<float, chunk> values;
  for (std::size_t done = 0, all = static_cast<std::size_t>(n); done < all;) {
    const std::size_t count = std::min(chunk, all - done);
    to_f32(type, source + done * width<type>, values.data(), count);
    for (std::size_t i = 0; i < count; ++i) target[done + i] = of_float<Host>(values[i]);
    done += count;
  }
}

template <DType type, typename Host>
void cast_from(void* from, void* to, npy_intp n, void*, void*) {
  const auto* source = static_cast<const Host*>(from);
  auto* target = static_cast<std::byte*>(to);
  std::array<float, chunk> values;
  for (std::size_t done = 0, all = static_cast<std::size_t>(n); done < all;) {
    const std::size_t count = std::min(chunk, all - done);
    for (std::size_t i = 0; i < count; ++i) values[i] = to_float(source[done + i]);
    from_f32(type, values.data(), target + done * width<type>, count);
    done += count;
  }
}

template <DType from_type, DType to_type>
void cast_between(void* from, void* to, npy_intp n, void*, void*) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  std::array<float, chunk> values;
  for (std::size_t done = 0, all = static_cast<std::size_t>(n); done < all;) {
    const std::size_t count = std::min(chunk, all - done);
    to_f32(from_type, source + done * width<from_type>, values.data(), count);
    from_f32(to_type, values.data(), target + done * width<to_type>, count);
    done += count;
  }
}

template <DType type, typename Host>
bool casts_with(int host) {
  PyArray_Descr* descr = PyArray_DescrFromType(host);
  if (descr == nullptr) return false;
  const bool fine = PyArray_RegisterCastFunc(number_type(type).descr, host, &cast_to<type, Host>) == 0 &&
                    PyArray_RegisterCastFunc(descr, number_type(type).number, &cast_from<type, Host>) == 0;
  Py_DECREF(descr);
  return fine;
}

template <DType type>
bool casts_with_hosts() {
  return casts_with<type, Truth>(NPY_BOOL) && casts_with<type, npy_byte>(NPY_BYTE) &&
         casts_with<type, npy_ubyte>(NPY_UBYTE) && casts_with<type, npy_short>(NPY_SHORT) &&
         casts_with<type, npy_ushort>(NPY_USHORT) && casts_with<type, npy_int>(NPY_INT) &&
         casts_with<type, npy_uint>(NPY_UINT) && casts_with<type, npy_long>(NPY_LONG) &&
         casts_with<type, npy_ulong>(NPY_ULONG) && casts_with<type, npy_longlong>(NPY_LONGLONG) &&
         casts_with<type, npy_ulonglong>(NPY_ULONGLONG) && casts_with<type, Half>(NPY_HALF) &&
         casts_with<type, float>(NPY_FLOAT) && casts_with<type, double>(NPY_DOUBLE) &&
         casts_with<type, npy_longdouble>(NPY_LONGDOUBLE) &&
         casts_with<type, std::complex<float>>(NPY_CFLOAT) &&
         casts_with<type, std::complex<double>>(NPY_CDOUBLE) &&
         casts_with<type, std::complex<npy_longdouble>>(NPY_CLONGDOUBLE);
}

template <DType from, DType to>
bool casts_between() {
  if constexpr (from == to) {
    return true;
  } else {
    return PyArray_RegisterCastFunc(number_type(from).descr, number_type(to).number,
                                    &cast_between<from, to>) == 0;
  }
}

// Every value of `from` is one of `to`: what numpy calls safe, and promotes by.
bool holds_all(const FloatFormat& to, const FloatFormat& from) {
  const int to_least = 1 - to.bias - to.mantissa_bits, from_least = 1 - from.bias - from.mantissa_bits;
  const int to_largest = (1 << to.exponent_bits) - 2 - to.bias;
  const int from_largest = (1 << from.exponent_bits) - (from.has_infinity ? 2 : 1) - from.bias;
  return to.mantissa_bits >= from.mantissa_bits && to_least <= from_least && to_largest >= from_largest &&
         (to.has_infinity || !from.has_infinity);
}

bool safe_from(int host, const NumberType& to) {
  PyArray_Descr* descr = PyArray_DescrFromType(host);
  if (descr == nullptr) return false;
  const bool fine = PyArray_RegisterCanCast(descr, to.number, NPY_NOSCALAR) == 0;
  Py_DECREF(descr);
  return fine;
}

bool register_safe_casts() {
  for (const NumberTypeInfo& info : number_type_infos) {
    const NumberType& from = number_type(info.type);
    for (const int host : {NPY_FLOAT, NPY_DOUBLE, NPY_LONGDOUBLE, NPY_CFLOAT, NPY_CDOUBLE, NPY_CLONGDOUBLE}) {
      if (PyArray_RegisterCanCast(from.descr, host, NPY_NOSCALAR) < 0) return false;
    }
    if (holds_all(float_format(DType::f16), float_format(info.type)) &&
        PyArray_RegisterCanCast(from.descr, NPY_HALF, NPY_NOSCALAR) < 0)
      return false;
    for (const NumberTypeInfo& other : number_type_infos) {
      if (other.type != info.type && holds_all(float_format(other.type), float_format(info.type)) &&
          PyArray_RegisterCanCast(from.descr, number_type(other.type).number, NPY_NOSCALAR) < 0)
        return false;
    }
    if (!safe_from(NPY_BOOL, from)) return false;
    // Integers of eight bits fit the mantissa. What fp16 holds fits tf32; bf16 rounds it, but then a number
    // of Python, which numpy takes for the smallest type that holds it, gets bf16 and not fp32 beside a bf16
    // array.
    const bool wide = info.type == DType::bf16 || info.type == DType::tf32;
    if (wide && !(safe_from(NPY_BYTE, from) && safe_from(NPY_UBYTE, from) && safe_from(NPY_HALF, from)))
      return false;
  }
  return true;
}

}  // namespace

bool register_dtypes() {
  return for_all_number_types([]<DType type>(const NumberTypeInfo& info) { return make<type>(info); });
}

bool register_casts() {
  return for_all_number_types([]<DType from>(const NumberTypeInfo&) {
           return casts_with_hosts<from>() && for_all_number_types([]<DType to>(const NumberTypeInfo&) {
                    return casts_between<from, to>();
                  });
         }) &&
         register_safe_casts();
}

}  // namespace ncemu::python
