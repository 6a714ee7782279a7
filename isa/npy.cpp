#include "isa/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "isa/fault.h"

namespace ncemu {
namespace {

constexpr unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
constexpr std::size_t largest_header = 1 << 20;

std::string join(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t d : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", d);
  return text;
}

// The dictionary that describes the array: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class Header {
 public:
  Header(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;

  void parse() {
    expect('{');
    bool has_descr = false, has_order = false, has_shape = false;
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        has_descr = true;
        descr = quoted();
      } else if (key == "fortran_order") {
        has_order = true;
        fortran_order = boolean();
      } else if (key == "shape") {
        has_shape = true;
        parse_shape();
      } else {
        fail("the header has an unknown entry '{}'", key);
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape) fail("the header must give descr, fortran_order and shape");
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    throw Fault(FaultKind::input, name_, text, std::forward<Args>(args)...);
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail("the header is malformed: expected '{}' at its byte {}", c, at_);
  }
  std::string quoted() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail("the header is malformed: expected a string at its byte {}", at_);
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("the header is malformed: a string does not end");
    const std::string result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }
  bool boolean() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    fail("the header is malformed: fortran_order is neither True nor False");
  }
  void parse_shape() {
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::int64_t size = 0;
      const char* const begin = text_.data() + at_;
      const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (code != std::errc{} || size < 0) fail("the header is malformed: a dimension is no number");
      at_ += static_cast<std::size_t>(end - begin);
      accept('L');  // written by Python 2
      shape.push_back(size);
      if (shape.size() > 32) fail("the array has more than 32 dimensions");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

// '<f4' and its like: byte order, kind, bytes.
void parse_descr(const Header& header, NpyArray& array, bool& big_endian, const std::string& name) {
  const std::string& d = header.descr;
  const auto unknown = [&] {
    throw Fault(FaultKind::input, name,
                "cannot read elements of type '{}'; known are f2 f4 f8, i1 to i8, u1 to u8, b1 and V1 V2 V4",
                d);
  };
  if (d.size() < 3 || std::string_view("<>|=").find(d[0]) == std::string_view::npos) unknown();
  array.kind = d[1];
  const auto [end, code] = std::from_chars(d.data() + 2, d.data() + d.size(), array.item_bytes);
  if (code != std::errc{} || end != d.data() + d.size()) unknown();
  const int n = array.item_bytes;
  const bool known = array.kind == 'f'                        ? n == 2 || n == 4 || n == 8
                     : array.kind == 'i' || array.kind == 'u' ? n == 1 || n == 2 || n == 4 || n == 8
                     : array.kind == 'b'                      ? n == 1
                                         : array.kind == 'V' && (n == 1 || n == 2 || n == 4);
  if (!known) unknown();
  big_endian = d[0] == '>';
}

// Fortran order keeps the first index fastest; C order the last.
std::vector<std::byte> to_c_order(const std::vector<std::byte>& data, const std::vector<std::int64_t>& shape,
                                  std::size_t item) {
  std::vector<std::byte> result(data.size());
  std::vector<std::int64_t> index(shape.size(), 0);
  std::vector<std::size_t> step(shape.size(), 1);
  for (std::size_t i = 1; i < shape.size(); ++i)
    step[i] = step[i - 1] * static_cast<std::size_t>(shape[i - 1]);
  std::size_t from = 0;
  for (std::size_t to = 0; to < data.size(); to += item) {
    std::memcpy(result.data() + to, data.data() + from * item, item);
    for (std::size_t d = shape.size(); d-- > 0;) {
      from += step[d];
      if (++index[d] < shape[d]) break;
      from -= step[d] * static_cast<std::size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return result;
}

constexpr std::size_t longest_prefix = 12;  // magic, version, length of the header

// Where the data begin, from the first bytes of the file.
std::size_t data_start(std::span<const std::byte> bytes, const std::string& name) {
  const auto at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  if (bytes.size() < 10 || std::memcmp(bytes.data(), magic, sizeof magic) != 0) {
    throw Fault(FaultKind::input, name, "is not a .npy file");
  }
  const std::uint32_t version = at(6);
  if (version < 1 || version > 3 || at(7) != 0) {
    throw Fault(FaultKind::input, name, "has .npy version {}.{}; known are 1.0, 2.0 and 3.0", version, at(7));
  }
  const std::size_t prefix = version == 1 ? 10 : longest_prefix;
  if (bytes.size() < prefix) throw Fault(FaultKind::input, name, "ends inside its header");
  const std::size_t length =
      version == 1 ? at(8) | at(9) << 8 : at(8) | at(9) << 8 | at(10) << 16 | at(11) << 24;
  if (length > largest_header)
    throw Fault(FaultKind::input, name, "has a header of {} bytes; that cannot be right", length);
  return prefix + length;
}

struct Layout {
  NpyArray array;  // without its data
  bool big_endian = false, fortran_order = false;
};

// `bytes`: everything before the data, of which there are `present` bytes.
Layout parse_header(std::span<const std::byte> bytes, std::size_t present, const std::string& name) {
  const std::size_t prefix = std::to_integer<int>(bytes[6]) == 1 ? 10 : longest_prefix;
  Header header({reinterpret_cast<const char*>(bytes.data()) + prefix, bytes.size() - prefix}, name);
  header.parse();
  Layout layout;
  parse_descr(header, layout.array, layout.big_endian, name);
  layout.array.shape = header.shape;
  layout.fortran_order = header.fortran_order;
  auto size = static_cast<std::size_t>(layout.array.item_bytes);
  for (const std::int64_t d : header.shape) {
    if (__builtin_mul_overflow(size, static_cast<std::size_t>(d), &size)) {
      throw Fault(FaultKind::input, name, "has the impossible shape ({})", join(header.shape));
    }
  }
  if (present != size) {
    throw Fault(FaultKind::input, name, "has {} bytes of data, its shape ({}) of '{}' needs {}", present,
                join(header.shape), header.descr, size);
  }
  return layout;
}

NpyArray in_host_order(Layout layout) {
  NpyArray array = std::move(layout.array);
  const auto item = static_cast<std::size_t>(array.item_bytes);
  if (layout.fortran_order && array.shape.size() > 1) array.data = to_c_order(array.data, array.shape, item);
  if (layout.big_endian) {
    for (std::size_t i = 0; i < array.data.size(); i += item) {
      std::reverse(array.data.begin() + static_cast<std::ptrdiff_t>(i),
                   array.data.begin() + static_cast<std::ptrdiff_t>(i + item));
    }
  }
  return array;
}

}  // namespace

std::string NpyArray::describe() const {
  const std::string_view kind_name = kind == 'f'   ? "float"
                                     : kind == 'i' ? "int"
                                     : kind == 'u' ? "uint"
                                     : kind == 'b' ? "bool"
                                                   : "raw";
  return kind == 'b' ? fmt::format("bool [{}]", join(shape))
                     : fmt::format("{}{} [{}]", kind_name, item_bytes * 8, join(shape));
}

NpyView view_npy(std::span<const std::byte> bytes, const std::string& name) {
  const std::size_t start = data_start(bytes, name);
  if (bytes.size() < start) throw Fault(FaultKind::input, name, "ends inside its header");
  Layout layout = parse_header(bytes.first(start), bytes.size() - start, name);
  const bool as_it_stands = !layout.big_endian && !(layout.fortran_order && layout.array.shape.size() > 1);
  return {std::move(layout.array), bytes.subspan(start), as_it_stands};
}

NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  const std::size_t start = data_start(bytes, name);
  if (bytes.size() < start) throw Fault(FaultKind::input, name, "ends inside its header");
  Layout layout = parse_header(bytes.first(start), bytes.size() - start, name);
  layout.array.data.assign(bytes.begin() + static_cast<std::ptrdiff_t>(start), bytes.end());
  return in_host_order(std::move(layout));
}

NpyArray read_npy(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw Fault(FaultKind::input, path, "is a directory, not a .npy file");
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) throw Fault(FaultKind::input, path, "cannot be read: {}", std::strerror(errno));
  const std::streamoff end = in.tellg();
  if (end < 0) throw Fault(FaultKind::input, path, "cannot be read: its size is unknown");
  std::vector<std::byte> bytes(static_cast<std::size_t>(end));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), end);
  if (in.gcount() != end)
    throw Fault(FaultKind::input, path, "reading stopped after {} of {} bytes", in.gcount(), end);
  return parse_npy(bytes, path);
}

std::vector<std::byte> format_npy_header(char kind, int item_bytes, const std::vector<std::int64_t>& shape) {
  std::string dimensions = join(shape);
  if (shape.size() == 1) dimensions += ",";
  std::string header = fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   item_bytes == 1 ? '|' : '<', kind, item_bytes, dimensions);
  // Data starts at a multiple of 64 bytes, and the header ends with a newline.
  const bool wide = header.size() + 74 > 65535;
  const std::size_t prefix = wide ? 12 : 10;
  while ((prefix + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::vector<std::byte> bytes;
  bytes.reserve(prefix + header.size());
  const auto put = [&](std::size_t value) { bytes.push_back(static_cast<std::byte>(value & 0xFF)); };
  for (const unsigned char c : magic) put(c);
  put(wide ? 2 : 1);
  put(0);
  for (std::size_t i = 0; i < prefix - 8; ++i) put(header.size() >> (8 * i));
  for (const char c : header) put(static_cast<unsigned char>(c));
  return bytes;
}

std::vector<std::byte> format_npy(const NpyArray& array) {
  std::vector<std::byte> bytes = format_npy_header(array.kind, array.item_bytes, array.shape);
  bytes.insert(bytes.end(), array.data.begin(), array.data.end());
  return bytes;
}

void write_npy(const NpyArray& array, const std::string& path) {
  const std::vector<std::byte> bytes = format_npy(array);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out) throw Fault(FaultKind::input, path, "cannot be written: {}", std::strerror(errno));
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw Fault(FaultKind::input, path, "writing stopped: {}", std::strerror(errno));
}

}  // namespace ncemu
