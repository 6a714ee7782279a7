#include "emu/data/memory.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "isa/fault.h"

namespace ncemu {
namespace {

constexpr std::byte initial{0xFF};

std::int64_t page_of(std::int64_t offset) {
  return offset / static_cast<std::int64_t>(HbmMemory::page_bytes);
}
std::int64_t within(std::int64_t offset) { return offset % static_cast<std::int64_t>(HbmMemory::page_bytes); }

// Bytes of the page that holds `offset`: the last one ends with its tensor.
std::int64_t bytes_of_page(std::int64_t offset, std::int64_t region_bytes) {
  const std::int64_t begin = offset - within(offset);
  return std::min(static_cast<std::int64_t>(HbmMemory::page_bytes), region_bytes - begin);
}

}  // namespace

OnChipMemory::OnChipMemory(std::uint32_t partitions, std::uint32_t partition_bytes)
    : partitions_(partitions),
      partition_bytes_(partition_bytes),
      bytes_(std::size_t{partitions} * partition_bytes, initial) {}

HbmMemory::HbmMemory(const std::vector<Tensor>& tensors) : regions_(tensors.size()) {
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Region& r = regions_[i];
    r.name = tensors[i].name;
    r.bytes = tensors[i].bytes();
    ensure(r.bytes >= 0, "a tensor has a size");
    r.pages.resize(static_cast<std::size_t>(page_of(r.bytes + static_cast<std::int64_t>(page_bytes) - 1)));
    largest = std::max(largest, r.bytes);
  }
  untouched_.assign(std::min(static_cast<std::size_t>(largest), page_bytes), initial);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].kind != TensorKind::constant) continue;
    ensure(static_cast<std::int64_t>(tensors[i].data.size()) == regions_[i].bytes,
           "a constant carries as many bytes as its shape and type take");
    write(static_cast<std::uint16_t>(i), 0, tensors[i].data);
  }
}

const HbmMemory::Region& HbmMemory::region(std::uint16_t tensor) const {
  ensure(tensor < regions_.size(), "an operand names a tensor of the program");
  return regions_[tensor];
}

std::int64_t HbmMemory::bytes(std::uint16_t tensor) const { return region(tensor).bytes; }
const std::string& HbmMemory::name(std::uint16_t tensor) const { return region(tensor).name; }

std::span<const std::byte> HbmMemory::view(std::uint16_t tensor, std::int64_t offset,
                                           std::int64_t length) const {
  const Region& r = region(tensor);
  ensure(offset >= 0 && length > 0 && offset + length <= r.bytes, "an access to HBM lies inside its tensor");
  const auto& page = r.pages[static_cast<std::size_t>(page_of(offset))];
  const std::byte* bytes = page ? page.get() : untouched_.data();
  const std::int64_t available = bytes_of_page(offset, r.bytes) - within(offset);
  return {bytes + within(offset), static_cast<std::size_t>(std::min(length, available))};
}

std::span<std::byte> HbmMemory::edit(std::uint16_t tensor, std::int64_t offset, std::int64_t length) {
  ensure(tensor < regions_.size(), "an operand names a tensor of the program");
  Region& r = regions_[tensor];
  ensure(offset >= 0 && length > 0 && offset + length <= r.bytes, "an access to HBM lies inside its tensor");
  auto& page = r.pages[static_cast<std::size_t>(page_of(offset))];
  const std::int64_t size = bytes_of_page(offset, r.bytes);
  if (!page) {
    page = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(size));
    std::fill_n(page.get(), size, initial);
  }
  return {page.get() + within(offset), static_cast<std::size_t>(std::min(length, size - within(offset)))};
}

void HbmMemory::read(std::uint16_t tensor, std::int64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const auto piece = view(tensor, offset, static_cast<std::int64_t>(to.size()));
    std::memcpy(to.data(), piece.data(), piece.size());
    to = to.subspan(piece.size());
    offset += static_cast<std::int64_t>(piece.size());
  }
}

void HbmMemory::write(std::uint16_t tensor, std::int64_t offset, std::span<const std::byte> from) {
  while (!from.empty()) {
    const auto piece = edit(tensor, offset, static_cast<std::int64_t>(from.size()));
    std::memcpy(piece.data(), from.data(), piece.size());
    from = from.subspan(piece.size());
    offset += static_cast<std::int64_t>(piece.size());
  }
}

PsumGroups::PsumGroups(std::uint32_t partitions, std::uint32_t words)
    : words_(words),
      newest_((words + bank_words - 1) / bank_words * quadrants),
      stamps_(std::size_t{partitions} * words) {}

std::uint32_t PsumGroups::open() {
  if (last_ == std::numeric_limits<std::uint32_t>::max()) {
    throw Fault(FaultKind::program, "", "more than {} PSUM accumulation groups in one run", last_);
  }
  return ++last_;
}

}  // namespace ncemu
