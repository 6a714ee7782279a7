// Tracer: transfers, waits and signals.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "isa/fault.h"
#include "tools/python/module/tracer.h"

namespace ncemu::python {
namespace py = pybind11;
namespace {

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Fault(FaultKind::input, "", text, std::forward<Args>(args)...);
}

// The keyword arguments of a transfer by name.
class Given {
 public:
  Given(const InstructionInfo& row, const py::dict& operands) : row_(row), operands_(operands) {}

  // nullptr: not given, or None.
  PyObject* find(std::string_view name) {
    const FieldNames& fields = field_names(row_.opcode);
    for (const py::object& field : fields.names) {
      if (text_of(field, "") != name) continue;
      PyObject* value = PyDict_GetItem(operands_.ptr(), field.ptr());  // borrowed
      if (value != nullptr) ++used_;
      return value == Py_None ? nullptr : value;
    }
    return nullptr;
  }
  py::handle need(std::string_view name) {
    PyObject* value = find(name);
    if (value == nullptr) fail("operand '{}' of {} is missing", name, row_.mnemonic);
    return value;
  }
  template <typename E>
  std::optional<E> word(std::string_view name) {
    PyObject* value = find(name);
    if (value == nullptr) return std::nullopt;
    const auto found = ncemu::find<E>(text_of(value, name));
    if (!found)
      fail("operand '{}' of {}: there is no {}; known are: {}", name, row_.mnemonic, describe_object(value),
           fmt::join(names<E>(), " "));
    return found;
  }
  Py_ssize_t used() const { return used_; }

 private:
  const InstructionInfo& row_;
  const py::dict& operands_;
  Py_ssize_t used_ = 0;
};

std::int64_t elements(const MemoryOperand& operand) {
  if (const auto* chip = std::get_if<AccessPattern>(&operand)) return chip->elements() * chip->partitions;
  return std::get<HbmPattern>(operand).elements();
}

struct Sides {
  std::vector<std::int64_t> sizes;
  void operator()(std::string_view, const MemoryOperand& m, Role) { sizes.push_back(elements(m)); }
  template <typename Other>
  void operator()(std::string_view, const Other&, Role) {}
};

std::uint16_t small(py::handle value, std::uint32_t most, const char* what) {
  const std::int64_t n = integer_of(value, what);
  if (n < 0 || n > most) fail("{} must be from 0 to {}, found {}", what, most, n);
  return static_cast<std::uint16_t>(n);
}

struct ConditionWord {
  std::string_view text;
  Comparison condition;
};
constexpr std::array<ConditionWord, 6> conditions = {{{">=", Comparison::ge},
                                                      {">", Comparison::gt},
                                                      {"==", Comparison::eq},
                                                      {"!=", Comparison::ne},
                                                      {"<=", Comparison::le},
                                                      {"<", Comparison::lt}}};

struct UpdateWord {
  std::string_view text;
  UpdateOperation operation;
  bool has_value;
};
constexpr std::array<UpdateWord, 5> updates = {{{"+=", UpdateOperation::sem_add_imm, true},
                                                {"-=", UpdateOperation::sem_sub_imm, true},
                                                {"=", UpdateOperation::sem_wr_imm, true},
                                                {"++", UpdateOperation::sem_inc, false},
                                                {"--", UpdateOperation::sem_dec, false}}};

std::vector<py::object> items(py::handle value, const char* what) {
  if (!PyTuple_Check(value.ptr()) && !PyList_Check(value.ptr()))
    fail("{} must be a tuple, found {}", what, describe_object(value));
  std::vector<py::object> all;
  for (const py::handle item : value) all.push_back(py::reinterpret_borrow<py::object>(item));
  return all;
}

}  // namespace

Instruction& Tracer::emit_transfer(const InstructionInfo& row, const py::dict& operands, const Extras& extras,
                                   Py_ssize_t& used, TileNumbers& tiles) {
  Given given(row, operands);
  const auto side = [&](py::handle value, std::string_view name) -> const Handle& {
    if (!py::isinstance<Handle>(value))
      fail("operand '{}' of {} must be a view, found {}", name, row.mnemonic, describe_object(value));
    const Handle& h = value.cast<const Handle&>();
    if (h.storage->builder != this)
      fail("operand '{}' of {}: '{}' belongs to another builder", name, row.mnemonic, h.storage->name);
    if (h.on_chip()) tiles.push_back(h.storage->number);
    return h;
  };
  const Handle& dst = side(given.need("dst"), "dst");
  std::optional<std::uint8_t> queue;
  if (PyObject* q = given.find("queue")) queue = static_cast<std::uint8_t>(small(q, 255, "queue"));
  const auto mode = given.word<DgeMode>("mode");

  if (row.opcode == Opcode::dma_compute) {
    std::vector<ScaledView> sources;
    for (std::size_t i = 0; i < DmaCompute::most_sources; ++i) {
      const std::string name = fmt::format("src{}", i);
      PyObject* source = given.find(name);
      if (source == nullptr) break;
      sources.push_back({side(source, name).view});
      if (PyObject* scale = given.find(fmt::format("scale{}", i)))
        sources.back().scale = single_of(scale, "scale");
    }
    if (sources.empty()) fail("operand 'src0' of {} is missing", row.mnemonic);
    const ComputeOp op = given.word<ComputeOp>("op").value_or(ComputeOp::add);
    used += given.used();
    check_all_used(row, operands, used);
    return builder_.dma_compute(dst.view, sources, op, extras.engine, queue, mode);
  }

  const Handle& src = side(given.need("src"), "src");
  if (row.opcode == Opcode::dma_transpose) {
    used += given.used();
    check_all_used(row, operands, used);
    return builder_.dma_transpose(dst.view, src.view, extras.engine, queue, mode);
  }
  CopyOptions options;
  if (PyObject* index = given.find("index")) {
    const Handle& rows = side(index, "index");
    const View& tile = dst.on_chip() ? dst.view : src.view;
    if (tile.on_chip() && rows.view.size(0) != tile.size(0))
      fail("operand 'index' of {} is {}, the tile {} has {} partitions", row.mnemonic, rows.view.describe(),
           tile.describe(), tile.size(0));
    options.index = rows.view.pointer();
  }
  options.bounds = given.word<Bounds>("bounds").value_or(Bounds::error);
  if (PyObject* accumulate = given.find("accumulate")) options.accumulate = PyObject_IsTrue(accumulate) == 1;
  used += given.used();
  check_all_used(row, operands, used);
  return builder_.dma_copy(dst.view, src.view, extras.engine, queue, mode, options);
}

void Tracer::check_changed_transfer(const InstructionInfo& row, const Operands& before,
                                    const Operands& after) const {
  Sides old, now;
  for_each_field(before, old);
  for_each_field(after, now);
  if (row.opcode == Opcode::dma_copy && old.sizes == now.sizes) return;
  if (row.opcode != Opcode::dma_copy)
    fail("change() takes no {}: its shapes are checked where it is emitted", row.mnemonic);
  fail("change() of a transfer must keep the number of elements: {} before, {} now", old.sizes[0],
       now.sizes[0]);
}

Wait Tracer::read_wait(py::handle value) const {
  const auto parts = items(value, "wait");
  if (parts.size() != 3) fail("wait is (semaphore, \">=\", value)");
  const std::string_view word = text_of(parts[1], "the comparison of a wait");
  const auto found =
      std::find_if(conditions.begin(), conditions.end(), [&](const auto& c) { return c.text == word; });
  if (found == conditions.end()) fail("there is no wait '{}': >= > == != <= <", word);
  Wait wait;
  wait.semaphore =
      static_cast<std::uint8_t>(small(parts[0], builder_.target().semaphores - 1, "a semaphore"));
  wait.condition = found->condition;
  if (py::isinstance<Register>(parts[2])) {
    wait.value_is_register = true;
    wait.value = parts[2].cast<Register>().number;
  } else {
    wait.value = small(parts[2], builder_.target().semaphore_max, "the value of a wait");
  }
  return wait;
}

Update Tracer::read_signal(py::handle value) const {
  auto parts = items(value, "signal");
  constexpr const char* form =
      "signal is (semaphore, \"+=\", value) or (semaphore, \"++\"), and then \"read\" or \"complete\"";
  if (parts.size() < 2) fail("{}", form);
  Update update;
  if (parts.size() > 2 && PyUnicode_Check(parts.back().ptr())) {
    const auto when = find<UpdateWhen>(text_of(parts.back(), "signal"));
    if (!when) fail("{}", form);
    update.when = *when;
    parts.pop_back();
  }
  const std::string_view word = text_of(parts[1], "the operator of a signal");
  const auto found =
      std::find_if(updates.begin(), updates.end(), [&](const auto& u) { return u.text == word; });
  if (found == updates.end()) fail("there is no signal '{}': += -= = ++ --", word);
  if (parts.size() != (found->has_value ? 3U : 2U)) fail("{}", form);
  update.semaphore =
      static_cast<std::uint8_t>(small(parts[0], builder_.target().semaphores - 1, "a semaphore"));
  update.operation = found->operation;
  if (found->has_value)
    update.value = small(parts[2], builder_.target().semaphore_max, "the value of a signal");
  return update;
}

}  // namespace ncemu::python
