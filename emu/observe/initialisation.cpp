#include "emu/observe/initialisation.h"

#include <fmt/format.h>

#include <algorithm>

#include "emu/observe/operands.h"
#include "isa/address_window.h"
#include "isa/comparison.h"

namespace ncemu {
namespace {

constexpr std::size_t most_reads =
    unwritten - 1;  // numbers that an Origin can hold beside its two own values

std::int64_t lanes_of(const AccessPattern& pattern) { return pattern.partitions; }
std::int64_t lanes_of(const HbmPattern&) { return 1; }

template <typename Pattern>
std::size_t count(const Pattern& pattern) {
  return static_cast<std::size_t>(lanes_of(pattern) * pattern.elements());
}

// The byte of element `number` of a lane.
template <typename Pattern>
std::int64_t byte_of(const Pattern& pattern, std::int64_t number) {
  std::int64_t offset = 0;
  if constexpr (std::is_same_v<Pattern, AccessPattern>) {
    offset = pattern.offset;
  } else {
    offset = pattern.offset * size_of(pattern.dtype);
  }
  for (const auto& d : pattern.dims) {
    offset += number % d.count * d.step * size_of(pattern.dtype);
    number /= d.count;
  }
  return offset;
}

// Element `number` of the pattern, partition slowest, as the user would index it.
std::string describe_element(const Program& program, const AccessPattern& pattern, std::int64_t number) {
  const std::int64_t lane = number / pattern.elements();
  return describe_byte(program, pattern.space, pattern.place, pattern.partition + static_cast<int>(lane),
                       byte_of(pattern, number % pattern.elements()));
}
std::string describe_element(const Program& program, const HbmPattern& pattern, std::int64_t number) {
  return describe_byte(program, pattern.tensor, byte_of(pattern, number));
}

// The elements that affine_select fills are not read.
void leave_out_filled(const AffineSelect& select, std::vector<Origin>& origins) {
  const std::int64_t elements = select.src.elements();
  for (std::size_t i = 0; i < origins.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    std::int64_t value = select.offset + number / elements * select.channel_multiplier;
    std::int64_t rest = number % elements;
    for (const AffineDim& d : select.pattern.dims) {
      value += rest % d.count * d.step;
      rest /= d.count;
    }
    if (!holds(select.cmp, value, 0)) origins[i] = sound;
  }
}

// Of an operand whose elements data choose only lanes that hold nothing at all are wrong for certain.
void keep_empty_lanes(std::vector<Origin>& origins, std::int64_t lanes) {
  const auto elements = static_cast<std::ptrdiff_t>(origins.size()) / lanes;
  for (auto lane = origins.begin(); lane != origins.end(); lane += elements) {
    if (std::any_of(lane, lane + elements, [](Origin o) { return o != unwritten; }))
      std::fill(lane, lane + elements, sound);
  }
}

bool has_rows(const DmaCopy* copy) {
  return copy != nullptr && std::holds_alternative<PointerOperand>(copy->index);
}

}  // namespace

Initialisation::Initialisation(const Program& program)
    : program_(program),
      sbuf_(program.target.partitions, program.target.sbuf_partition_bytes),
      psum_(program.target.partitions, program.target.psum_partition_bytes()) {
  for (const Tensor& tensor : program.tensors) {
    const bool empty = tensor.kind == TensorKind::output || tensor.kind == TensorKind::scratch;
    tensors_.push_back(empty ? std::make_unique<TensorShadow>(tensor.bytes()) : nullptr);
  }
}

void Initialisation::on_start(const Started& started) {
  if (!started.moves) return;
  const Instruction& instruction = *started.instruction;
  if (const auto* copy = std::get_if<DmaCopy>(&instruction.operands); has_rows(copy)) {
    follow_rows(started, *copy);
    return;
  }
  if (const auto* words = std::get_if<Write>(&instruction.operands)) {
    write_words(*words);
    return;
  }
  bool all_sound = !engines_.any() || info(instruction.opcode).is_dma();
  bool nothing_new = true;
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    if (role == Role::read) {
      all_sound = all_sound && is_sound(pattern);
    } else {
      nothing_new = nothing_new && is_known(pattern);
    }
  });
  if (!all_sound) {
    follow(started, instruction);
    return;
  }
  if (nothing_new) return;
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    if (role == Role::write) write(pattern, nullptr);
  });
}

void Initialisation::follow(const Started& started, const Instruction& instruction) {
  std::vector<Flowing> sources;
  for_each_operand(instruction, [&](std::string_view operand, const auto& pattern, Role role) {
    if (role != Role::read) return;
    std::vector<Origin> origins = look(pattern);
    const auto* select = std::get_if<AffineSelect>(&instruction.operands);
    if (select != nullptr && operand == "src") leave_out_filled(*select, origins);
    if (chosen_by_data(instruction, operand)) {
      keep_empty_lanes(origins, lanes_of(pattern));
      report(started, operand, pattern, origins);
      return;
    }
    report(started, operand, pattern, origins);
    if (first_origin(origins) != sound) tainted_.insert({started.engine, started.index});
    if (instruction.opcode == Opcode::register_load) decide(origins);
    sources.push_back({static_cast<std::size_t>(lanes_of(pattern)), std::move(origins)});
  });

  const Flowing none;
  const Flowing& first = sources.empty() ? none : sources.front();
  const auto* matmul = std::get_if<Matmul>(&instruction.operands);
  bool passed = false;
  for_each_operand(instruction, [&](std::string_view, const auto& pattern, Role role) {
    if (role != Role::write) return;
    Flowing destination{static_cast<std::size_t>(lanes_of(pattern)), std::vector<Origin>(count(pattern))};
    if (matmul == nullptr) {
      for (const Flowing& source : sources) flow_into(destination, source, flow(instruction.opcode));
    } else if (matmul->accumulate) {
      destination.origins = look(pattern);
      std::replace(destination.origins.begin(), destination.origins.end(), unwritten, sound);
    }
    if (!passed) engines_.pass(instruction, started.engine, first, destination);
    passed = true;
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, HbmPattern>)
      reaches_output(started, pattern, destination.origins);
    // By way of a register: the stationary operand, an accumulator.
    if (first_origin(destination.origins) != sound) tainted_.insert({started.engine, started.index});
    write(pattern, &destination.origins);
  });
  Flowing nowhere;
  if (!passed) engines_.pass(instruction, started.engine, first, nowhere);
}

void Initialisation::follow_rows(const Started& started, const DmaCopy& copy) {
  const auto* tile = std::get_if<AccessPattern>(&copy.dst);
  const bool gathers = tile != nullptr;
  const auto* table = std::get_if<HbmPattern>(gathers ? &copy.src : &copy.dst);
  if (!gathers) tile = std::get_if<AccessPattern>(&copy.src);
  if (table == nullptr || tile == nullptr) return;  // the transfer itself refuses
  const AccessPattern column = as_pattern(std::get<PointerOperand>(copy.index), tile->partitions);
  std::vector<Origin> indices = look(column);
  report(started, "index", column, indices);
  decide(indices);

  Instruction row_by_row = *started.instruction;
  auto& part = std::get<DmaCopy>(row_by_row.operands);
  part.index = {};
  if (started.rows == nullptr) {
    const std::uint32_t site = started.instruction->site;
    if (std::find(unknown_rows_.begin(), unknown_rows_.end(), site) == unknown_rows_.end())
      unknown_rows_.push_back(site);
    if (gathers) {
      write(*tile, nullptr);
    } else {
      std::vector<Origin> origins = look(*tile);
      report(started, "src", *tile, origins);
      reaches_output(started, *table, origins);
      write(*table, nullptr);
    }
    return;
  }
  for (std::size_t p = 0; p < started.rows->size(); ++p) {
    const std::int64_t index = (*started.rows)[p];
    if (index < 0) continue;
    HbmPattern row = *table;
    row.dims[3] = HbmDim{};
    row.offset = table->offset + index * table->dims[3].step;
    const AccessPattern lane = one_lane(*tile, static_cast<int>(p));
    part.dst = gathers ? MemoryOperand(lane) : MemoryOperand(row);
    part.src = gathers ? MemoryOperand(row) : MemoryOperand(lane);
    follow(started, row_by_row);
  }
}

void Initialisation::write_words(const Write& words) {
  const std::uint32_t addresses[] = {words.address0, words.address1};
  const std::uint32_t data[] = {words.data0, words.data1};
  for (std::size_t i = 0; i < words.count && i < 2; ++i) {
    const auto target = decode_write(addresses[i], data[i], program_.target);
    const auto* word = std::get_if<MemoryWord>(&target);
    if (word == nullptr) continue;
    AccessPattern pattern;
    pattern.space = word->space;
    pattern.partition = static_cast<std::uint8_t>(word->partition);
    pattern.offset = word->offset;
    write(pattern, nullptr);
  }
}

std::vector<Origin> Initialisation::look(const HbmPattern& pattern) const {
  return tracked(pattern.tensor) ? tensors_[pattern.tensor]->look(pattern)
                                 : std::vector<Origin>(count(pattern));
}

void Initialisation::write(const AccessPattern& pattern, const std::vector<Origin>* origins) {
  origins != nullptr ? chip(pattern).write(pattern, *origins) : chip(pattern).write(pattern);
}

void Initialisation::write(const HbmPattern& pattern, const std::vector<Origin>* origins) {
  if (!tracked(pattern.tensor)) return;
  TensorShadow& tensor = *tensors_[pattern.tensor];
  origins != nullptr ? tensor.write(pattern, *origins) : tensor.write(pattern);
}

// Replaces `unwritten` by the number of this read.
template <typename Pattern>
void Initialisation::report(const Started& started, std::string_view operand, const Pattern& pattern,
                            std::vector<Origin>& origins) {
  const auto first = std::find(origins.begin(), origins.end(), unwritten);
  if (first == origins.end()) return;
  const std::uint32_t site = started.instruction->site;
  // Without a source place every instruction of the streams is one of its own.
  const Key key{site, static_cast<int>(started.engine), site == 0 ? started.index : 0, std::string(operand)};
  auto [entry, is_new] = numbers_.try_emplace(key, static_cast<Origin>(reads_.size() + 1));
  if (is_new && reads_.size() == most_reads) {
    entry->second = static_cast<Origin>(most_reads);  // the last stands for all that follow
  } else if (is_new) {
    Read read;
    read.by = {started.engine, started.index, fmt::format("reads {}", describe_memory(program_, pattern))};
    read.operand = operand;
    read.memory = describe_memory(program_, pattern);
    read.first = describe_element(program_, pattern, first - origins.begin());
    read.missing = static_cast<std::uint64_t>(std::count(origins.begin(), origins.end(), unwritten));
    read.elements = origins.size();
    reads_.push_back(std::move(read));
  }
  ++reads_[entry->second - 1U].times;
  std::replace(origins.begin(), origins.end(), unwritten, entry->second);
}

void Initialisation::reaches_output(const Started& started, const HbmPattern& pattern,
                                    const std::vector<Origin>& origins) {
  const Tensor& tensor = program_.tensors[pattern.tensor];
  if (tensor.kind != TensorKind::output && tensor.kind != TensorKind::inout) return;
  for (const Origin o : origins) {
    if (o == sound || !reads_[o - 1U].carried_to.empty()) continue;
    Read& read = reads_[o - 1U];
    read.carried_to = tensor.name;
    read.carrier = {started.engine, started.index,
                    fmt::format("stores values that come from there into output '{}'", tensor.name)};
  }
}

void Initialisation::decide(const std::vector<Origin>& origins) {
  for (const Origin o : origins) {
    if (o != sound) reads_[o - 1U].decides = true;
  }
}

std::vector<Finding> Initialisation::reads() const {
  std::vector<Finding> findings;
  for (const Read& read : reads_) {
    Finding f;
    f.kind = CheckKind::init;
    const Instruction& by = program_.stream(read.by.engine)[read.by.index];
    f.message = fmt::format("{} {}: ", info(by.opcode).mnemonic, read.operand);
    if (read.missing == read.elements) {
      f.message += fmt::format("{} is read from {} on and nothing wrote it", read.memory, read.first);
    } else {
      f.message += fmt::format("nothing wrote {} of the {} elements that are read from {}, the first is {}",
                               read.missing, read.elements, read.memory, read.first);
    }
    if (!read.carried_to.empty())
      f.message += fmt::format("; their values reach output '{}'", read.carried_to);
    if (read.decides) f.message += "; their values decide what the kernel does";
    f.involved.push_back(read.by);
    if (!read.carried_to.empty() &&
        (read.carrier.engine != read.by.engine || read.carrier.index != read.by.index)) {
      f.involved.push_back(read.carrier);
    }
    f.fix = fmt::format("write {} before (a transfer, memset), or read only what was written", read.memory);
    f.count = read.times;
    if (read.carried_to.empty() && !read.decides) f.severity = Severity::warning;
    findings.push_back(std::move(f));
  }
  return findings;
}

std::vector<Finding> Initialisation::outputs() const {
  std::vector<Finding> findings;
  for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
    const Tensor& tensor = program_.tensors[t];
    if (tensor.kind != TensorKind::output) continue;
    const TensorShadow::Missing missing = tensors_[t]->missing(size_of(tensor.dtype));
    if (missing.elements == 0) continue;
    Finding f;
    f.kind = CheckKind::outputs;
    f.site = tensor.site;
    if (missing.elements == tensor.elements()) {
      f.message = fmt::format("output '{}' was never written", tensor.name);
    } else {
      f.message = fmt::format(
          "output '{}': {} of {} elements were never written, the first at {}", tensor.name, missing.elements,
          tensor.elements(),
          describe_byte(program_, static_cast<std::uint16_t>(t), missing.first * size_of(tensor.dtype)));
    }
    findings.push_back(std::move(f));
  }
  return findings;
}

}  // namespace ncemu
