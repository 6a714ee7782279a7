#pragma once

// Threads that share the data work of one instruction: fork and join, a few microseconds apart. Which thread
// takes which part changes no result: parts write to different places and each is what one thread would do.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ncemu {

class Workers {
 public:
  // About 10 us of work.
  static constexpr std::int64_t worth_sharing = 8192;

  // `threads` of them in all, the caller's among them; at least 1. The others sleep until there is work.
  // `share_from`: elements below which another thread would cost more than it brings.
  explicit Workers(int threads, std::int64_t share_from = worth_sharing);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int threads() const { return static_cast<int>(helpers_.size()) + 1; }
  std::int64_t share_from() const { return share_from_; }
  // part(i) for each i in [0, threads()), all at the same time; returns when all have returned. An exception
  // of the lowest i that threw is thrown again.
  void run(const std::function<void(int)>& part);
  // For what parts have in common.
  std::mutex& guard() { return guard_; }

 private:
  void help(int part);
  void do_part(int part);

  std::int64_t share_from_;
  std::mutex guard_;
  const std::function<void(int)>* part_ = nullptr;
  std::vector<std::exception_ptr> failures_;  // by part
  std::atomic<std::uint32_t> round_{0};       // one more for each run, and for the end
  std::atomic<int> working_{0};               // helpers that have not finished the round
  std::atomic<bool> ending_{false};
  std::vector<std::thread> helpers_;
};

// [begin, end) of a count; part `part` of `parts` nearly equal ones.
struct Share {
  std::int64_t begin, end;
  bool empty() const { return begin == end; }
};
inline Share share(std::int64_t count, int part, int parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

// visit(share, part) for all of [0, count): in shares on the workers when there are any and `elements` are
// worth it, else in one, part 0.
template <typename Visit>
void share_out(Workers* workers, std::int64_t count, std::int64_t elements, Visit&& visit) {
  if (workers == nullptr || elements < workers->share_from()) return visit(Share{0, count}, std::size_t{0});
  workers->run([&](int part) {
    const Share mine = share(count, part, workers->threads());
    if (!mine.empty()) visit(mine, static_cast<std::size_t>(part));
  });
}

}  // namespace ncemu
