// Registers the number types with numpy when the extension is imported.

#define NCEMU_IMPORTS_NUMPY
#include "tools/python/module/number_type.h"

#include <pybind11/pybind11.h>

#include "isa/fault.h"
#include "tools/python/module/parts.h"

namespace ncemu::python {
namespace py = pybind11;
namespace {

// numpy keeps pointers to these for as long as the process lives.
std::array<NumberType, dtype_count>& all_number_types() {
  static auto& all = *new std::array<NumberType, dtype_count>;
  return all;
}

void hold(bool fine) {
  if (!fine) throw py::error_already_set();
}

}  // namespace

NumberType& number_type(DType type) { return all_number_types()[static_cast<std::size_t>(type)]; }

void define_number_types(py::module_& module) {
  hold(_import_array() >= 0);
  hold(_import_umath() >= 0);
  hold(make_scalar_types());
  hold(register_dtypes());
  for (const NumberTypeInfo& info : number_type_infos) {
    const NumberType& made = number_type(info.type);
    const py::handle scalar(reinterpret_cast<PyObject*>(made.scalar));
    // How numpy finds the dtype of a scalar type.
    scalar.attr("dtype") = py::handle(reinterpret_cast<PyObject*>(made.descr));
    module.attr(info.name) = scalar;
    py::module_::import("numpy").attr("sctypeDict")[info.name] = scalar;  // numpy.dtype("bfloat16")
  }
  hold(register_casts());
  hold(register_ufuncs());
  module.def("float_format", [](std::string_view type) {
    const auto found = find<DType>(type);
    ensure(found && is_float(*found), "the package asks for the formats of floats");
    const FloatFormat format = float_format(*found);
    return py::make_tuple(format.exponent_bits, format.mantissa_bits, format.bias, format.has_infinity);
  });
}

}  // namespace ncemu::python
