#include "tools/command/coverage.h"

#include <bit>

#include "isa/fault.h"
#include "tools/files/compare.h"

namespace ncemu::command {

Coverage::Coverage(const Program& program) : program_(program), output_of_(program.tensors.size(), no_index) {
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    if (program.tensors[t].kind != TensorKind::output) continue;
    output_of_[t] = static_cast<std::uint32_t>(outputs_.size());
    const auto bytes = static_cast<std::size_t>(program.tensors[t].bytes());
    outputs_.push_back({static_cast<std::uint16_t>(t), std::vector<std::uint64_t>((bytes + 63) / 64)});
  }
}

void Coverage::mark(Output& output, std::int64_t begin, std::int64_t length) {
  auto at = static_cast<std::uint64_t>(begin);
  const std::uint64_t end = at + static_cast<std::uint64_t>(length);
  while (at < end) {
    const std::uint64_t bit = at % 64;
    const std::uint64_t count = std::min<std::uint64_t>(64 - bit, end - at);
    const std::uint64_t ones = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    output.written[at / 64] |= ones << bit;
    at += count;
  }
}

void Coverage::note(const Instruction& instruction) {
  if (outputs_.empty()) return;
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, HbmPattern>) {
      if (role != Role::write || output_of_[pattern.tensor] == no_index) return;
      Output& output = outputs_[output_of_[pattern.tensor]];
      for_each_run(pattern, [&](std::int64_t offset, std::int64_t length) { mark(output, offset, length); });
    }
  });
}

std::vector<std::string> Coverage::complaints() const {
  std::vector<std::string> texts;
  for (const Output& output : outputs_) {
    const Tensor& tensor = program_.tensors[output.tensor];
    const auto width = static_cast<std::uint64_t>(size_of(tensor.dtype));
    const auto elements = static_cast<std::uint64_t>(tensor.elements());
    std::uint64_t missing = 0, first = 0;
    for (std::uint64_t i = 0; i < elements; ++i) {
      // Elements are 1, 2 or 4 bytes wide and aligned, so that none straddles two words.
      const std::uint64_t all = (std::uint64_t{1} << width) - 1;
      if (((output.written[i * width / 64] >> (i * width % 64)) & all) == all) continue;
      if (missing++ == 0) first = i;
    }
    if (missing == 0) continue;
    if (missing == elements) {
      texts.push_back(fmt::format("output '{}' was never written", tensor.name));
    } else {
      texts.push_back(fmt::format("output '{}': {} of {} elements were never written, the first at {}",
                                  tensor.name, missing, elements, index_text(first, tensor.shape)));
    }
  }
  return texts;
}

}  // namespace ncemu::command
