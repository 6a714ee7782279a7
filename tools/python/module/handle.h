#pragma once

// What a Python `View` holds: a view, and the memory it is of.

#include <memory>
#include <string>
#include <vector>

#include "isa/program.h"
#include "isa/view.h"

namespace ncemu::python {

// A tensor in HBM, or one declaration of a tile.
struct Storage {
  std::string name;
  Space space = Space::hbm;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::uint32_t number = 0;       // among the tensors, or among the tiles
  const void* builder = nullptr;  // whose it is

  // Bytes of the tensor, or of a partition of the tile.
  std::int64_t bytes() const {
    std::int64_t n = size_of(dtype);
    for (std::size_t i = space == Space::hbm ? 0 : 1; i < shape.size(); ++i) n *= shape[i];
    return n;
  }
};

struct Handle {
  View view;
  std::shared_ptr<const Storage> storage;
  bool on_chip() const { return storage->space != Space::hbm; }
};

}  // namespace ncemu::python
