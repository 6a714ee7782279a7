#include "tools/files/generate.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "isa/diagnostics.h"
#include "isa/fault.h"
#include "isa/number.h"
#include "tools/files/checksum.h"
#include "tools/files/normal.h"
#include "tools/files/philox.h"

namespace ncemu {
namespace {

constexpr std::array<std::string_view, 5> generator_names = {"random", "uniform", "zeros", "ones", "iota"};

template <typename Number>
Number read_number(std::string_view text, std::string_view key, const std::string& where) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
    throw Fault(FaultKind::input, where, "{} = '{}' is not a number", key, text);
  }
  return value;
}

void set_parameter(Generator& g, std::string_view key, std::string_view value, const std::string& where) {
  if (key == "seed" && g.seeded()) {
    g.seed = read_number<std::uint64_t>(value, key, where);
  } else if (key == "lo" && g.kind == GeneratorKind::uniform) {
    g.lo = read_number<double>(value, key, where);
  } else if (key == "hi" && g.kind == GeneratorKind::uniform) {
    g.hi = read_number<double>(value, key, where);
  } else {
    const std::string_view known = g.kind == GeneratorKind::uniform  ? "lo, hi, seed"
                                   : g.kind == GeneratorKind::random ? "seed"
                                                                     : "none";
    throw Fault(FaultKind::input, where, "{} has no parameter '{}' (it has: {})",
                generator_names[static_cast<std::size_t>(g.kind)], key, known);
  }
}

void store(std::vector<std::byte>& to, std::size_t i, std::uint32_t bits, int width) {
  std::memcpy(to.data() + i * static_cast<std::size_t>(width), &bits, static_cast<std::size_t>(width));
}

double draw(const Generator& g, std::uint32_t word) {
  const double p = (word + 0.5) * 0x1p-32;  // strictly between 0 and 1
  return g.kind == GeneratorKind::random ? normal_quantile(p) : g.lo + (g.hi - g.lo) * p;
}

void iota(std::vector<std::byte>& to, std::string_view name, DType dtype, std::size_t count) {
  const int width = size_of(dtype);
  if (is_integer(dtype)) {
    const auto last = static_cast<std::int64_t>(count) - 1;
    if (count > 0 && integer_from_bits(dtype, integer_to_bits(dtype, last)) != last) {
      throw Fault(FaultKind::input, fmt::format("tensor '{}'", name), "iota runs to {}, which {} cannot hold",
                  last, ncemu::name(dtype));
    }
    for (std::size_t i = 0; i < count; ++i) {
      store(to, i, integer_to_bits(dtype, static_cast<std::int64_t>(i)), width);
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = to_bits(dtype, static_cast<float>(i));
    if (!std::isfinite(from_bits(dtype, bits))) {
      throw Fault(FaultKind::input, fmt::format("tensor '{}'", name),
                  "iota runs to {}, but {} ends before {}", count - 1, ncemu::name(dtype), i);
    }
    store(to, i, bits, width);
  }
}

}  // namespace

std::optional<Generator> parse_generator(std::string_view text, const std::string& where) {
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  Generator g;
  std::size_t kind = 0;
  while (kind < generator_names.size() && generator_names[kind] != word) ++kind;
  if (kind == generator_names.size()) return std::nullopt;
  g.kind = static_cast<GeneratorKind>(kind);
  if (colon == std::string_view::npos) return g;

  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      throw Fault(FaultKind::input, where, "'{}' in '{}' is not of the form key=value", item, text);
    }
    set_parameter(g, item.substr(0, equals), item.substr(equals + 1), where);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (!(g.lo < g.hi) || !std::isfinite(g.hi - g.lo)) {
    throw Fault(FaultKind::input, where, "uniform needs lo < hi, found lo = {}, hi = {}", g.lo, g.hi);
  }
  return g;
}

std::string describe(const Generator& g) {
  switch (g.kind) {
    case GeneratorKind::random: return fmt::format("random:seed={}", g.seed);
    case GeneratorKind::uniform: return fmt::format("uniform:lo={},hi={},seed={}", g.lo, g.hi, g.seed);
    case GeneratorKind::zeros: return "zeros";
    case GeneratorKind::ones: return "ones";
    case GeneratorKind::iota: return "iota";
  }
  return {};
}

std::vector<std::byte> generate(const Generator& g, std::string_view name, DType dtype, std::size_t count) {
  const int width = size_of(dtype);
  std::vector<std::byte> bytes(count * static_cast<std::size_t>(width));
  if (g.kind == GeneratorKind::iota) {
    iota(bytes, name, dtype, count);
  } else if (!g.seeded()) {
    const std::uint32_t bits = to_bits(dtype, g.kind == GeneratorKind::ones ? 1.0F : 0.0F);
    for (std::size_t i = 0; i < count; ++i) store(bytes, i, bits, width);
  } else {
    const std::uint64_t stream = fnv1a(name);
    const PhiloxKey key = {static_cast<std::uint32_t>(g.seed), static_cast<std::uint32_t>(g.seed >> 32)};
    for (std::size_t i = 0; i < count; i += 4) {
      const std::uint64_t block = i / 4;
      const PhiloxCounter words =
          philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                      static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                     key);
      for (std::size_t k = 0; k < 4 && i + k < count; ++k) {
        store(bytes, i + k, to_bits(dtype, static_cast<float>(draw(g, words[k]))), width);
      }
    }
  }
  return bytes;
}

}  // namespace ncemu
