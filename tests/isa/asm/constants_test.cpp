#include <cstdio>
#include <filesystem>
#include <fstream>

#include "isa/npy.h"
#include "tests/isa/asm/assemble.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

std::vector<std::uint32_t> values(const Tensor& t) {
  std::vector<std::uint32_t> result;
  for (std::int64_t i = 0; i < t.elements(); ++i) result.push_back(element(t, static_cast<std::size_t>(i)));
  return result;
}
std::vector<std::uint32_t> constant(const std::string& text) { return values(tensor(assembled(text), "c")); }

using Bits = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a list fills a constant in row order, flat or nested") {
  CHECK(constant(".const c : i32[2, 3] = [1, 2, 3, 4, 5, -6]\n") == Bits{1, 2, 3, 4, 5, 0xFFFFFFFA});
  CHECK(constant(".const c : i32[2, 3] = [[1, 2, 3], [4, 5, 6]]\n") == Bits{1, 2, 3, 4, 5, 6});
  CHECK(constant(".const c : u8[1, 1, 2] = [[[7, 255]]]\n") == Bits{7, 255});
  CHECK(constant(".let n = 3\n.const c : i16[2] = [n * 2,\n n - 5,\n]\n") == Bits{6, 0xFFFE});
}

TEST_CASE("floats of a list are rounded to the constant's type") {
  CHECK(constant(".const c : f32[3] = [1, 0.5, -2.0]\n") == Bits{0x3F800000, 0x3F000000, 0xC0000000});
  CHECK(constant(".const c : bf16[3] = [1.0, 3.140625, inf]\n") == Bits{0x3F80, 0x4049, 0x7F80});
  CHECK(constant(".const c : f16[2] = [1.0, -2.0]\n") == Bits{0x3C00, 0xC000});
}

TEST_CASE("bits fill a constant with patterns") {
  CHECK(constant(".const c : f32[2] = bits [0x7fc00001, 0x80000000]\n") == Bits{0x7fc00001, 0x80000000});
  CHECK(constant(".const c : f8e4m3[2, 1] = bits [[0xff], [0]]\n") == Bits{0xFF, 0});
  CHECK(contains(errors(".const c : bf16[1] = bits [0x10000]\n"),
                 "a bit pattern of bf16 is between 0 and 0xffff"));
}

TEST_CASE("eye, iota and fill") {
  CHECK(constant(".const c : bf16[2, 2] = eye\n") == Bits{0x3F80, 0, 0, 0x3F80});
  CHECK(constant(".const c : i32[2, 2] = iota\n") == Bits{0, 1, 2, 3});
  CHECK(constant(".const c : f32[3] = iota\n") == Bits{0, 0x3F800000, 0x40000000});
  CHECK(constant(".const c : u16[2] = fill(9)\n") == Bits{9, 9});
  CHECK(constant(".const c : f32[2] = fill(-inf)\n") == Bits{0xFF800000, 0xFF800000});
}

TEST_CASE("nothing is clamped: a number that does not fit its type is an error") {
  CHECK(contains(errors(".const c : i8[1] = [128]\n"), "128 does not fit i8 (-128 to 127)"));
  CHECK(contains(errors(".const c : u8[1] = fill(-1)\n"), "-1 does not fit u8 (0 to 255)"));
  CHECK(contains(errors(".const c : i8[300] = iota\n"), "128 does not fit i8"));
  CHECK(contains(errors(".const c : i8[1] = [1.5]\n"), "needs integers"));
}

TEST_CASE("a list of another shape is an error that names both") {
  CHECK(contains(errors(".const c : i8[4] = [1, 2, 3]\n"), "the list has 3 items, the constant (4) needs 4"));
  CHECK(contains(errors(".const c : i8[2, 2] = [[1, 2, 3], [4, 5, 6]]\n"),
                 "the list has the shape (2, 3), the constant (2, 2)"));
  CHECK(contains(errors(".const c : i8[4] = [[1, 2], [3]]\n"), "this list has 1 items, the one before it 2"));
  CHECK(contains(errors(".const c : i8[3] = [1, [2, 3]]\n"), "either numbers or lists"));
}

TEST_CASE("a constant from a .npy file is looked for beside its source") {
  const std::filesystem::path directory = std::filesystem::temp_directory_path() / "ncemu_constants_test";
  std::filesystem::create_directories(directory);
  NpyArray array;
  array.kind = 'i';
  array.item_bytes = 8;
  array.shape = {2, 2};
  array.data.resize(32);
  for (std::size_t i = 0; i < 4; ++i) array.data[8 * i] = static_cast<std::byte>(10 + i);
  write_npy(array, (directory / "w.npy").string());
  const auto assemble = [&](const std::string& text) {
    return assemble_text(text, (directory / "k.nca").string());
  };
  const Assembly good = assemble(".const c : bf16[2, 2] = file \"w.npy\"\n");
  REQUIRE_MESSAGE(good.ok(), good.diagnostics.text());
  CHECK(values(tensor(good.program, "c")) == Bits{0x4120, 0x4130, 0x4140, 0x4150});  // 10, 11, 12, 13
  CHECK(contains(assemble(".const c : bf16[4] = file \"w.npy\"\n").diagnostics.text(),
                 "\"w.npy\" has the shape (2, 2), the constant (4)"));
  CHECK(contains(assemble(".const c : bf16[4] = file \"none.npy\"\n").diagnostics.text(), "cannot be read"));
  std::filesystem::remove_all(directory);
}

TEST_CASE("a constant inside a loop or a macro is one tensor as long as it is the same") {
  const Program p = assembled(
      ".macro m(v)\n  .const c : f32[1] = fill(v)\n.end\n"
      "m(1)\nm(1)\nm(2)\n.for i in 0 .. 3\n  .const d : f32[1] = [7]\n.end\n");
  REQUIRE(p.tensors.size() == 3);
  CHECK(p.tensors[0].name == "c");
  CHECK(p.tensors[1].name == "c_2");
  CHECK(p.tensors[2].name == "d");
}
