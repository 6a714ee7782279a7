#include "emu/data/workers.h"

#include "isa/fault.h"

namespace ncemu {
namespace {

// How often a thread looks again before it goes to sleep: some 20 us, longer than the pauses between large
// instructions, shorter than what a sleeping thread takes to wake up.
constexpr int patience = 4000;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

template <typename T>
T wait_while(std::atomic<T>& word, T old) {
  for (int i = 0; i < patience; ++i) {
    const T now = word.load(std::memory_order_acquire);
    if (now != old) return now;
    pause();
  }
  word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

}  // namespace

Workers::Workers(int threads, std::int64_t share_from)
    : share_from_(share_from), failures_(static_cast<std::size_t>(threads)) {
  ensure(threads >= 1, "there is always the caller's thread");
  for (int part = 1; part < threads; ++part) helpers_.emplace_back([this, part] { help(part); });
}

Workers::~Workers() {
  ending_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Workers::do_part(int part) {
  try {
    (*part_)(part);
  } catch (...) {
    failures_[static_cast<std::size_t>(part)] = std::current_exception();
  }
}

void Workers::help(int part) {
  std::uint32_t seen = 0;
  while (true) {
    const std::uint32_t now = wait_while(round_, seen);
    if (now == seen) continue;
    seen = now;
    if (ending_.load(std::memory_order_relaxed)) return;
    do_part(part);
    if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) working_.notify_one();
  }
}

void Workers::run(const std::function<void(int)>& part) {
  part_ = &part;
  working_.store(static_cast<int>(helpers_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  do_part(0);
  for (int left = working_.load(std::memory_order_acquire); left != 0;) left = wait_while(working_, left);
  for (std::exception_ptr& failure : failures_) {
    if (!failure) continue;
    const std::exception_ptr first = failure;
    failures_.assign(failures_.size(), nullptr);
    std::rethrow_exception(first);
  }
}

}  // namespace ncemu
