#include <cmath>
#include <limits>

#include "tests/isa/asm/assemble.h"

using namespace ncemu;
using namespace ncemu::test;

TEST_CASE("operators bind as in Python") {
  CHECK(integer_value("2 + 3 * 4") == 14);
  CHECK(integer_value("(2 + 3) * 4") == 20);
  CHECK(integer_value("2 - 3 - 4") == -5);
  CHECK(integer_value("-2 * 3") == -6);
  CHECK(integer_value("~5 & 0xFF") == 0xFA);
  CHECK(integer_value("1 << 2 + 3") == 32);
  CHECK(integer_value("1 | 2 ^ 3 & 5") == (1 | (2 ^ (3 & 5))));
  CHECK(integer_value("7 // 2 * 2") == 6);
  CHECK(holds("not 1 == 2"));
  CHECK(holds("1 < 2 and 2 < 3 or false"));
  CHECK(holds("true or false and false"));
  CHECK(holds("1 | 2 == 3"));  // tighter than the comparison
  CHECK(holds("- 2 < 1 - 2"));
}

TEST_CASE("// and % floor, for every combination of signs") {
  for (const int a : {-7, -6, -1, 0, 1, 6, 7}) {
    for (const int b : {-3, -2, -1, 1, 2, 3}) {
      const auto quotient = static_cast<std::int64_t>(std::floor(static_cast<double>(a) / b));
      const std::string text = "(" + std::to_string(a) + ") // (" + std::to_string(b) + ")";
      CHECK_MESSAGE(integer_value(text) == quotient, text);
      const std::string rest = "(" + std::to_string(a) + ") % (" + std::to_string(b) + ")";
      CHECK_MESSAGE(integer_value(rest) == a - b * quotient, rest);
    }
  }
}

TEST_CASE("integers are 64 bits wide and never wrap") {
  CHECK(holds("9223372036854775807 - 1 == 9223372036854775806"));
  CHECK(holds("0x7FFF_FFFF_FFFF_FFFF == 9223372036854775807"));
  CHECK(holds("1 << 62 == 4611686018427387904"));
  CHECK_FALSE(holds("9223372036854775807 + 1 == 0"));
  CHECK_FALSE(holds("-9223372036854775807 - 2 == 0"));
  CHECK_FALSE(holds("4294967296 * 4294967296 == 0"));
  CHECK_FALSE(holds("1 << 63 == 0"));
  CHECK_FALSE(holds("-(-9223372036854775807 - 1) == 0"));
  CHECK_FALSE(holds("(-9223372036854775807 - 1) // -1 == 0"));
  CHECK_FALSE(holds("abs(-9223372036854775807 - 1) == 0"));
  CHECK(contains(errors(".let x = 9223372036854775808\n"), "does not fit in a 64-bit integer"));
}

TEST_CASE("an integer division with a remainder names both values and the ways out") {
  CHECK(integer_value("12 / 4") == 3);
  const std::string text = errors(".let N = 1000\n.let x = N / 128\n");
  CHECK(contains(text, "1000 / 128 is not an integer"));
  CHECK(contains(text, "ceil_div(a, b)"));
}

TEST_CASE("a float makes the expression a double") {
  CHECK(float_value("1 / 2.0") == 0.5F);
  CHECK(float_value("3 * 0.5 + 1") == 2.5F);
  CHECK(float_value("7.5 // 2") == 3.0F);
  CHECK(float_value("-7.5 % 2") == 0.5F);
  CHECK(float_value("1e-3") == 1e-3F);
  CHECK(float_value("1.0 / 3") == static_cast<float>(1.0 / 3));
  CHECK(holds("0.1 + 0.2 != 0.3"));  // doubles, not decimals
}

TEST_CASE("a float literal is rounded to fp32 once") {
  // Halfway between 1 and 1 + 2^-23 in double plus a little that double cannot hold: once rounded it is
  // above the tie, rounded twice it would fall to even.
  CHECK(float_value("1.000000059604644775390625000001") == std::nextafter(1.0F, 2.0F));
  CHECK(float_value("-1.000000059604644775390625000001") == -std::nextafter(1.0F, 2.0F));
  CHECK(float_value("3.4028234663852886e38") == std::numeric_limits<float>::max());
}

TEST_CASE("infinity, NaN and bit patterns can be written") {
  CHECK(float_value("inf") == std::numeric_limits<float>::infinity());
  CHECK(float_value("-inf") == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(float_value("nan")));
  const Program p = assembled(".sbuf t : f32[128, 4]\nmemset t, value = bits(0x7fc00001)\n");
  const auto value = std::get<Memset>(all_of(p, Opcode::memset).at(0).operands).value;
  CHECK(std::bit_cast<std::uint32_t>(std::get<float>(value)) == 0x7fc00001);
}

TEST_CASE("the functions do what their names say") {
  CHECK(integer_value("min(3, 1, 2)") == 1);
  CHECK(integer_value("max(3, 7, 2)") == 7);
  CHECK(float_value("max(1, 2.5)") == 2.5F);
  CHECK(integer_value("abs(-4)") == 4);
  CHECK(integer_value("ceil_div(1025, 128)") == 9);
  CHECK(integer_value("ceil_div(1024, 128)") == 8);
  CHECK(integer_value("ceil_div(-1, 128)") == 0);
  CHECK(integer_value("round_up(1, 32)") == 32);
  CHECK(integer_value("round_up(64, 32)") == 64);
  CHECK(integer_value("log2(1024)") == 10);
  CHECK(float_value("log2(8.0)") == 3.0F);
  CHECK(integer_value("sizeof(bf16) + sizeof(f8e4m3) + sizeof(i32)") == 7);
  CHECK_FALSE(holds("log2(1000) == 9"));
  CHECK_FALSE(holds("ceil_div(1, 0) == 0"));
}

TEST_CASE("a condition chooses one value and looks at no other") {
  CHECK(integer_value("true ? 1 : 1 / 0") == 1);
  CHECK(integer_value("false ? 1 / 0 : true ? 2 : 3") == 2);
  CHECK(integer_value("1 == 1 ? 4 : 5 + 1") == 4);
  CHECK(holds("false and 1 / 0 == 1 or true"));
}

TEST_CASE("types, booleans and words are values") {
  CHECK(integer_value("sizeof(T)", ".let T = machine.generation >= 3 ? bf16 : f32") == 4);
  CHECK(integer_value("sizeof(T)", ".machine trn2\n.let T = machine.generation >= 3 ? bf16 : f32") == 2);
  CHECK(holds("machine.name == \"trn1\" and machine.psum_banks == 8 and machine.sbuf_bytes == 196608"));
  CHECK(holds("T == bf16 and T != f32", ".let T = bf16"));
  CHECK(holds("F == \"exp\"", ".let F = exp"));
}

TEST_CASE("comparisons do not chain") {
  CHECK(contains(errors(".assert 1 < 2 < 3\n"), "comparisons do not chain"));
}

TEST_CASE("an expression may continue over lines inside brackets and behind a backslash") {
  CHECK(integer_value("(1 +\n  2 +   # a comment\n 3)") == 6);
  CHECK(integer_value("x", ".let x = 1 + \\\n  2") == 3);
}
