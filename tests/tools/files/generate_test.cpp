#include "tools/files/generate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "isa/fault.h"
#include "isa/number.h"
#include "tools/files/checksum.h"
#include "tools/files/normal.h"
#include "tools/files/philox.h"

using namespace ncemu;

namespace {

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<float> generated(const std::string& text, std::size_t count, const std::string& tensor = "x") {
  return floats(generate(parse_generator(text, "--in").value(), tensor, DType::f32, count));
}

std::string message_of(const std::string& text) {
  try {
    parse_generator(text, "--in x");
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::input);
    return fault.what();
  }
  return {};
}

}  // namespace

// The known answers published with the authors' Random123 library (tests/kat_vectors).
TEST_CASE("Philox4x32-10 gives its published answers") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

// http://www.isthe.com/chongo/tech/comp/fnv: the test vectors of the authors.
TEST_CASE("FNV-1a gives its published answers") {
  CHECK(fnv1a("") == 0xcbf29ce484222325);
  CHECK(fnv1a("a") == 0xaf63dc4c8601ec8c);
  CHECK(fnv1a("foobar") == 0x85944171f73967e8);
}

// Quantiles from tables of the normal distribution (Abramowitz and Stegun 26.5; R's qnorm).
TEST_CASE("the normal quantile agrees with tabulated values in the centre, the middle and the tail") {
  CHECK(normal_quantile(0.5) == 0.0);
  CHECK(normal_quantile(0.975) == doctest::Approx(1.959963984540054).epsilon(1e-14));
  CHECK(normal_quantile(0.025) == doctest::Approx(-1.959963984540054).epsilon(1e-14));
  CHECK(normal_quantile(0.75) == doctest::Approx(0.6744897501960817).epsilon(1e-14));
  CHECK(normal_quantile(1e-10) == doctest::Approx(-6.361340902404056).epsilon(1e-13));
  CHECK(normal_quantile(1e-300) == doctest::Approx(-37.0471).epsilon(1e-5));
}

TEST_CASE("the portable logarithm is within 2 units in the last place of the library's") {
  for (int i = 1; i < 200000; ++i) {
    const double x = i * 0x1p-17 * (i % 7 + 1);
    const double want = std::log(x);
    CHECK(std::fabs(portable_log(x) - want) <= std::fabs(want) * 4.5e-16);
  }
}

TEST_CASE("an element of a random tensor is the quantile of its Philox word") {
  const std::uint64_t stream = fnv1a("weights");
  const auto words = philox4x32(
      {1, 0, static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}, {7, 1});
  const auto values = generated("random:seed=4294967303", 8, "weights");  // 2^32 + 7
  CHECK(values[6] == static_cast<float>(normal_quantile((words[2] + 0.5) / 4294967296.0)));
}

TEST_CASE("an element does not depend on how many are generated") {
  const auto few = generated("random:seed=3", 5), many = generated("random:seed=3", 513);
  for (std::size_t i = 0; i < few.size(); ++i) CHECK(few[i] == many[i]);
}

TEST_CASE("tensors of different names and seeds get different numbers") {
  CHECK(generated("random", 4, "a") != generated("random", 4, "b"));
  CHECK(generated("random:seed=1", 4) != generated("random:seed=2", 4));
  CHECK(generated("random", 4) == generated("random:seed=0", 4));
}

TEST_CASE("random numbers have the moments of the normal distribution") {
  const std::size_t n = 200000;
  double sum = 0, squares = 0, fourth = 0;
  for (const float x : generated("random:seed=11", n)) {
    sum += x;
    squares += double{x} * x;
    fourth += double{x} * x * x * x;
  }
  const auto count = static_cast<double>(n);
  CHECK(std::fabs(sum / count) < 5 / std::sqrt(count));  // five standard deviations
  CHECK(std::fabs(squares / count - 1) < 5 * std::sqrt(2 / count));
  CHECK(std::fabs(fourth / count - 3) < 5 * std::sqrt(96 / count));
}

TEST_CASE("uniform numbers stay between their bounds and fill them") {
  float low = 10, high = -10;
  for (const float x : generated("uniform:lo=-2,hi=3,seed=5", 100000)) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  CHECK(low >= -2);
  CHECK(low < -1.999F);
  CHECK(high <= 3);
  CHECK(high > 2.999F);
}

TEST_CASE("zeros, ones and iota hold what they say in every type") {
  for (int t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<DType>(t);
    const auto value = [&](const char* text, std::size_t i) {
      const auto bytes = generate(parse_generator(text, "").value(), "x", type, 16);
      std::uint32_t bits = 0;
      std::memcpy(&bits, bytes.data() + i * static_cast<std::size_t>(size_of(type)),
                  static_cast<std::size_t>(size_of(type)));
      return from_bits(type, bits);
    };
    CAPTURE(name(type));
    CHECK(value("zeros", 3) == 0.0F);
    CHECK(value("ones", 15) == 1.0F);
    CHECK(value("iota", 7) == 7.0F);  // f8e5m2 has 7, but no 15
  }
}

TEST_CASE("iota past the largest value of its type is an error that names both") {
  const auto iota = parse_generator("iota", "").value();
  CHECK_NOTHROW(generate(iota, "x", DType::i8, 128));
  CHECK_THROWS_WITH(generate(iota, "x", DType::i8, 129),
                    "tensor 'x': iota runs to 128, which i8 cannot hold");
  CHECK_THROWS_WITH(generate(iota, "x", DType::f8e4m3, 1000),
                    "tensor 'x': iota runs to 999, but f8e4m3 ends before 248");
}

TEST_CASE("a generator reads back what it describes") {
  for (const char* text : {"random:seed=9", "uniform:lo=-1.5,hi=2,seed=3", "zeros", "ones", "iota"}) {
    CHECK(describe(parse_generator(text, "").value()) == text);
  }
}

TEST_CASE("a word that is no generator is left to be a file name") {
  CHECK(!parse_generator("a.npy", ""));
  CHECK(!parse_generator("randomly.npy", ""));
  CHECK(!parse_generator("", ""));
}

TEST_CASE("parameters a generator does not have or cannot read are errors") {
  CHECK(message_of("random:sed=1") == "--in x: random has no parameter 'sed' (it has: seed)");
  CHECK(message_of("zeros:seed=1") == "--in x: zeros has no parameter 'seed' (it has: none)");
  CHECK(message_of("random:seed=-1") == "--in x: seed = '-1' is not a number");
  CHECK(message_of("random:seed") == "--in x: 'seed' in 'random:seed' is not of the form key=value");
  CHECK(message_of("uniform:lo=1,hi=1") == "--in x: uniform needs lo < hi, found lo = 1, hi = 1");
  CHECK(message_of("uniform:lo=nan,hi=1") == "--in x: uniform needs lo < hi, found lo = nan, hi = 1");
}
