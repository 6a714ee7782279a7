#pragma once

// NumPy's .npy files: versions 1.0 to 3.0, either byte order, C or Fortran index order. Reading gives
// C order and this host's little-endian bytes, whatever the file had.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/types.h"

namespace ncemu {

struct NpyArray {
  char kind = 'f';  // 'f' float, 'i' integer, 'u' unsigned, 'b' boolean, 'V' raw bytes
  int item_bytes = 4;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;  // C order, little-endian

  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) n *= d;
    return n;
  }
  // "float32 [128, 512]"
  std::string describe() const;
};

// Throw Fault(input, name, ...) for anything but a well-formed file of a type that is known here:
// f2 f4 f8, i1 to i8, u1 to u8, b1, and raw bytes V1, V2, V4.
NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& name);
// The same without a copy of the data. `in_host_order`: they are in C order and little-endian as they stand.
struct NpyView {
  NpyArray array;  // without its data
  std::span<const std::byte> data;
  bool in_host_order = false;
};
NpyView view_npy(std::span<const std::byte> bytes, const std::string& name);
NpyArray read_npy(const std::string& path);

// Version 1.0, little-endian, C order (a header too long for 1.0: version 2.0).
std::vector<std::byte> format_npy(const NpyArray& array);
// What comes before the data in such a file.
std::vector<std::byte> format_npy_header(char kind, int item_bytes, const std::vector<std::int64_t>& shape);
void write_npy(const NpyArray& array, const std::string& path);

// The bytes of a tensor of this type, by the rules of files:
//   float tensors    raw bytes or unsigned integers of the same width are bit patterns; floats convert to
//                    nearest even (float64 by way of fp32); other integers and booleans convert by value and
//                    must be exact
//   integer tensors  raw bytes of the same width are bit patterns; everything else is a value that must fit
// The shape is the caller's business. `name` is the file, for messages.
std::vector<std::byte> tensor_bytes(NpyArray array, DType dtype, const std::string& name);

// A tensor as NumPy can hold it: f32 and tf32 as float32, f16 as float16, integers as themselves; bf16 and
// the fp8 types as unsigned integers that hold the bits, which tensor_bytes() takes back.
char npy_kind(DType dtype);
NpyArray npy_of_tensor(DType dtype, std::vector<std::int64_t> shape, std::span<const std::byte> bytes);
// The same values as float32, whatever the type.
NpyArray npy_of_values(DType dtype, std::vector<std::int64_t> shape, std::span<const std::byte> bytes);

}  // namespace ncemu
