#include "tools/command/show.h"

#include <algorithm>
#include <cstring>

#include "isa/fault.h"
#include "isa/number.h"
#include "tools/files/compare.h"

namespace ncemu::command {
namespace {

constexpr std::int64_t shown_whole = 1000;
constexpr std::int64_t edge = 3;
constexpr std::size_t line_width = 100;

std::string text_of(DType dtype, std::span<const std::byte> bytes, std::size_t i) {
  const std::uint32_t bits = element_bits(dtype, bytes, i);
  if (is_integer(dtype)) return fmt::format("{}", integer_from_bits(dtype, bits));
  return fmt::format("{}", from_bits(dtype, bits));
}

class Printer {
 public:
  Printer(DType dtype, std::span<const std::byte> bytes, std::span<const std::int64_t> shape)
      : dtype_(dtype), bytes_(bytes), shape_(shape) {
    std::int64_t elements = 1;
    for (const std::int64_t size : shape) elements *= size;
    shorten_ = elements > shown_whole;
    measure(0, 0);
  }

  std::string text() const {
    std::string out;
    print(0, 0, out);
    return out;
  }

 private:
  // Calls visit(index) for what is shown of dimension d, and gap() where the middle is left out.
  template <typename Visit, typename Gap>
  void each(std::size_t d, Visit visit, Gap gap) const {
    const std::int64_t size = shape_[d];
    const bool cut = shorten_ && size > 2 * edge;
    for (std::int64_t i = 0; i < size; ++i) {
      if (cut && i == edge) {
        gap();
        i = size - edge;
      }
      visit(i);
    }
  }

  void measure(std::size_t d, std::size_t at) {
    if (d == shape_.size()) {
      width_ = std::max(width_, text_of(dtype_, bytes_, at).size());
      return;
    }
    each(
        d,
        [&](std::int64_t i) {
          measure(d + 1, at * static_cast<std::size_t>(shape_[d]) + static_cast<std::size_t>(i));
        },
        [] {});
  }

  void print(std::size_t d, std::size_t at, std::string& out) const {
    if (d == shape_.size()) {
      const std::string value = text_of(dtype_, bytes_, at);
      out += std::string(width_ - value.size(), ' ') + value;
      return;
    }
    const bool row = d + 1 == shape_.size();
    const std::string indent = "\n" + std::string(d + 1, ' ');
    out += '[';
    bool first = true;
    std::size_t column = d + 1;
    const auto separate = [&](std::size_t next) {
      if (first) {
        first = false;
      } else if (!row || column + 1 + next > line_width) {
        out += indent;
        column = d + 1;
      } else {
        out += ' ';
        ++column;
      }
      column += next;
    };
    each(
        d,
        [&](std::int64_t i) {
          separate(width_);
          print(d + 1, at * static_cast<std::size_t>(shape_[d]) + static_cast<std::size_t>(i), out);
        },
        [&] {
          separate(3);
          out += "...";
        });
    out += ']';
  }

  DType dtype_;
  std::span<const std::byte> bytes_;
  std::span<const std::int64_t> shape_;
  bool shorten_ = false;
  std::size_t width_ = 0;
};

const OnChipMemory& memory(Space space, const State& state) {
  ensure(space != Space::hbm, "an on-chip pattern lies in SBUF or PSUM");
  return space == Space::sbuf ? state.sbuf : state.psum;
}

}  // namespace

std::vector<std::byte> read_operand(const MemoryOperand& operand, const State& state) {
  std::vector<std::byte> bytes;
  if (const auto* hbm = std::get_if<HbmPattern>(&operand)) {
    bytes.reserve(static_cast<std::size_t>(hbm->elements() * size_of(hbm->dtype)));
    for_each_run(*hbm, [&](std::int64_t offset, std::int64_t length) {
      const std::size_t at = bytes.size();
      bytes.resize(at + static_cast<std::size_t>(length));
      state.hbm.read(hbm->tensor, offset, std::span(bytes).subspan(at));
    });
    return bytes;
  }
  const auto& pattern = std::get<AccessPattern>(operand);
  const OnChipMemory& from = memory(pattern.space, state);
  for (std::uint32_t p = pattern.partition; p < std::uint32_t{pattern.partition} + pattern.partitions; ++p) {
    for_each_run(pattern, [&](std::int64_t offset, std::int64_t length) {
      const std::byte* begin = from.row(p) + offset;
      bytes.insert(bytes.end(), begin, begin + length);
    });
  }
  return bytes;
}

std::vector<std::int64_t> shape_of(const MemoryOperand& operand) {
  std::vector<std::int64_t> shape;
  if (const auto* pattern = std::get_if<AccessPattern>(&operand)) {
    shape.push_back(pattern->partitions);
    for (std::size_t d = 4; d-- > 0;) {
      if (pattern->dims[d].count != 1) shape.push_back(pattern->dims[d].count);
    }
    if (shape.size() == 1) shape.push_back(1);
    return shape;
  }
  const auto& pattern = std::get<HbmPattern>(operand);
  for (std::size_t d = 4; d-- > 0;) {
    if (pattern.dims[d].count != 1) shape.push_back(pattern.dims[d].count);
  }
  if (shape.empty()) shape.push_back(1);
  return shape;
}

DType dtype_of(const MemoryOperand& operand) {
  return std::visit([](const auto& pattern) { return pattern.dtype; }, operand);
}

std::string show_array(DType dtype, std::span<const std::byte> bytes, std::span<const std::int64_t> shape) {
  return Printer(dtype, bytes, shape).text();
}

std::string show(const std::string& label, const MemoryOperand& operand, const State& state) {
  const std::vector<std::int64_t> shape = shape_of(operand);
  return fmt::format("{} : {}{}\n{}\n", label, name(dtype_of(operand)), shape_text(shape),
                     show_array(dtype_of(operand), read_operand(operand, state), shape));
}

}  // namespace ncemu::command
