// Rules about where operands lie and how large they are.

#include <algorithm>

#include "isa/rules_context.h"

namespace ncemu::check {
namespace {

std::uint32_t partition_bytes(const Target& target, Space space) {
  return space == Space::psum ? target.psum_partition_bytes() : target.sbuf_partition_bytes;
}

// Datasheet 1.5: the partitions a run of this length may start at are the multiples of this.
unsigned start_multiple(unsigned partitions) {
  if (partitions > 64) return 128;
  return partitions > 32 ? 64 : 32;
}

std::string legal_starts(unsigned partitions) {
  if (partitions > 64) return "0";
  return partitions > 32 ? "0 or 64" : "0, 32, 64 or 96";
}

// Datasheet 1.6, operands of the engines.
constexpr std::int64_t sbuf_elements = 64 * 1024;
constexpr std::int64_t psum_elements = 4 * 1024;

}  // namespace

void partition_count(Context& c) {
  for (const OnChip& o : c.on_chip()) {
    const unsigned n = o.pattern.partitions;
    if (o.pointer || (n >= 1 && n <= c.target.partitions)) continue;
    c.broken(o.name, "covers {} partitions, expected 1 to {}", n, c.target.partitions);
  }
}

void partition_end(Context& c) {
  for (const OnChip& o : c.on_chip()) {
    const unsigned first = o.pattern.partition;
    const unsigned end = first + o.pattern.partitions;
    if (end <= c.target.partitions) continue;
    c.broken(o.name, "{} partitions from {} end at {}, the memory has {}", o.pattern.partitions, first, end,
             c.target.partitions);
  }
}

void partition_start(Context& c) {
  for (const OnChip& o : c.on_chip()) {
    const unsigned n = o.pattern.partitions;
    if (o.pattern.partition % start_multiple(n) == 0) continue;
    c.broken(o.name, "{} partitions start at partition {}, expected {}", n, o.pattern.partition,
             legal_starts(n));
  }
}

void dimension_count(Context& c) {
  const auto check = [&](std::string_view name, const auto& dims) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].count == 0)
        c.broken(name, "dimension {} (0 is the fastest) has 0 elements, expected at least 1", i);
    }
  };
  for (const OnChip& o : c.on_chip()) check(o.name, o.pattern.dims);
  for (const InHbm& o : c.in_hbm()) check(o.name, o.pattern.dims);
}

void free_size(Context& c) {
  for (const OnChip& o : c.on_chip()) {
    const std::int64_t limit = o.pattern.space == Space::psum ? psum_elements : sbuf_elements;
    if (elements_of(o.pattern) <= limit) continue;
    c.broken(o.name, "has {} elements per partition in {}, at most {} are possible", elements_of(o.pattern),
             name(o.pattern.space), limit);
  }
}

void aligned_offset(Context& c) {
  for (const OnChip& o : c.on_chip()) {
    const auto element = static_cast<std::uint32_t>(size_of(o.pattern.dtype));
    if (o.pattern.offset % element == 0) continue;
    c.broken(o.name, "starts at byte {}, expected a multiple of {} for {}", o.pattern.offset, element,
             name(o.pattern.dtype));
  }
}

// With an index register only the base is known here; the rest is checked when the index is.
void inside_partition(Context& c) {
  for (const OnChip& o : c.on_chip()) {
    const std::int64_t bytes = partition_bytes(c.target, o.pattern.space);
    Extent e = extent(o.pattern);
    if (o.pattern.index.present())
      e = {o.pattern.offset, o.pattern.offset + std::int64_t{size_of(o.pattern.dtype)}};
    if (e.begin >= 0 && e.end <= bytes) continue;
    c.broken(o.name, "covers bytes {} to {} of each partition, {} has {}", e.begin, e.end - 1,
             name(o.pattern.space), bytes);
  }
}

void engine_memory(Context& c) {
  for (const OnChip& o : c.on_chip()) {
    const bool in_psum = o.pattern.space == Space::psum;
    bool legal = o.pattern.space != Space::hbm;
    switch (c.engine) {
      case Engine::tensor: legal = legal && in_psum == (o.role == Role::write); break;
      case Engine::vector:
      case Engine::scalar: break;
      case Engine::gpsimd: legal = legal && !in_psum; break;
      case Engine::sync: legal = false; break;
    }
    if (legal) continue;
    c.broken(o.name, "is in {}, which the {} engine does not {}", name(o.pattern.space), name(c.engine),
             o.role == Role::write ? "write" : "read");
  }
}

void one_psum_input(Context& c) {
  const OnChip* first = nullptr;
  for (const OnChip& o : c.on_chip()) {
    if (o.role != Role::read || o.pointer || o.pattern.space != Space::psum) continue;
    if (first != nullptr) c.broken(o.name, "is in psum, as {} is; one of them must be in sbuf", first->name);
    if (first == nullptr) first = &o;
  }
}

void equal_partitions(Context& c) {
  const auto operands = c.on_chip();
  for (const OnChip& o : operands) {
    if (o.pointer || o.pattern.partitions == operands[0].pattern.partitions) continue;
    c.broken(o.name, "covers {} partitions, {} covers {}", o.pattern.partitions, operands[0].name,
             operands[0].pattern.partitions);
  }
}

void equal_elements(Context& c) {
  const auto operands = c.on_chip();
  for (const OnChip& o : operands) {
    if (o.pointer || elements_of(o.pattern) == elements_of(operands[0].pattern)) continue;
    c.broken(o.name, "has {} elements per partition, {} has {}", elements_of(o.pattern), operands[0].name,
             elements_of(operands[0].pattern));
  }
}

void f8e4m3fn_type(Context& c) {
  for (const OnChip& o : c.on_chip()) {
    if (o.pattern.dtype == DType::f8e4m3fn)
      c.broken(o.name, "is f8e4m3fn, which no engine of NeuronCore-v{} reads or writes", c.target.generation);
  }
}

void hbm_bounds(Context& c) {
  if (c.program == nullptr) return;
  for (const InHbm& o : c.in_hbm()) {
    if (o.pattern.tensor >= c.program->tensors.size()) {
      c.broken(o.name, "names tensor {}, the program has {}", o.pattern.tensor, c.program->tensors.size());
      continue;
    }
    const Tensor& tensor = c.program->tensors[o.pattern.tensor];
    const std::int64_t element = size_of(o.pattern.dtype);
    const std::int64_t available = tensor.bytes() / element;
    // Saturates far outside any tensor, so that no sum overflows. With an index only the base is known.
    constexpr std::int64_t far = std::int64_t{1} << 55;
    std::int64_t begin = std::clamp(o.pattern.offset, -far, far);
    std::int64_t end = begin + 1;
    for (const HbmDim& d : o.pattern.dims) {
      if (o.pattern.index.present()) break;
      const std::int64_t reach = std::clamp(std::int64_t{d.step} * (std::int64_t{d.count} - 1), -far, far);
      (reach < 0 ? begin : end) += reach;
    }
    if (begin >= 0 && end <= available) continue;
    c.broken(o.name, "covers elements {} to {} of '{}', which has {}", begin, end - 1, tensor.name,
             available);
  }
}

void read_only_tensor(Context& c) {
  if (c.program == nullptr) return;
  for (const InHbm& o : c.in_hbm()) {
    if (o.role != Role::write || o.pattern.tensor >= c.program->tensors.size()) continue;
    const Tensor& tensor = c.program->tensors[o.pattern.tensor];
    if (tensor.kind != TensorKind::input && tensor.kind != TensorKind::constant) continue;
    c.broken(o.name, "writes '{}', which is {}", tensor.name,
             tensor.kind == TensorKind::input ? "an input; declare it .inout" : "a constant");
  }
}

}  // namespace ncemu::check
