#pragma once

// What each stream knows to have happened when its next instruction starts: vector clocks over
// completions and read ends of the engines and over the transfers of each pool semaphore.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "isa/sync.h"

namespace ncemu::autosync {

// Positions and numbers of uses, plus one; 0 is "nothing yet". Pools of issuers without transfers take no
// room.
class Knowledge {
 public:
  explicit Knowledge(EngineSet issuers) {
    for (const Engine e : all_engines) {
      pool_[static_cast<std::size_t>(e)] = width_;
      if (issuers.contains(e)) width_ += sync_semaphores::dma_per_issuer;
    }
    for (auto& row : now_) row.assign(width_, 0);
    taken_.fill(none);
  }

  // Where a fact stands in a row.
  static std::size_t complete(Engine e) { return static_cast<std::size_t>(e); }
  static std::size_t read(Engine e) { return engine_count + static_cast<std::size_t>(e); }
  std::size_t transfer(std::uint8_t semaphore) const {
    const auto n = static_cast<std::size_t>(semaphore - sync_semaphores::dma);
    return pool_[n / sync_semaphores::dma_per_issuer] + n % sync_semaphores::dma_per_issuer;
  }

  bool knows(Engine stream, std::size_t fact, std::uint32_t value) const {
    return row(stream)[fact] >= value;
  }
  void learn(Engine stream, std::size_t fact, std::uint32_t value) {
    std::uint32_t& known = now_[static_cast<std::size_t>(stream)][fact];
    known = std::max(known, value);
    taken_[static_cast<std::size_t>(stream)] = none;
  }
  // Everything the snapshot holds.
  void learn(Engine stream, std::uint32_t snapshot) {
    auto& known = now_[static_cast<std::size_t>(stream)];
    const std::uint32_t* from = snapshots_.data() + std::size_t{snapshot} * width_;
    for (std::size_t i = 0; i < width_; ++i) known[i] = std::max(known[i], from[i]);
    taken_[static_cast<std::size_t>(stream)] = none;
  }
  // What the stream knows now; unchanged knowledge is stored once.
  std::uint32_t snapshot(Engine stream) {
    std::uint32_t& taken = taken_[static_cast<std::size_t>(stream)];
    if (taken == none) {
      taken = static_cast<std::uint32_t>(snapshots_.size() / width_);
      const auto known = row(stream);
      snapshots_.insert(snapshots_.end(), known.begin(), known.end());
    }
    return taken;
  }
  void clear() {
    for (auto& known : now_) std::fill(known.begin(), known.end(), 0U);
    snapshots_.clear();
    taken_.fill(none);
  }

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  std::span<const std::uint32_t> row(Engine stream) const { return now_[static_cast<std::size_t>(stream)]; }

  std::size_t width_ = 2 * engine_count;
  std::array<std::size_t, engine_count> pool_{};
  std::array<std::vector<std::uint32_t>, engine_count> now_;
  std::vector<std::uint32_t> snapshots_;
  std::array<std::uint32_t, engine_count> taken_{};
};

}  // namespace ncemu::autosync
