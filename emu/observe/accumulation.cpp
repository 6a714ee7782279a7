#include "emu/observe/accumulation.h"

#include <fmt/format.h>

#include <algorithm>

#include "emu/observe/operands.h"
#include "isa/address_window.h"

namespace ncemu {
namespace {

constexpr int word_bytes = 4;
constexpr int engine_shift = 28;

Lanes lanes_of(const AccessPattern& pattern) { return Lanes::range(pattern.partition, pattern.partitions); }

// visit(first word, one past the last) of each run of the pattern.
template <typename Visit>
void for_each_words(const AccessPattern& pattern, Visit&& visit) {
  for_each_run(pattern, [&](std::int64_t begin, std::int64_t length) {
    visit(begin / word_bytes, (begin + length + word_bytes - 1) / word_bytes);
  });
}

}  // namespace

Accumulation::Accumulation(const Program& program)
    : program_(program),
      words_(program.target.partitions,
             std::vector<Word>(program.target.psum_partition_bytes() / word_bytes)),
      last_(program.target.psum_partition_bytes() / word_bytes / bank_words + 1),
      newest_(std::size_t{program.target.psum_partition_bytes() / word_bytes / bank_words + 1} *
              (program.target.partitions / quadrant_lanes)) {}

std::uint32_t& Accumulation::newest(std::uint32_t partition, std::uint32_t word) {
  return newest_[std::size_t{word / bank_words} * (program_.target.partitions / quadrant_lanes) +
                 partition / quadrant_lanes];
}

void Accumulation::on_start(const Started& started) {
  const Instruction& instruction = *started.instruction;
  const auto* operands = std::get_if<Matmul>(&instruction.operands);
  // Transposing moves bits on v3: it belongs to no group.
  if (operands != nullptr && !(operands->transpose && program_.target.generation >= 3)) {
    matmul(started, *operands);
    return;
  }
  if (const auto* words = std::get_if<Write>(&instruction.operands)) {
    const std::uint32_t addresses[] = {words->address0, words->address1};
    for (std::size_t i = 0; i < words->count && i < 2; ++i) {
      const auto target = decode_write(addresses[i], 0, program_.target);
      const auto* word = std::get_if<MemoryWord>(&target);
      if (word == nullptr || word->space != Space::psum) continue;
      AccessPattern pattern;
      pattern.space = Space::psum;
      pattern.partition = static_cast<std::uint8_t>(word->partition);
      pattern.offset = word->offset;
      write(started, pattern);
    }
    return;
  }
  if (started.work.psum_written == 0) return;
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
      if (role == Role::write && pattern.space == Space::psum) write(started, pattern);
    }
  });
}

void Accumulation::write(const Started& started, const AccessPattern& pattern) {
  stamp(pattern, foreign | static_cast<Word>(started.engine) << engine_shift | started.index);
}

Accumulation::Stretch* Accumulation::bank_of(const detail::Runs& runs) {
  const auto bank = static_cast<std::size_t>(runs.offset / bank_bytes);
  return runs.rank == 0 && runs.offset % bank_bytes + runs.length <= bank_bytes ? &last_[bank] : nullptr;
}

const Accumulation::Stretch* Accumulation::inside_last(const AccessPattern& pattern,
                                                       const detail::Runs& runs) {
  const Stretch* last = bank_of(runs);
  if (last == nullptr || runs.offset < last->begin || runs.offset + runs.length > last->end) return nullptr;
  const Lanes lanes = lanes_of(pattern);
  return common(lanes, last->lanes) == lanes ? last : nullptr;
}

void Accumulation::stamp(const AccessPattern& pattern, Word word) {
  const detail::Runs runs = detail::runs(pattern);
  const Stretch* known = inside_last(pattern, runs);
  if (known != nullptr && known->word == word) return;
  if (Stretch* bank = bank_of(runs)) {
    *bank = {lanes_of(pattern), runs.offset, runs.offset + runs.length, word};
    // A word that is written in part counts as a whole.
    bank->begin -= bank->begin % word_bytes;
    bank->end += -bank->end & (word_bytes - 1);
  } else {
    last_.assign(last_.size(), {});
  }
  words_.write(lanes_of(pattern), [&](const Lanes&, std::vector<Word>& words) {
    for_each_words(pattern, [&](std::int64_t begin, std::int64_t end) {
      std::fill(words.begin() + begin, words.begin() + end, word);
    });
  });
}

void Accumulation::matmul(const Started& started, const Matmul& matmul) {
  const AccessPattern& dst = matmul.dst;
  const auto first_word = static_cast<std::uint32_t>(dst.offset / word_bytes);
  const std::uint32_t end = std::uint32_t{dst.partition} + dst.partitions;
  Word group = 0, by = 0;
  const Stretch* known = matmul.accumulate ? inside_last(dst, detail::runs(dst)) : nullptr;
  if (known != nullptr) {
    ((known->word & foreign) != 0 ? by : group) = known->word;
  } else if (matmul.accumulate) {
    words_.read(lanes_of(dst), [&](const Lanes&, const std::vector<Word>& words) {
      for_each_words(dst, [&](std::int64_t begin, std::int64_t stop) {
        for (std::int64_t i = begin; i < stop; ++i) {
          const Word word = words[static_cast<std::size_t>(i)];
          Word& to = (word & foreign) != 0 ? by : group;
          to = std::max(to, word);
        }
      });
    });
  }
  if (matmul.accumulate) {
    if (by != 0) {
      report(started, Mistake::foreign_words, by);
    } else if (group == 0) {
      report(started, Mistake::no_group, 0);
    }
  }
  if (group == 0) {
    group = ++groups_;
    for (std::uint32_t p = dst.partition; p < end; p = (p / quadrant_lanes + 1) * quadrant_lanes)
      newest(p, first_word) = group;
  } else {
    bool older = false;
    for (std::uint32_t p = dst.partition; p < end; p = (p / quadrant_lanes + 1) * quadrant_lanes)
      older = older || newest(p, first_word) > group;
    if (older) report(started, Mistake::older_group, 0);
  }
  stamp(dst, group);
}

void Accumulation::report(const Started& started, Mistake mistake, Word by) {
  const std::uint32_t site = started.instruction->site;
  const auto [entry, is_new] =
      seen_.try_emplace({site, site == 0 ? started.index : 0, mistake}, findings_.size());
  if (!is_new) {
    ++findings_[entry->second].count;
    return;
  }
  const auto& dst = std::get<Matmul>(started.instruction->operands).dst;
  const std::string memory = describe_memory(program_, dst);
  Finding f;
  f.kind = CheckKind::groups;
  f.involved.push_back({started.engine, started.index, fmt::format("accumulates into {}", memory)});
  switch (mistake) {
    case Mistake::no_group:
      f.message = fmt::format(
          "matmul dst: accumulates into {} where no matmul opened a group; it overwrites instead", memory);
      f.fix = "the first matmul of a group says accumulate = false";
      break;
    case Mistake::foreign_words: {
      const auto engine = static_cast<Engine>(by >> engine_shift & 7U);
      f.message = fmt::format(
          "matmul dst: accumulates into words of {} that {} wrote; it overwrites them instead of adding",
          memory, name(engine));
      f.fix = "open the group with accumulate = false and add the other value when the sum is read";
      f.involved.push_back({engine, by & ((Word{1} << engine_shift) - 1), fmt::format("writes {}", memory)});
      break;
    }
    case Mistake::older_group:
      f.message = fmt::format(
          "matmul dst: accumulates into {} while a newer accumulation group was opened in the same PSUM bank",
          memory);
      f.fix = "end one group before the next is opened in its bank, or use another bank";
      break;
  }
  findings_.push_back(std::move(f));
}

std::vector<Finding> Accumulation::findings() const { return findings_; }

}  // namespace ncemu
