// The Python class `Builder` (`_ncemu.Builder`; ncemu/builder.py adds loops, blocks and constants of arrays).

#include <pybind11/stl.h>

#include <cstring>

#include "isa/fault.h"
#include "tools/python/module/machines.h"
#include "tools/python/module/parts.h"
#include "tools/python/module/tracer.h"
#include "tools/python/module/types_of_python.h"

namespace ncemu::python {
namespace py = pybind11;
namespace {

// Faults of a call say where the kernel stands.
template <typename Call>
auto at_site(const Tracer& tracer, Call&& call) {
  try {
    return call();
  } catch (const Fault& fault) {
    if (!fault.where().empty() || !tracer.has_site()) throw;
    throw Fault(fault.kind(), tracer.describe_site(), "{}", fault.message());
  }
}

template <typename E>
E word_of(py::handle value, const char* what) {
  const std::string_view word = text_of(value, what);
  const auto found = find<E>(word);
  if (!found)
    throw Fault(FaultKind::input, "", "there is no {} '{}'; known are: {}", what, word,
                fmt::join(names<E>(), " "));
  return *found;
}

TensorKind kind_of(py::handle value) {
  constexpr std::pair<std::string_view, TensorKind> kinds[] = {{"input", TensorKind::input},
                                                               {"output", TensorKind::output},
                                                               {"inout", TensorKind::inout},
                                                               {"scratch", TensorKind::scratch}};
  const std::string_view word = text_of(value, "the kind of a tensor");
  for (const auto& [name, kind] : kinds) {
    if (name == word) return kind;
  }
  throw Fault(FaultKind::input, "", "there is no kind of tensor '{}': input, output, inout, scratch", word);
}

AllocationOrder order_of(py::handle value) {
  const std::string_view word = text_of(value, "allocate");
  if (word == "rotate") return AllocationOrder::rotate;
  if (word == "compact") return AllocationOrder::compact;
  throw Fault(FaultKind::input, "", "there is no allocation '{}': rotate, compact", word);
}

}  // namespace

void define_builder(py::module_& module) {
  py::class_<TracedTile>(module, "Lifetime", "A tile, and from which position to which it is used.")
      .def_readonly("name", &TracedTile::name)
      .def_property_readonly("space", [](const TracedTile& t) { return std::string(name(t.space)); })
      .def_readonly("bytes", &TracedTile::bytes)
      .def_property_readonly("partitions", [](const TracedTile& t) { return t.shape[0]; })
      .def_property_readonly("first", [](const TracedTile& t) { return std::int64_t{t.first}; })
      .def_property_readonly("last", [](const TracedTile& t) { return std::int64_t{t.last}; })
      .def_property_readonly("used", [](const TracedTile& t) { return t.used(); })
      .def_readonly("fixed", &TracedTile::fixed)
      .def_readonly("partition", &TracedTile::partition)
      .def_readonly("offset", &TracedTile::offset)
      .def_readonly("site", &TracedTile::site);
  py::class_<Tracer>(module, "Builder")
      .def(py::init([](py::handle machine, std::string name) {
             return std::make_unique<Tracer>(machine_of(machine), std::move(name));
           }),
           py::arg("machine") = "trn1", py::arg("name") = "kernel")
      .def_property_readonly("machine", [](const Tracer& t) { return t.machine(); })
      .def(
          "tensor",
          [](Tracer& t, std::string name, py::handle kind, py::handle shape, py::handle dtype) {
            return at_site(t, [&] {
              return t.tensor(std::move(name), kind_of(kind), integers_of(shape, "a shape"), dtype_of(dtype));
            });
          },
          py::arg("name"), py::arg("kind"), py::arg("shape"), py::arg("dtype"))
      .def("_constant",
           [](Tracer& t, std::string name, py::handle dtype, py::handle shape, const py::buffer& data) {
             return at_site(t, [&] {
               const py::buffer_info info = data.request();
               std::vector<std::byte> bytes(static_cast<std::size_t>(info.size * info.itemsize));
               if (!bytes.empty()) std::memcpy(bytes.data(), info.ptr, bytes.size());
               return t.constant(std::move(name), dtype_of(dtype), integers_of(shape, "a shape"),
                                 std::move(bytes));
             });
           })
      .def(
          "tile",
          [](Tracer& t, std::string name, py::handle shape, py::handle dtype, py::handle space,
             std::optional<std::uint32_t> partition, std::optional<std::uint32_t> offset) {
            return at_site(t, [&] {
              return t.tile(std::move(name), integers_of(shape, "a shape"), dtype_of(dtype),
                            word_of<Space>(space, "memory"), partition, offset);
            });
          },
          py::arg("name"), py::arg("shape"), py::arg("dtype"), py::arg("space") = "sbuf", py::kw_only(),
          py::arg("partition") = py::none(), py::arg("offset") = py::none())
      .def(
          "place",
          [](Tracer& t, const Handle& view, std::uint32_t partition, std::uint32_t offset) {
            t.place(view, partition, offset);
          },
          py::arg("view"), py::arg("partition"), py::arg("offset"))
      .def("lifetimes", &Tracer::lifetimes)
      .def(
          "at",
          [](Tracer& t, py::handle file, std::uint32_t line, std::uint32_t column, py::handle parent) {
            if (is_integer_object(file))
              return t.at(static_cast<std::uint32_t>(integer_of(file, "a source place")));
            const std::uint32_t from =
                parent.is_none() ? no_index : static_cast<std::uint32_t>(integer_of(parent, "parent"));
            return t.at(t.site(std::string(text_of(file, "file")), line, column, from));
          },
          py::arg("file"), py::arg("line") = 0, py::arg("column") = 0, py::arg("parent") = py::none())
      .def("emit",
           [](Tracer& t, py::handle mnemonic, const py::kwargs& operands) {
             return at_site(t, [&] { return t.emit(text_of(mnemonic, "a mnemonic"), operands); });
           })
      .def("change", [](Tracer& t, std::uint32_t position,
                        const py::kwargs& operands) { at_site(t, [&] { t.change(position, operands); }); })
      .def("position", &Tracer::position)
      .def("_open_loop",
           [](Tracer& t, py::handle start, py::handle stop, std::int32_t step) {
             return at_site(t, [&] { return t.open_loop(start, stop, step); });
           })
      .def("_close_loop", &Tracer::close_loop)
      .def("_open_block",
           [](Tracer& t, py::handle engine) {
             at_site(t, [&] { t.open_block(word_of<Engine>(engine, "engine")); });
           })
      .def("_close_block", &Tracer::close_block)
      .def("register", &Tracer::reg, py::arg("number"))
      .def("semaphore", &Tracer::semaphore, py::arg("name"))
      .def("print", &Tracer::print, py::arg("label"), py::arg("view"))
      .def("_finish", [](Tracer& t, bool automatic_sync, bool automatic_tables, py::handle order) {
        const AllocationOrder chosen = order_of(order);
        return std::const_pointer_cast<RunnableKernel>(t.finish(automatic_sync, automatic_tables, chosen));
      });
}

}  // namespace ncemu::python
