#include "isa/asm/value.h"

#include <fmt/format.h>

namespace ncemu::language {
namespace {

struct Describe {
  std::string operator()(std::monostate) const { return "nothing"; }
  std::string operator()(Poison) const { return "a value that failed"; }
  std::string operator()(std::int64_t v) const { return fmt::format("the integer {}", v); }
  std::string operator()(double v) const { return fmt::format("the number {}", v); }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(DType v) const { return fmt::format("the type {}", name(v)); }
  std::string operator()(Text v) const { return fmt::format("\"{}\"", v.text); }
  std::string operator()(FloatBits v) const { return fmt::format("bits(0x{:08x})", v.bits); }
  std::string operator()(const Affine& v) const {
    if (v.scale == 1 && v.base == 0) return fmt::format("register r{}", v.reg.number);
    return fmt::format("the run-time index r{}*{} + {}", v.reg.number, v.scale, v.base);
  }
  std::string operator()(SemaphoreNumber v) const { return fmt::format("semaphore {}", v.number); }
  std::string operator()(const View& v) const {
    return fmt::format("a view {} in {}", v.describe(),
                       v.space() == Space::hbm    ? "HBM"
                       : v.space() == Space::sbuf ? "SBUF"
                                                  : "PSUM");
  }
  std::string operator()(const TileArray& v) const {
    std::string sizes;
    for (const std::int64_t d : v.ref->array) sizes += fmt::format("[{}]", d);
    return fmt::format("an array of tiles {}", sizes);
  }
  std::string operator()(const AccessPattern&) const { return "a raw pattern"; }
  std::string operator()(const HbmPattern&) const { return "a raw HBM pattern"; }
};

}  // namespace

std::string describe(const Value& value) { return std::visit(Describe{}, value); }

}  // namespace ncemu::language
