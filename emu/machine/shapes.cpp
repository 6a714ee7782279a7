#include "emu/machine/shapes.h"

#include <algorithm>
#include <bit>

namespace ncemu {
namespace {

using Word = std::uint64_t;

template <typename T>
Word bits_of(const T& value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::uint32_t>(value);
  } else {
    return static_cast<Word>(value);
  }
}

Word pack(Word a, Word b) { return a << 32U | (b & 0xFFFF'FFFFU); }

// Appends what counts of each field. A form has its fields in a fixed order, and whatever varies in length
// begins with what it is, so that different shapes never have the same words.
struct Describe {
  std::vector<Word>& key;

  void operator()(std::string_view, const AccessPattern& p, Role) const { add(p); }
  void operator()(std::string_view, const std::optional<AccessPattern>& p, Role) const {
    key.push_back(p.has_value() ? 1 : 0);
    if (p) add(*p);
  }
  void operator()(std::string_view, const MemoryOperand& m, Role) const {
    key.push_back(m.index());
    std::visit([&](const auto& p) { add(p); }, m);
  }
  void operator()(std::string_view, const ScalarOperand& s, Role) const {
    key.push_back(s.index());
    std::visit([&](const auto& value) { add(value); }, s);
  }
  void operator()(std::string_view, const IntOperand& i, Role) const {
    key.push_back(i.index());
    std::visit([&](const auto& value) { add(value); }, i);
  }
  void operator()(std::string_view, const AffineDims& a, Role) const {
    for (const AffineDim& d : a.dims) key.push_back(pack(bits_of(d.step), d.count));
  }
  void operator()(std::string_view, const ShuffleMask& m, Role) const {
    for (const std::uint8_t lane : m.source) key.push_back(lane);
  }
  void operator()(std::string_view, const ArrayPair& a, Role) const { key.push_back(pack(a.row, a.column)); }
  void operator()(std::string_view, const BranchTarget&, Role) const {}
  void operator()(std::string_view, const Register& r, Role) const { add(r); }
  template <typename T>
  void operator()(std::string_view, const T& value, Role) const {
    key.push_back(bits_of(value));
  }

 private:
  void add(std::monostate) const {}
  void add(float value) const { key.push_back(bits_of(value)); }
  void add(std::int32_t value) const { key.push_back(bits_of(value)); }
  void add(const Register& r) const { key.push_back(r.present() ? 1 : 0); }
  void add(const PointerOperand& p) const {
    key.push_back(bits_of(p.space) << 16U | bits_of(p.dtype) << 8U | p.partition);
  }
  void add(const AccessPattern& p) const {
    key.push_back(bits_of(p.space) << 32U | bits_of(p.dtype) << 24U | Word{p.partition} << 16U |
                  Word{p.partitions} << 8U | (p.index.present() ? 1U : 0U));
    using Dims = std::array<Word, 2>;
    static_assert(sizeof p.dims == sizeof(Dims));
    const auto dims = std::bit_cast<Dims>(p.dims);
    key.insert(key.end(), dims.begin(), dims.end());
  }
  void add(const HbmPattern& p) const {
    key.push_back(bits_of(p.dtype) << 8U | (p.index.present() ? 1U : 0U));
    for (const HbmDim& d : p.dims) key.push_back(pack(bits_of(d.step), d.count));
  }
};

// A sum of products, which the host works out side by side; a chain of them would take as long as all the
// rest.
Word hash_of(const std::vector<Word>& key) {
  constexpr Word odd = 0x9E37'79B9'7F4A'7C15U, step = 0xBF58'476D'1CE4'E5BAU;
  Word factor = odd, sum = key.size();
  for (const Word w : key) {
    sum += (w ^ w >> 32U) * factor;
    factor += step;  // even: the factors stay odd and differ
  }
  sum *= odd;
  return sum ^ sum >> 32U;
}

}  // namespace

bool Shapes::is(Number number, const std::vector<Word>& key) const {
  const std::size_t begin = begins_[number];
  const std::size_t end = number + 1 < begins_.size() ? begins_[number + 1] : keys_.size();
  if (end - begin != key.size()) return false;
  Word difference = 0;
  for (std::size_t i = 0; i < key.size(); ++i) difference |= keys_[begin + i] ^ key[i];
  return difference == 0;
}

Shapes::Number Shapes::number(const Instruction& instruction) {
  key_.clear();
  const bool register_wait = instruction.wait.present() && instruction.wait.value_is_register;
  key_.push_back(bits_of(instruction.opcode) << 1U | (register_wait ? 1U : 0U));
  for_each_field(instruction.operands, Describe{key_});
  if (begins_.size() * 2 >= table_.size()) grow();
  const Word hash = hash_of(key_);
  for (std::size_t at = hash & (table_.size() - 1);; at = (at + 1) & (table_.size() - 1)) {
    const Number found = table_[at];
    if (found == none) {
      const auto fresh = static_cast<Number>(begins_.size());
      table_[at] = fresh;
      begins_.push_back(keys_.size());
      hashes_.push_back(hash);
      keys_.insert(keys_.end(), key_.begin(), key_.end());
      return fresh;
    }
    if (hashes_[found] == hash && is(found, key_)) return found;
  }
}

void Shapes::grow() {
  table_.assign(std::max<std::size_t>(64, table_.size() * 2), none);
  for (Number n = 0; n < hashes_.size(); ++n) {
    std::size_t at = hashes_[n] & (table_.size() - 1);
    while (table_[at] != none) at = (at + 1) & (table_.size() - 1);
    table_[at] = n;
  }
}

}  // namespace ncemu
