// The eight-wide search of the vector engine: largest values, and where given values are (datasheet 6.7).
// Elements compare as fp32, so NaN equals nothing and -0 equals +0.

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "emu/data/convert.h"
#include "emu/data/exec.h"
#include "emu/data/operand.h"
#include "isa/fault.h"
#include "isa/number.h"

namespace ncemu {
namespace {

constexpr std::int64_t width = match_registers;
constexpr std::uint32_t not_found = 0xFFFFFFFF;

void check_eight(std::string_view mnemonic, const Operand& operand, const Operand& data) {
  if (operand.elements() == width && operand.lanes() == data.lanes()) return;
  throw Fault(FaultKind::program, "", "{}: {} has {} partitions x {} elements, expected {} x {}", mnemonic,
              operand.name(), operand.lanes(), operand.elements(), data.lanes(), width);
}

// A whole row, as bytes and as values.
struct Row {
  std::vector<std::byte> bytes;
  std::vector<float> values;

  void read(const Operand& operand, int lane) {
    const auto n = static_cast<std::size_t>(operand.elements());
    bytes.resize(n * static_cast<std::size_t>(size_of(operand.dtype())));
    values.resize(n);
    operand.read(Block{lane, 1, 0, operand.elements()}, bytes.data());
    to_f32(operand.dtype(), bytes.data(), values.data(), n);
  }
};

// Numbers before NaN.
bool larger(float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

MatchValues largest(const std::vector<float>& values) {
  MatchValues top;
  std::size_t filled = 0;
  for (const float x : values) {
    if (filled == top.size() && !larger(x, top.back())) continue;
    if (filled < top.size()) ++filled;
    std::size_t at = filled - 1;
    for (; at > 0 && larger(x, top[at - 1]); --at) top[at] = top[at - 1];
    top[at] = x;
  }
  return top;
}

const MatchValues& loaded_values(std::string_view mnemonic, const Operand& data, int lane,
                                 const State& state) {
  const auto& registers = state.match_values[static_cast<std::size_t>(data.pattern().partition + lane)];
  if (!registers) {
    throw Fault(FaultKind::program, "",
                "{}: no match values are loaded in partition {}; match_value_load brings them", mnemonic,
                data.pattern().partition + lane);
  }
  return *registers;
}

// The first place from `from` on whose value is `wanted` and that `taken` does not name; -1: none.
std::int64_t find(const std::vector<float>& values, float wanted, const std::vector<std::int64_t>& taken) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != wanted) continue;
    const auto at = static_cast<std::int64_t>(i);
    if (std::find(taken.begin(), taken.end(), at) == taken.end()) return at;
  }
  return -1;
}

}  // namespace

void exec::max8(const Unary& f, Engine, State& state) {
  Operand dst("max8", "dst", f.dst, state);
  const Operand src("max8", "src", f.src, state);
  check_eight("max8", dst, src);
  if (src.elements() < width) {
    throw Fault(FaultKind::program, "", "max8: src has {} elements per partition, expected at least {}",
                src.elements(), width);
  }
  Row row;
  BlockBytes raw;
  for (int lane = 0; lane < src.lanes(); ++lane) {
    row.read(src, lane);
    dst.write(Block{lane, 1, 0, width}, largest(row.values).data(), raw);
  }
  leave_groups(f.dst, state);
}

void exec::match_value_load(const Source& f, Engine, State& state) {
  const Operand src("match_value_load", "src", f.src, state);
  check_eight("match_value_load", src, src);
  BlockBytes raw;
  for (int lane = 0; lane < src.lanes(); ++lane) {
    auto& registers = state.match_values[static_cast<std::size_t>(f.src.partition + lane)].emplace();
    src.read(Block{lane, 1, 0, width}, registers.data(), raw);
  }
}

void exec::find_index8(const Unary& f, Engine, State& state) {
  Operand dst("find_index8", "dst", f.dst, state);
  const Operand src("find_index8", "src", f.src, state);
  check_eight("find_index8", dst, src);
  Row row;
  BlockBytes raw;
  std::vector<std::int64_t> taken;
  for (int lane = 0; lane < src.lanes(); ++lane) {
    const MatchValues& wanted = loaded_values("find_index8", src, lane, state);
    row.read(src, lane);
    taken.clear();
    std::array<std::uint32_t, width> index;
    for (std::size_t j = 0; j < index.size(); ++j) {
      const std::int64_t at = find(row.values, wanted[j], taken);
      index[j] = at < 0 ? not_found : static_cast<std::uint32_t>(at);
      if (at >= 0) taken.push_back(at);
    }
    dst.write(Block{lane, 1, 0, width}, index.data(), raw);
  }
  leave_groups(f.dst, state);
}

void exec::match_replace8(const MatchReplace& f, Engine, State& state) {
  constexpr std::string_view mnemonic = "match_replace8";
  Operand dst(mnemonic, "dst", f.dst, state);
  const Operand src(mnemonic, "src", f.src, state);
  check_same_stream(mnemonic, dst, src);
  std::optional<Operand> index_out;
  if (f.index) {
    index_out.emplace(mnemonic, "index", *f.index, state);
    check_eight(mnemonic, *index_out, src);
  }
  const auto size = static_cast<std::size_t>(size_of(dst.dtype()));
  const std::uint32_t replacement = to_bits(dst.dtype(), f.value);
  Row row;
  BlockBytes raw;
  std::vector<std::int64_t> taken;
  for (int lane = 0; lane < src.lanes(); ++lane) {
    const MatchValues& wanted = loaded_values(mnemonic, src, lane, state);
    row.read(src, lane);
    taken.clear();
    std::array<std::uint32_t, width> index{};  // 0 where nothing matches
    for (std::size_t j = index.size(); j-- > 0;) {
      const std::int64_t at = find(row.values, wanted[j], taken);
      if (at < 0) continue;
      index[j] = static_cast<std::uint32_t>(at);
      taken.push_back(at);
    }
    if (src.dtype() == dst.dtype()) {
      for (const std::int64_t at : taken)
        std::memcpy(row.bytes.data() + static_cast<std::size_t>(at) * size, &replacement, size);
      dst.write(Block{lane, 1, 0, dst.elements()}, row.bytes.data());
    } else {
      for (const std::int64_t at : taken) row.values[static_cast<std::size_t>(at)] = f.value;
      for_each_block(1, dst.elements(), block_elements, [&](const Block& block) {
        dst.write(Block{lane, 1, block.first, block.count}, row.values.data() + block.first, raw);
      });
    }
    if (index_out) index_out->write(Block{lane, 1, 0, width}, index.data(), raw);
  }
  leave_groups(f.dst, state);
  if (f.index) leave_groups(*f.index, state);
}

}  // namespace ncemu
