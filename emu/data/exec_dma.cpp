// Transfers: bytes when the types are equal, else source -> fp32 -> destination (datasheet 4.3, 6.10.1).

#include <algorithm>
#include <cstring>
#include <vector>

#include "emu/data/convert.h"
#include "emu/data/exec.h"
#include "emu/data/operand.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// Elements moved at a time.
constexpr std::int64_t piece_elements = 4096;

// One side of a transfer as a single stream of elements, partition slowest.
class OnChipSide {
 public:
  OnChipSide(std::string_view name, const AccessPattern& pattern, State& state)
      : operand_("dma_copy", name, pattern, state) {}

  DType dtype() const { return operand_.dtype(); }
  std::int64_t elements() const { return operand_.elements() * operand_.lanes(); }
  std::string describe() const {
    return fmt::format("{} partitions x {} elements", operand_.lanes(), operand_.elements());
  }
  // Elements from `first` up to the end of their row.
  std::int64_t until_break(std::int64_t first) const {
    return operand_.elements() - first % operand_.elements();
  }

  // Where the elements are if they are contiguous there; they must not pass until_break.
  std::byte* in_place(std::int64_t first) {
    const Walk& walk = operand_.walk();
    if (!walk.contiguous()) return nullptr;
    return operand_.row(lane_of(first)) + walk.offset() +
           (first % operand_.elements()) * walk.element_bytes();
  }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const {
    operand_.read(Block{lane_of(first), 1, first % operand_.elements(), count}, to);
  }
  void write(std::int64_t first, std::int64_t count, const std::byte* from) {
    operand_.write(Block{lane_of(first), 1, first % operand_.elements(), count}, from);
  }

 private:
  int lane_of(std::int64_t first) const { return static_cast<int>(first / operand_.elements()); }
  Operand operand_;
};

class HbmSide {
 public:
  HbmSide(std::string_view name, const HbmPattern& pattern, State& state)
      : tensor_(pattern.tensor), dtype_(pattern.dtype), walk_(pattern), hbm_(&state.hbm) {
    check_inside("dma_copy", name, pattern, state);
  }

  DType dtype() const { return dtype_; }
  std::int64_t elements() const { return walk_.elements(); }
  std::string describe() const { return fmt::format("{} elements of '{}'", elements(), hbm_->name(tensor_)); }
  std::int64_t until_break(std::int64_t first) const { return elements() - first; }

  std::byte* in_place(std::int64_t) { return nullptr; }  // pages end where they like
  void read(std::int64_t first, std::int64_t count, std::byte* to) const {
    const auto size = static_cast<std::int64_t>(walk_.element_bytes());
    walk_.segments(first, count, [&](const Segment& s) {
      if (s.step == size) {
        hbm_->read(tensor_, s.offset, {to, static_cast<std::size_t>(s.count * size)});
        to += s.count * size;
        return;
      }
      for (std::int64_t i = 0; i < s.count; ++i, to += size) {
        hbm_->read(tensor_, s.offset + i * s.step, {to, static_cast<std::size_t>(size)});
      }
    });
  }
  void write(std::int64_t first, std::int64_t count, const std::byte* from) {
    const auto size = static_cast<std::int64_t>(walk_.element_bytes());
    walk_.segments(first, count, [&](const Segment& s) {
      if (s.step == size) {
        hbm_->write(tensor_, s.offset, {from, static_cast<std::size_t>(s.count * size)});
        from += s.count * size;
        return;
      }
      for (std::int64_t i = 0; i < s.count; ++i, from += size) {
        hbm_->write(tensor_, s.offset + i * s.step, {from, static_cast<std::size_t>(size)});
      }
    });
  }

 private:
  std::uint16_t tensor_;
  DType dtype_;
  Walk walk_;
  HbmMemory* hbm_;
};

OnChipSide make_side(std::string_view name, const AccessPattern& pattern, State& state) {
  return {name, pattern, state};
}
HbmSide make_side(std::string_view name, const HbmPattern& pattern, State& state) {
  return {name, pattern, state};
}

// A whole stream in memory of its own: the source of a transfer onto itself.
struct Copied {
  DType type;
  std::vector<std::byte> bytes;

  DType dtype() const { return type; }
  std::int64_t until_break(std::int64_t first) const {
    return static_cast<std::int64_t>(bytes.size()) / size_of(type) - first;
  }
  std::byte* in_place(std::int64_t first) { return bytes.data() + first * size_of(type); }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const {
    std::memcpy(to, bytes.data() + first * size_of(type), static_cast<std::size_t>(count * size_of(type)));
  }
};

template <typename Source>
Copied copy_of(Source& src) {
  Copied copied{src.dtype(),
                std::vector<std::byte>(static_cast<std::size_t>(src.elements() * size_of(src.dtype())))};
  for (std::int64_t first = 0, n = 0; first < src.elements(); first += n) {
    n = std::min(src.until_break(first), src.elements() - first);
    src.read(first, n, copied.in_place(first));
  }
  return copied;
}

template <typename Destination, typename Source>
void move_bytes(Destination& dst, Source& src, std::int64_t elements, std::byte* buffer) {
  for (std::int64_t first = 0, n = 0; first < elements; first += n) {
    n = std::min({src.until_break(first), dst.until_break(first), elements - first});
    if (std::byte* to = dst.in_place(first)) {
      src.read(first, n, to);
    } else if (const std::byte* from = src.in_place(first)) {
      dst.write(first, n, from);
    } else {
      n = std::min(n, piece_elements);
      src.read(first, n, buffer);
      dst.write(first, n, buffer);
    }
  }
}

template <typename Destination, typename Source>
void cast(Destination& dst, Source& src, std::int64_t elements, std::byte* buffer) {
  std::vector<float> values(static_cast<std::size_t>(piece_elements));
  for (std::int64_t first = 0, n = 0; first < elements; first += n) {
    n = std::min({src.until_break(first), dst.until_break(first), elements - first, piece_elements});
    const auto count = static_cast<std::size_t>(n);
    src.read(first, n, buffer);
    to_f32(src.dtype(), buffer, values.data(), count);
    from_f32(dst.dtype(), values.data(), buffer, count);
    dst.write(first, n, buffer);
  }
}

template <typename Destination, typename Source>
void transfer(Destination& dst, Source& src, std::int64_t elements) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(piece_elements) * 4);
  if (dst.dtype() == src.dtype()) {
    move_bytes(dst, src, elements, buffer.data());
  } else {
    cast(dst, src, elements, buffer.data());
  }
}

template <typename Pattern>
bool may_overlap(const Pattern& dst, const Pattern& src) {
  return overlap(dst, src);
}
bool may_overlap(const AccessPattern&, const HbmPattern&) { return false; }
bool may_overlap(const HbmPattern&, const AccessPattern&) { return false; }

}  // namespace

void exec::dma_copy(const DmaCopy& f, Engine, State& state) {
  std::visit(
      [&](const auto& to, const auto& from) {
        auto dst = make_side("dst", to, state);
        auto src = make_side("src", from, state);
        if (dst.elements() != src.elements()) {
          throw Fault(FaultKind::program, "", "dma_copy: dst has {}, src has {}", dst.describe(),
                      src.describe());
        }
        if (may_overlap(to, from)) {  // everything is read before anything is written
          Copied copied = copy_of(src);
          transfer(dst, copied, dst.elements());
        } else {
          transfer(dst, src, dst.elements());
        }
        if constexpr (std::is_same_v<std::decay_t<decltype(to)>, AccessPattern>) leave_groups(to, state);
      },
      f.dst, f.src);
}

}  // namespace ncemu
