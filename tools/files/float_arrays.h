#pragma once

// Float arrays of files become float tensors many elements at a time, with the bits of tensor_bytes()
// (isa/npy.h) and the vector code of emu/data/convert.h.

#include <cstddef>
#include <vector>

#include "isa/npy.h"

namespace ncemu {

struct ConvertedFloats {
  std::vector<std::byte> bytes;
  std::size_t overflowed = 0;  // finite values that became infinite or NaN in the type
};

// `array` is of kind 'f', `dtype` a float type. float64 goes through fp32.
ConvertedFloats convert_floats(const NpyArray& array, DType dtype);

}  // namespace ncemu
