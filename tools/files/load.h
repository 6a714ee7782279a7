#pragma once

// Tensors from .npy and .safetensors files: float64 goes through fp32; for float tensors unsigned integers or
// raw bytes of the same width are bit patterns, for integer tensors integers of any width are values that
// must fit.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/types.h"

namespace ncemu {

// "a.npy", "w.safetensors", "w.safetensors:layer.0".
struct FileSpec {
  std::string path;
  std::string entry;  // of a .safetensors file; empty: the tensor's own name
  bool safetensors = false;
};
// Throws Fault(input, where, ...) for a name with another ending.
FileSpec parse_file_spec(const std::string& text, const std::string& where);

struct Wanted {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
};

struct LoadedTensor {
  std::vector<std::byte> bytes;
  std::string stored_as;       // "float32", "F8_E4M3"
  std::size_t overflowed = 0;  // finite values that became infinite or NaN in the type
};
// Throws Fault(input) naming the file, what was expected and what was found.
LoadedTensor load_tensor(const FileSpec& file, const Wanted& wanted);

// The values of a reference, without rounding them to the tensor's type; bit patterns are read as such.
std::vector<double> load_values(const FileSpec& file, const Wanted& wanted);

// The tensor as .npy (bf16 and fp8 as bit patterns: numpy has no such types) or as values of float32.
void save_npy(const std::string& path, const Wanted& tensor, std::span<const std::byte> bytes,
              bool as_float32);

}  // namespace ncemu
