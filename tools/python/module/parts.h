#pragma once

// The parts of the extension `_ncemu`, each in a file of its own.

#include <pybind11/pybind11.h>

namespace ncemu::python {

void define_errors(pybind11::module_& module);
void define_number_types(pybind11::module_& module);
void define_views(pybind11::module_& module);
void define_machines(pybind11::module_& module);
void define_programs(pybind11::module_& module);
void define_builder(pybind11::module_& module);
void define_runs(pybind11::module_& module);

}  // namespace ncemu::python
