#include "tools/files/load.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "isa/fault.h"
#include "isa/npy.h"
#include "isa/number.h"
#include "tools/files/compare.h"
#include "tools/files/file.h"
#include "tools/files/float_arrays.h"
#include "tools/files/mapped_file.h"
#include "tools/files/safetensors.h"

namespace ncemu {
namespace {

// One array of a file: what NumPy can hold as it is; the types it has not (bf16, fp8) beside it.
struct Stored {
  NpyArray array;
  std::optional<DType> element;  // bf16 or fp8: what the data are; `array` holds the bits
  std::string where;             // file and entry, for messages
  std::string type;              // as the file spells it
};

bool numpy_has(SafeType type) {
  return type != SafeType::BF16 && type != SafeType::F8_E5M2 && type != SafeType::F8_E4M3;
}

char numpy_kind(SafeType type) {
  switch (type) {
    case SafeType::BOOL: return 'b';
    case SafeType::I8:
    case SafeType::I16:
    case SafeType::I32:
    case SafeType::I64: return 'i';
    case SafeType::F16:
    case SafeType::F32:
    case SafeType::F64: return 'f';
    case SafeType::U8:
    case SafeType::U16:
    case SafeType::U32:
    case SafeType::U64:
    case SafeType::F8_E5M2:
    case SafeType::F8_E4M3:
    case SafeType::BF16: return 'u';
  }
  return 'u';
}

Stored from_safetensors(const FileSpec& file, const std::string& name) {
  std::vector<SafeTensor> tensors = read_safetensors(read_file(file.path), file.path);
  const std::string& entry = file.entry.empty() ? name : file.entry;
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const SafeTensor& t) { return t.name == entry; });
  if (found == tensors.end()) {
    std::string known;
    for (const SafeTensor& t : tensors) known += (known.empty() ? "" : ", ") + t.name;
    throw Fault(FaultKind::input, file.path, "has no tensor '{}' (it has: {}); write {}:ENTRY to name one",
                entry, known, file.path);
  }
  Stored stored;
  stored.where = fmt::format("{}: tensor '{}'", file.path, entry);
  stored.type = ncemu::name(found->type);
  stored.array.kind = numpy_kind(found->type);
  stored.array.item_bytes = static_cast<int>(size_of(found->type));
  stored.array.shape = found->shape;
  stored.array.data = std::move(found->data);
  if (!numpy_has(found->type)) stored.element = element_type(found->type);
  return stored;
}

void check_shape(const std::vector<std::int64_t>& shape, const std::string& type, const std::string& where,
                 const Wanted& wanted) {
  if (shape == wanted.shape) return;
  throw Fault(FaultKind::input, where, "'{}' is {}{}, found {}{}", wanted.name, name(wanted.dtype),
              shape_text(wanted.shape), type, shape_text(shape));
}

std::string type_of(const NpyArray& array) {
  const std::string text = array.describe();
  return text.substr(0, text.find(' '));
}

// The values of floats change their type; the same type on both sides keeps the bytes.
bool converts(const NpyArray& array, DType dtype) {
  const bool same_type = array.item_bytes == size_of(dtype) && (dtype == DType::f32 || dtype == DType::f16);
  return array.kind == 'f' && is_float(dtype) && !same_type;
}

LoadedTensor converted(std::span<const std::byte> data, int item_bytes, DType dtype, std::string stored_as) {
  ConvertedFloats floats = convert_floats(data, item_bytes, dtype);
  return {std::move(floats.bytes), std::move(stored_as), floats.overflowed};
}

// What most inputs are, and large ones most of all: a .npy file of floats, converted where the system has it.
std::optional<LoadedTensor> load_mapped(const FileSpec& file, const Wanted& wanted) {
  if (file.safetensors) return std::nullopt;
  const MappedFile mapped(file.path);
  if (mapped.bytes().empty()) return std::nullopt;
  const NpyView view = view_npy(mapped.bytes(), file.path);
  if (!view.in_host_order || !converts(view.array, wanted.dtype)) return std::nullopt;
  std::string type = type_of(view.array);
  check_shape(view.array.shape, type, file.path, wanted);
  return converted(view.data, view.array.item_bytes, wanted.dtype, std::move(type));
}

Stored read(const FileSpec& file, const Wanted& wanted) {
  Stored stored;
  if (file.safetensors) {
    stored = from_safetensors(file, wanted.name);
  } else {
    stored.where = file.path;
    stored.array = read_npy(file.path);
    stored.type = type_of(stored.array);
  }
  check_shape(stored.array.shape, stored.type, stored.where, wanted);
  return stored;
}

// Unsigned integers and raw bytes of a float tensor's own width are its bits.
bool is_bit_pattern(const NpyArray& array, DType dtype) {
  return is_float(dtype) && array.item_bytes == size_of(dtype) && (array.kind == 'u' || array.kind == 'V');
}

double number(const NpyArray& array, std::size_t i) {
  const auto width = static_cast<std::size_t>(array.item_bytes);
  std::uint64_t raw = 0;
  std::memcpy(&raw, array.data.data() + i * width, width);
  if (array.kind == 'f') {
    if (width == 8) return std::bit_cast<double>(raw);
    return double{from_bits(width == 4 ? DType::f32 : DType::f16, static_cast<std::uint32_t>(raw))};
  }
  const std::size_t unused = 64 - 8 * width;
  if (array.kind == 'i') return static_cast<double>(static_cast<std::int64_t>(raw << unused) >> unused);
  return static_cast<double>(raw);
}

std::vector<double> numbers(const NpyArray& array) {
  std::vector<double> all(static_cast<std::size_t>(array.elements()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = number(array, i);
  return all;
}

}  // namespace

FileSpec parse_file_spec(const std::string& text, const std::string& where) {
  constexpr std::string_view ending = ".safetensors";
  FileSpec spec{.path = text, .entry = {}, .safetensors = false};
  if (text.ends_with(".npy")) return spec;
  const std::size_t at = text.rfind(ending);
  if (at == std::string::npos || at == 0 ||
      (at + ending.size() < text.size() && text[at + ending.size()] != ':')) {
    throw Fault(FaultKind::input, where, "'{}' ends in neither .npy nor .safetensors[:ENTRY]", text);
  }
  spec.safetensors = true;
  spec.path = text.substr(0, at + ending.size());
  if (spec.path.size() < text.size()) {
    spec.entry = text.substr(spec.path.size() + 1);
    if (spec.entry.empty()) throw Fault(FaultKind::input, where, "'{}' names no entry after the colon", text);
  }
  return spec;
}

LoadedTensor load_tensor(const FileSpec& file, const Wanted& wanted) {
  if (std::optional<LoadedTensor> loaded = load_mapped(file, wanted)) return std::move(*loaded);
  Stored stored = read(file, wanted);
  LoadedTensor loaded;
  loaded.stored_as = stored.type;
  if (stored.element == wanted.dtype) {
    loaded.bytes = std::move(stored.array.data);
    return loaded;
  }
  if (stored.element) stored.array = npy_of_values(*stored.element, stored.array.shape, stored.array.data);
  if (converts(stored.array, wanted.dtype))
    return converted(stored.array.data, stored.array.item_bytes, wanted.dtype, std::move(stored.type));
  loaded.bytes = tensor_bytes(std::move(stored.array), wanted.dtype, stored.where);
  return loaded;
}

std::vector<double> load_values(const FileSpec& file, const Wanted& wanted) {
  Stored stored = read(file, wanted);
  if (stored.element) {
    return numbers(npy_of_values(*stored.element, stored.array.shape, stored.array.data));
  }
  if (is_bit_pattern(stored.array, wanted.dtype)) {
    return numbers(npy_of_values(wanted.dtype, stored.array.shape, stored.array.data));
  }
  if (stored.array.kind == 'V') {
    throw Fault(FaultKind::input, stored.where, "holds raw elements of {} bytes; {} has {}",
                stored.array.item_bytes, name(wanted.dtype), size_of(wanted.dtype));
  }
  return numbers(stored.array);
}

void save_npy(const std::string& path, const Wanted& tensor, std::span<const std::byte> bytes,
              bool as_float32) {
  if (as_float32) {
    write_file(path, format_npy(npy_of_values(tensor.dtype, tensor.shape, bytes)));
    return;
  }
  const std::vector<std::byte> header =
      format_npy_header(npy_kind(tensor.dtype), size_of(tensor.dtype), tensor.shape);
  write_file(path, {header, bytes});
}

}  // namespace ncemu
