#include "emu/observe/run_trace.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "isa/address_window.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

Nature nature_of(const Instruction& instruction) {
  const InstructionInfo& row = info(instruction.opcode);
  if (row.is_dma()) return Nature::transfer;
  if (!row.is_control()) return Nature::data;
  if (instruction.opcode == Opcode::drain) return Nature::drain;
  return instruction.opcode == Opcode::register_store ? Nature::store : Nature::sequencer;
}

// What a word of a `write` means. A wrong address ends the run, and the machine says why.
std::optional<std::variant<MemoryWord, SemaphoreWrite>> meaning(std::uint32_t address, std::uint32_t data,
                                                                const Target& target) {
  try {
    return decode_write(address, data, target);
  } catch (const Fault&) {
    return std::nullopt;
  }
}

// Whether the access is that of a pointer operand.
bool is_column(const AccessPattern& pattern, const ScalarOperand& operand) {
  const auto* pointer = std::get_if<PointerOperand>(&operand);
  return pointer != nullptr && pattern == as_pattern(*pointer, pattern.partitions);
}
bool is_column(const HbmPattern&, const ScalarOperand&) { return false; }

bool describe(UpdateOperation operation, std::uint32_t value, Effect& effect) {
  switch (operation) {
    case UpdateOperation::none:
    case UpdateOperation::evt_set:
    case UpdateOperation::evt_clr: return false;
    case UpdateOperation::sem_inc: effect = {Effect::Kind::increment, false, 0, 1}; return true;
    case UpdateOperation::sem_dec: effect = {Effect::Kind::decrement, false, 0, 1}; return true;
    case UpdateOperation::sem_add_imm: effect = {Effect::Kind::increment, false, 0, value}; return true;
    case UpdateOperation::sem_sub_imm: effect = {Effect::Kind::decrement, false, 0, value}; return true;
    case UpdateOperation::sem_wr_imm: effect = {Effect::Kind::set, false, 0, value}; return true;
  }
  return false;
}

}  // namespace

// Only increments prove anything (design: what a wait proves), and a counter is never negative.
std::uint32_t need_of(const Wait& wait) {
  switch (wait.condition) {
    case Comparison::ge:
    case Comparison::eq: return wait.value;
    case Comparison::gt: return wait.value + 1U;
    case Comparison::ne: return wait.value == 0 ? 1 : 0;
    case Comparison::always:
    case Comparison::lt:
    case Comparison::le: return 0;
  }
  return 0;
}

RunTrace::RunTrace(const Program& program) : program_(&program), use_(semaphore_use(program)) {
  order_.reserve(program.instruction_count());
  sites_.reserve(program.instruction_count());
  for (const Engine e : all_engines) {
    static_site_[static_cast<std::size_t>(e)].assign(program.stream(e).size(), none);
  }
}

void RunTrace::record(Engine engine, std::uint32_t index, const Instruction& resolved, bool moves,
                      const std::vector<std::int64_t>* rows) {
  const auto e = static_cast<std::size_t>(engine);
  if (moves && rows == nullptr &&
      &resolved == &program_->streams[e][index]) {  // names no registers: looks the same every time
    std::uint32_t& site = static_site_[e][index];
    if (site == none) site = make(engine, index, resolved, moves, rows);
    order_.push_back(site);
    return;
  }
  const std::uint32_t fresh = make(engine, index, resolved, moves, rows);
  const RunSite& made = sites_[fresh];
  std::uint64_t hash = (std::uint64_t{index} << 3U | e) ^ std::uint64_t{made.need} << 40U;
  for (const Touch& t : touches(made)) hash = (hash ^ t.footprint) * 0x9E37'79B9'7F4A'7C15U;
  std::vector<std::uint32_t>& candidates = known_[hash ^ hash >> 29U];
  const auto same = std::find_if(candidates.begin(), candidates.end(), [&](std::uint32_t other) {
    const RunSite& s = sites_[other];
    return s.engine == engine && s.index == index && s.need == made.need &&
           std::equal(touches(s).begin(), touches(s).end(), touches(made).begin(), touches(made).end(),
                      [](const Touch& a, const Touch& b) { return a.footprint == b.footprint; });
  });
  if (same == candidates.end()) {
    candidates.push_back(fresh);
    order_.push_back(fresh);
    return;
  }
  order_.push_back(*same);
  touches_.resize(made.first_touch);
  effects_.resize(made.first_effect);
  sites_.pop_back();
}

std::uint32_t RunTrace::make(Engine engine, std::uint32_t index, const Instruction& instruction, bool moves,
                             const std::vector<std::int64_t>* rows) {
  RunSite site;
  site.engine = engine;
  site.nature = nature_of(instruction);
  site.index = index;
  site.wait_semaphore = instruction.wait.semaphore;
  site.need = need_of(instruction.wait);
  site.first_effect = static_cast<std::uint32_t>(effects_.size());
  add_effects(instruction, program_->target, effects_);
  site.effects = static_cast<std::uint32_t>(effects_.size()) - site.first_effect;
  site.first_touch = static_cast<std::uint32_t>(touches_.size());
  if (moves) add_touches(instruction, rows);
  site.touches = static_cast<std::uint32_t>(touches_.size()) - site.first_touch;
  add_users(site);
  sites_.push_back(site);
  return static_cast<std::uint32_t>(sites_.size() - 1);
}

void RunTrace::add_users(const RunSite& site) {
  for (const Effect& effect : effects(site)) {
    Users& users = users_[effect.semaphore];
    switch (effect.kind) {
      case Effect::Kind::increment: users.producers = users.producers | site.engine; break;
      case Effect::Kind::decrement: users.consumers = users.consumers | site.engine; break;
      case Effect::Kind::set: users.setters = users.setters | site.engine; break;
    }
  }
}

void RunTrace::add_touches(const Instruction& instruction, const std::vector<std::int64_t>* rows) {
  const auto first = static_cast<std::ptrdiff_t>(touches_.size());
  const auto add = [&](const Footprint& footprint, bool write, std::size_t ordinal) {
    touches_.push_back({footprints_.add(footprint, write), write, static_cast<std::uint8_t>(ordinal)});
  };
  std::size_t ordinal = 0;
  const auto* index = rows != nullptr ? &std::get<DmaCopy>(instruction.operands).index : nullptr;
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    const bool write = role == Role::write;
    // The column of row numbers is read as a whole.
    const bool is_index = index != nullptr && !write && is_column(pattern, *index);
    if (rows != nullptr && !is_index) {
      add_rows(pattern, *rows, write, static_cast<std::uint8_t>(ordinal++));
    } else {
      touches_.push_back({footprints_.add(pattern, write), write, static_cast<std::uint8_t>(ordinal++)});
    }
  });
  if (const auto* words = std::get_if<Write>(&instruction.operands)) {
    for (const auto& [address, data] :
         {std::pair{words->address0, words->data0}, std::pair{words->address1, words->data1}}) {
      if (ordinal == words->count) break;
      const auto decoded = meaning(address, data, program_->target);
      const auto* word = decoded ? std::get_if<MemoryWord>(&*decoded) : nullptr;
      if (word != nullptr) {
        AccessPattern pattern;
        pattern.space = word->space;
        pattern.partition = static_cast<std::uint8_t>(word->partition);
        pattern.offset = word->offset;
        add(footprint_of(pattern), true, ordinal);
      }
      ++ordinal;
    }
  }
  std::stable_partition(touches_.begin() + first, touches_.end(), [](const Touch& t) { return !t.write; });
}

// The lanes of the tile whose row moves.
void RunTrace::add_rows(const AccessPattern& tile, const std::vector<std::int64_t>& rows, bool write,
                        std::uint8_t ordinal) {
  Footprint footprint = footprint_of(tile);
  LaneSet moved;
  for (unsigned lane = 0; lane < rows.size() && lane < tile.partitions; ++lane) {
    const LaneSet one = LaneSet::range(tile.partition + lane, 1);
    if (rows[lane] >= 0) moved = {moved.low | one.low, moved.high | one.high};
  }
  footprint.lanes = moved;
  if (!moved.empty()) touches_.push_back({footprints_.add(footprint, write), write, ordinal});
}

// The rows of the table that the index has chosen.
void RunTrace::add_rows(const HbmPattern& table, const std::vector<std::int64_t>& rows, bool write,
                        std::uint8_t ordinal) {
  std::vector<std::int64_t> chosen = rows;
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  HbmPattern row = table;
  row.dims[3] = HbmDim{};
  for (const std::int64_t number : chosen) {
    if (number < 0) continue;
    row.offset = table.offset + number * table.dims[3].step;
    touches_.push_back({footprints_.add(footprint_of(row), write), write, ordinal});
  }
}

void add_effects(const Instruction& instruction, const Target& target, std::vector<Effect>& effects) {
  const auto add = [&](UpdateOperation operation, std::uint8_t semaphore, std::uint32_t value, bool at_read) {
    Effect effect;
    if (!describe(operation, value, effect)) return;
    effect.semaphore = semaphore;
    effect.at_read = at_read;
    effects.push_back(effect);
  };
  // By the opcode, which lies beside the update: a pass over a long stream is bound by memory.
  if (instruction.opcode == Opcode::semaphore_clear) {
    const auto& clear = std::get<SemaphoreRange>(instruction.operands);
    for (int k = 0; k < clear.count; ++k)
      add(UpdateOperation::sem_wr_imm, static_cast<std::uint8_t>(clear.first + k), 0, false);
  } else if (instruction.opcode == Opcode::write) {
    const auto* words = &std::get<Write>(instruction.operands);
    const auto write = [&](std::uint32_t address, std::uint32_t data) {
      const auto decoded = meaning(address, data, target);
      const auto* s = decoded ? std::get_if<SemaphoreWrite>(&*decoded) : nullptr;
      if (s != nullptr) add(s->operation, s->semaphore, s->value, false);
    };
    write(words->address0, words->data0);
    if (words->count > 1) write(words->address1, words->data1);
  }
  const Update& update = instruction.update;
  if (!update.present()) return;
  const bool transfer = info(instruction.opcode).is_dma();
  const bool counts_sixteen = transfer && update.operation == UpdateOperation::sem_inc;
  add(counts_sixteen ? UpdateOperation::sem_add_imm : update.operation, update.semaphore,
      counts_sixteen ? dma_engine_count : update.value, !transfer && update.when == UpdateWhen::read);
}

}  // namespace ncemu
