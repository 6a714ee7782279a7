#include "tools/files/compare.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "isa/fault.h"
#include "isa/number.h"

namespace ncemu {
namespace {

double error_of(double got, double want) {
  if (std::isnan(got) && std::isnan(want)) return 0;
  if (got == want) return 0;  // also the same infinity
  const double error = std::fabs(got - want);
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

void count(Difference& c, std::size_t i, double error, double got, double want) {
  if (c.different == 0 || error > c.error) {
    c.worst = i;
    c.error = error;
    c.got = got;
    c.want = want;
  }
  ++c.different;
}

}  // namespace

std::uint32_t element_bits(DType dtype, std::span<const std::byte> bytes, std::size_t i) {
  const auto width = static_cast<std::size_t>(size_of(dtype));
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * width, width);
  return bits;
}

double element_value(DType dtype, std::span<const std::byte> bytes, std::size_t i) {
  const std::uint32_t bits = element_bits(dtype, bytes, i);
  if (is_integer(dtype)) return static_cast<double>(integer_from_bits(dtype, bits));
  return static_cast<double>(from_bits(dtype, bits));
}

Difference compare(DType dtype, std::span<const std::byte> got, std::span<const double> want,
                   const Tolerance& tolerance) {
  std::vector<double> allowed(want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    allowed[i] = tolerance.absolute + tolerance.relative * std::fabs(want[i]);
  return compare(dtype, got, want, allowed);
}

Difference compare(DType dtype, std::span<const std::byte> got, std::span<const double> want,
                   std::span<const double> allowed) {
  ensure(
      got.size() == want.size() * static_cast<std::size_t>(size_of(dtype)) && allowed.size() == want.size(),
      "compared tensors have one size");
  Difference c;
  c.count = want.size();
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double value = element_value(dtype, got, i);
    const double error = error_of(value, want[i]);
    // An infinite allowance (a reference of infinity) allows nothing but itself.
    if (error == 0 || (std::isfinite(allowed[i]) && error <= allowed[i])) continue;
    count(c, i, error, value, want[i]);
  }
  return c;
}

Difference compare_bits(DType dtype, std::span<const std::byte> got, std::span<const std::byte> want) {
  ensure(got.size() == want.size(), "compared tensors have one size");
  Difference c;
  c.by_bits = true;
  c.count = want.size() / static_cast<std::size_t>(size_of(dtype));
  for (std::size_t i = 0; i < c.count; ++i) {
    const std::uint32_t a = element_bits(dtype, got, i), b = element_bits(dtype, want, i);
    if (a == b) continue;
    const double x = element_value(dtype, got, i), y = element_value(dtype, want, i);
    count(c, i, error_of(x, y), x, y);
    if (c.worst == i) {
      c.got_bits = a;
      c.want_bits = b;
    }
  }
  return c;
}

std::string describe(const Difference& c, std::span<const std::int64_t> shape) {
  if (c.equal()) return fmt::format("{} elements equal", c.count);
  std::string text = fmt::format("{} of {} elements differ; worst at {}: got {}, expected {}", c.different,
                                 c.count, index_text(c.worst, shape), c.got, c.want);
  if (c.by_bits) return text + fmt::format(" (bits {:#x}, expected {:#x})", c.got_bits, c.want_bits);
  return text + fmt::format(" (error {:.6g})", c.error);
}

std::string index_text(std::size_t index, std::span<const std::int64_t> shape) {
  std::string text;
  for (std::size_t d = shape.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(shape[d]);
    text = fmt::format("{}{}{}", index % size, text.empty() ? "" : ", ", text);
    index /= size;
  }
  return "[" + text + "]";
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace ncemu
