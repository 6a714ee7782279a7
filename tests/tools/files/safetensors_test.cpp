#include "tools/files/safetensors.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "isa/fault.h"

using namespace ncemu;

namespace {

std::vector<std::byte> file_of(const std::string& header, std::size_t data_bytes,
                               std::size_t header_bytes = 0) {
  std::uint64_t length = header_bytes == 0 ? header.size() : header_bytes;
  std::vector<std::byte> bytes(8 + header.size() + data_bytes);
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  for (std::size_t i = 0; i < data_bytes; ++i) bytes[8 + header.size() + i] = static_cast<std::byte>(i + 1);
  return bytes;
}

std::string message_of(const std::vector<std::byte>& bytes) {
  try {
    read_safetensors(bytes, "w.safetensors");
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::input);
    return fault.what();
  }
  return "read";
}

std::string one(const std::string& entry) { return R"({"a":)" + entry + "}"; }

}  // namespace

TEST_CASE("a file laid out by hand is read as the format says") {
  const auto tensors = read_safetensors(
      file_of(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[],"data_offsets":[6,7]},)"
              R"("a":{"dtype":"BF16","shape":[1,3],"data_offsets":[0,6]}} )",
              7),
      "w");
  REQUIRE(tensors.size() == 2);
  CHECK(tensors[0].name == "b");
  CHECK(tensors[0].shape.empty());
  CHECK(tensors[0].data == std::vector<std::byte>{std::byte{7}});
  CHECK(tensors[1].type == SafeType::BF16);
  CHECK(tensors[1].shape == std::vector<std::int64_t>{1, 3});
  CHECK(tensors[1].data.size() == 6);
  CHECK(tensors[1].data[5] == std::byte{6});
}

TEST_CASE("what is written reads back, for every type and for empty tensors") {
  std::vector<SafeTensor> tensors;
  for (int t = 0; t < 15; ++t) {
    const auto type = static_cast<SafeType>(t);
    SafeTensor tensor{
        .name = std::string(name(type)) + " \"quoted\"", .type = type, .shape = {3, t % 4}, .data = {}};
    tensor.data.resize(3 * static_cast<std::size_t>(t % 4) * size_of(type), static_cast<std::byte>(t));
    tensors.push_back(tensor);
  }
  const auto back = read_safetensors(write_safetensors(tensors), "w");
  REQUIRE(back.size() == tensors.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    CHECK(back[i].name == tensors[i].name);
    CHECK(back[i].type == tensors[i].type);
    CHECK(back[i].shape == tensors[i].shape);
    CHECK(back[i].data == tensors[i].data);
  }
}

TEST_CASE("data of a written file begin at a multiple of eight bytes") {
  const SafeTensor tensor{.name = "x", .type = SafeType::U8, .shape = {1}, .data = {std::byte{1}}};
  const auto bytes = write_safetensors(std::span(&tensor, 1));
  CHECK((bytes.size() - 1) % 8 == 0);
}

TEST_CASE("each thing that a safetensors file can have wrong is named") {
  const std::string good = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  CHECK(message_of(file_of(one(good), 8)) == "read");
  CHECK(message_of({}) == "w.safetensors: not a safetensors file: 0 bytes, expected at least 8");
  CHECK(message_of(file_of(one(good), 8, 5000)).find("its header should take 5000 bytes") !=
        std::string::npos);
  CHECK(message_of(file_of("{", 0)).find("the header is not JSON") != std::string::npos);
  CHECK(message_of(file_of("[1]", 0)) == "w.safetensors: the header is not a JSON object");
  CHECK(message_of(file_of(one(good), 4)) ==
        "w.safetensors: tensor 'a': truncated: its data end at byte 8, the file holds 4");
  CHECK(message_of(file_of(one(good), 9)) == "w.safetensors: 1 bytes at the end belong to no tensor");
  CHECK(message_of(file_of(one(R"({"dtype":"F33","shape":[2],"data_offsets":[0,8]})"), 8))
            .find("unknown dtype 'F33' (known: BOOL U8") != std::string::npos);
  CHECK(message_of(file_of(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"), 8)) ==
        "w.safetensors: tensor 'a': data_offsets [0,8] do not hold F32[3], which takes 12 bytes");
  CHECK(message_of(file_of(one(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), 8))
            .find("a dimension is -2, expected a non-negative integer") != std::string::npos);
  CHECK(
      message_of(file_of(one(R"({"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,8]})"), 8))
          .find("is too large") != std::string::npos);
  CHECK(message_of(file_of(one(R"({"dtype":"F32","shape":[2],"data_offsets":[8,16]})"), 16)) ==
        "w.safetensors: tensor 'a' begins at byte 8, but the data before it end at 0");
  CHECK(message_of(file_of(one(R"({"shape":[2],"data_offsets":[0,8]})"), 8))
            .find("expected dtype, shape and data_offsets") != std::string::npos);
  CHECK(message_of(file_of("{\"a\":" + good + ",\"a\":" + good + "}", 8)) ==
        "w.safetensors: the header names tensor 'a' twice");
}

TEST_CASE("every truncation and every changed byte of a small file is read or refused, never worse") {
  const std::vector<SafeTensor> tensors = {
      {.name = "a", .type = SafeType::F16, .shape = {2, 2}, .data = std::vector<std::byte>(8)},
      {.name = "b", .type = SafeType::I64, .shape = {1}, .data = std::vector<std::byte>(8)}};
  const auto bytes = write_safetensors(tensors);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK(message_of({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)}) != "read");
  }
  std::mt19937 random(20);  // the seed of this case
  for (int i = 0; i < 20000; ++i) {
    auto changed = bytes;
    for (int k = 0; k <= i % 3; ++k) changed[random() % changed.size()] = static_cast<std::byte>(random());
    message_of(changed);
  }
}
