#include "tools/python/module/types_of_python.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_map>

#include "isa/fault.h"

namespace ncemu::python {
namespace py = pybind11;
namespace {

// The package knows which numpy dtype stands for which type (ncemu/dtypes.py).
py::object package_function(const char* name) { return py::module_::import("ncemu.dtypes").attr(name); }

}  // namespace

std::string_view text_of(py::handle object, std::string_view what) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_Check(object.ptr()) ? PyUnicode_AsUTF8AndSize(object.ptr(), &size) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    throw Fault(FaultKind::input, "", "{} must be a str, found {}", what, describe_object(object));
  }
  return {text, static_cast<std::size_t>(size)};
}

bool is_integer_object(py::handle object) {
  return PyLong_Check(object.ptr()) || (PyIndex_Check(object.ptr()) && !PyUnicode_Check(object.ptr()));
}

std::int64_t integer_of(py::handle object, std::string_view what) {
  long long value = -1;
  if (PyLong_Check(object.ptr())) {
    value = PyLong_AsLongLong(object.ptr());
  } else {
    const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
    if (index) value = PyLong_AsLongLong(index.ptr());
  }
  if (value == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw Fault(FaultKind::input, "", "{} must be an integer, found {}", what, describe_object(object));
  }
  return value;
}

double number_of(py::handle object, std::string_view what) {
  if (PyFloat_CheckExact(object.ptr())) return PyFloat_AS_DOUBLE(object.ptr());
  const double value = PyUnicode_Check(object.ptr()) ? -1 : PyFloat_AsDouble(object.ptr());
  if (PyUnicode_Check(object.ptr()) || (value == -1 && PyErr_Occurred() != nullptr)) {
    PyErr_Clear();
    throw Fault(FaultKind::input, "", "{} must be a number, found {}", what, describe_object(object));
  }
  return value;
}

std::vector<std::int64_t> integers_of(py::handle object, std::string_view what) {
  std::vector<std::int64_t> values;
  if (is_integer_object(object) && !PySequence_Check(object.ptr())) {
    values.push_back(integer_of(object, what));
    return values;
  }
  const auto fast = py::reinterpret_steal<py::object>(PySequence_Fast(object.ptr(), ""));
  if (!fast) {
    PyErr_Clear();
    throw Fault(FaultKind::input, "", "{} must be a sequence of integers, found {}", what,
                describe_object(object));
  }
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(fast.ptr());
  values.reserve(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i)
    values.push_back(integer_of(PySequence_Fast_GET_ITEM(fast.ptr(), i), what));
  return values;
}

std::string describe_object(py::handle object) {
  const std::string type = Py_TYPE(object.ptr())->tp_name;
  if (object.is_none()) return "None";
  const auto text = py::reinterpret_steal<py::object>(PyObject_Repr(object.ptr()));
  if (!text) {
    PyErr_Clear();
    return type;
  }
  std::string words = py::cast<std::string>(text);
  constexpr std::size_t most = 60;
  if (words.size() > most) words = words.substr(0, most) + "...";
  return fmt::format("{} {}", type, words);
}

DType dtype_of(py::handle object) {
  if (PyUnicode_Check(object.ptr())) {
    if (const auto found = find<DType>(text_of(object, "a type"))) return *found;
  }
  const py::object name = package_function("type_name")(object);
  const auto found = find<DType>(py::cast<std::string>(name));
  ensure(found.has_value(), "the package names types as the language does");
  return *found;
}

py::object numpy_dtype(DType type) { return package_function("dtype")(std::string(name(type))); }

}  // namespace ncemu::python
