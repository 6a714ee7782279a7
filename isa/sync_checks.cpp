#include "isa/sync_checks.h"

#include <limits>

#include "isa/fault.h"
#include "isa/sync.h"

namespace ncemu::autosync {
namespace {

bool is_event(UpdateOperation operation) {
  return operation == UpdateOperation::evt_set || operation == UpdateOperation::evt_clr;
}

}  // namespace

void check_automatic(const Program& program, const Instruction& instruction) {
  const bool branch = instruction.opcode == Opcode::compare_branch;
  const bool clears = instruction.opcode == Opcode::semaphore_clear;
  if (!branch && !clears && !instruction.wait.present() && !instruction.update.present()) return;
  const char* what = branch                       ? "a branch"
                     : clears                     ? "semaphore_clear"
                     : instruction.wait.present() ? "a wait"
                                                  : "a signal";
  throw Fault(FaultKind::input, describe_site(program, instruction.site),
              "{} written by hand needs an engine block (`.engine NAME ... .end`) or `.sync manual`", what);
}

void check_by_hand(const Program& program, const Instruction& instruction, const ManualBlock& block) {
  const auto reserve = [&](int semaphore) {
    if (semaphore >= sync_semaphores::first_user) return;
    throw Fault(
        FaultKind::input, describe_site(program, instruction.site),
        "semaphore {} belongs to automatic synchronisation; use {} to {}, as `.semaphore` hands them out",
        semaphore, sync_semaphores::first_user, program.target.semaphores - 1);
  };
  if (instruction.wait.present()) reserve(instruction.wait.semaphore);
  if (instruction.update.present() && !is_event(instruction.update.operation)) {
    reserve(instruction.update.semaphore);
  }
  if (const auto* range = std::get_if<SemaphoreRange>(&instruction.operands)) reserve(range->first);
  if (const auto* branch = std::get_if<CompareBranch>(&instruction.operands)) {
    const std::uint32_t length = block.end - block.begin;
    if (branch->target.index <= length) return;
    throw Fault(FaultKind::input, describe_site(program, instruction.site),
                "the branch leaves its block: target {}, the block has {} instructions", branch->target.index,
                length);
  }
}

void check_loop(const Program& program, const Loop& loop) {
  ensure(loop.step > 0, "the step of a loop is positive");
  const auto* start = std::get_if<std::int32_t>(&loop.start);
  const auto* stop = std::get_if<std::int32_t>(&loop.stop);
  if (start == nullptr || stop == nullptr || *start >= *stop) return;
  const std::int64_t step = loop.step;
  const std::int64_t iterations = (std::int64_t{*stop} - *start + step - 1) / step;
  const std::int64_t last = *start + iterations * step;
  if (last <= std::numeric_limits<std::int32_t>::max()) return;
  throw Fault(FaultKind::input, describe_site(program, loop.site),
              "the loop's counter would reach {}; a register holds at most {}", last,
              std::numeric_limits<std::int32_t>::max());
}

}  // namespace ncemu::autosync
