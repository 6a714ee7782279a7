#include "isa/target.h"

#include <fmt/format.h>

namespace ncemu {

const std::vector<std::string_view>& machine_names() {
  static const std::vector<std::string_view> names = {"inf2", "trn1", "trn2"};
  return names;
}

std::optional<Target> find_target(std::string_view machine) {
  Target target;
  target.machine = machine;
  if (machine == "trn1" || machine == "inf2") return target;
  if (machine == "trn2") {
    target.generation = 3;
    target.sbuf_partition_bytes = 224 * 1024;
    return target;
  }
  return std::nullopt;
}

std::string first_difference(const Target& expected, const Target& found) {
  const auto differ = [](std::string_view what, auto want, auto have) {
    return fmt::format("{} is {}, expected {}", what, have, want);
  };
  if (expected.generation != found.generation)
    return differ("generation", expected.generation, found.generation);
  const struct {
    std::string_view name;
    std::uint32_t Target::*member;
  } members[] = {
      {"sbuf_partition_bytes", &Target::sbuf_partition_bytes},
      {"psum_bank_bytes", &Target::psum_bank_bytes},
      {"psum_banks", &Target::psum_banks},
      {"partitions", &Target::partitions},
      {"semaphores", &Target::semaphores},
      {"semaphore_max", &Target::semaphore_max},
      {"registers", &Target::registers},
      {"dma_queues", &Target::dma_queues},
      {"dma_engines", &Target::dma_engines},
  };
  for (const auto& m : members) {
    if (expected.*m.member != found.*m.member) return differ(m.name, expected.*m.member, found.*m.member);
  }
  return {};
}

}  // namespace ncemu
