#include "emu/data/memory.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "isa/fault.h"

namespace ncemu {
namespace {

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

OnChipMemory::OnChipMemory(std::uint32_t partitions, std::uint32_t partition_bytes, std::byte initial)
    : partitions_(partitions),
      partition_bytes_(partition_bytes),
      initial_(initial),
      stride_((std::size_t{partition_bytes} + 63) / 64 * 64 + 3 * 64),
      bytes_(std::make_unique_for_overwrite<std::byte[]>(partitions * stride_)),
      filled_((partition_bytes + static_cast<std::size_t>(column_bytes) - 1) / column_bytes) {}

void OnChipMemory::fill(std::int64_t begin, std::int64_t end) const {
  for (std::int64_t column = begin / column_bytes; column * column_bytes < end; ++column) {
    if (filled_[static_cast<std::size_t>(column)]) continue;
    filled_[static_cast<std::size_t>(column)] = true;
    const std::int64_t from = column * column_bytes;
    const std::int64_t count = std::min<std::int64_t>(column_bytes, partition_bytes_ - from);
    for (std::uint32_t p = 0; p < partitions_; ++p)
      std::fill_n(bytes_.get() + p * stride_ + from, count, initial_);
  }
}

std::vector<std::byte> OnChipMemory::contents() const {
  std::vector<std::byte> all;
  all.reserve(std::size_t{partitions_} * partition_bytes_);
  for (std::uint32_t p = 0; p < partitions_; ++p) all.insert(all.end(), row(p), row(p) + partition_bytes_);
  return all;
}

HbmMemory::HbmMemory(const std::vector<Tensor>& tensors, std::byte initial)
    : initial_(initial), regions_(tensors.size()) {
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Region& r = regions_[i];
    r.name = tensors[i].name;
    r.dtype = tensors[i].dtype;
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

std::byte* HbmMemory::page(std::uint16_t tensor, std::int64_t offset, bool whole) {
  Region& r = regions_[tensor];
  auto& page = r.pages[static_cast<std::size_t>(page_of(offset))];
  if (!page) {
    const auto size = static_cast<std::size_t>(bytes_of_page(offset, r.bytes));
    page = Page(std::make_unique_for_overwrite<std::byte[]>(size).release());
    if (!whole) std::fill_n(page.get(), size, initial_);
  }
  return page.get();
}

std::span<std::byte> HbmMemory::edit(std::uint16_t tensor, std::int64_t offset, std::int64_t length) {
  const Region& r = region(tensor);
  ensure(offset >= 0 && length > 0 && offset + length <= r.bytes, "an access to HBM lies inside its tensor");
  const std::int64_t available = bytes_of_page(offset, r.bytes) - within(offset);
  return {page(tensor, offset, false) + within(offset),
          static_cast<std::size_t>(std::min(length, available))};
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
  const Region& r = region(tensor);
  ensure(offset >= 0 && offset + static_cast<std::int64_t>(from.size()) <= r.bytes,
         "an access to HBM lies inside its tensor");
  while (!from.empty()) {
    const std::int64_t size = bytes_of_page(offset, r.bytes);
    const auto count = std::min(from.size(), static_cast<std::size_t>(size - within(offset)));
    const bool whole = static_cast<std::int64_t>(count) == size;
    std::memcpy(page(tensor, offset, whole) + within(offset), from.data(), count);
    from = from.subspan(count);
    offset += static_cast<std::int64_t>(count);
  }
}

void HbmMemory::adopt(std::uint16_t tensor, std::vector<std::byte> bytes) {
  ensure(tensor < regions_.size(), "an operand names a tensor of the program");
  Region& r = regions_[tensor];
  ensure(static_cast<std::int64_t>(bytes.size()) == r.bytes, "what a tensor adopts has its size");
  r.adopted = std::move(bytes);
  for (std::size_t i = 0; i < r.pages.size(); ++i) {
    ensure(r.pages[i] == nullptr, "a tensor adopts its bytes before it is written");
    r.pages[i] = Page(r.adopted.data() + i * page_bytes, {.own = false});
  }
}

PsumGroups::PsumGroups(std::uint32_t partitions, std::uint32_t words)
    : words_(words),
      banks_((words + bank_words - 1) / bank_words),
      runs_(std::size_t{partitions} * banks_),
      newest_((words + bank_words - 1) / bank_words * quadrants),
      stamps_(std::size_t{partitions} * words) {}

const PsumGroups::Run* PsumGroups::run_of(const Words& words) const {
  const std::uint32_t bank = words.first / bank_words;
  if (words.count == 0 || (words.step != 1 && words.count > 1)) return nullptr;
  if ((words.first + words.count - 1) / bank_words != bank) return nullptr;
  return &runs_[std::size_t{words.partition} * banks_ + bank];
}

std::uint32_t PsumGroups::newest_among(const Words& words) const {
  if (const Run* run = run_of(words); run != nullptr && run->covers(words.first, words.count))
    return run->group;
  std::uint32_t newest = 0;
  const std::uint32_t* at = stamps_.data() + std::size_t{words.partition} * words_ + words.first;
  for (std::uint32_t i = 0; i < words.count; ++i) newest = std::max(newest, at[std::size_t{i} * words.step]);
  return newest;
}

bool PsumGroups::all_carry(const Words& words, std::uint32_t group) const {
  if (const Run* run = run_of(words); run != nullptr && run->covers(words.first, words.count))
    return run->group == group;
  const std::uint32_t* at = stamps_.data() + std::size_t{words.partition} * words_ + words.first;
  for (std::uint32_t i = 0; i < words.count; ++i) {
    if (at[std::size_t{i} * words.step] != group) return false;
  }
  return true;
}

void PsumGroups::stamp(const Words& words, std::uint32_t group) {
  if (words.count == 0) return;
  std::uint32_t* const at = stamps_.data() + std::size_t{words.partition} * words_ + words.first;
  for (std::uint32_t i = 0; i < words.count; ++i) at[std::size_t{i} * words.step] = group;
  const std::uint32_t last = words.first + (words.count - 1) * words.step;
  const bool one_run = run_of(words) != nullptr;
  for (std::uint32_t bank = words.first / bank_words; bank <= last / bank_words; ++bank) {
    Run& run = runs_[std::size_t{words.partition} * banks_ + bank];
    const std::uint32_t end = words.first + words.count;
    if (!one_run) {
      run = {};
    } else if (run.group == group && words.first <= run.end && run.begin <= end) {
      run = {std::min(run.begin, words.first), std::max(run.end, end), group};
    } else {
      run = {words.first, end, group};
    }
  }
}

std::uint32_t PsumGroups::open() {
  if (last_ == std::numeric_limits<std::uint32_t>::max()) {
    throw Fault(FaultKind::program, "", "more than {} PSUM accumulation groups in one run", last_);
  }
  return ++last_;
}

}  // namespace ncemu
