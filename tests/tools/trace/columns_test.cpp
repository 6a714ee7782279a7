// What the page unpacks is what was put in, whatever the numbers.
#include "tools/trace/columns.h"

#include <doctest/doctest.h>

#include <cstdint>

#include "tests/tools/trace/unpacked.h"

using namespace ncemu;
using namespace ncemu::test;

TEST_CASE("base64 is that of RFC 4648") {
  // Section 10.
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foob") == "Zm9vYg==");
  CHECK(base64("fooba") == "Zm9vYmE=");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64(std::string("\xFF\x00\x80", 3)) == "/wCA");
}

TEST_CASE("columns come back from their packing in the narrowest type that holds them") {
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> all = {
      {"u8", {0, 255}},          {"i8", {-128, 127}},          {"u16", {0, 256, 65535}},
      {"i16", {-129, 32767}},    {"u32", {65536, 4294967295}}, {"i32", {-32769, 2147483647}},
      {"f64", {-1, 4294967296}},
  };
  Columns columns;
  for (const auto& [type, values] : all) columns.add(type, values);
  columns.add("none", std::vector<std::int64_t>{});
  const Unpacked unpacked(columns.pack({{"version", 7}}));
  CHECK(unpacked.header["version"] == 7);
  for (const auto& [type, values] : all) {
    CAPTURE(type);
    CHECK(unpacked.header["columns"][type]["type"] == type);
    CHECK(unpacked[type] == std::vector<double>(values.begin(), values.end()));
  }
  CHECK(unpacked["none"].empty());
}

TEST_CASE("a column of growing times takes one byte each as differences") {
  std::vector<std::int64_t> times;
  for (std::int64_t i = 0; i < 1000; ++i) times.push_back(100 + i * 251);
  Columns columns;
  columns.add("at", times, true);
  const Unpacked unpacked(columns.pack(nlohmann::json::object()));
  CHECK(unpacked.header["columns"]["at"]["type"] == "u8");
  CHECK(unpacked["at"] == std::vector<double>(times.begin(), times.end()));
}
