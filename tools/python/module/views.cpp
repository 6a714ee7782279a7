#include "tools/python/module/parts.h"

#include <fmt/format.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "isa/fault.h"
#include "tools/python/module/handle.h"
#include "tools/python/module/operands.h"
#include "tools/python/module/types_of_python.h"

namespace ncemu::python {
namespace py = pybind11;
namespace {

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Fault(FaultKind::input, "", text, std::forward<Args>(args)...);
}

py::tuple tuple_of(const std::vector<std::int64_t>& values) {
  py::tuple all(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) all[i] = values[i];
  return all;
}

py::tuple shape(const Handle& h) {
  std::vector<std::int64_t> sizes;
  for (const View::Dimension& d : h.view.dimensions()) sizes.push_back(d.size);
  return tuple_of(sizes);
}

py::tuple strides(const Handle& h) {
  std::vector<std::int64_t> steps;
  for (const View::Dimension& d : h.view.dimensions()) steps.push_back(d.step);
  return tuple_of(steps);
}

std::int64_t normalised(std::int64_t index, std::int64_t size) { return index < 0 ? index + size : index; }

// One item of v[...] on dimension `d`; true if the dimension stays.
bool take(View& view, int d, py::handle item) {
  if (PySlice_Check(item.ptr())) {
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(item.ptr(), &start, &stop, &step) < 0) {
      PyErr_Clear();
      fail("a slice takes integers, found {}", describe_object(item));
    }
    const std::int64_t size = view.size(d);
    const bool open = stop == PY_SSIZE_T_MAX;
    if (step == 1 && start == 0 && open) return true;
    view = view.slice(d, normalised(start, size), open ? size : normalised(stop, size), step);
    return true;
  }
  const bool stays = view.on_chip() && d == 0;
  view = view.index(d, normalised(integer_of(item, "an index"), view.size(d)));
  return stays;
}

Handle get_item(const Handle& h, py::handle key) {
  Handle result = h;
  if (!PyTuple_Check(key.ptr())) {
    if (key.ptr() != Py_Ellipsis) take(result.view, 0, key);
    return result;
  }
  const Py_ssize_t count = PyTuple_GET_SIZE(key.ptr());
  int named = 0;
  for (Py_ssize_t i = 0; i < count; ++i) named += PyTuple_GET_ITEM(key.ptr(), i) == Py_Ellipsis ? 0 : 1;
  if (named < count - 1) fail("an index has at most one '...'");
  if (named > h.view.rank()) fail("{} indices for {}", named, h.view.describe());
  int d = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(key.ptr(), i);
    if (item == Py_Ellipsis) {
      d += h.view.rank() - named;
    } else if (take(result.view, d, item)) {
      ++d;
    }
  }
  return result;
}

std::vector<std::int64_t> shape_of(const py::args& arguments, const char* what) {
  if (arguments.size() == 1 && !is_integer_object(arguments[0])) return integers_of(arguments[0], what);
  return integers_of(arguments, what);
}

struct Reach {
  std::int64_t lowest = 0, highest = 0;  // elements from the offset
};

Reach reach(std::span<const View::Dimension> dims) {
  Reach r;
  for (const View::Dimension& d : dims) (d.step < 0 ? r.lowest : r.highest) += d.step * (d.size - 1);
  return r;
}

// Any pattern over the whole storage, in elements of `dtype`.
Handle raw(const Handle& h, py::handle pattern, std::int64_t partition,
           std::optional<std::int64_t> partitions, std::int64_t offset, py::handle dtype,
           std::optional<Register> index, std::int64_t index_step) {
  const Storage& storage = *h.storage;
  const DType type = dtype.is_none() ? storage.dtype : dtype_of(dtype);
  std::vector<View::Dimension> dims;
  for (const auto& [step, count] : steps_of(pattern, "a pattern")) {
    if (count < 1) fail("a count of a pattern is at least 1, found {}", count);
    dims.push_back({count, step});
  }
  const Reach r = reach(dims);
  const std::int64_t size = storage.bytes() / size_of(type);
  // What a register adds is checked when the run comes there.
  if (offset + r.lowest < 0 || (!index && offset + r.highest >= size)) {
    fail("the pattern reaches from element {} to {} of '{}', which has {} {}of {}", offset + r.lowest,
         offset + r.highest, storage.name, size, h.on_chip() ? "per partition " : "", name(type));
  }
  Handle result{h.view, h.storage};
  if (h.on_chip()) {
    const std::int64_t all = storage.shape[0];
    const std::int64_t count = partitions.value_or(all - partition);
    if (partition < 0 || count < 1 || partition + count > all)
      fail("partitions {} to {} of '{}', which has {}", partition, partition + count - 1, storage.name, all);
    result.view = View::of_steps(storage.space, no_place, type, partition, count, dims, offset);
  } else {
    if (partition != 0 || partitions) fail("'{}' is in HBM, which has no partitions", storage.name);
    result.view = View::of_steps(static_cast<std::uint16_t>(storage.number), type, dims, offset);
  }
  if (index) result.view = result.view.indexed_by(*index, index_step, 0);
  return result;
}

std::string represent(const Handle& h) {
  return fmt::format("<View of {} {} '{}': {}>", name(h.storage->space), h.on_chip() ? "tile" : "tensor",
                     h.storage->name, h.view.describe());
}

}  // namespace

void define_views(py::module_& module) {
  py::class_<Register>(module, "Register", "A register of the sequencers.")
      .def_property_readonly("number", [](const Register& r) { return r.number; })
      .def("__repr__", [](const Register& r) { return fmt::format("<Register {}>", r.number); })
      .def("__eq__", [](const Register& a, const Register& b) { return a == b; })
      .def("__hash__", [](const Register& r) { return int{r.number}; });

  py::class_<Handle>(module, "View", "A view of a tensor in HBM or of a tile: what operands are made of.")
      .def_property_readonly("shape", &shape)
      .def_property_readonly("ndim", [](const Handle& h) { return h.view.rank(); })
      .def_property_readonly("strides", &strides)
      .def_property_readonly("offset", [](const Handle& h) { return h.view.offset(); })
      .def_property_readonly("partition", [](const Handle& h) { return h.view.first_partition(); })
      .def_property_readonly("size", [](const Handle& h) { return h.view.elements(); })
      .def_property_readonly("dtype", [](const Handle& h) { return numpy_dtype(h.view.dtype()); })
      .def_property_readonly("type", [](const Handle& h) { return std::string(name(h.view.dtype())); })
      .def_property_readonly("space", [](const Handle& h) { return std::string(name(h.storage->space)); })
      .def_property_readonly("name", [](const Handle& h) { return h.storage->name; })
      .def_property_readonly("number", [](const Handle& h) { return h.storage->number; })
      .def("__repr__", &represent)
      .def("__getitem__", &get_item)
      .def("reshape",
           [](const Handle& h, const py::args& sizes) {
             return Handle{h.view.reshape(shape_of(sizes, "a shape")), h.storage};
           })
      .def("permute",
           [](const Handle& h, const py::args& order) {
             const auto numbers = shape_of(order, "an order");
             std::vector<int> dims;
             for (const std::int64_t n : numbers) dims.push_back(static_cast<int>(n));
             return Handle{h.view.permute(dims), h.storage};
           })
      .def(
          "broadcast",
          [](const Handle& h, int dimension, std::int64_t size) {
            return Handle{h.view.broadcast(dimension, size), h.storage};
          },
          py::arg("dimension"), py::arg("size"))
      .def(
          "astype",
          [](const Handle& h, py::handle dtype) {
            return Handle{h.view.as(dtype_of(dtype)), h.storage};
          },
          py::arg("dtype"))
      .def("ap", &raw, py::arg("pattern"), py::kw_only(), py::arg("partition") = 0,
           py::arg("partitions") = py::none(), py::arg("offset") = 0, py::arg("dtype") = py::none(),
           py::arg("register") = py::none(), py::arg("register_step") = 0)
      .def(
          "index",
          [](const Handle& h, int dimension, Register reg, std::int64_t scale, std::int64_t base) {
            return Handle{h.view.index(dimension, reg, scale, base), h.storage};
          },
          py::arg("dimension"), py::arg("register"), py::arg("scale") = 1, py::arg("base") = 0)
      .def(
          "slice",
          [](const Handle& h, int dimension, Register reg, std::int64_t count, std::int64_t scale,
             std::int64_t base) {
            return Handle{h.view.slice(dimension, reg, scale, base, count), h.storage};
          },
          py::arg("dimension"), py::arg("register"), py::arg("count"), py::arg("scale") = 1,
          py::arg("base") = 0);
}

}  // namespace ncemu::python
