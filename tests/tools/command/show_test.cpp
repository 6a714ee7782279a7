#include "tools/command/show.h"

#include <doctest/doctest.h>

#include <cstring>

#include "tools/command/table.h"

using namespace ncemu;
using namespace ncemu::command;

namespace {

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<std::int32_t> counted(int n) {
  std::vector<std::int32_t> values;
  for (int i = 0; i < n; ++i) values.push_back(i);
  return values;
}

}  // namespace

TEST_CASE("small arrays are shown whole, aligned, in nested brackets") {
  const std::vector<std::int64_t> shape = {2, 3};
  CHECK(show_array(DType::f32, bytes_of<float>({1, -2.5F, 3, 10, 0, 0.125F}), shape) ==
        "[[    1  -2.5     3]\n"
        " [   10     0 0.125]]");
}

TEST_CASE("types are shown by value, also bit patterns of fp8") {
  CHECK(show_array(DType::f8e4m3, bytes_of<std::uint8_t>({0x38, 0xB8, 0x78}), std::vector<std::int64_t>{3}) ==
        "[  1  -1 inf]");
  CHECK(show_array(DType::i8, bytes_of<std::uint8_t>({0xFF}), std::vector<std::int64_t>{1}) == "[-1]");
  CHECK(show_array(DType::u32, bytes_of<std::uint32_t>({4294967295U}), std::vector<std::int64_t>{1}) ==
        "[4294967295]");
}

TEST_CASE("an array of more than a thousand elements shows three at either end of each dimension") {
  const std::vector<std::int64_t> shape = {7, 200};
  CHECK(show_array(DType::i32, bytes_of(counted(1400)), shape) ==
        "[[   0    1    2 ...  197  198  199]\n"
        " [ 200  201  202 ...  397  398  399]\n"
        " [ 400  401  402 ...  597  598  599]\n"
        " ...\n"
        " [ 800  801  802 ...  997  998  999]\n"
        " [1000 1001 1002 ... 1197 1198 1199]\n"
        " [1200 1201 1202 ... 1397 1398 1399]]");
}

TEST_CASE("a long row breaks before column 100 and keeps its indentation") {
  const std::string text = show_array(DType::i32, bytes_of(counted(100)), std::vector<std::int64_t>{1, 100});
  std::size_t begin = 0, longest = 0, lines = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    longest = std::max(longest, end - begin);
    ++lines;
    begin = end + 1;
  }
  CHECK(longest <= 102);  // two closing brackets may follow
  CHECK(lines == 4);      // 33 numbers of two digits fit a line
  CHECK(text.find("\n  33 34") != std::string::npos);
}

TEST_CASE("an on-chip operand is read partition by partition in stream order") {
  Program program;
  State state(program);
  for (std::uint32_t p = 0; p < 2; ++p) {
    for (std::uint32_t i = 0; i < 6; ++i) {
      const auto value = static_cast<std::uint8_t>(10 * p + i);
      std::memcpy(state.sbuf.row(32 + p) + 64 + i, &value, 1);
    }
  }
  AccessPattern pattern;
  pattern.dtype = DType::u8;
  pattern.partition = 32;
  pattern.partitions = 2;
  pattern.offset = 64;
  pattern.dims[0] = {2, 2};  // elements 0 and 2
  pattern.dims[1] = {1, 2};  // then 1 and 3
  CHECK(read_operand(pattern, state) == bytes_of<std::uint8_t>({0, 2, 1, 3, 10, 12, 11, 13}));
  CHECK(shape_of(pattern) == std::vector<std::int64_t>{2, 2, 2});
  CHECK(show("t", pattern, state) ==
        "t : u8[2, 2, 2]\n"
        "[[[ 0  2]\n"
        "  [ 1  3]]\n"
        " [[10 12]\n"
        "  [11 13]]]\n");
}

TEST_CASE("a table aligns its columns left, or right where the head says so, and leaves no trailing space") {
  Table table({"name", ">count", "note"});
  table.row({"a", "1", "x"});
  table.row({"longer", "12345", ""});
  CHECK(table.text() ==
        "name    count  note\n"
        "a           1  x\n"
        "longer  12345\n");
}
