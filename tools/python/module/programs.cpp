// The Python class `Program`, and where programs come from.

#include <pybind11/stl.h>

#include "isa/text.h"
#include "tools/command/tensors.h"
#include "tools/python/module/kernel.h"
#include "tools/python/module/machines.h"
#include "tools/python/module/parts.h"
#include "tools/python/module/types_of_python.h"

namespace ncemu::python {
namespace py = pybind11;

py::object diagnostics_tuple(const std::vector<Diagnostic>& all);  // errors.cpp

namespace {

struct TensorOfProgram {
  std::string name, kind;
  std::vector<std::int64_t> shape;
  DType dtype;
};

std::vector<TensorOfProgram> tensors(const RunnableKernel& kernel) {
  std::vector<TensorOfProgram> all;
  for (const Tensor& t : kernel.kernel.program.tensors)
    all.push_back({t.name, std::string(command::kind_name(t.kind)), t.shape, t.dtype});
  return all;
}

}  // namespace

void define_programs(py::module_& module) {
  py::class_<TensorOfProgram>(module, "Tensor", "A tensor in HBM that a program names.")
      .def_readonly("name", &TensorOfProgram::name)
      .def_readonly("kind", &TensorOfProgram::kind)
      .def_property_readonly("shape", [](const TensorOfProgram& t) { return py::tuple(py::cast(t.shape)); })
      .def_property_readonly("dtype", [](const TensorOfProgram& t) { return numpy_dtype(t.dtype); })
      .def_property_readonly("type", [](const TensorOfProgram& t) { return std::string(name(t.dtype)); })
      .def("__repr__", [](const TensorOfProgram& t) {
        return fmt::format("<Tensor {} {} : {}[{}]>", t.kind, t.name, name(t.dtype),
                           fmt::join(t.shape, ", "));
      });
  py::class_<RunnableKernel, std::shared_ptr<RunnableKernel>>(module, "Program",
                                                              "A program that can run on its machine.")
      .def_property_readonly("name", [](const RunnableKernel& k) { return k.name; })
      .def_property_readonly("machine", [](const RunnableKernel& k) { return k.kernel.machine; })
      .def_property_readonly("tensors", &tensors)
      .def_property_readonly("instruction_count",
                             [](const RunnableKernel& k) { return k.kernel.program.instruction_count(); })
      .def_property_readonly(
          "warnings", [](const RunnableKernel& k) { return diagnostics_tuple(k.kernel.diagnostics.all()); })
      .def("text", [](const RunnableKernel& k) { return disassemble(k.kernel.program); })
      .def(
          "save",
          [](const RunnableKernel& k, py::handle path) {
            save(k, py::cast<std::string>(py::module_::import("os").attr("fspath")(path)));
          },
          py::arg("path"))
      .def("__repr__", [](const RunnableKernel& k) {
        return fmt::format("<Program {}: {} instructions for {}>", k.name,
                           k.kernel.program.instruction_count(), k.kernel.machine.target.machine);
      });
  module.def("assemble", [](std::string path, std::string text, std::string name,
                            std::map<std::string, std::string> defines, py::handle machine) {
    const AssembleRequest request{std::move(path), std::move(text), std::move(name), std::move(defines),
                                  optional_machine_of(machine)};
    const py::gil_scoped_release unlocked;
    return std::const_pointer_cast<RunnableKernel>(assemble(request));
  });
  module.def("on_machine", [](const std::shared_ptr<RunnableKernel>& kernel, py::handle machine) {
    return std::const_pointer_cast<RunnableKernel>(on_machine(kernel, machine_of(machine)));
  });
  module.def("load", [](const std::string& path, py::handle machine) {
    return std::const_pointer_cast<RunnableKernel>(load(path, optional_machine_of(machine)));
  });
}

}  // namespace ncemu::python
