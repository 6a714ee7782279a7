#include "tools/files/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "isa/fault.h"

namespace ncemu {
namespace {

using Json = nlohmann::ordered_json;

struct TypeRow {
  SafeType type;
  std::string_view name;
  std::size_t bytes;
  std::optional<DType> element;
};

// clang-format off
constexpr std::array<TypeRow, 15> types = {{
    {SafeType::BOOL,    "BOOL",    1, DType::u8},
    {SafeType::U8,      "U8",      1, DType::u8},
    {SafeType::I8,      "I8",      1, DType::i8},
    {SafeType::U16,     "U16",     2, DType::u16},
    {SafeType::I16,     "I16",     2, DType::i16},
    {SafeType::U32,     "U32",     4, DType::u32},
    {SafeType::I32,     "I32",     4, DType::i32},
    {SafeType::U64,     "U64",     8, std::nullopt},
    {SafeType::I64,     "I64",     8, std::nullopt},
    {SafeType::F8_E5M2, "F8_E5M2", 1, DType::f8e5m2},
    {SafeType::F8_E4M3, "F8_E4M3", 1, DType::f8e4m3fn},
    {SafeType::F16,     "F16",     2, DType::f16},
    {SafeType::BF16,    "BF16",    2, DType::bf16},
    {SafeType::F32,     "F32",     4, DType::f32},
    {SafeType::F64,     "F64",     8, std::nullopt},
}};
// clang-format on

constexpr std::uint64_t header_limit = 100'000'000;  // the reference implementation's limit

const TypeRow& row(SafeType type) { return types[static_cast<std::size_t>(type)]; }

std::string joined_names() {
  std::string text;
  for (const TypeRow& r : types) text += fmt::format("{}{}", text.empty() ? "" : " ", r.name);
  return text;
}

std::uint64_t read_u64(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return value;
}

struct Range {
  std::uint64_t begin = 0, end = 0;
};

std::uint64_t unsigned_of(const Json& value, const std::string& where, std::string_view what) {
  if (!value.is_number_unsigned()) {
    throw Fault(FaultKind::input, where, "{} is {}, expected a non-negative integer", what, value.dump());
  }
  return value.get<std::uint64_t>();
}

// The shape, type and byte range of one entry, each checked for itself.
Range read_entry(const Json& entry, const std::string& where, SafeTensor& tensor) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets") || !entry["dtype"].is_string() || !entry["shape"].is_array() ||
      !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2) {
    throw Fault(FaultKind::input, where, "expected dtype, shape and data_offsets of two numbers");
  }
  const auto& type_name = entry["dtype"].get_ref<const std::string&>();
  const auto found =
      std::find_if(types.begin(), types.end(), [&](const TypeRow& r) { return r.name == type_name; });
  if (found == types.end()) {
    throw Fault(FaultKind::input, where, "unknown dtype '{}' (known: {})", type_name, joined_names());
  }
  tensor.type = found->type;

  std::uint64_t bytes = found->bytes;
  for (const Json& dimension : entry["shape"]) {
    const std::uint64_t size = unsigned_of(dimension, where, "a dimension");
    if (size != 0 && bytes > (std::uint64_t{1} << 62) / size) {
      throw Fault(FaultKind::input, where, "the shape {} is too large", entry["shape"].dump());
    }
    bytes *= size;
    tensor.shape.push_back(static_cast<std::int64_t>(size));
  }
  const Range range = {unsigned_of(entry["data_offsets"][0], where, "an offset"),
                       unsigned_of(entry["data_offsets"][1], where, "an offset")};
  if (range.end < range.begin || range.end - range.begin != bytes) {
    throw Fault(FaultKind::input, where, "data_offsets {} do not hold {}{}, which takes {} bytes",
                entry["data_offsets"].dump(), type_name, entry["shape"].dump(), bytes);
  }
  return range;
}

Json parse_header(std::string_view text, const std::string& file) {
  // Stops at a repeated name, which a JSON object would silently overwrite.
  std::set<std::string> seen;
  std::string repeated;
  const Json::parser_callback_t watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth == 1 && event == Json::parse_event_t::key && !seen.insert(parsed.get<std::string>()).second) {
      repeated = parsed.get<std::string>();
    }
    return true;
  };
  Json header;
  try {
    header = Json::parse(text, watch);
  } catch (const Json::exception& error) {
    throw Fault(FaultKind::input, file, "the header is not JSON: {}", error.what());
  }
  if (!repeated.empty()) throw Fault(FaultKind::input, file, "the header names tensor '{}' twice", repeated);
  if (!header.is_object()) throw Fault(FaultKind::input, file, "the header is not a JSON object");
  return header;
}

}  // namespace

std::string_view name(SafeType type) { return row(type).name; }
std::size_t size_of(SafeType type) { return row(type).bytes; }
std::optional<DType> element_type(SafeType type) { return row(type).element; }

SafeType stored_type(DType type) {
  switch (type) {
    case DType::f32:
    case DType::tf32: return SafeType::F32;
    case DType::bf16: return SafeType::BF16;
    case DType::f16: return SafeType::F16;
    case DType::f8e5m2: return SafeType::F8_E5M2;
    case DType::f8e4m3fn: return SafeType::F8_E4M3;
    case DType::f8e4m3:
    case DType::f8e3m4:
    case DType::u8: return SafeType::U8;
    case DType::i8: return SafeType::I8;
    case DType::i16: return SafeType::I16;
    case DType::u16: return SafeType::U16;
    case DType::i32: return SafeType::I32;
    case DType::u32: return SafeType::U32;
  }
  return SafeType::U8;
}

std::vector<SafeTensor> read_safetensors(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.size() < 8) {
    throw Fault(FaultKind::input, file, "not a safetensors file: {} bytes, expected at least 8",
                bytes.size());
  }
  const std::uint64_t header_bytes = read_u64(bytes);
  if (header_bytes > header_limit || header_bytes > bytes.size() - 8) {
    throw Fault(FaultKind::input, file,
                "not a safetensors file, or truncated: its header should take {} bytes, {} follow",
                header_bytes, bytes.size() - 8);
  }
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + 8;
  const Json header = parse_header({text, header_bytes}, file);
  const auto data = bytes.subspan(8 + header_bytes);

  std::vector<SafeTensor> tensors;
  std::vector<std::pair<Range, std::size_t>> ranges;
  for (const auto& [key, entry] : header.items()) {
    if (key == "__metadata__") continue;
    const std::string where = fmt::format("{}: tensor '{}'", file, key);
    SafeTensor tensor{.name = key, .type = SafeType::F32, .shape = {}, .data = {}};
    const Range range = read_entry(entry, where, tensor);
    if (range.end > data.size()) {
      throw Fault(FaultKind::input, where, "truncated: its data end at byte {}, the file holds {}", range.end,
                  data.size());
    }
    ranges.emplace_back(range, tensors.size());
    tensors.push_back(std::move(tensor));
  }
  std::stable_sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.begin, a.first.end) < std::pair(b.first.begin, b.first.end);
  });
  std::uint64_t at = 0;
  for (const auto& [range, index] : ranges) {
    if (range.begin != at) {
      throw Fault(FaultKind::input, file, "tensor '{}' begins at byte {}, but the data before it end at {}",
                  tensors[index].name, range.begin, at);
    }
    const auto part = data.subspan(range.begin, range.end - range.begin);
    tensors[index].data.assign(part.begin(), part.end());
    at = range.end;
  }
  if (at != data.size()) {
    throw Fault(FaultKind::input, file, "{} bytes at the end belong to no tensor", data.size() - at);
  }
  return tensors;
}

std::vector<std::byte> write_safetensors(std::span<const SafeTensor> tensors) {
  Json header = Json::object();
  std::uint64_t at = 0;
  for (const SafeTensor& t : tensors) {
    ensure(!header.contains(t.name), "tensors of a safetensors file have different names");
    header[t.name] = {
        {"dtype", name(t.type)}, {"shape", t.shape}, {"data_offsets", {at, at + t.data.size()}}};
    at += t.data.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data are aligned

  std::vector<std::byte> bytes(8 + text.size() + at);
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(text.size() >> (8 * i));
  std::memcpy(bytes.data() + 8, text.data(), text.size());
  std::size_t to = 8 + text.size();
  for (const SafeTensor& t : tensors) {
    std::copy(t.data.begin(), t.data.end(), bytes.begin() + static_cast<std::ptrdiff_t>(to));
    to += t.data.size();
  }
  return bytes;
}

}  // namespace ncemu
