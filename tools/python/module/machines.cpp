// The Python class `Machine`.

#include "tools/python/module/machines.h"

#include <pybind11/stl.h>

#include "isa/fault.h"
#include "isa/target.h"
#include "tools/command/kernel.h"
#include "tools/python/module/parts.h"
#include "tools/python/module/types_of_python.h"

namespace ncemu::python {
namespace py = pybind11;

MachineConfig machine_of(py::handle object) {
  if (py::isinstance<MachineConfig>(object)) return object.cast<const MachineConfig&>();
  if (py::hasattr(object, "__fspath__")) return machine_of(object.attr("__fspath__")());
  return command::load_machine_config(std::string(text_of(object, "a machine")), {});
}

std::optional<MachineConfig> optional_machine_of(py::handle object) {
  if (object.is_none()) return std::nullopt;
  return machine_of(object);
}

void define_machines(py::module_& module) {
  module.def("machines", [] {
    std::vector<std::string> names(machine_names().begin(), machine_names().end());
    return names;
  });
  py::class_<MachineConfig>(module, "Machine", "A machine: what it has and what everything costs on it.")
      .def(py::init([](py::handle base, const py::dict& set) {
             MachineConfig machine = machine_of(base);
             for (const auto& [key, value] : set)
               set_parameter(machine, py::cast<std::string>(py::str(key)) + "=" +
                                          py::cast<std::string>(py::str(value)));
             return machine;
           }),
           py::arg("name") = "trn1", py::arg("set") = py::dict())
      .def_property_readonly("name", [](const MachineConfig& m) { return m.target.machine; })
      .def_property_readonly("generation", [](const MachineConfig& m) { return m.target.generation; })
      .def_property_readonly("partitions", [](const MachineConfig& m) { return m.target.partitions; })
      .def_property_readonly("sbuf_partition_bytes",
                             [](const MachineConfig& m) { return m.target.sbuf_partition_bytes; })
      .def_property_readonly("psum_banks", [](const MachineConfig& m) { return m.target.psum_banks; })
      .def_property_readonly("psum_bank_bytes",
                             [](const MachineConfig& m) { return m.target.psum_bank_bytes; })
      .def_property_readonly("ticks_per_us", [](const MachineConfig& m) { return ticks_per_us(m); })
      .def_property_readonly("hash", [](const MachineConfig& m) { return config_hash(m); })
      .def("toml", [](const MachineConfig& m) { return to_toml(m); })
      .def("parameters",
           [](const MachineConfig& m) {
             py::dict all;
             for (const ParameterInfo& p : parameters(m)) {
               py::dict one;
               one["value"] = p.value;
               one["unit"] = p.unit;
               one["mark"] = p.mark;
               one["source"] = p.source;
               one["description"] = p.description;
               all[py::str(p.key)] = one;
             }
             return all;
           })
      .def("__repr__", [](const MachineConfig& m) {
        return fmt::format("<Machine {}, configuration {}>", m.target.machine, config_hash(m));
      });
}

}  // namespace ncemu::python
