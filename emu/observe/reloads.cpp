#include "emu/observe/reloads.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ncemu {
namespace {

// A set of bytes of one tensor.
class ByteSet {
 public:
  explicit ByteSet(std::int64_t bytes) : words_(static_cast<std::size_t>((bytes + 63) / 64)) {}
  // How many of [begin, begin + length) are new.
  std::int64_t add(std::int64_t begin, std::int64_t length) {
    std::int64_t added = 0;
    while (length > 0) {
      const auto bit = static_cast<unsigned>(begin % 64);
      const auto here = std::min<std::int64_t>(length, 64 - bit);
      const std::uint64_t mask = (here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1) << bit;
      std::uint64_t& word = words_.at(static_cast<std::size_t>(begin / 64));
      added += std::popcount(mask & ~word);
      word |= mask;
      begin += here;
      length -= here;
    }
    return added;
  }

 private:
  std::vector<std::uint64_t> words_;
};

struct Touched {
  std::vector<ByteSet> read, written;  // one each, made at the first access
};

}  // namespace

Traffic traffic(const Timeline& timeline, const Program& program) {
  Traffic result;
  result.first_touch.resize(timeline.transfers.size());
  result.reloaded.resize(timeline.transfers.size());
  std::vector<TensorTraffic> all(program.tensors.size());
  std::vector<Touched> touched(program.tensors.size());
  // Equal patterns touch equal bytes: only the first of each direction can find new ones.
  std::vector<bool> seen[2] = {std::vector<bool>(timeline.hbm_patterns.size()),
                               std::vector<bool>(timeline.hbm_patterns.size())};
  for (std::uint32_t t = 0; t < timeline.transfers.size(); ++t) {
    std::int64_t moved = 0, first = 0;  // by the HBM sides of this transfer; scratch need not move at all
    for (const HbmAccess& access : timeline.accesses(t)) {
      const HbmPattern& pattern = timeline.hbm_patterns[access.pattern];
      const Tensor& tensor = program.tensors[pattern.tensor];
      TensorTraffic& mine = all[pattern.tensor];
      const Extent reach = extent(pattern);
      if (access.indexed || reach.begin < 0 || reach.end > tensor.bytes()) {
        const std::int64_t bytes = access.write ? timeline.shape(t).hbm_written : timeline.shape(t).hbm_read;
        (access.write ? mine.written : mine.unknown_read) += bytes;
        moved += bytes;
        if (tensor.kind != TensorKind::scratch) first += bytes;
        continue;
      }
      const std::int64_t bytes = pattern.elements() * size_of(pattern.dtype);
      moved += bytes;
      (access.write ? mine.written : mine.read) += bytes;
      std::int64_t added = 0;
      if (!seen[access.write][access.pattern]) {
        seen[access.write][access.pattern] = true;
        auto& sets = access.write ? touched[pattern.tensor].written : touched[pattern.tensor].read;
        if (sets.empty()) sets.emplace_back(tensor.bytes());
        for_each_run(pattern, [&](std::int64_t begin, std::int64_t length) {
          added += sets.front().add(begin, length);
        });
      }
      (access.write ? mine.written_once : mine.read_once) += added;
      if (tensor.kind != TensorKind::scratch) first += added;
      if (!access.write) result.reloaded[t] += std::max<std::int64_t>(0, bytes - added);
    }
    // In bytes of the transfer, which converts where the types of its sides differ.
    if (moved > 0)
      result.first_touch[t] = std::llround(static_cast<double>(timeline.shape(t).bytes) *
                                           static_cast<double>(first) / static_cast<double>(moved));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].read + all[i].written + all[i].unknown_read == 0) continue;
    all[i].tensor = static_cast<std::uint16_t>(i);
    if (program.tensors[i].kind != TensorKind::scratch) {
      result.read_once += all[i].read_once + all[i].unknown_read;
      result.written_once += all[i].written_once;
    }
    result.tensors.push_back(all[i]);
  }
  return result;
}

}  // namespace ncemu
