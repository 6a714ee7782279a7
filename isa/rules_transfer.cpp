// Rules about transfers.

#include "isa/rules_context.h"

namespace ncemu::check {
namespace {

std::int64_t element_count(const MemoryOperand& m) {
  if (const auto* on_chip = std::get_if<AccessPattern>(&m))
    return on_chip->partitions * elements_of(*on_chip);
  return elements_of(std::get<HbmPattern>(m));
}

DType element_type(const MemoryOperand& m) {
  return std::visit([](const auto& p) { return p.dtype; }, m);
}

bool in_hbm(const MemoryOperand& m) { return std::holds_alternative<HbmPattern>(m); }

bool has_index(const DmaCopy& t) { return !std::holds_alternative<std::monostate>(t.index); }

// Calls visit(name, pattern, role) for each side of the transfer, in form order.
template <typename Visit>
void for_each_side(const Operands& operands, Visit&& visit) {
  for_each_field(operands, [&](std::string_view name, const auto& field, Role role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, MemoryOperand>) visit(name, field, role);
  });
}

bool moves(const MemoryOperand& m) {
  return std::visit([](const auto& p) { return p.index.present(); }, m);
}

// Slowest, two in between, fastest, as dma_transpose keeps them.
using FourSizes = std::array<std::int64_t, 4>;
FourSizes four_sizes(const MemoryOperand& m) {
  return std::visit(
      [](const auto& p) {
        FourSizes sizes{p.dims[3].count, p.dims[2].count, p.dims[1].count, p.dims[0].count};
        if constexpr (std::is_same_v<std::decay_t<decltype(p)>, AccessPattern>) sizes[0] = p.partitions;
        return sizes;
      },
      m);
}

std::string describe(const FourSizes& s) { return fmt::format("[{}, {}, {}, {}]", s[0], s[1], s[2], s[3]); }

}  // namespace

void transfer_signal(Context& c) {
  const Update& update = c.instruction.update;
  if (update.present() && update.when == UpdateWhen::read) c.broken("signal", "is @read, expected @complete");
}

void transfer_destination(Context& c) {
  for (const OnChip& o : c.on_chip()) {
    if (o.role == Role::write && o.pattern.space == Space::psum)
      c.broken(o.name, "is in psum, expected sbuf or hbm");
  }
}

void transfer_size(Context& c) {
  const auto* copy = std::get_if<DmaCopy>(&c.instruction.operands);
  if (copy != nullptr && has_index(*copy)) {
    const auto row = [](const MemoryOperand& m) {
      std::int64_t n = 0;
      if (const auto* on_chip = std::get_if<AccessPattern>(&m)) return elements_of(*on_chip);
      HbmPattern one = std::get<HbmPattern>(m);
      one.dims[3].count = 1;
      n = elements_of(one);
      return n;
    };
    if (row(copy->dst) != row(copy->src))
      c.broken("dst", "has rows of {} elements, src of {}", row(copy->dst), row(copy->src));
    return;
  }
  std::int64_t written = 0;
  for_each_side(c.instruction.operands, [&](std::string_view name, const MemoryOperand& m, Role role) {
    if (role == Role::write) {
      written = element_count(m);
    } else if (element_count(m) != written) {
      c.broken("dst", "has {} elements, {} has {}", written, name, element_count(m));
    }
  });
}

void queue_number(Context& c) {
  const unsigned queue = route(c.instruction.operands).queue;
  if (queue >= c.target.dma_queues)
    c.broken("queue", "is {}, the last is {}", queue, c.target.dma_queues - 1);
}

void static_addresses(Context& c) {
  if (route(c.instruction.operands).mode != DgeMode::static_) return;
  for_each_side(c.instruction.operands, [&](std::string_view name, const MemoryOperand& m, Role) {
    if (moves(m)) c.broken(name, "is indexed by a register, expected mode = software or hardware");
  });
}

void software_issuer(Context& c) {
  if (route(c.instruction.operands).mode != DgeMode::software || c.engine == Engine::gpsimd) return;
  // Nobody need have written the mode: addresses of the run choose it.
  std::string_view at_run_time;
  for_each_side(c.instruction.operands, [&](std::string_view name, const MemoryOperand& m, Role) {
    if (at_run_time.empty() && moves(m)) at_run_time = name;
  });
  const auto* copy = std::get_if<DmaCopy>(&c.instruction.operands);
  if (copy != nullptr && has_index(*copy)) {
    c.broken("mode", "is software, as an index chooses the rows, but the issuer is {}", name(c.engine));
  } else if (!at_run_time.empty()) {
    c.broken("mode",
             "is software (the default where a register moves an operand, here {}), but the issuer is {}",
             at_run_time, name(c.engine));
  } else {
    c.broken("mode", "is software, but the issuer is {}", name(c.engine));
  }
}

void hardware_generation(Context& c) {
  if (route(c.instruction.operands).mode == DgeMode::hardware && c.v2()) {
    c.broken("mode", "is hardware, which NeuronCore-v2 does not have");
  }
}

void hardware_issuer(Context& c) {
  if (route(c.instruction.operands).mode != DgeMode::hardware) return;
  if (c.engine == Engine::scalar || c.engine == Engine::sync) return;
  c.broken("mode", "is hardware, but the issuer is {}", name(c.engine));
}

void hardware_types(Context& c) {
  const auto* t = std::get_if<DmaCopy>(&c.instruction.operands);
  if (t == nullptr || t->mode != DgeMode::hardware || element_type(t->dst) == element_type(t->src)) return;
  c.broken("dst", "is {}, src is {}; mode hardware moves bytes", name(element_type(t->dst)),
           name(element_type(t->src)));
}

void row_index(Context& c) {
  const auto& t = c.operands<DmaCopy>();
  if (!has_index(t)) return;
  const auto* pointer = std::get_if<PointerOperand>(&t.index);
  if (pointer == nullptr) {
    c.broken("index", "is a number or a register, expected a [P, 1] tile");
  } else if (pointer->space != Space::sbuf) {
    c.broken("index", "is in {}, expected sbuf", name(pointer->space));
  } else if (pointer->dtype != DType::u32 && pointer->dtype != DType::i32) {
    c.broken("index", "is {}, expected u32 or i32", name(pointer->dtype));
  }
}

void row_index_sides(Context& c) {
  const auto& t = c.operands<DmaCopy>();
  if (!has_index(t) || in_hbm(t.dst) != in_hbm(t.src)) return;
  c.broken("index", "is given, but both sides are {}", in_hbm(t.dst) ? "in hbm" : "on chip");
}

void row_index_mode(Context& c) {
  const auto& t = c.operands<DmaCopy>();
  if (has_index(t) && t.mode != DgeMode::software)
    c.broken("mode", "is {}, but index is given", name(t.mode));
}

void skip_needs_address(Context& c) {
  const auto& t = c.operands<DmaCopy>();
  if (t.bounds == Bounds::error || has_index(t) || moves(t.dst) || moves(t.src)) return;
  c.broken("bounds", "is skip, but every address is known before the run");
}

void accumulate_bounds(Context& c) {
  const auto& t = c.operands<DmaCopy>();
  if (t.accumulate && t.bounds == Bounds::skip) c.broken("bounds", "is skip, but accumulate = true");
}

void transpose_shape(Context& c) {
  const auto& t = c.operands<DmaTranspose>();
  const FourSizes dst = four_sizes(t.dst), src = four_sizes(t.src);
  for (const OnChip& o : c.on_chip()) {
    if (o.pattern.dims[3].count != 1)
      c.broken(o.name, "has {} as a fourth free dimension, expected 1", o.pattern.dims[3].count);
  }
  const FourSizes expected{src[3], src[1], src[2], src[0]};
  if (dst != expected)
    c.broken("dst", "has the sizes {}, src {} transposed has {}", describe(dst), describe(src),
             describe(expected));
}

void transpose_type(Context& c) {
  const auto& t = c.operands<DmaTranspose>();
  if (element_type(t.dst) != element_type(t.src))
    c.broken("dst", "is {}, src is {}", name(element_type(t.dst)), name(element_type(t.src)));
}

void transpose_hardware(Context& c) {
  const auto& t = c.operands<DmaTranspose>();
  if (t.mode != DgeMode::hardware) return;
  const FourSizes s = four_sizes(t.src);
  const DType type = element_type(t.src);
  if (size_of(type) != 2) c.broken("src", "is {}, expected a type of 2 bytes", name(type));
  if (s[3] > 128) c.broken("src", "has {} elements in its fastest dimension, at most 128 are possible", s[3]);
  const bool slowest = s[0] == 1 || s[0] == 2 || s[0] == 4 || s[0] == 8 || s[0] == 16;
  if (!slowest || s[0] * s[2] % 16 != 0)
    c.broken("src", "has {} in its slowest dimension and {} before the fastest", s[0], s[2]);
}

void compute_sources(Context& c) {
  const std::size_t n = c.operands<DmaCompute>().sources.size();
  if (n < 1 || n > DmaCompute::most_sources)
    c.broken("src0", "is one of {} sources, 1 to {} are possible", n, DmaCompute::most_sources);
}

void compute_scale(Context& c) {
  const auto& t = c.operands<DmaCompute>();
  if (t.op == ComputeOp::fma) return;
  for (std::size_t i = 0; i < t.sources.size(); ++i) {
    if (t.sources[i].scale == 1) continue;
    c.broken(fmt::format("scale{}", i), "is {}, but op = {} does not scale", t.sources[i].scale, name(t.op));
  }
}

void compute_mode(Context& c) {
  if (c.operands<DmaCompute>().mode == DgeMode::hardware)
    c.broken("mode", "is hardware, expected static or software");
}

}  // namespace ncemu::check
