// Faults become ncemu.Error (ncemu/errors.py) with their place in the source.

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "isa/diagnostics.h"
#include "isa/fault.h"
#include "tools/python/module/kernel.h"
#include "tools/python/module/parts.h"

namespace ncemu::python {
namespace py = pybind11;
namespace {

// "gemm.nca:12:3" as a place; what does not end in numbers is a file, or another thing that has no lines.
Location place_of(const std::string& where) {
  Location place;
  // With the macro calls that led there, the place itself comes first.
  place.file = where.substr(0, where.find_first_of(" \n"));
  std::uint32_t numbers[2] = {0, 0};
  int found = 0;
  while (found < 2) {
    const std::size_t colon = place.file.rfind(':');
    if (colon == std::string::npos || colon + 1 == place.file.size()) break;
    std::uint32_t value = 0;
    const char* end = place.file.data() + place.file.size();
    if (std::from_chars(place.file.data() + colon + 1, end, value).ptr != end) break;
    numbers[found++] = value;
    place.file.resize(colon);
  }
  if (found == 0) place.file = where;
  place.line = found == 2 ? numbers[1] : numbers[0];
  place.column = found == 2 ? numbers[0] : 0;
  return place;
}

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "error";
}

py::object error_module() { return py::module_::import("ncemu.errors"); }

py::object diagnostic_object(const Diagnostic& d) {
  py::list notes;
  for (const Diagnostic& note : d.notes) notes.append(diagnostic_object(note));
  return error_module().attr("Diagnostic")(severity_name(d.severity), d.message, d.where.file, d.where.line,
                                           d.where.column, d.hint, d.reference, py::tuple(notes));
}

const char* kind_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::program: return "program";
    case FaultKind::input: return "input";
    case FaultKind::internal: return "internal";
  }
  return "internal";
}

void raise(const char* kind, const std::string& text, const std::string& message, const Location& where,
           const py::tuple& diagnostics) {
  const py::object type = error_module().attr("Error");
  const py::object error = type(text, message, where.file, where.line, where.column, kind, diagnostics);
  PyErr_SetObject(type.ptr(), error.ptr());
}

}  // namespace

py::object diagnostics_tuple(const std::vector<Diagnostic>& all) {
  py::list list;
  for (const Diagnostic& d : all) list.append(diagnostic_object(d));
  return py::tuple(list);
}

void define_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Fault& fault) {
      raise(kind_name(fault.kind()), fault.what(), fault.message(), place_of(fault.where()), py::tuple());
    } catch (const Diagnosed& several) {
      const std::vector<Diagnostic>& all = several.diagnostics().all();
      const Diagnostic* first = &all.front();
      for (const Diagnostic& d : all) {
        if (d.severity != Severity::error) continue;
        first = &d;
        break;
      }
      raise("input", several.what(), first->message, first->where, diagnostics_tuple(all));
    }
  });
}

}  // namespace ncemu::python
