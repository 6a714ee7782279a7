// The data of `.const`.

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "isa/asm/evaluator.h"
#include "isa/fault.h"
#include "isa/npy.h"
#include "isa/number.h"

namespace ncemu::language {
namespace {

// Constants are part of the program and of its container.
constexpr std::int64_t most_constant_bytes = std::int64_t{1} << 30;

std::string join(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t d : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", d);
  return text;
}

std::int64_t lowest(DType type) {
  return type >= DType::u8 ? 0 : -(std::int64_t{1} << (8 * size_of(type) - 1));
}
std::int64_t highest(DType type) {
  const int bits = 8 * size_of(type);
  return (std::int64_t{1} << (type >= DType::u8 ? bits : bits - 1)) - 1;
}

std::uint32_t integer_bits(Where where, DType dtype, std::int64_t value) {
  if (value < lowest(dtype) || value > highest(dtype)) {
    stop(where,
         fmt::format("{} does not fit {} ({} to {})", value, name(dtype), lowest(dtype), highest(dtype)));
  }
  return integer_to_bits(dtype, value);
}

class Writer {
 public:
  Writer(DType dtype, std::size_t elements) : width_(size_of(dtype)) {
    data_.reserve(elements * static_cast<std::size_t>(width_));
  }
  void put(std::uint32_t bits) {
    for (int i = 0; i < width_; ++i) data_.push_back(static_cast<std::byte>((bits >> (8 * i)) & 0xFF));
  }
  std::vector<std::byte> take() { return std::move(data_); }

 private:
  int width_;
  std::vector<std::byte> data_;
};

}  // namespace

std::vector<std::byte> Evaluator::constant_data(const ConstantSyntax& c, DType dtype,
                                                const std::vector<std::int64_t>& dims) {
  using Source = ConstantSyntax::Source;
  std::int64_t bytes = size_of(dtype);
  for (const std::int64_t d : dims) {
    if (__builtin_mul_overflow(bytes, d, &bytes) || bytes > most_constant_bytes) {
      stop(c.shape.where, "a constant is at most 1 GiB; larger data belong in an '.input'");
    }
  }
  const std::int64_t elements = bytes / size_of(dtype);
  Writer out(dtype, static_cast<std::size_t>(elements));

  // One number, from a value: integers stay exact in integer types; floats are rounded once.
  const auto put_number = [&](const Expression& e) {
    const Value v = evaluate(e);
    if (const auto* pattern = std::get_if<FloatBits>(&v); pattern != nullptr && dtype == DType::f32) {
      out.put(pattern->bits);
    } else if (is_integer(dtype)) {
      const auto* i = std::get_if<std::int64_t>(&v);
      if (i == nullptr)
        stop(e.where, fmt::format("a constant of {} needs integers, found {}", name(dtype), describe(v)));
      out.put(integer_bits(e.where, dtype, *i));
    } else {
      out.put(to_bits(dtype, single(e, v)));
    }
  };
  const auto put_bits = [&](Where where, std::int64_t bits) {
    const std::int64_t last = (std::int64_t{1} << (8 * size_of(dtype))) - 1;
    if (bits < 0 || bits > last) {
      stop(where,
           fmt::format("a bit pattern of {} is between 0 and 0x{:x}, found {}", name(dtype), last, bits));
    }
    out.put(static_cast<std::uint32_t>(bits));
  };

  switch (c.source) {
    case Source::file: {
      const std::filesystem::path from = reporter_.sources().file(c.value_where.file).name();
      const std::string path = (from.parent_path() / std::filesystem::path(c.path)).string();
      blame_ = c.value_where;
      const NpyArray array = read_npy(path);
      if (array.shape != dims) {
        stop(c.value_where, fmt::format("\"{}\" has the shape ({}), the constant ({})", c.path,
                                        join(array.shape), join(dims)));
      }
      return tensor_bytes(array, dtype, path);
    }
    case Source::list:
    case Source::bits: {
      const bool nested = c.list_shape.size() > 1;
      if (nested ? c.list_shape != dims : static_cast<std::int64_t>(c.items.size()) != elements) {
        stop(c.value_where, nested ? fmt::format("the list has the shape ({}), the constant ({})",
                                                 join(c.list_shape), join(dims))
                                   : fmt::format("the list has {} items, the constant ({}) needs {}",
                                                 c.items.size(), join(dims), elements));
      }
      for (const ListItem& item : c.items) {
        if (c.source == Source::bits) {
          if (item.kind == ListItem::Kind::real) stop(item.where, "a bit pattern is an integer");
          put_bits(item.where, item.kind == ListItem::Kind::integer ? item.integer
                                                                    : integer(*item.value, "a bit pattern"));
        } else if (item.kind == ListItem::Kind::expression) {
          put_number(*item.value);
        } else if (is_integer(dtype)) {
          if (item.kind == ListItem::Kind::real)
            stop(item.where, fmt::format("a constant of {} needs integers", name(dtype)));
          out.put(integer_bits(item.where, dtype, item.integer));
        } else {
          out.put(to_bits(
              dtype, item.kind == ListItem::Kind::integer ? static_cast<float>(item.integer) : item.single));
        }
      }
      return out.take();
    }
    case Source::eye: {
      if (dims.size() != 2 || dims[0] != dims[1]) {
        stop(c.shape.where, fmt::format("'eye' is square, found ({})", join(dims)));
      }
      const std::uint32_t one = is_integer(dtype) ? integer_to_bits(dtype, 1) : to_bits(dtype, 1.0F);
      for (std::int64_t i = 0; i < elements; ++i) out.put(i / dims[0] == i % dims[0] ? one : 0);
      return out.take();
    }
    case Source::iota: {
      for (std::int64_t i = 0; i < elements; ++i) {
        out.put(is_integer(dtype) ? integer_bits(c.value_where, dtype, i)
                                  : to_bits(dtype, static_cast<float>(i)));
      }
      return out.take();
    }
    case Source::fill: {
      put_number(*c.value);
      const std::vector<std::byte> one = out.take();
      std::vector<std::byte> data;
      data.reserve(static_cast<std::size_t>(bytes));
      for (std::int64_t i = 0; i < elements; ++i) data.insert(data.end(), one.begin(), one.end());
      return data;
    }
  }
  return out.take();
}

}  // namespace ncemu::language
