#include "tools/python/module/operands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/diagnostics.h"
#include "isa/fault.h"

namespace ncemu::python {
namespace py = pybind11;
namespace {

// Opcodes fit a byte (codec), so the names are found without a search.
constexpr std::size_t opcodes = 256;

struct NameCollector {
  FieldNames& to;
  template <typename T>
  void operator()(std::string_view name, const T&, Role) {
    PyObject* text = PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
    PyUnicode_InternInPlace(&text);
    to.names.push_back(py::reinterpret_steal<py::object>(text));
    to.keeps_rank = to.keeps_rank || std::is_same_v<T, Axes>;
  }
};

std::vector<FieldNames> all_field_names() {
  std::vector<FieldNames> all(opcodes);
  for (const InstructionInfo& row : all_instructions()) {
    Operands operands = default_operands(row.opcode);
    if (auto* compute = std::get_if<DmaCompute>(&operands)) compute->sources.resize(DmaCompute::most_sources);
    for_each_field(std::as_const(operands), NameCollector{all[static_cast<std::size_t>(row.opcode)]});
  }
  return all;
}

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Fault(FaultKind::input, "", text, std::forward<Args>(args)...);
}

}  // namespace

const FieldNames& field_names(Opcode opcode) {
  // Made once and never destroyed: the interpreter may be gone before this library is.
  static const auto& all = *new std::vector<FieldNames>(all_field_names());
  return all[static_cast<std::size_t>(opcode)];
}

OperandReader::OperandReader(const InstructionInfo& row, py::handle given, const void* builder,
                             std::span<const std::uint32_t> old, bool is_new)
    : row_(&row),
      names_(&field_names(row.opcode)),
      given_(given),
      builder_(builder),
      old_(old),
      is_new_(is_new) {}

void OperandReader::wrong(std::string_view what, py::handle found) const {
  fail("operand '{}' of {} must be {}, found {}", name_, row_->mnemonic, what, describe_object(found));
}

const Handle& OperandReader::handle(py::handle value, std::string_view what) {
  if (!py::isinstance<Handle>(value)) wrong(what, value);
  const Handle& found = value.cast<const Handle&>();
  if (found.storage->builder != builder_)
    fail("operand '{}' of {}: '{}' belongs to another builder", name_, row_->mnemonic, found.storage->name);
  return found;
}

void OperandReader::missing(const AccessPattern&) const {
  fail("operand '{}' of {} is missing", name_, row_->mnemonic);
}
void OperandReader::missing(const MemoryOperand&) const {
  fail("operand '{}' of {} is missing", name_, row_->mnemonic);
}

void OperandReader::read(py::handle value, AccessPattern& field) {
  const Handle& h = handle(value, "a view in SBUF or PSUM");
  if (!h.on_chip())
    fail(
        "operand '{}' of {} must be in SBUF or PSUM, found {} of tensor '{}'; dma_copy brings tensors on "
        "chip",
        name_, row_->mnemonic, h.view.describe(), h.storage->name);
  field = h.view.pattern(names_->keeps_rank && role_ == Role::read);
  tiles_.push_back(h.storage->number);
}

void OperandReader::read(py::handle value, std::optional<AccessPattern>& field) {
  field.reset();
  if (!value.is_none()) read(value, field.emplace());
}

void OperandReader::read(py::handle value, MemoryOperand& field) {
  const Handle& h = handle(value, "a view");
  field = h.view.memory();
  if (h.on_chip()) tiles_.push_back(h.storage->number);
}

// A number, a register, or a [P, 1] view: one value per lane.
void OperandReader::read(py::handle value, ScalarOperand& field) {
  if (value.is_none()) {
    field = std::monostate{};
  } else if (PyFloat_CheckExact(value.ptr())) {
    field = single_of(value, name_);
  } else if (py::isinstance<Handle>(value)) {
    const Handle& h = handle(value, "a view");
    field = h.view.pointer();
    tiles_.push_back(h.storage->number);
  } else if (py::isinstance<Register>(value)) {
    field = value.cast<Register>();
  } else if (takes_integers() && is_integer_object(value)) {
    field = immediate(value);
  } else if (PyNumber_Check(value.ptr()) != 0) {
    field = single_of(value, name_);
  } else {
    wrong("None, a number, a register or a view of one value per lane", value);
  }
}

// Integers stay integers for the bitvec class and where a value fills an integer type.
bool OperandReader::takes_integers() const {
  if (operator_) return is_bitvec(*operator_);
  const bool fills = row_->opcode == Opcode::memset || row_->opcode == Opcode::tensor_copy_predicated;
  return fills && destination_ && is_integer(*destination_);
}

// 32 bits, with or without sign.
std::int32_t OperandReader::immediate(py::handle value) const {
  const std::int64_t n = within(value, std::numeric_limits<std::int32_t>::min(), 0xFFFFFFFF);
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(n));
}

std::int64_t OperandReader::within(py::handle value, std::int64_t lowest, std::int64_t highest) const {
  const std::int64_t n = integer_of(value, name_);
  if (n < lowest || n > highest) {
    fail("operand '{}' of {} must be an integer from {} to {}, found {}", name_, row_->mnemonic, lowest,
         highest, n);
  }
  return n;
}

void OperandReader::read(py::handle value, Register& field) {
  if (value.is_none()) {
    field = Register{};
    return;
  }
  if (!py::isinstance<Register>(value)) wrong("a register", value);
  field = value.cast<Register>();
}

void OperandReader::read(py::handle value, IntOperand& field) {
  if (py::isinstance<Register>(value)) {
    field = value.cast<Register>();
  } else {
    field = immediate(value);
  }
}

void OperandReader::read(py::handle value, BranchTarget& field) {
  field.index = static_cast<std::uint32_t>(within(value, 0, std::numeric_limits<std::uint32_t>::max()));
}

void OperandReader::read(py::handle value, ArrayPair& field) {
  const auto pair = integers_of(value, name_);
  if (pair.size() != 2) wrong("a pair: (row, column)", value);
  for (const std::int64_t n : pair) {
    if (n < 0 || n > 255) wrong("a pair of places in the array", value);
  }
  field = {static_cast<std::uint8_t>(pair[0]), static_cast<std::uint8_t>(pair[1])};
}

void OperandReader::read(py::handle value, ShuffleMask& field) {
  const auto lanes = integers_of(value, name_);
  if (lanes.size() != field.source.size()) wrong(fmt::format("{} lanes", field.source.size()), value);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i] < 0 || lanes[i] > 255) wrong("lanes from 0 to 31, or 255", value);
    field.source[i] = static_cast<std::uint8_t>(lanes[i]);
  }
}

void OperandReader::read(py::handle value, AffineDims& field) {
  const std::vector<StepCount> dims = steps_of(value, name_);
  field = {};
  if (dims.size() > field.dims.size())
    fail("operand '{}' of {} has at most {} dimensions, found {}", name_, row_->mnemonic, field.dims.size(),
         dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto [step, count] = dims[dims.size() - 1 - i];
    if (step != static_cast<std::int32_t>(step)) fail("a step fits 32 bits, found {}", step);
    if (count < 1 || count > 65535) fail("a count is between 1 and 65535, found {}", count);
    field.dims[i] = {static_cast<std::int32_t>(step), static_cast<std::uint16_t>(count)};
  }
}

void OperandReader::read(py::handle value, bool& field) {
  if (value.is(py::handle(Py_True)) || value.is(py::handle(Py_False))) {
    field = value.is(py::handle(Py_True));
    return;
  }
  // numpy.bool_ and 0, 1
  if (PyNumber_Check(value.ptr()) == 0) wrong("True or False", value);
  const double number = number_of(value, name_);
  if (number != 0 && number != 1) wrong("True or False", value);
  field = number != 0;
}

void OperandReader::read(py::handle value, float& field) { field = single_of(value, name_); }

void OperandReader::unknown_word(py::handle value, std::span<const std::string_view> known) const {
  const std::string_view word = text_of(value, name_);
  const std::string_view near = did_you_mean(word, {known.begin(), known.end()});
  if (!near.empty())
    fail("operand '{}' of {}: there is no '{}'; did you mean '{}'?", name_, row_->mnemonic, word, near);
  fail("operand '{}' of {}: there is no '{}'; known are: {}", name_, row_->mnemonic, word,
       fmt::join(known, " "));
}

std::vector<StepCount> steps_of(py::handle value, std::string_view what) {
  const auto outer = py::reinterpret_steal<py::object>(PySequence_Fast(value.ptr(), ""));
  if (!outer) {
    PyErr_Clear();
    fail("{} must be [[step, count], ...], found {}", what, describe_object(value));
  }
  std::vector<StepCount> steps;
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(outer.ptr());
  steps.reserve(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    const auto pair =
        py::reinterpret_steal<py::object>(PySequence_Fast(PySequence_Fast_GET_ITEM(outer.ptr(), i), ""));
    if (!pair || PySequence_Fast_GET_SIZE(pair.ptr()) != 2) {
      PyErr_Clear();
      fail("{} must be [[step, count], ...], found {}", what, describe_object(value));
    }
    steps.push_back({integer_of(PySequence_Fast_GET_ITEM(pair.ptr(), 0), "a step"),
                     integer_of(PySequence_Fast_GET_ITEM(pair.ptr(), 1), "a count")});
  }
  return steps;
}

float single_of(py::handle value, std::string_view what) {
  return static_cast<float>(number_of(value, what));
}

}  // namespace ncemu::python
