#pragma once

// The element types that numpy lacks, as numpy types: a scalar type, a dtype, casts and ufuncs of each. Their
// numbers are those of isa/number.h and emu/data/convert.h; arithmetic is in fp32, rounded once per
// operation.

// numpy's tables of functions are imported by number_types.cpp for all files of this extension.
#define PY_ARRAY_UNIQUE_SYMBOL ncemu_numpy
#define PY_UFUNC_UNIQUE_SYMBOL ncemu_ufunc
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#ifndef NCEMU_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <Python.h>
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include <array>
#include <cstring>
#include <utility>

#include "isa/number.h"
#include "isa/types.h"

namespace ncemu::python {

// What is different between the types.
struct NumberTypeInfo {
  DType type;
  const char* name;       // in Python
  const char* full_name;  // with the package
  char letter;            // numpy's character code, free of those it uses
};
// clang-format off
inline constexpr std::array<NumberTypeInfo, 6> number_type_infos = {{
    {DType::bf16,     "bfloat16",      "ncemu.bfloat16",      'E'},
    {DType::f8e4m3,   "float8_e4m3",   "ncemu.float8_e4m3",   '7'},
    {DType::f8e4m3fn, "float8_e4m3fn", "ncemu.float8_e4m3fn", '4'},
    {DType::f8e5m2,   "float8_e5m2",   "ncemu.float8_e5m2",   '5'},
    {DType::f8e3m4,   "float8_e3m4",   "ncemu.float8_e3m4",   '3'},
    {DType::tf32,     "tfloat32",      "ncemu.tfloat32",      'T'},
}};
// clang-format on

// What numpy knows of a type; filled in once, when the extension is imported.
struct NumberType {
  PyTypeObject* scalar = nullptr;
  PyArray_Descr* descr = nullptr;
  PyArray_ArrFuncs functions{};
  int number = -1;
};
NumberType& number_type(DType type);

// One element in memory of any alignment.
template <DType type>
std::uint32_t load_bits(const void* at) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, at, static_cast<std::size_t>(size_of(type)));
  return bits;
}
template <DType type>
void store_bits(void* at, std::uint32_t bits) {
  std::memcpy(at, &bits, static_cast<std::size_t>(size_of(type)));
}
template <DType type>
float load(const void* at) {
  return from_bits(type, load_bits<type>(at));
}
template <DType type>
void store(void* at, float value) {
  store_bits<type>(at, to_bits(type, value));
}

// A scalar: numpy looks for the element right behind the head.
struct NumberScalar {
  PyObject head;
  std::uint32_t bits;
};
inline std::uint32_t bits_of(PyObject* scalar) { return reinterpret_cast<NumberScalar*>(scalar)->bits; }
// A new reference; nullptr with an exception set when there is no memory.
PyObject* make_scalar(DType type, std::uint32_t bits);
// The value of a number of Python or numpy; false with an exception set for what is none.
bool value_of(PyObject* object, float& value);

// visit.operator()<type>(info) for each type, until one is false.
template <typename Visit>
bool for_all_number_types(Visit&& visit) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return (visit.template operator()<number_type_infos[i].type>(number_type_infos[i]) && ...);
  }
  (std::make_index_sequence<number_type_infos.size()>());
}

// In this order; each returns false with an exception set.
bool make_scalar_types();
bool register_dtypes();
bool register_casts();
bool register_ufuncs();

}  // namespace ncemu::python
