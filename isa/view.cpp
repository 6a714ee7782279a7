#include "isa/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "isa/fault.h"

namespace ncemu {
namespace {

using Dimension = View::Dimension;

constexpr std::int64_t max_count_on_chip = 65535;
constexpr std::int64_t max_elements = std::int64_t{1} << 60;
constexpr std::int64_t max_count_hbm = 4294967295;

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Fault(FaultKind::input, "", text, std::forward<Args>(args)...);
}

std::string join_sizes(std::span<const Dimension> dims) {
  std::string text;
  for (const Dimension& d : dims) text += fmt::format("{}{}", text.empty() ? "" : ", ", d.size);
  return text;
}

std::string join(std::span<const std::int64_t> values) {
  std::string text;
  for (const std::int64_t v : values) text += fmt::format("{}{}", text.empty() ? "" : ", ", v);
  return text;
}

// Row-major steps for a shape.
void assign_row_major(std::span<Dimension> dims, std::span<const std::int64_t> shape) {
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    dims[i] = {shape[i], step};
    step *= shape[i];
  }
}

// Drops unit dimensions and merges neighbours that one step covers, as long as the count fits.
std::vector<Dimension> merged(std::span<const Dimension> dims, std::int64_t max_count) {
  std::vector<Dimension> result;
  for (const Dimension& d : dims) {
    if (d.size == 1) continue;
    if (!result.empty()) {
      Dimension& outer = result.back();
      if (outer.step == d.step * d.size && outer.size * d.size <= max_count) {
        outer = {outer.size * d.size, d.step};
        continue;
      }
    }
    result.push_back(d);
  }
  return result;
}

// The steps of `dims` seen through another shape of as many elements; false when only a copy could do it.
bool reshape_steps(std::span<const Dimension> dims, std::span<const std::int64_t> shape,
                   std::span<Dimension> result) {
  std::vector<Dimension> old;
  for (const Dimension& d : dims) {
    if (d.size != 1) old.push_back(d);
  }
  std::size_t i = 0, j = 0;
  while (i < old.size() && j < shape.size()) {
    std::size_t i_end = i + 1, j_end = j + 1;
    std::int64_t have = old[i].size, want = shape[j];
    while (have != want) {
      if (have < want) {
        have *= old[i_end++].size;
      } else {
        want *= shape[j_end++];
      }
    }
    for (std::size_t k = i; k + 1 < i_end; ++k) {
      if (old[k].step != old[k + 1].step * old[k + 1].size) return false;
    }
    std::int64_t step = old[i_end - 1].step;
    for (std::size_t k = j_end; k-- > j;) {
      result[k] = {shape[k], step};
      step *= shape[k];
    }
    i = i_end;
    j = j_end;
  }
  for (; j < shape.size(); ++j) result[j] = {1, 0};
  return true;
}

std::int64_t product(std::span<const std::int64_t> shape) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  return n;
}

void check_shape(std::span<const std::int64_t> shape) {
  if (shape.size() > static_cast<std::size_t>(View::max_rank)) {
    fail("a shape has at most {} dimensions, found {}", View::max_rank, shape.size());
  }
  std::int64_t elements = 1;
  for (const std::int64_t d : shape) {
    if (d < 1) fail("every dimension must be at least 1, found [{}]", join(shape));
    if (__builtin_mul_overflow(elements, d, &elements) || elements > max_elements) {
      fail("[{}] has more than 2^60 elements", join(shape));
    }
  }
}

}  // namespace

View View::of_tensor(std::uint16_t tensor, DType dtype, std::span<const std::int64_t> shape) {
  check_shape(shape);
  View v;
  v.tensor_ = tensor;
  v.dtype_ = dtype;
  v.rank_ = static_cast<int>(shape.size());
  assign_row_major(v.dims_, shape);
  return v;
}

View View::of_place(Space space, PlaceId place, DType dtype, std::span<const std::int64_t> shape,
                    std::int64_t offset_bytes) {
  check_shape(shape);
  if (shape.empty()) fail("a tile needs a partition dimension");
  ensure(offset_bytes % size_of(dtype) == 0, "a place's blocks are aligned to their element");
  View v;
  v.space_ = space;
  v.place_ = place;
  v.dtype_ = dtype;
  v.rank_ = static_cast<int>(shape.size());
  v.offset_ = offset_bytes / size_of(dtype);
  v.dims_[0] = {shape[0], 1};
  assign_row_major(std::span(v.dims_).subspan(1), shape.subspan(1));
  return v;
}

View View::of_pattern(const AccessPattern& pattern) {
  View v;
  v.space_ = pattern.space;
  v.place_ = pattern.place;
  v.dtype_ = pattern.dtype;
  v.partition_ = pattern.partition;
  if (pattern.offset % static_cast<std::uint32_t>(size_of(pattern.dtype)) != 0) {
    fail("offset {} is not a multiple of the element's {} bytes", pattern.offset, size_of(pattern.dtype));
  }
  v.offset_ = pattern.offset / static_cast<std::uint32_t>(size_of(pattern.dtype));
  v.index_ = pattern.index;
  v.index_step_ = pattern.index_step;
  v.dims_[0] = {pattern.partitions, 1};
  v.rank_ = 1;
  for (std::size_t i = pattern.dims.size(); i-- > 0;) {
    if (pattern.dims[i].count == 1) continue;
    v.dims_[static_cast<std::size_t>(v.rank_++)] = {pattern.dims[i].count, pattern.dims[i].step};
  }
  return v;
}

View View::of_steps(std::uint16_t tensor, DType dtype, std::span<const Dimension> dims, std::int64_t offset) {
  if (dims.size() > static_cast<std::size_t>(max_rank))
    fail("a pattern has at most {} dimensions, found {}", max_rank, dims.size());
  std::vector<std::int64_t> counts;
  for (const Dimension& d : dims) counts.push_back(d.size);
  View v = of_tensor(tensor, dtype, counts);
  std::copy(dims.begin(), dims.end(), v.dims_.begin());
  v.offset_ = offset;
  return v;
}

View View::of_steps(Space space, PlaceId place, DType dtype, std::int64_t partition, std::int64_t partitions,
                    std::span<const Dimension> dims, std::int64_t offset) {
  if (dims.size() >= static_cast<std::size_t>(max_rank))
    fail("a pattern has at most {} free dimensions, found {}", max_rank - 1, dims.size());
  std::vector<std::int64_t> counts = {partitions};
  for (const Dimension& d : dims) counts.push_back(d.size);
  View v = of_place(space, place, dtype, counts, 0);
  std::copy(dims.begin(), dims.end(), v.dims_.begin() + 1);
  v.partition_ = partition;
  v.offset_ = offset;
  return v;
}

std::int64_t View::elements() const {
  std::int64_t n = 1;
  for (const Dimension& d : dimensions()) n *= d.size;
  return n;
}

View View::slice(int dimension, std::int64_t lo, std::int64_t hi, std::int64_t step) const {
  if (dimension < 0 || dimension >= rank_) fail("{} has no dimension {}", describe(), dimension);
  const std::int64_t size = this->size(dimension);
  if (lo < 0 || hi > size || lo >= hi) {
    fail("slice {}:{} of dimension {}, which has size {} (in {})", lo, hi, dimension, size, describe());
  }
  if (step < 1) fail("a slice's step must be at least 1, found {}", step);
  if (on_chip() && dimension == 0 && step != 1 && hi - lo > step) {
    fail("partitions of an operand follow one another; a step of {} is not possible", step);
  }
  View v = *this;
  Dimension& d = v.dims_[static_cast<std::size_t>(dimension)];
  (on_chip() && dimension == 0 ? v.partition_ : v.offset_) += lo * d.step;
  d.size = (hi - lo + step - 1) / step;
  d.step *= on_chip() && dimension == 0 ? 1 : step;
  return v;
}

View View::index(int dimension, std::int64_t i) const {
  if (dimension < 0 || dimension >= rank_) fail("{} has no dimension {}", describe(), dimension);
  if (i < 0 || i >= size(dimension)) {
    fail("index {} of dimension {}, which has size {} (in {})", i, dimension, size(dimension), describe());
  }
  View v = slice(dimension, i, i + 1);
  if (on_chip() && dimension == 0) return v;
  for (int k = dimension; k + 1 < rank_; ++k) {
    v.dims_[static_cast<std::size_t>(k)] = v.dims_[static_cast<std::size_t>(k + 1)];
  }
  --v.rank_;
  return v;
}

View View::slice(int dimension, Register reg, std::int64_t scale, std::int64_t base,
                 std::int64_t count) const {
  if (dimension < 0 || dimension >= rank_) fail("{} has no dimension {}", describe(), dimension);
  if (on_chip() && dimension == 0) fail("a register cannot choose the partition of an operand");
  if (index_.present() && !(index_ == reg)) fail("an operand can be indexed by one register only");
  if (count < 1 || count > size(dimension)) {
    fail("{} elements of dimension {}, which has size {} (in {})", count, dimension, size(dimension),
         describe());
  }
  View v = *this;
  Dimension& d = v.dims_[static_cast<std::size_t>(dimension)];
  v.offset_ += base * d.step;
  v.index_ = reg;
  v.index_step_ += scale * d.step;
  d.size = count;
  return v;
}

View View::indexed_by(Register reg, std::int64_t step, std::int64_t base) const {
  if (index_.present() && !(index_ == reg)) fail("an operand can be indexed by one register only");
  View v = *this;
  v.index_ = reg;
  v.index_step_ += step;
  v.offset_ += base;
  return v;
}

View View::index(int dimension, Register reg, std::int64_t scale, std::int64_t base) const {
  return slice(dimension, reg, scale, base, 1).index(dimension, 0);
}

View View::reshape(std::span<const std::int64_t> shape) const {
  check_shape(shape);
  if (product(shape) != elements()) {
    fail("cannot reshape {} ({} elements) to [{}] ({} elements)", describe(), elements(), join(shape),
         product(shape));
  }
  View v = *this;
  v.rank_ = static_cast<int>(shape.size());
  v.dims_ = {};
  bool possible;
  if (on_chip()) {
    if (shape.empty() || shape[0] != size(0)) {
      fail("cannot reshape {} to [{}]: the partition dimension stays {}", describe(), join(shape), size(0));
    }
    v.dims_[0] = dims_[0];
    possible = reshape_steps(dimensions().subspan(1), shape.subspan(1), std::span(v.dims_).subspan(1));
  } else {
    possible = reshape_steps(dimensions(), shape, v.dims_);
  }
  if (!possible) {
    fail("cannot reshape {} to [{}] without a copy: its elements are not evenly spaced", describe(),
         join(shape));
  }
  return v;
}

View View::permute(std::span<const int> order) const {
  if (order.size() != static_cast<std::size_t>(rank_)) {
    fail("permute of {} needs {} dimensions, found {}", describe(), rank_, order.size());
  }
  std::array<bool, max_rank> seen{};
  View v = *this;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int from = order[i];
    if (from < 0 || from >= rank_ || seen[static_cast<std::size_t>(from)]) {
      fail("permute of {} must name each of 0..{} once", describe(), rank_ - 1);
    }
    seen[static_cast<std::size_t>(from)] = true;
    v.dims_[i] = dims_[static_cast<std::size_t>(from)];
  }
  if (on_chip() && order[0] != 0) fail("permute cannot move the partition dimension of {}", describe());
  return v;
}

View View::broadcast(int dimension, std::int64_t size) const {
  if (dimension < 0 || dimension >= rank_) fail("{} has no dimension {}", describe(), dimension);
  if (on_chip() && dimension == 0) fail("the partition dimension of {} cannot be broadcast", describe());
  if (this->size(dimension) != 1) {
    fail("broadcast needs a dimension of size 1; dimension {} of {} has {}", dimension, describe(),
         this->size(dimension));
  }
  if (size < 1) fail("broadcast to {}: a dimension has at least 1 element", size);
  View v = *this;
  v.dims_[static_cast<std::size_t>(dimension)] = {size, 0};
  return v;
}

View View::as(DType dtype) const {
  const std::int64_t from = size_of(dtype_), to = size_of(dtype);
  View v = *this;
  v.dtype_ = dtype;
  if (from == to) return v;
  const int first_free = on_chip() ? 1 : 0;
  if (rank_ == first_free) fail("{} has no innermost dimension to read as {}", describe(), name(dtype));
  Dimension& inner = v.dims_[static_cast<std::size_t>(rank_ - 1)];
  if (inner.size > 1 && inner.step != 1) {
    fail("the innermost dimension of {} is not contiguous: it cannot be read as {}", describe(), name(dtype));
  }
  const auto scale = [&](std::int64_t value, const char* what) {
    if (value * from % to != 0) {
      fail("{} of {} elements of {} is not a whole number of {} elements", what, value, describe(),
           name(dtype));
    }
    return value * from / to;
  };
  inner.size = scale(inner.size, "an innermost size");
  inner.step = 1;
  for (int k = first_free; k + 1 < rank_; ++k) {
    Dimension& d = v.dims_[static_cast<std::size_t>(k)];
    if (d.size > 1) d.step = scale(d.step, "a step");
  }
  v.offset_ = scale(offset_, "an offset");
  v.index_step_ = scale(index_step_, "an index step");
  return v;
}

AccessPattern View::pattern(bool full_rank) const {
  if (!on_chip()) fail("expected an operand in SBUF or PSUM, found {} in HBM", describe());
  const auto free = dimensions().subspan(1);
  std::vector<Dimension> dims =
      full_rank ? std::vector<Dimension>(free.begin(), free.end()) : merged(free, max_count_on_chip);
  if (dims.size() > 4) {
    fail("{} has {} free dimensions after merging ([{}, {}]); an operand has at most 4", describe(),
         dims.size(), size(0), join_sizes(dims));
  }
  if (size(0) > 128) fail("an operand has at most 128 partitions, found {} in {}", size(0), describe());
  const std::int64_t offset_bytes = offset_ * size_of(dtype_);
  if (offset_bytes < 0 || offset_bytes > 0xFFFFFFFFLL)
    fail("offset {} bytes of {} is out of range", offset_bytes, describe());
  if (index_step_ != static_cast<std::int32_t>(index_step_))
    fail("the index step {} of {} is too large", index_step_, describe());
  AccessPattern p;
  p.space = space_;
  p.dtype = dtype_;
  p.partition = static_cast<std::uint8_t>(partition_);
  p.partitions = static_cast<std::uint8_t>(size(0));
  p.offset = static_cast<std::uint32_t>(offset_bytes);
  p.index = index_;
  p.index_step = static_cast<std::int32_t>(index_step_);
  p.place = place_;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const Dimension& d = dims[dims.size() - 1 - i];
    if (d.size > max_count_on_chip) {
      fail("a dimension of {} elements in {} (merged [{}, {}]); a count is at most {}", d.size, describe(),
           size(0), join_sizes(dims), max_count_on_chip);
    }
    if (d.size > 1 && d.step != static_cast<std::int16_t>(d.step)) {
      fail("a step of {} elements in {} (merged [{}, {}]); a step fits 16 bits", d.step, describe(), size(0),
           join_sizes(dims));
    }
    p.dims[i] = {static_cast<std::int16_t>(d.size > 1 ? d.step : 0), static_cast<std::uint16_t>(d.size)};
  }
  return p;
}

HbmPattern View::hbm_pattern(bool full_rank) const {
  if (on_chip()) fail("expected a tensor in HBM, found {} in {}", describe(), name(space_));
  const auto all = dimensions();
  std::vector<Dimension> dims =
      full_rank ? std::vector<Dimension>(all.begin(), all.end()) : merged(all, max_count_hbm);
  if (dims.size() > 4) {
    fail("{} has {} dimensions after merging ([{}]); the HBM side of a transfer has at most 4", describe(),
         dims.size(), join_sizes(dims));
  }
  if (index_step_ != static_cast<std::int32_t>(index_step_))
    fail("the index step {} of {} is too large", index_step_, describe());
  HbmPattern p;
  p.tensor = tensor_;
  p.dtype = dtype_;
  p.offset = offset_;
  p.index = index_;
  p.index_step = static_cast<std::int32_t>(index_step_);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const Dimension& d = dims[dims.size() - 1 - i];
    if (d.size > max_count_hbm || (d.size > 1 && d.step != static_cast<std::int32_t>(d.step))) {
      fail("a dimension of {} elements, step {}, in {} is too large", d.size, d.step, describe());
    }
    p.dims[i] = {static_cast<std::int32_t>(d.size > 1 ? d.step : 0), static_cast<std::uint32_t>(d.size)};
  }
  return p;
}

MemoryOperand View::memory(bool full_rank) const {
  if (on_chip()) return pattern(full_rank);
  return hbm_pattern(full_rank);
}

PointerOperand View::pointer() const {
  if (!on_chip()) fail("expected one value per lane in SBUF or PSUM, found {} in HBM", describe());
  if (elements() != size(0)) fail("expected one value per lane, [{}, 1], found {}", size(0), describe());
  if (index_.present()) fail("an operand of one value per lane cannot be indexed by a register");
  const AccessPattern p = pattern();
  return {p.space, p.dtype, p.partition, p.offset, p.place};
}

HbmPattern View::rows() const {
  if (rank_ == 0) fail("{} has no rows to choose from", describe());
  View row = *this;
  row.rank_ = 1;
  row.dims_[0] = {1, 0};
  for (const Dimension& d : merged(dimensions().subspan(1), max_count_hbm))
    row.dims_[static_cast<std::size_t>(row.rank_++)] = d;
  if (row.rank_ > 4) {
    fail("a row of {} has {} dimensions after merging ([{}]); the rows of a table have at most 3", describe(),
         row.rank_ - 1, join_sizes(row.dimensions().subspan(1)));
  }
  HbmPattern p = row.hbm_pattern(true);
  const Dimension& rows = dims_[0];
  if (rows.size > max_count_hbm || rows.step != static_cast<std::int32_t>(rows.step))
    fail("{} rows of {} elements, in {}, are too large", rows.size, rows.step, describe());
  p.dims[3] = {static_cast<std::int32_t>(rows.step), static_cast<std::uint32_t>(rows.size)};
  return p;
}

MemoryOperand View::transposable() const {
  if (rank_ < 2 || rank_ > 4) fail("dma_transpose takes 2 to 4 dimensions as written, found {}", describe());
  if (on_chip()) return pattern(true);
  HbmPattern p = hbm_pattern(true);
  if (rank_ < 4) std::swap(p.dims[static_cast<std::size_t>(rank_ - 1)], p.dims[3]);
  return p;
}

std::string View::describe() const { return fmt::format("{}[{}]", name(dtype_), join_sizes(dimensions())); }

std::string View::describe_squeezed() const {
  std::vector<Dimension> dims;
  for (const Dimension& d : dimensions()) {
    if (d.size != 1) dims.push_back(d);
  }
  return fmt::format("[{}]", join_sizes(dims));
}

bool same_shape(const View& a, const View& b) {
  const auto x = a.dimensions(), y = b.dimensions();
  std::size_t i = 0, j = 0;
  for (;;) {
    while (i < x.size() && x[i].size == 1) ++i;
    while (j < y.size() && y[j].size == 1) ++j;
    if (i == x.size() || j == y.size()) return i == x.size() && j == y.size();
    if (x[i++].size != y[j++].size) return false;
  }
}

}  // namespace ncemu
