// Scalars of the number types: what x[0] is, and what ncemu.bfloat16(1.5) makes.

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "tools/python/module/number_type.h"

namespace ncemu::python {
namespace {

template <DType type>
bool is_scalar(PyObject* object) {
  return PyObject_TypeCheck(object, number_type(type).scalar) != 0;
}

template <DType type>
float scalar_value(PyObject* object) {
  return from_bits(type, bits_of(object));
}

// The shortest digits that read back as the same number of the type: numbers of few bits have few digits.
template <DType type>
double shortest(float value) {
  constexpr int enough = 9;  // for fp32
  if (!std::isfinite(value)) return value;
  const std::uint32_t bits = to_bits(type, value);
  for (int precision = 1; precision < enough; ++precision) {
    const std::string text = fmt::format("{:.{}e}", value, precision - 1);
    if (to_bits(type, std::strtof(text.c_str(), nullptr)) == bits) return std::strtod(text.c_str(), nullptr);
  }
  return value;
}

template <DType type>
PyObject* text_of_scalar(PyObject* self) {
  char* text = PyOS_double_to_string(shortest<type>(scalar_value<type>(self)), 'r', 0, 0, nullptr);
  if (text == nullptr) return PyErr_NoMemory();
  PyObject* made = PyUnicode_FromString(text);
  PyMem_Free(text);
  return made;
}

template <DType type>
PyObject* new_scalar(PyTypeObject*, PyObject* arguments, PyObject* keywords) {
  PyObject* given = nullptr;
  if (keywords != nullptr && PyDict_Size(keywords) > 0) {
    PyErr_SetString(PyExc_TypeError, "takes no keyword arguments");
    return nullptr;
  }
  if (PyArg_ParseTuple(arguments, "|O", &given) == 0) return nullptr;
  if (given == nullptr) return make_scalar(type, 0);
  if (is_scalar<type>(given)) return make_scalar(type, bits_of(given));
  if (PyArray_Check(given))
    return PyArray_CastToType(
        reinterpret_cast<PyArrayObject*>(given),
        [] {
          Py_INCREF(number_type(type).descr);
          return number_type(type).descr;
        }(),
        0);
  if (PyUnicode_Check(given)) {
    PyObject* number = PyFloat_FromString(given);
    if (number == nullptr) return nullptr;
    const double value = PyFloat_AS_DOUBLE(number);
    Py_DECREF(number);
    return make_scalar(type, to_bits(type, static_cast<float>(value)));
  }
  float value = 0;
  if (!value_of(given, value)) return nullptr;
  return make_scalar(type, to_bits(type, value));
}

template <DType type>
PyObject* as_float(PyObject* self) {
  return PyFloat_FromDouble(scalar_value<type>(self));
}
template <DType type>
PyObject* as_integer(PyObject* self) {
  return PyLong_FromDouble(scalar_value<type>(self));
}
template <DType type>
int as_bool(PyObject* self) {
  return scalar_value<type>(self) != 0;
}
template <DType type>
Py_hash_t hash(PyObject* self) {
  return _Py_HashDouble(self, scalar_value<type>(self));
}

// A number of the type, or one of Python's own, which takes the type of the other operand.
template <DType type>
bool operand(PyObject* object, float& value) {
  if (is_scalar<type>(object)) {
    value = scalar_value<type>(object);
    return true;
  }
  if (!PyFloat_CheckExact(object) && !PyLong_CheckExact(object)) return false;
  if (!value_of(object, value)) {
    PyErr_Clear();
    return false;
  }
  value = from_bits(type, to_bits(type, value));
  return true;
}

float floored_remainder(float a, float b) {
  const float r = std::fmod(a, b);
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

struct Add {
  static float apply(float a, float b) { return a + b; }
  static constexpr auto slot = &PyNumberMethods::nb_add;
};
struct Subtract {
  static float apply(float a, float b) { return a - b; }
  static constexpr auto slot = &PyNumberMethods::nb_subtract;
};
struct Multiply {
  static float apply(float a, float b) { return a * b; }
  static constexpr auto slot = &PyNumberMethods::nb_multiply;
};
struct Divide {
  static float apply(float a, float b) { return a / b; }
  static constexpr auto slot = &PyNumberMethods::nb_true_divide;
};
struct Remainder {
  static float apply(float a, float b) { return floored_remainder(a, b); }
  static constexpr auto slot = &PyNumberMethods::nb_remainder;
};

// Anything but two numbers of the type is an array's business.
template <DType type, typename Operation>
PyObject* binary(PyObject* a, PyObject* b) {
  float x = 0, y = 0;
  if (operand<type>(a, x) && operand<type>(b, y))
    return make_scalar(type, to_bits(type, Operation::apply(x, y)));
  return (PyArray_Type.tp_as_number->*Operation::slot)(a, b);
}

template <DType type>
PyObject* negative(PyObject* self) {
  return make_scalar(type, to_bits(type, -scalar_value<type>(self)));
}
template <DType type>
PyObject* positive(PyObject* self) {
  return make_scalar(type, bits_of(self));
}
template <DType type>
PyObject* absolute(PyObject* self) {
  return make_scalar(type, to_bits(type, std::fabs(scalar_value<type>(self))));
}

template <DType type>
PyObject* compare(PyObject* a, PyObject* b, int operation) {
  float x = scalar_value<type>(a), y = 0;
  if (is_scalar<type>(b)) {
    y = scalar_value<type>(b);
  } else if (PyFloat_CheckExact(b) || PyLong_CheckExact(b)) {
    // As it is, not rounded to the type.
    PyObject* left = PyFloat_FromDouble(x);
    PyObject* result = left == nullptr ? nullptr : PyObject_RichCompare(left, b, operation);
    Py_XDECREF(left);
    return result;
  } else {
    return PyGenericArrType_Type.tp_richcompare(a, b, operation);
  }
  Py_RETURN_RICHCOMPARE(x, y, operation);
}

template <DType type>
PyObject* reduce(PyObject* self, PyObject*) {
  // The value is exact as a float.
  return Py_BuildValue("O(d)", reinterpret_cast<PyObject*>(number_type(type).scalar),
                       static_cast<double>(scalar_value<type>(self)));
}

template <DType type>
PyObject* format(PyObject* self, PyObject* specification) {
  PyObject* value = as_float<type>(self);
  PyObject* made = value == nullptr ? nullptr : PyObject_Format(value, specification);
  Py_XDECREF(value);
  return made;
}

template <typename Function>
PyType_Slot slot(int number, Function* function) {
  return {number, reinterpret_cast<void*>(function)};
}

template <DType type>
bool make(const NumberTypeInfo& info) {
  NumberType& made = number_type(type);
  static PyMethodDef methods[] = {{"__reduce__", &reduce<type>, METH_NOARGS, nullptr},
                                  {"__format__", &format<type>, METH_O, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  PyType_Slot slots[] = {
      slot(Py_tp_new, &new_scalar<type>),
      slot(Py_tp_repr, &text_of_scalar<type>),
      slot(Py_tp_str, &text_of_scalar<type>),
      slot(Py_tp_hash, &hash<type>),
      slot(Py_tp_richcompare, &compare<type>),
      slot(Py_nb_float, &as_float<type>),
      slot(Py_nb_int, &as_integer<type>),
      slot(Py_nb_bool, &as_bool<type>),
      slot(Py_nb_add, &binary<type, Add>),
      slot(Py_nb_subtract, &binary<type, Subtract>),
      slot(Py_nb_multiply, &binary<type, Multiply>),
      slot(Py_nb_true_divide, &binary<type, Divide>),
      slot(Py_nb_remainder, &binary<type, Remainder>),
      slot(Py_nb_negative, &negative<type>),
      slot(Py_nb_positive, &positive<type>),
      slot(Py_nb_absolute, &absolute<type>),
      {Py_tp_methods, methods},
      {Py_tp_doc, const_cast<char*>("A number of the machine; arithmetic rounds to it.")},
      {0, nullptr},
  };
  PyType_Spec spec = {info.full_name, sizeof(NumberScalar), 0, Py_TPFLAGS_DEFAULT, slots};
  PyObject* bases = PyTuple_Pack(1, reinterpret_cast<PyObject*>(&PyGenericArrType_Type));
  if (bases == nullptr) return false;
  made.scalar = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, bases));
  Py_DECREF(bases);
  return made.scalar != nullptr;
}

}  // namespace

PyObject* make_scalar(DType type, std::uint32_t bits) {
  PyTypeObject* scalar = number_type(type).scalar;
  PyObject* made = scalar->tp_alloc(scalar, 0);
  if (made != nullptr) reinterpret_cast<NumberScalar*>(made)->bits = bits;
  return made;
}

bool value_of(PyObject* object, float& value) {
  const double exact = PyFloat_AsDouble(object);
  if (exact == -1 && PyErr_Occurred() != nullptr) {
    // Integers beyond the largest double.
    if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0 || !PyLong_Check(object)) return false;
    PyErr_Clear();
    PyObject* zero = PyLong_FromLong(0);
    const int below = zero == nullptr ? -1 : PyObject_RichCompareBool(object, zero, Py_LT);
    Py_XDECREF(zero);
    if (below < 0) return false;
    value = below != 0 ? -INFINITY : INFINITY;
    return true;
  }
  value = static_cast<float>(exact);
  return true;
}

bool make_scalar_types() {
  return for_all_number_types([]<DType type>(const NumberTypeInfo& info) { return make<type>(info); });
}

}  // namespace ncemu::python
