// Runs: arrays in, arrays out. The interpreter lock is free while the machine works.

#include <pybind11/stl.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>

#include "emu/data/state.h"
#include "emu/observe/profile.h"
#include "emu/observe/timeline.h"
#include "isa/fault.h"
#include "isa/npy.h"
#include "tools/command/execution.h"
#include "tools/command/profile.h"
#include "tools/command/report.h"
#include "tools/command/tensors.h"
#include "tools/files/checksum.h"
#include "tools/files/compare.h"
#include "tools/files/file.h"
#include "tools/files/float_arrays.h"
#include "tools/python/module/kernel.h"
#include "tools/python/module/parts.h"
#include "tools/trace/perfetto.h"

namespace ncemu::python {
namespace py = pybind11;
namespace {

// An array that Python holds while the run lasts.
struct ArrayIn {
  std::string name;
  bool own_type = false;  // the bytes are elements of the tensor's type
  char kind = 'f';        // else numpy's kind and width
  int item_bytes = 4;
  std::vector<std::int64_t> shape;
  std::string described;  // "float32"
  std::span<const std::byte> bytes;
};

struct ArrayOut {
  std::uint16_t tensor = 0;
  std::span<std::byte> bytes;
};

std::span<const std::byte> bytes_of(const py::buffer_info& info) {
  return {static_cast<const std::byte*>(info.ptr), static_cast<std::size_t>(info.size * info.itemsize)};
}

void check_shape(const Tensor& tensor, const ArrayIn& array) {
  if (array.shape == tensor.shape) return;
  throw Fault(FaultKind::input, fmt::format("input '{}'", tensor.name), "is {}, found {}{}",
              command::describe(tensor), array.described, shape_text(array.shape));
}

bool needs_input(const Tensor& tensor) {
  return tensor.kind == TensorKind::input || tensor.kind == TensorKind::inout;
}

// Names, shapes, and that nothing is missing: before the time is spent.
std::vector<std::uint16_t> match_inputs(const Program& program, const std::vector<ArrayIn>& arrays) {
  std::vector<std::uint16_t> numbers;
  std::vector<bool> given(program.tensors.size());
  for (const ArrayIn& array : arrays) {
    const std::uint16_t number = command::find_tensor(program, array.name, "inputs");
    const Tensor& tensor = program.tensors[number];
    if (!needs_input(tensor))
      throw Fault(FaultKind::input, "inputs", "'{}' is no input of the kernel, it is: {}", array.name,
                  command::kind_name(tensor.kind));
    check_shape(tensor, array);
    given[number] = true;
    numbers.push_back(number);
  }
  std::string missing;
  for (std::size_t t = 0; t < given.size(); ++t) {
    if (needs_input(program.tensors[t]) && !given[t])
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", command::describe(program.tensors[t]));
  }
  if (!missing.empty()) throw Fault(FaultKind::input, program.name, "the kernel needs data for {}", missing);
  return numbers;
}

struct Converted {
  std::span<const std::byte> as_it_is;
  std::vector<std::byte> made;
  bool is_made = false;
  std::size_t overflowed = 0;
  std::span<const std::byte> bytes() const { return is_made ? std::span<const std::byte>(made) : as_it_is; }
};

// The same rules as for files (isa/npy.h).
Converted convert(const ArrayIn& array, DType dtype, const std::string& what) {
  Converted result;
  result.as_it_is = array.bytes;
  if (array.own_type) return result;
  result.is_made = true;
  if (array.kind == 'f' && is_float(dtype)) {
    ConvertedFloats floats = convert_floats(array.bytes, array.item_bytes, dtype);
    result.made = std::move(floats.bytes);
    result.overflowed = floats.overflowed;
  } else {
    NpyArray copy{array.kind, array.item_bytes, array.shape, {array.bytes.begin(), array.bytes.end()}};
    result.made = tensor_bytes(std::move(copy), dtype, what);
  }
  return result;
}

command::Input give(State& state, const Tensor& tensor, std::uint16_t number, const ArrayIn& array) {
  const Converted converted = convert(array, tensor.dtype, fmt::format("input '{}'", tensor.name));
  state.hbm.write(number, 0, converted.bytes());
  return {.tensor = number,
          .name = tensor.name,
          .source = "array",
          .bytes = {},
          .checksum = checksum(converted.bytes()),
          .overflowed = converted.overflowed};
}

struct Settings {
  std::string mode = "timed", checks = "default";
  bool strict = false;
  std::optional<int> poison;
  std::optional<std::uint64_t> seed;
  std::optional<double> max_time;
  std::uint64_t max_instructions = 0;
  int threads = 1;
};

command::RunRequest request_of(const Settings& settings) {
  command::RunRequest request;
  request.mode = command::parse_mode(settings.mode);
  request.checks = CheckSet::parse(settings.checks, "checks");
  request.strict = settings.strict;
  if (settings.poison) request.poison = static_cast<std::byte>(*settings.poison);
  request.stochastic_rounding_seed = settings.seed;
  request.max_time = settings.max_time;
  request.max_instructions = settings.max_instructions;
  if (settings.threads < 1)
    throw Fault(FaultKind::input, "threads", "takes at least 1, found {}", settings.threads);
  request.threads = settings.threads;
  return request;
}

// Whether Python has a signal to handle (Ctrl-C); asked rarely, because it takes the lock.
class Signals {
 public:
  bool ask() {
    const auto now = std::chrono::steady_clock::now();
    if (now - asked_ < std::chrono::milliseconds(50)) return false;
    asked_ = now;
    const py::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() == 0) return false;
    pending_ = true;  // the exception stays set until the run is over
    PyErr_Fetch(&type_, &value_, &trace_);
    return true;
  }
  void rethrow() {
    if (!pending_) return;
    PyErr_Restore(type_, value_, trace_);
    throw py::error_already_set();
  }

 private:
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
  bool pending_ = false;
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

// What `.print` shows, as text.
class Printed {
 public:
  Printed() : file_(open_memstream(&text_, &size_)) {
    ensure(file_ != nullptr, "there is memory for printing");
  }
  ~Printed() {
    std::fclose(file_);
    std::free(text_);
  }
  Printed(const Printed&) = delete;
  Printed& operator=(const Printed&) = delete;
  std::FILE* file() const { return file_; }
  std::string text() {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

// A recorded run and what is made of it; its parts point to each other.
struct RecordedProfile {
  std::shared_ptr<const RunnableKernel> kernel;
  command::RunReport run;
  command::SourceText source;
  std::optional<Profile> model;
  std::optional<command::ProfileReport> report;

  RecordedProfile(std::shared_ptr<const RunnableKernel> of, command::RunReport ran, Timeline recorded,
                  std::size_t windows)
      : kernel(std::move(of)), run(std::move(ran)), source(command::read_sources(kernel->kernel.program)) {
    model.emplace(std::move(recorded), run.summary, kernel->kernel.program, kernel->kernel.machine,
                  source.blocks, windows);
    report.emplace(command::make_report({.command_line = "ncemu.profile", .kernel = kernel->name},
                                        kernel->kernel, run, *model, source));
  }
  RecordedProfile(const RecordedProfile&) = delete;
  RecordedProfile& operator=(const RecordedProfile&) = delete;
};

struct NativeResult {
  std::string status, message, json, text, printed;
  std::shared_ptr<RecordedProfile> profile;  // of a run that was recorded
  bool passed = false, partial = false;
  Ticks ticks = 0;
  double us = 0, core_cycles = 0, host_seconds = 0;
  std::uint64_t instructions = 0;
};

NativeResult result_of(const RunnableKernel& kernel, const command::RunReport& report, Printed& printed) {
  const command::ReportHead head{.command_line = "ncemu.run", .kernel = kernel.name};
  NativeResult result;
  result.status = command::status_name(report.result.status);
  result.message = report.message;
  result.json = command::report_json(head, kernel.kernel, report);
  result.text = command::report_text(head, kernel.kernel, report) + command::findings_text(report.checks);
  result.printed = printed.text();
  // A run without data ends where data decide what comes next; that is no fault of the kernel.
  const bool stopped_for_data = report.result.status == RunStatus::no_data;
  result.partial = report.partial() && !stopped_for_data;
  result.passed = stopped_for_data ? !report.checks.failed() && report.failures.empty() : !report.failed();
  result.ticks = report.summary.total;
  result.us = report.summary.total_us;
  result.core_cycles = report.summary.core_cycles;
  result.instructions = report.result.instructions;
  result.host_seconds = report.host_seconds;
  return result;
}

std::vector<ArrayIn> arrays_in(const py::list& arrays, std::vector<py::buffer_info>& held) {
  std::vector<ArrayIn> all;
  held.reserve(arrays.size());
  for (const py::handle item : arrays) {
    const auto [name, own_type, kind, item_bytes, shape, described, data] =
        item.cast<std::tuple<std::string, bool, std::string, int, std::vector<std::int64_t>, std::string,
                             py::buffer>>();
    held.push_back(data.request());
    all.push_back(
        {name, own_type, kind.empty() ? 'V' : kind[0], item_bytes, shape, described, bytes_of(held.back())});
  }
  return all;
}

std::vector<ArrayOut> arrays_out(const py::list& arrays, std::vector<py::buffer_info>& held) {
  std::vector<ArrayOut> all;
  held.reserve(arrays.size());
  for (const py::handle item : arrays) {
    const auto [tensor, data] = item.cast<std::tuple<std::uint16_t, py::buffer>>();
    held.push_back(data.request(true));
    all.push_back({tensor,
                   {static_cast<std::byte*>(held.back().ptr),
                    static_cast<std::size_t>(held.back().size * held.back().itemsize)}});
  }
  return all;
}

// `windows`: 0 for a run without a profile.
NativeResult run(const std::shared_ptr<RunnableKernel>& kernel, const py::list& inputs,
                 const py::list& outputs, const Settings& settings, std::size_t windows) {
  std::vector<py::buffer_info> held_in, held_out;
  const std::vector<ArrayIn> in = arrays_in(inputs, held_in);
  const std::vector<ArrayOut> out = arrays_out(outputs, held_out);
  const Program& program = kernel->kernel.program;
  command::RunRequest request = request_of(settings);
  const std::vector<std::uint16_t> numbers =
      has_data(request.mode) ? match_inputs(program, in) : std::vector<std::uint16_t>();
  request.provide = [&](State& state) {
    std::vector<command::Input> given;
    for (std::size_t i = 0; i < in.size(); ++i)
      given.push_back(give(state, program.tensors[numbers[i]], numbers[i], in[i]));
    return given;
  };
  request.collect = [&](const State& state) {
    for (const ArrayOut& array : out) state.hbm.read(array.tensor, 0, array.bytes);
  };
  Signals signals;
  request.interrupted = [&] { return signals.ask(); };
  Printed printed;
  NativeResult result;
  {
    const py::gil_scoped_release unlocked;
    TimelineObserver recorder;
    if (windows > 0) request.observers.push_back(&recorder);
    command::RunReport report = command::execute(kernel->kernel, request, printed.file());
    result = result_of(*kernel, report, printed);
    if (windows > 0)
      result.profile = std::make_shared<RecordedProfile>(kernel, std::move(report), recorder.take(), windows);
  }
  signals.rethrow();
  return result;
}

}  // namespace

void define_runs(py::module_& module) {
  py::class_<RecordedProfile, std::shared_ptr<RecordedProfile>>(module, "RecordedProfile")
      .def("json", [](const RecordedProfile& p) { return command::profile_json(*p.report); })
      .def("text", [](const RecordedProfile& p) { return command::profile_text(*p.report, false); })
      .def("write_html", [](const RecordedProfile& p,
                            const std::string& path) { write_file(path, command::profile_html(*p.report)); })
      .def("write_perfetto", [](const RecordedProfile& p, const std::string& path) {
        write_file(path, perfetto_trace(p.kernel->name, *p.model));
      });
  py::class_<NativeResult>(module, "NativeResult")
      .def_readonly("status", &NativeResult::status)
      .def_readonly("message", &NativeResult::message)
      .def_readonly("json", &NativeResult::json)
      .def_readonly("text", &NativeResult::text)
      .def_readonly("printed", &NativeResult::printed)
      .def_readonly("profile", &NativeResult::profile)
      .def_readonly("passed", &NativeResult::passed)
      .def_readonly("partial", &NativeResult::partial)
      .def_readonly("ticks", &NativeResult::ticks)
      .def_readonly("us", &NativeResult::us)
      .def_readonly("core_cycles", &NativeResult::core_cycles)
      .def_readonly("host_seconds", &NativeResult::host_seconds)
      .def_readonly("instructions", &NativeResult::instructions);
  module.def(
      "run",
      [](const std::shared_ptr<RunnableKernel>& kernel, const py::list& inputs, const py::list& outputs,
         std::string mode, std::string checks, bool strict, std::optional<int> poison,
         std::optional<std::uint64_t> seed, std::optional<double> max_time, std::uint64_t max_instructions,
         int threads, std::size_t windows) {
        const Settings settings{std::move(mode), std::move(checks), strict, poison, seed,
                                max_time,        max_instructions,  threads};
        return run(kernel, inputs, outputs, settings, windows);
      },
      py::arg("program"), py::arg("inputs"), py::arg("outputs"), py::kw_only(), py::arg("mode"),
      py::arg("checks"), py::arg("strict"), py::arg("poison"), py::arg("seed"), py::arg("max_time"),
      py::arg("max_instructions"), py::arg("threads"), py::arg("windows") = 0);
  module.def("profile_schema", &command::profile_schema);
  // The elements of an array as those of another type, by the rules of inputs.
  module.def("tensor_bytes", [](const std::string& name, std::string_view type, const py::list& array) {
    std::vector<py::buffer_info> held;
    const std::vector<ArrayIn> in = arrays_in(array, held);
    const auto dtype = find<DType>(type);
    ensure(dtype.has_value() && in.size() == 1, "the package names types as the language does");
    const Converted converted = convert(in[0], *dtype, name);
    const auto bytes = converted.bytes();
    return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
}

}  // namespace ncemu::python
