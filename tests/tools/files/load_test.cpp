#include "tools/files/load.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>

#include "isa/fault.h"
#include "isa/npy.h"
#include "tools/files/file.h"
#include "tools/files/safetensors.h"

using namespace ncemu;

namespace {

std::string path_of(const std::string& name) {
  std::filesystem::create_directories(NCEMU_TEST_DIR);
  return std::string(NCEMU_TEST_DIR) + "/" + name;
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A file with one tensor, its spec.
FileSpec safetensors(SafeType type, std::vector<std::int64_t> shape, std::vector<std::byte> data) {
  const SafeTensor tensor{.name = "w", .type = type, .shape = std::move(shape), .data = std::move(data)};
  const std::string path = path_of("one.safetensors");
  write_file(path, write_safetensors(std::span(&tensor, 1)));
  return parse_file_spec(path + ":w", "--in");
}

std::string message_of(const FileSpec& file, const Wanted& wanted) {
  try {
    load_tensor(file, wanted);
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::input);
    const std::string text = fault.what();
    return text.starts_with(file.path) ? "FILE" + text.substr(file.path.size()) : text;
  }
  return "loaded";
}

}  // namespace

TEST_CASE("a file name gives its format and entry") {
  CHECK(!parse_file_spec("dir.safetensors/a.npy", "").safetensors);
  const FileSpec spec = parse_file_spec("w.safetensors:a.b:c", "");
  CHECK(spec.safetensors);
  CHECK(spec.path == "w.safetensors");
  CHECK(spec.entry == "a.b:c");
  CHECK(parse_file_spec("w.safetensors", "").entry.empty());
  CHECK_THROWS_WITH(parse_file_spec("w.bin", "--in x"),
                    "--in x: 'w.bin' ends in neither .npy nor .safetensors[:ENTRY]");
  CHECK_THROWS_WITH(parse_file_spec("w.safetensors:", "--in x"),
                    "--in x: 'w.safetensors:' names no entry after the colon");
}

TEST_CASE("bf16 and fp8 of a safetensors file are the tensor's own bytes") {
  const auto bits = bytes_of<std::uint16_t>({0x3F80, 0xC000, 0x7FC0});
  CHECK(load_tensor(safetensors(SafeType::BF16, {3}, bits), {"x", DType::bf16, {3}}).bytes == bits);
  const auto fp8 = bytes_of<std::uint8_t>({0x38, 0xFC});
  CHECK(load_tensor(safetensors(SafeType::F8_E5M2, {2}, fp8), {"x", DType::f8e5m2, {2}}).bytes == fp8);
  CHECK(load_tensor(safetensors(SafeType::F8_E4M3, {2}, fp8), {"x", DType::f8e4m3fn, {2}}).bytes == fp8);
}

// e4m3fn reaches 448 (0x7E) where e4m3 ends at 240 (0x77): 0x77 is 240 in both, 0x78 is 256 and 0x7E 448 in
// the first. Below they agree; -1 is 0xB8.
TEST_CASE("F8_E4M3 becomes f8e4m3 by value, and what does not fit is counted") {
  const auto data = bytes_of<std::uint8_t>({0x77, 0x78, 0x7E, 0xB8});
  const LoadedTensor loaded =
      load_tensor(safetensors(SafeType::F8_E4M3, {4}, data), {"x", DType::f8e4m3, {4}});
  CHECK(loaded.overflowed == 2);
  CHECK(loaded.bytes == bytes_of<std::uint8_t>({0x77, 0x78, 0x78, 0xB8}));
}

TEST_CASE("values convert to nearest even on their way into a narrower type") {
  const auto data = bytes_of<double>({1.00390625, 1.01171875, -3.0});  // halfway down, halfway up, exact
  CHECK(load_tensor(safetensors(SafeType::F64, {3}, data), {"x", DType::bf16, {3}}).bytes ==
        bytes_of<std::uint16_t>({0x3F80, 0x3F82, 0xC040}));
}

TEST_CASE("unsigned bytes are bit patterns of a float tensor and values of an integer tensor") {
  const auto data = bytes_of<std::uint8_t>({0x38, 200});
  CHECK(load_tensor(safetensors(SafeType::U8, {2}, data), {"x", DType::f8e4m3, {2}}).bytes == data);
  CHECK(load_values(safetensors(SafeType::U8, {2}, data), {"x", DType::f8e4m3, {2}})[0] == 1.0);
  CHECK(load_tensor(safetensors(SafeType::U8, {2}, data), {"x", DType::i32, {2}}).bytes ==
        bytes_of<std::int32_t>({0x38, 200}));
  CHECK(message_of(safetensors(SafeType::U8, {2}, data), {"x", DType::i8, {2}}).find("200") !=
        std::string::npos);
}

TEST_CASE("a reference keeps the precision its file has") {
  const auto data = bytes_of<double>({1.0 + 0x1p-40});
  CHECK(load_values(safetensors(SafeType::F64, {1}, data), {"x", DType::bf16, {1}})[0] == 1.0 + 0x1p-40);
  const auto bf16 = bytes_of<std::uint16_t>({0xC000});
  CHECK(load_values(safetensors(SafeType::BF16, {1}, bf16), {"x", DType::f32, {1}})[0] == -2.0);
}

TEST_CASE("a wrong shape is an error with what was expected and what was found") {
  const FileSpec file = safetensors(SafeType::F16, {2, 1}, bytes_of<std::uint16_t>({0, 0}));
  CHECK(message_of(file, {"x", DType::f16, {1, 2}}) == "FILE: tensor 'w': 'x' is f16[1, 2], found F16[2, 1]");
}

TEST_CASE("a missing entry is an error that lists what is there") {
  FileSpec file = safetensors(SafeType::F16, {1}, bytes_of<std::uint16_t>({0}));
  file.entry.clear();
  CHECK(message_of(file, {"x", DType::f16, {1}}).find("has no tensor 'x' (it has: w)") != std::string::npos);
}

TEST_CASE("a tensor saved as .npy loads as the same bits, in every type") {
  for (int t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<DType>(t);
    CAPTURE(name(type));
    const Wanted tensor{"x", type, {2, 3}};
    std::vector<std::byte> bytes;
    for (int i = 0; i < 6 * size_of(type); ++i) bytes.push_back(static_cast<std::byte>(17 * i));
    for (std::size_t i = 0; type == DType::tf32 && i < bytes.size(); i += 4) {
      bytes[i] = std::byte{0};  // 19 bits, and no NaN, which would become the one NaN
      bytes[i + 1] &= std::byte{0xE0};
      bytes[i + 3] = std::byte{0x3F};
    }
    const std::string path = path_of("saved.npy");
    save_npy(path, tensor, bytes, false);
    CHECK(load_tensor(parse_file_spec(path, ""), tensor).bytes == bytes);
  }
}

TEST_CASE("a file that is written appears whole, and leaves no temporary name behind") {
  const std::string directory = path_of("write");
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  write_file(directory + "/a", std::string_view("first"));
  write_file(directory + "/a", std::string_view("second"));
  CHECK(read_file(directory + "/a") ==
        std::vector<std::byte>(reinterpret_cast<const std::byte*>("second"),
                               reinterpret_cast<const std::byte*>("second") + 6));
  CHECK(std::distance(std::filesystem::directory_iterator(directory),
                      std::filesystem::directory_iterator()) == 1);
  CHECK_THROWS_WITH(write_file(directory + "/no/a", std::string_view("x")),
                    (directory + "/no/a: cannot write: No such file or directory").c_str());
  CHECK_THROWS_WITH(read_file(directory), (directory + ": cannot read: Is a directory").c_str());
}
