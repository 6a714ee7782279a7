// The extension `_ncemu`: the package `ncemu` (../ncemu) is what users import.

#include "tools/python/module/parts.h"

PYBIND11_MODULE(_ncemu, module) {
  using namespace ncemu::python;
  define_errors(module);
  define_number_types(module);
  define_views(module);
  define_machines(module);
  define_programs(module);
  define_builder(module);
  define_runs(module);
}
