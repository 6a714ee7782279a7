#pragma once

// Gives each field of a form the value that a Python call names; a visitor over the form's fields, so a new
// instruction needs nothing here.

#include <pybind11/pybind11.h>

#include <span>
#include <vector>

#include "isa/instruction.h"
#include "tools/python/module/handle.h"
#include "tools/python/module/types_of_python.h"

namespace ncemu::python {

// The names of a form's fields as interned Python strings, so that finding one in a call is a comparison of
// pointers.
struct FieldNames {
  std::vector<pybind11::object> names;
  bool keeps_rank = false;  // the form has axes: its sources keep their dimensions as written
};
const FieldNames& field_names(Opcode opcode);

// Which tile each on-chip operand of an instruction belongs to, in the order of its fields.
using TileNumbers = std::vector<std::uint32_t>;

class OperandReader {
 public:
  // `old`: the tiles of an instruction that is changed; empty for a new one, which must give every operand
  // that has no default.
  OperandReader(const InstructionInfo& row, pybind11::handle given, const void* builder,
                std::span<const std::uint32_t> old = {}, bool is_new = true);

  template <typename T>
  void operator()(std::string_view name, T& field, Role role) {
    name_ = name;
    role_ = role;
    const std::uint32_t before = taken_tile(field);
    PyObject* value = PyDict_GetItem(given_.ptr(), names_->names[next_++].ptr());  // borrowed
    if (value != nullptr) {
      ++used_;
      read(value, field);
    } else if (is_new_) {
      missing(field);
    } else if (before != no_index) {
      tiles_.push_back(before);
    }
    if constexpr (std::is_same_v<T, AccessPattern>) {
      if (role == Role::write) destination_ = field.dtype;
    }
    if constexpr (std::is_same_v<T, AluOp>) operator_ = field;
  }

  const TileNumbers& tiles() const { return tiles_; }
  // Keywords that were fields.
  Py_ssize_t used() const { return used_; }

 private:
  [[noreturn]] void wrong(std::string_view what, pybind11::handle found) const;
  const Handle& handle(pybind11::handle value, std::string_view what);

  // The tile that the field's present value belongs to, of an instruction that is changed.
  std::uint32_t taken_tile(const AccessPattern&) { return next_old(); }
  std::uint32_t taken_tile(const std::optional<AccessPattern>& p) { return p ? next_old() : no_index; }
  std::uint32_t taken_tile(const MemoryOperand& m) {
    return std::holds_alternative<AccessPattern>(m) ? next_old() : no_index;
  }
  std::uint32_t taken_tile(const ScalarOperand& s) {
    return std::holds_alternative<PointerOperand>(s) ? next_old() : no_index;
  }
  template <typename T>
  std::uint32_t taken_tile(const T&) {
    return no_index;
  }
  std::uint32_t next_old() { return is_new_ ? no_index : old_[next_old_++]; }

  void missing(const AccessPattern&) const;
  void missing(const MemoryOperand&) const;
  template <typename T>
  void missing(const T&) const {}

  void read(pybind11::handle value, AccessPattern& field);
  void read(pybind11::handle value, std::optional<AccessPattern>& field);
  void read(pybind11::handle value, MemoryOperand& field);
  void read(pybind11::handle value, ScalarOperand& field);
  void read(pybind11::handle value, IntOperand& field);
  void read(pybind11::handle value, Register& field);
  void read(pybind11::handle value, BranchTarget& field);
  void read(pybind11::handle value, ArrayPair& field);
  void read(pybind11::handle value, ShuffleMask& field);
  void read(pybind11::handle value, AffineDims& field);
  void read(pybind11::handle value, bool& field);
  void read(pybind11::handle value, float& field);
  template <typename T>
  void read(pybind11::handle value, T& field) {
    if constexpr (std::is_enum_v<T>) {
      const auto found = find<T>(text_of(value, name_));
      if (!found) unknown_word(value, names<T>());
      field = *found;
    } else {
      static_assert(std::is_integral_v<T>, "a field type that the reader does not know");
      field = static_cast<T>(within(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
  }

  [[noreturn]] void unknown_word(pybind11::handle value, std::span<const std::string_view> known) const;
  std::int64_t within(pybind11::handle value, std::int64_t lowest, std::int64_t highest) const;
  std::int32_t immediate(pybind11::handle value) const;
  bool takes_integers() const;

  const InstructionInfo* row_;
  const FieldNames* names_;
  pybind11::handle given_;
  const void* builder_;
  std::span<const std::uint32_t> old_;
  bool is_new_;
  std::size_t next_ = 0, next_old_ = 0;
  Py_ssize_t used_ = 0;
  TileNumbers tiles_;
  std::string_view name_;
  Role role_ = Role::value;
  std::optional<AluOp> operator_;  // the last one read: the class of the scalar that follows
  std::optional<DType> destination_;
};

// Calls visit(operand) for each on-chip operand of the fields, in their order: AccessPattern& or
// PointerOperand&.
template <typename Visit>
struct OnChipVisitor {
  Visit& visit;
  void operator()(std::string_view, AccessPattern& p, Role) { visit(p); }
  void operator()(std::string_view, std::optional<AccessPattern>& p, Role) {
    if (p) visit(*p);
  }
  void operator()(std::string_view, MemoryOperand& m, Role) {
    if (auto* p = std::get_if<AccessPattern>(&m)) visit(*p);
  }
  void operator()(std::string_view, ScalarOperand& s, Role) {
    if (auto* p = std::get_if<PointerOperand>(&s)) visit(*p);
  }
  template <typename Other>
  void operator()(std::string_view, Other&, Role) {}
};
template <typename Visit>
void for_each_on_chip(Operands& operands, Visit&& visit) {
  for_each_field(operands, OnChipVisitor<Visit>{visit});
}

// [[step, count], ...]
struct StepCount {
  std::int64_t step, count;
};
std::vector<StepCount> steps_of(pybind11::handle value, std::string_view what);

// A number as the language takes its literals: rounded to nearest, beyond fp32 infinite.
float single_of(pybind11::handle value, std::string_view what);

}  // namespace ncemu::python
