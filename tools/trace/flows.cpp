#include "tools/trace/flows.h"

#include <numeric>

namespace ncemu {

Flows::Flows(const Timeline& timeline) : waited_(timeline.instructions.size()) {
  const Timeline::Instructions& all = timeline.instructions;
  std::vector<std::uint32_t> signaller(all.size(), no_index);  // an instruction or a transfer
  instruction_.begin.resize(all.size() + 1);
  transfer_.begin.resize(timeline.transfers.size() + 1);
  for (Serial s = 0; s < all.size(); ++s) {
    if (all.producer[s] == no_serial) continue;
    if (all.reason[s] == StallReason::semaphore) {
      signaller[s] = all.producer[s];
      ++instruction_.begin[signaller[s] + 1];
    } else if (all.reason[s] == StallReason::dma) {
      signaller[s] = timeline.transfer_of(all.producer[s]);
      if (signaller[s] != no_transfer) ++transfer_.begin[signaller[s] + 1];
    }
    waited_[s] = signaller[s] != no_index;
  }
  for (Index* index : {&instruction_, &transfer_}) {
    std::partial_sum(index->begin.begin(), index->begin.end(), index->begin.begin());
    index->waiting.resize(index->begin.back());
  }
  std::vector<std::uint32_t> next_instruction = instruction_.begin, next_transfer = transfer_.begin;
  for (Serial s = 0; s < all.size(); ++s) {
    if (!waited_[s]) continue;
    if (all.reason[s] == StallReason::semaphore) {
      instruction_.waiting[next_instruction[signaller[s]]++] = s;
    } else {
      transfer_.waiting[next_transfer[signaller[s]]++] = s;
    }
  }
}

}  // namespace ncemu
