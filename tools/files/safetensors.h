#pragma once

// The .safetensors format: a length, a JSON header naming tensors, their types, shapes and byte ranges,
// and one block of little-endian row-major data.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/types.h"

namespace ncemu {

enum class SafeType : std::uint8_t {
  BOOL,
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  U64,
  I64,
  F8_E5M2,
  F8_E4M3,
  F16,
  BF16,
  F32,
  F64
};
std::string_view name(SafeType type);
std::size_t size_of(SafeType type);
// The element type with the same values and width; absent for the 64-bit ones. F8_E4M3 is f8e4m3fn; BOOL is
// u8.
std::optional<DType> element_type(SafeType type);
// What an element type is stored as. The fp8 types that the format does not know (f8e4m3, f8e3m4) are stored
// as U8 bit patterns, which is also how they are read back.
SafeType stored_type(DType type);

struct SafeTensor {
  std::string name;
  SafeType type = SafeType::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;
};

// Throws Fault(input, file, ...) for anything but a well-formed file: header, types, shapes, and ranges that
// cover the data without overlap or holes.
std::vector<SafeTensor> read_safetensors(std::span<const std::byte> bytes, const std::string& file);
std::vector<std::byte> write_safetensors(std::span<const SafeTensor> tensors);

}  // namespace ncemu
