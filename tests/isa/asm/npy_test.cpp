#include "isa/npy.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <random>
#include <string>

#include "isa/fault.h"
#include "isa/number.h"

using namespace ncemu;

namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> result;
  for (const char c : text) result.push_back(static_cast<std::byte>(c));
  return result;
}

// A file as NumPy's format description says, written by hand.
std::vector<std::byte> file(const std::string& header, const std::string& data, char version = 1) {
  std::string text = "\x93NUMPY";
  text += version;
  text += '\0';
  const std::size_t n = header.size();
  text += static_cast<char>(n & 0xFF);
  text += static_cast<char>(n >> 8);
  if (version > 1) text += std::string(2, '\0');
  return bytes_of(text + header + data);
}
std::string header(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }\n";
}
std::string text_of(const std::vector<std::byte>& data) {
  std::string s;
  for (const std::byte b : data) s += static_cast<char>(b);
  return s;
}
std::string message(const std::vector<std::byte>& bytes) {
  try {
    parse_npy(bytes, "x.npy");
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::input);
    CHECK(fault.where() == "x.npy");
    return fault.message();
  }
  return "no fault";
}
NpyArray array_of(char kind, int item_bytes, std::vector<std::uint64_t> items) {
  NpyArray a;
  a.kind = kind;
  a.item_bytes = item_bytes;
  a.shape = {static_cast<std::int64_t>(items.size())};
  for (const std::uint64_t v : items) {
    for (int i = 0; i < item_bytes; ++i) a.data.push_back(static_cast<std::byte>((v >> (8 * i)) & 0xFF));
  }
  return a;
}
std::uint32_t bits_at(const std::vector<std::byte>& data, std::size_t i, std::size_t width) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, data.data() + i * width, width);
  return bits;
}
bool refuses(const NpyArray& a, DType type) {
  try {
    tensor_bytes(a, type, "x.npy");
    return false;
  } catch (const Fault&) {
    return true;
  }
}

}  // namespace

TEST_CASE("versions 1, 2 and 3 read alike") {
  for (const char version : {'\1', '\2', '\3'}) {
    const NpyArray a = parse_npy(file(header("<u2", "(2,)"), std::string("\1\2\3\4", 4), version), "x.npy");
    CHECK(a.kind == 'u');
    CHECK(a.item_bytes == 2);
    CHECK(a.shape == std::vector<std::int64_t>{2});
    CHECK(text_of(a.data) == "\1\2\3\4");
  }
}

TEST_CASE("big-endian elements are turned round") {
  const NpyArray a = parse_npy(file(header(">i4", "(2,)"), "abcdefgh"), "x.npy");
  CHECK(text_of(a.data) == "dcbahgfe");
}

TEST_CASE("Fortran order becomes C order") {
  // [[a, b, c], [d, e, f]] with the first index fastest is a d b e c f.
  const NpyArray a = parse_npy(file(header("|u1", "(2, 3)", true), "adbecf"), "x.npy");
  CHECK(text_of(a.data) == "abcdef");
  // index (i, j, k) of (2, 2, 2) stands at i + 2 j + 4 k.
  CHECK(text_of(parse_npy(file(header("|u1", "(2, 2, 2)", true), "aecgbfdh"), "x.npy").data) == "abcdefgh");
}

TEST_CASE("a scalar and an empty array have shapes too") {
  CHECK(parse_npy(file(header("<f4", "()"), "abcd"), "x.npy").shape.empty());
  CHECK(parse_npy(file(header("<f4", "(0, 3)"), ""), "x.npy").elements() == 0);
}

TEST_CASE("damaged files say what is wrong") {
  CHECK(message(bytes_of("hello")) == "is not a .npy file");
  CHECK(message(file(header("<f4", "(2,)"), "abcd")) ==
        "has 4 bytes of data, its shape (2) of '<f4' needs 8");
  CHECK(message(file(header("<f4", "(1,)"), "abcdx")).find("has 5 bytes") == 0);
  CHECK(message(file(header("<c8", "(1,)"), "abcdefgh")).find("cannot read elements of type '<c8'") == 0);
  CHECK(message(file(header("<f16", "(1,)"), "")).find("cannot read elements") == 0);
  CHECK(message(file(header("O", "(1,)"), "")).find("cannot read elements") == 0);
  CHECK(message(file(header("<f8", "(9223372036854775807, 9223372036854775807)"), ""))
            .find("has the impossible shape") == 0);
  CHECK(message(file(header("<f4", "(-1,)"), "")).find("the header is malformed") == 0);
  CHECK(message(file("{'descr': '<f4'}", "")).find("the header must give") == 0);
  CHECK(message(file("{'descr': '<f4", "")).find("a string does not end") != std::string::npos);
  auto big = file(header("<f4", "(1,)"), "abcd", 2);
  big[11] = std::byte{0x7F};
  CHECK(message(big).find("that cannot be right") != std::string::npos);
  auto odd = file(header("<f4", "(1,)"), "abcd");
  odd[6] = std::byte{9};
  CHECK(message(odd).find("has .npy version 9.0") == 0);
}

TEST_CASE("every truncation and every changed byte of a file is a fault or another array, never a crash") {
  const auto good = file(header("<f4", "(2, 2)", true), "0123456789abcdef");
  for (std::size_t n = 0; n < good.size(); ++n) {
    CHECK(message(std::vector<std::byte>(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n))) !=
          "no fault");
  }
  std::mt19937_64 random(1);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int k = 0; k < 20; ++k) {
      auto bad = good;
      bad[at] = static_cast<std::byte>(random() & 0xFF);
      try {
        parse_npy(bad, "x.npy");
      } catch (const Fault&) {
      }
    }
  }
}

TEST_CASE("what is written reads back, with its data on a multiple of 64 bytes") {
  NpyArray a = array_of('f', 4, {1, 2, 3, 4, 5, 6});
  a.shape = {1, 2, 3};
  const auto bytes = format_npy(a);
  CHECK((bytes.size() - a.data.size()) % 64 == 0);
  const NpyArray b = parse_npy(bytes, "x.npy");
  CHECK(b.shape == a.shape);
  CHECK(b.data == a.data);
  CHECK(b.kind == 'f');
}

TEST_CASE("a float tensor takes bits from unsigned and raw elements of its width") {
  for (const char kind : {'u', 'V'}) {
    CHECK(tensor_bytes(array_of(kind, 2, {0x3F80, 0xFFC1}), DType::bf16, "x") ==
          array_of(kind, 2, {0x3F80, 0xFFC1}).data);
    CHECK(tensor_bytes(array_of(kind, 1, {0x38}), DType::f8e4m3, "x").at(0) == std::byte{0x38});
  }
  CHECK(bits_at(tensor_bytes(array_of('u', 4, {0x7F800001}), DType::f32, "x"), 0, 4) == 0x7F800001);
  CHECK(refuses(array_of('V', 2, {1}), DType::f32));
}

TEST_CASE("floats convert by value, float64 by way of fp32") {
  CHECK(bits_at(tensor_bytes(array_of('f', 4, {0x3F800000}), DType::bf16, "x"), 0, 2) == 0x3F80);
  CHECK(bits_at(tensor_bytes(array_of('f', 2, {0x3C00}), DType::f32, "x"), 0, 4) == 0x3F800000);
  // 1 + 2^-8 + 2^-40: fp32 drops the last part, and the tie then goes to even.
  const double twice = 1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40);
  CHECK(bits_at(tensor_bytes(array_of('f', 8, {std::bit_cast<std::uint64_t>(twice)}), DType::bf16, "x"), 0,
                2) == 0x3F80);
}

TEST_CASE("integers of another width convert by value if they fit") {
  CHECK(bits_at(tensor_bytes(array_of('i', 8, {~0ULL}), DType::i8, "x"), 0, 1) == 0xFF);
  CHECK(bits_at(tensor_bytes(array_of('u', 8, {0xFFFFFFFF}), DType::u32, "x"), 0, 4) == 0xFFFFFFFF);
  CHECK(bits_at(tensor_bytes(array_of('b', 1, {1}), DType::i32, "x"), 0, 4) == 1);
  CHECK(bits_at(tensor_bytes(array_of('i', 8, {3}), DType::f32, "x"), 0, 4) == 0x40400000);
  CHECK(bits_at(tensor_bytes(array_of('f', 4, {0x40400000}), DType::i16, "x"), 0, 2) == 3);
  CHECK(refuses(array_of('i', 2, {128}), DType::i8));
  CHECK(refuses(array_of('i', 1, {0xFF}), DType::u8));         // -1
  CHECK(refuses(array_of('f', 4, {0x3F000000}), DType::i32));  // 0.5
  CHECK(refuses(array_of('f', 4, {0x7FC00000}), DType::i32));  // NaN
  CHECK(refuses(array_of('i', 4, {16777217}), DType::f32));    // 2^24 + 1
  CHECK(refuses(array_of('u', 8, {~0ULL}), DType::f32));
  CHECK(refuses(array_of('i', 8, {257}), DType::bf16));  // nine bits of mantissa
}

TEST_CASE("tensors of every type go to a file and come back bit for bit") {
  std::mt19937 random(2);
  for (int t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<DType>(t);
    if (type == DType::tf32) continue;  // a file holds fp32, and reading rounds it
    std::vector<std::byte> data(static_cast<std::size_t>(size_of(type)) * 60);
    for (std::byte& b : data) b = static_cast<std::byte>(random() & 0xFF);
    const NpyArray a = parse_npy(format_npy(npy_of_tensor(type, {3, 20}, data)), "x.npy");
    CHECK(a.shape == std::vector<std::int64_t>{3, 20});
    CHECK_MESSAGE(tensor_bytes(a, type, "x.npy") == data, name(type));
  }
  const auto values =
      npy_of_values(DType::bf16, {2},
                    std::vector<std::byte>{std::byte{0x80}, std::byte{0x3F}, std::byte{0}, std::byte{0xC0}});
  CHECK(bits_at(values.data, 0, 4) == 0x3F800000);
  CHECK(bits_at(values.data, 1, 4) == 0xC0000000);
}
