#include "tools/trace/operand_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

namespace ncemu {
namespace {

// A dimension of a declaration, in bytes, and what of it the pattern covers.
struct Axis {
  std::int64_t extent = 1;
  std::int64_t stride = 0;
  std::int64_t first = 0, step = 1, count = 1;
};

struct Walk {
  std::int64_t step = 0;  // bytes
  std::int64_t count = 1;
};

std::string text(const Axis& axis) {
  if (axis.count == 1) return fmt::format("{}", axis.first);
  if (axis.step == 1 && axis.count == axis.extent) return ":";
  const std::int64_t end = axis.first + (axis.count - 1) * axis.step + 1;
  if (axis.step == 1) return fmt::format("{}:{}", axis.first, end);
  return fmt::format("{}:{}:{}", axis.first, end, axis.step);
}

// Finds the pattern in the axes (slowest first). False: it does not follow them.
bool follow(std::vector<Axis>& axes, std::int64_t offset, std::span<const Walk> walks) {
  for (Axis& axis : axes) {
    axis.first = offset / axis.stride;
    offset %= axis.stride;
    if (axis.first >= axis.extent) return false;
  }
  if (offset != 0) return false;
  for (const Walk& walk : walks) {
    std::int64_t step = walk.step;
    std::int64_t left = walk.count;
    // Adjacent dimensions may have been merged: a walk that covers a whole axis goes on in the next slower
    // one.
    for (std::size_t a = axes.size(); a-- > 0 && left > 1;) {
      Axis& axis = axes[a];
      if (axis.count > 1 || step < axis.stride || step % axis.stride != 0) continue;
      const std::int64_t jump = step / axis.stride;
      if (axis.first + (left - 1) * jump < axis.extent) {
        axis.step = jump;
        axis.count = left;
        left = 1;
      } else if (jump == 1 && axis.first == 0 && left % axis.extent == 0) {
        axis.count = axis.extent;
        left /= axis.extent;
        step = axis.stride * axis.extent;
      }
    }
    if (left > 1) return false;
  }
  return true;
}

// The same bytes from the fastest to the slowest, walks that continue each other as one: [p, k, n] of a
// matrix
// [(k p), n] is a region of it.
std::vector<Walk> in_memory_order(std::vector<Walk> walks) {
  std::sort(walks.begin(), walks.end(), [](const Walk& a, const Walk& b) { return a.step < b.step; });
  std::vector<Walk> merged;
  for (const Walk& walk : walks) {
    if (!merged.empty() && merged.back().step * merged.back().count == walk.step) {
      merged.back().count *= walk.count;
    } else {
      merged.push_back(walk);
    }
  }
  return merged;
}

std::string indices(std::span<const Axis> axes) {
  std::string all;
  for (const Axis& axis : axes) all += (all.empty() ? "" : ", ") + text(axis);
  return "[" + all + "]";
}

std::string shape_text(std::span<const Walk> walks, int size) {
  std::string all;
  for (std::size_t i = walks.size(); i-- > 0;)
    all += fmt::format("{}{} step {}", all.empty() ? "" : " x ", walks[i].count, walks[i].step / size);
  return "[" + (all.empty() ? "1" : all) + "]";
}

struct Walks {
  std::vector<Walk> moving;      // fastest first
  std::int64_t repetitions = 1;  // steps of 0
};
template <typename Dims>
Walks walks(const Dims& dims, int size) {
  Walks all;
  for (const auto& d : dims) {
    if (d.count == 1) continue;
    if (d.step == 0) {
      all.repetitions *= d.count;
    } else {
      all.moving.push_back({.step = std::int64_t{d.step} * size, .count = d.count});
    }
  }
  return all;
}

std::string behind(std::int64_t repetitions, Register index, std::int64_t index_step) {
  std::string all;
  if (repetitions > 1) all += fmt::format(" x {}", repetitions);
  if (index.present()) all += fmt::format(" + r{} * {}", index.number, index_step);
  return all;
}

// Row-major axes of dense dimensions, slowest first.
void add_axes(std::vector<Axis>& axes, std::span<const std::int64_t> shape, std::int64_t size) {
  std::int64_t stride = size;
  const std::size_t first = axes.size();
  axes.resize(first + shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    axes[first + i] = {.extent = shape[i], .stride = stride};
    stride *= shape[i];
  }
}

}  // namespace

std::string operand_text(const AccessPattern& pattern, const Program& program) {
  const int size = size_of(pattern.dtype);
  const Walks w = walks(pattern.dims, size);
  const std::string tail = behind(w.repetitions, pattern.index, pattern.index_step);
  const auto raw = [&](std::string_view name, std::int64_t partition, std::int64_t offset) {
    return fmt::format("{}[{}:{}]+{} {} {}{}", name, partition, partition + pattern.partitions, offset,
                       ncemu::name(pattern.dtype), shape_text(w.moving, size), tail);
  };
  if (pattern.place == no_place || pattern.place >= program.places.size() ||
      program.places[pattern.place].tile >= program.tiles.size()) {
    return raw(name(pattern.space), pattern.partition, pattern.offset);
  }
  const Place& place = program.places[pattern.place];
  const Tile& tile = program.tiles[place.tile];
  std::string label = tile.name;
  if (tile.buffers > 1) label += fmt::format("#{}", pattern.place - tile.first_place);
  const std::int64_t partition = std::int64_t{pattern.partition} - place.partition;
  const std::int64_t offset = std::int64_t{pattern.offset} - place.offset;

  std::vector<Axis> axes;
  std::int64_t stride = tile.stride;
  axes.resize(tile.array.size());
  for (std::size_t i = tile.array.size(); i-- > 0;) {
    axes[i] = {.extent = tile.array[i], .stride = stride};
    stride *= tile.array[i];
  }
  const bool declared = !tile.shape.empty() && size == size_of(tile.dtype) && partition >= 0 && offset >= 0;
  if (declared) add_axes(axes, std::span(tile.shape).subspan(1), size);
  if (!declared || !follow(axes, offset, w.moving)) return raw(label, partition, offset);
  for (std::size_t i = 0; i < tile.array.size(); ++i) label += "[" + text(axes[i]) + "]";
  axes.erase(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(tile.array.size()));
  axes.insert(axes.begin(),
              {.extent = tile.shape[0], .stride = 1, .first = partition, .count = pattern.partitions});
  label += indices(axes);
  if (pattern.dtype != tile.dtype) label += fmt::format(" as {}", name(pattern.dtype));
  return label + tail;
}

std::string operand_text(const HbmPattern& pattern, const Program& program) {
  const int size = size_of(pattern.dtype);
  const Walks w = walks(pattern.dims, size);
  const std::string tail = behind(w.repetitions, pattern.index, pattern.index_step);
  const bool known = pattern.tensor < program.tensors.size();
  const std::string label =
      known ? program.tensors[pattern.tensor].name : fmt::format("hbm {}", pattern.tensor);
  if (known && pattern.offset >= 0 && size == size_of(program.tensors[pattern.tensor].dtype)) {
    const Tensor& tensor = program.tensors[pattern.tensor];
    std::vector<Axis> axes;
    add_axes(axes, tensor.shape, size);
    const bool some = std::all_of(axes.begin(), axes.end(), [](const Axis& a) { return a.stride > 0; });
    const std::string type = pattern.dtype == tensor.dtype ? "" : fmt::format(" as {}", name(pattern.dtype));
    std::vector<Axis> permuted = axes;
    if (some && follow(axes, pattern.offset * size, w.moving)) return label + indices(axes) + type + tail;
    if (some && follow(permuted, pattern.offset * size, in_memory_order(w.moving)))
      return label + indices(permuted) + " permuted" + type + tail;
  }
  return fmt::format("{}+{} {} {}{}", label, pattern.offset * size, name(pattern.dtype),
                     shape_text(w.moving, size), tail);
}

}  // namespace ncemu
