// n_gather and local_gather: elements of each lane by index (datasheet 6.8.3, 6.8.4). A lane's source is
// read before its results are written, and a processor's indices before any of its lanes writes.

#include <cstring>
#include <vector>

#include "emu/data/exec.h"
#include "emu/data/operand.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

Block whole_lane(int lane, const Operand& operand) { return {lane, 1, 0, operand.elements()}; }

// One lane's elements as they are.
class LaneBytes {
 public:
  LaneBytes(std::int64_t elements, DType dtype)
      : size_(static_cast<std::size_t>(size_of(dtype))), bytes_(static_cast<std::size_t>(elements) * size_) {}
  std::byte* data() { return bytes_.data(); }
  std::byte* element(std::int64_t i) { return bytes_.data() + static_cast<std::size_t>(i) * size_; }
  void copy(std::int64_t to, LaneBytes& from, std::int64_t first, std::int64_t count) {
    std::memcpy(element(to), from.element(first), static_cast<std::size_t>(count) * size_);
  }

 private:
  std::size_t size_;
  std::vector<std::byte> bytes_;
};

// Throws unless src has `count` elements from `index` on. `at` is the index's place in its lane.
void check_index(std::string_view mnemonic, std::uint32_t index, std::int64_t count, const Operand& src,
                 const Operand& indices, int lane, std::int64_t at) {
  if (std::int64_t{index} + count <= src.elements()) return;
  throw Fault(FaultKind::program, "",
              "{}: index {} (element {} of partition {}) leads to elements {} to {} of src, which has {} per "
              "partition",
              mnemonic, index, at, indices.pattern().partition + lane, index, index + count - 1,
              src.elements());
}

void check_types(std::string_view mnemonic, const Operand& dst, const Operand& src, const Operand& index,
                 DType index_type) {
  if (dst.dtype() != src.dtype()) {
    throw Fault(FaultKind::program, "", "{}: dst is {}, src is {}; a gather does not convert", mnemonic,
                name(dst.dtype()), name(src.dtype()));
  }
  if (index.dtype() != index_type) {
    throw Fault(FaultKind::program, "", "{}: index is {}, expected {}", mnemonic, name(index.dtype()),
                name(index_type));
  }
  if (dst.lanes() != src.lanes() || dst.lanes() != index.lanes()) {
    throw Fault(FaultKind::program, "", "{}: dst has {} partitions, src {} and index {}", mnemonic,
                dst.lanes(), src.lanes(), index.lanes());
  }
}

}  // namespace

void exec::n_gather(const Gather& f, Engine, State& state) {
  Operand dst("n_gather", "dst", f.dst, state);
  const Operand src("n_gather", "src", f.src, state);
  const Operand index("n_gather", "index", f.index, state);
  check_types("n_gather", dst, src, index, DType::u32);
  if (dst.elements() != index.elements()) {
    throw Fault(FaultKind::program, "", "n_gather: dst has {} elements per partition, index has {}",
                dst.elements(), index.elements());
  }
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(index.elements()));
  LaneBytes from(src.elements(), src.dtype()), to(dst.elements(), dst.dtype());
  for (int lane = 0; lane < dst.lanes(); ++lane) {
    index.read(whole_lane(lane, index), reinterpret_cast<std::byte*>(indices.data()));
    src.read(whole_lane(lane, src), from.data());
    for (std::int64_t j = 0; j < dst.elements(); ++j) {
      const std::uint32_t i = indices[static_cast<std::size_t>(j)];
      check_index("n_gather", i, 1, src, index, lane, j);
      to.copy(j, from, i, 1);
    }
    dst.write(whole_lane(lane, dst), to.data());
  }
  leave_groups(f.dst, state);
}

void exec::local_gather(const LocalGather& f, Engine, State& state) {
  constexpr int together = LocalGather::lanes;
  Operand dst("local_gather", "dst", f.dst, state);
  const Operand src("local_gather", "src", f.src, state);
  const Operand index("local_gather", "index", f.index, state);
  check_types("local_gather", dst, src, index, DType::u16);
  const std::int64_t per_index = f.num_elem_per_idx, valid = f.valid_indices();
  if (dst.lanes() % together != 0) {
    throw Fault(FaultKind::program, "", "local_gather: dst has {} partitions, expected a multiple of {}",
                dst.lanes(), together);
  }
  if (valid > together * index.elements() || dst.elements() != valid * per_index) {
    throw Fault(FaultKind::program, "",
                "local_gather: {} valid indices of {} elements do not fit dst with {} elements per partition "
                "and index with {}",
                valid, per_index, dst.elements(), index.elements());
  }
  // indices[l][k]: column k of lane l of the processor; index number j is column j / 16 of lane j % 16.
  const auto columns = static_cast<std::size_t>(index.elements());
  std::vector<std::uint16_t> indices(columns * together);
  LaneBytes from(src.elements(), src.dtype()), to(dst.elements(), dst.dtype());
  for (int first = 0; first < dst.lanes(); first += together) {
    index.read(Block{first, together, 0, index.elements()}, reinterpret_cast<std::byte*>(indices.data()));
    for (int lane = first; lane < first + together; ++lane) {
      src.read(whole_lane(lane, src), from.data());
      for (std::int64_t j = 0; j < valid; ++j) {
        const std::int64_t row = j % together, column = j / together;
        const std::uint16_t i =
            indices[static_cast<std::size_t>(row) * columns + static_cast<std::size_t>(column)];
        check_index("local_gather", i, per_index, src, index, first + static_cast<int>(row), column);
        to.copy(j * per_index, from, i, per_index);
      }
      dst.write(whole_lane(lane, dst), to.data());
    }
  }
  leave_groups(f.dst, state);
}

}  // namespace ncemu
