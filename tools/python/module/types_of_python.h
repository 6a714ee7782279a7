#pragma once

// Element types and words as Python gives them.

#include <pybind11/pybind11.h>

#include <span>
#include <string_view>
#include <vector>

#include "isa/types.h"

namespace ncemu::python {

// "bf16", numpy.float32, numpy.dtype(...), ncemu.bfloat16. Throws Fault(input) for anything else.
DType dtype_of(pybind11::handle object);
// The numpy dtype of an element type.
pybind11::object numpy_dtype(DType type);

// The characters of a str; they live as long as it does. Throws Fault(input) for another object.
std::string_view text_of(pybind11::handle object, std::string_view what);

// Any object with __index__ (int, numpy integers).
std::int64_t integer_of(pybind11::handle object, std::string_view what);
bool is_integer_object(pybind11::handle object);
// int, float, numpy scalars.
double number_of(pybind11::handle object, std::string_view what);

// A tuple, a list, or one integer.
std::vector<std::int64_t> integers_of(pybind11::handle object, std::string_view what);

// Type and text of an object, for messages: "float 2.5", "View".
std::string describe_object(pybind11::handle object);

}  // namespace ncemu::python
