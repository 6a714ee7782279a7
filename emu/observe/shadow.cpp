#include "emu/observe/shadow.h"

#include <algorithm>

namespace ncemu {
namespace {

constexpr std::int64_t word_bytes = 64;  // of which a bit of a coarse row tells, and a word of a fine one

constexpr std::uint64_t bits_from(std::int64_t first) { return ~std::uint64_t{0} << first; }
// The bits below `end`, 1 to 64.
constexpr std::uint64_t bits_below(std::int64_t end) { return ~std::uint64_t{0} >> (64 - end); }

// visit(word, mask) for the bits [begin, begin + length) of an array of words.
template <typename Visit>
void for_each_word(std::int64_t begin, std::int64_t length, Visit&& visit) {
  const std::int64_t last = begin + length - 1;
  const auto first_word = static_cast<std::size_t>(begin / 64),
             last_word = static_cast<std::size_t>(last / 64);
  const std::uint64_t head = bits_from(begin % 64), tail = bits_below(last % 64 + 1);
  if (first_word == last_word) {
    visit(first_word, head & tail);
    return;
  }
  visit(first_word, head);
  for (std::size_t w = first_word + 1; w < last_word; ++w) visit(w, ~std::uint64_t{0});
  visit(last_word, tail);
}

// visit(byte offset) for each element of the pattern, in stream order.
template <typename Pattern, typename Visit>
void for_each_element(const Pattern& pattern, Visit&& visit) {
  const std::int64_t width = size_of(pattern.dtype);
  for_each_run(pattern, [&](std::int64_t begin, std::int64_t length) {
    for (std::int64_t at = begin; at < begin + length; at += width) visit(at);
  });
}

Lanes lanes_of(const AccessPattern& pattern) { return Lanes::range(pattern.partition, pattern.partitions); }

}  // namespace

bool ByteRow::all_written(std::int64_t begin, std::int64_t length) const {
  if (!fine_) {
    length = (begin + length + word_bytes - 1) / word_bytes - begin / word_bytes;
    begin /= word_bytes;
  }
  std::uint64_t missing = 0;
  for_each_word(begin, length,
                [&](std::size_t word, std::uint64_t mask) { missing |= ~written_[word] & mask; });
  return missing == 0;
}

bool ByteRow::is_sound(std::int64_t begin, std::int64_t length) const {
  return all_written(begin, length) && (origins_.empty() || look(begin, length) == sound);
}

Origin ByteRow::look(std::int64_t begin, std::int64_t length) const {
  if (!all_written(begin, length)) return unwritten;
  if (origins_.empty()) return sound;
  const auto first = origins_.begin() + begin, end = first + length;
  const auto found = std::find_if(first, end, [](Origin o) { return o != sound; });
  return found == end ? sound : *found;
}

void ByteRow::refine() {
  std::vector<std::uint64_t> fine(static_cast<std::size_t>(words_));
  for (std::size_t w = 0; w < fine.size(); ++w) {
    if ((written_[w / 64] >> w % 64 & 1U) != 0) fine[w] = ~std::uint64_t{0};
  }
  written_ = std::move(fine);
  fine_ = true;
}

void ByteRow::write(std::int64_t begin, std::int64_t length, Origin origin) {
  if (!fine_ && (begin % word_bytes != 0 || length % word_bytes != 0)) refine();
  const std::int64_t unit = fine_ ? 1 : word_bytes;
  for_each_word(begin / unit, length / unit,
                [&](std::size_t word, std::uint64_t mask) { written_[word] |= mask; });
  if (origins_.empty()) {
    if (origin == sound) return;
    origins_.resize(static_cast<std::size_t>(words_ * word_bytes));
  }
  std::fill_n(origins_.begin() + begin, length, origin);
}

bool ChipShadow::is_sound(const AccessPattern& pattern) const {
  if (is_known(pattern)) return true;
  const detail::Runs runs = detail::runs(pattern);
  bool all = true;
  lanes_.read(lanes_of(pattern), [&](const Lanes&, const ByteRow& row) {
    auto look = [&](std::int64_t begin, std::int64_t length) { all = all && row.is_sound(begin, length); };
    if (all) detail::walk(runs, runs.rank, runs.offset, look);
  });
  if (all && !origins_) sound_.add(pattern, 0);
  return all;
}

std::vector<Origin> ChipShadow::look(const AccessPattern& pattern) const {
  const std::int64_t width = size_of(pattern.dtype);
  const auto elements = static_cast<std::size_t>(pattern.elements());
  std::vector<Origin> all(elements * pattern.partitions), lane;
  lanes_.read(lanes_of(pattern), [&](const Lanes& lanes, const ByteRow& row) {
    lane.clear();
    for_each_element(pattern, [&](std::int64_t at) { lane.push_back(row.look(at, width)); });
    for (int p = 0; p < pattern.partitions; ++p) {
      if (!has_lane(lanes, pattern.partition + p)) continue;
      std::copy(lane.begin(), lane.end(),
                all.begin() + static_cast<std::ptrdiff_t>(elements * static_cast<std::size_t>(p)));
    }
  });
  return all;
}

void ChipShadow::write(const AccessPattern& pattern) {
  if (is_known(pattern)) return;
  if (!origins_) sound_.add(pattern, 0);
  const detail::Runs runs = detail::runs(pattern);
  lanes_.write(lanes_of(pattern), [&](const Lanes&, ByteRow& row) {
    auto write = [&](std::int64_t begin, std::int64_t length) { row.write(begin, length, sound); };
    detail::walk(runs, runs.rank, runs.offset, write);
  });
}

void ChipShadow::write(const AccessPattern& pattern, const std::vector<Origin>& origins) {
  if (!origins_ && std::any_of(origins.begin(), origins.end(), [](Origin o) { return o != sound; })) {
    origins_ = true;
    sound_.clear();
  }
  const std::int64_t width = size_of(pattern.dtype);
  const auto elements = static_cast<std::size_t>(pattern.elements());
  const auto row_of = [&](int p) { return origins.data() + elements * static_cast<std::size_t>(p); };
  // Lanes in a row with the same origins are written together.
  for (int p = 0, end = 0; p < pattern.partitions; p = end) {
    const Origin* row = row_of(p);
    for (end = p + 1; end < pattern.partitions && std::equal(row, row + elements, row_of(end));) ++end;
    lanes_.write(
        Lanes::range(static_cast<std::uint32_t>(pattern.partition + p), static_cast<std::uint32_t>(end - p)),
        [&](const Lanes&, ByteRow& bytes) {
          const Origin* origin = row;
          for_each_element(pattern, [&](std::int64_t at) { bytes.write(at, width, *origin++); });
        });
  }
}

TensorShadow::TensorShadow(std::int64_t bytes)
    : bytes_(bytes), pages_(static_cast<std::size_t>((bytes + page_bytes - 1) / page_bytes)) {}

// visit(page, begin in the page, length) for the parts of a range.
template <typename Visit>
void TensorShadow::pieces(std::int64_t begin, std::int64_t length, Visit&& visit) {
  for (const std::int64_t end = begin + length; begin < end;) {
    const std::int64_t n = std::min(end - begin, page_bytes - begin % page_bytes);
    visit(static_cast<std::size_t>(begin / page_bytes), begin % page_bytes, n);
    begin += n;
  }
}

void TensorShadow::write(std::int64_t begin, std::int64_t length, Origin origin) {
  pieces(begin, length, [&](std::size_t page, std::int64_t at, std::int64_t n) {
    if (!pages_[page]) pages_[page] = std::make_unique<ByteRow>(page_bytes);
    pages_[page]->write(at, n, origin);
  });
}

Origin TensorShadow::look(std::int64_t begin, std::int64_t length) const {
  Origin found = sound;
  pieces(begin, length, [&](std::size_t page, std::int64_t at, std::int64_t n) {
    const Origin here = pages_[page] ? pages_[page]->look(at, n) : unwritten;
    if (found == sound || here == unwritten) found = here;
  });
  return found;
}

bool TensorShadow::is_sound(const HbmPattern& pattern) const {
  bool all = true;
  for_each_run(pattern, [&](std::int64_t begin, std::int64_t length) {
    pieces(begin, length, [&](std::size_t page, std::int64_t at, std::int64_t n) {
      all = all && pages_[page] && pages_[page]->is_sound(at, n);
    });
  });
  return all;
}

std::vector<Origin> TensorShadow::look(const HbmPattern& pattern) const {
  std::vector<Origin> all;
  all.reserve(static_cast<std::size_t>(pattern.elements()));
  for_each_element(pattern, [&](std::int64_t at) { all.push_back(look(at, size_of(pattern.dtype))); });
  return all;
}

void TensorShadow::write(const HbmPattern& pattern) {
  for_each_run(pattern, [&](std::int64_t begin, std::int64_t length) { write(begin, length, sound); });
}

void TensorShadow::write(const HbmPattern& pattern, const std::vector<Origin>& origins) {
  const Origin* origin = origins.data();
  for_each_element(pattern, [&](std::int64_t at) { write(at, size_of(pattern.dtype), *origin++); });
}

TensorShadow::Missing TensorShadow::missing(int width) const {
  Missing missing;
  for (std::size_t page = 0; page < pages_.size(); ++page) {
    const std::int64_t begin = static_cast<std::int64_t>(page) * page_bytes;
    const std::int64_t end = std::min(begin + page_bytes, bytes_);
    // Elements are 1, 2 or 4 bytes wide and aligned, so that none lies in two pages.
    if (pages_[page] && pages_[page]->look(0, end - begin) != unwritten) continue;
    for (std::int64_t at = begin; at < end; at += width) {
      if (pages_[page] && pages_[page]->look(at - begin, width) != unwritten) continue;
      if (missing.elements++ == 0) missing.first = at / width;
    }
  }
  return missing;
}

}  // namespace ncemu
