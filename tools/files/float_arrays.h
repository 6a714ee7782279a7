#pragma once

// Float arrays of files become float tensors many elements at a time, with the bits of tensor_bytes()
// (isa/npy.h) and the vector code of emu/data/convert.h.

#include <cstddef>
#include <span>
#include <vector>

#include "isa/types.h"

namespace ncemu {

struct ConvertedFloats {
  std::vector<std::byte> bytes;
  std::size_t overflowed = 0;  // finite values that became infinite or NaN in the type
};

// `data`: little-endian floats of `item_bytes` (2, 4 or 8); `dtype` a float type. float64 goes through fp32.
ConvertedFloats convert_floats(std::span<const std::byte> data, int item_bytes, DType dtype);

}  // namespace ncemu
