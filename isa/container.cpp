#include "isa/container.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "isa/codec.h"
#include "isa/container_bytes.h"
#include "isa/fault.h"
#include "isa/rules.h"

namespace ncemu {
namespace {

using container::Reader;
using container::Writer;

// header: magic 8, version 4, zero 4, then size and checksum (8 each) of the content and of the debug section
constexpr std::string_view magic = "NCEMUNCB";
constexpr std::size_t header_bytes = 48;
constexpr std::size_t tensor_kinds = 5;
constexpr std::int64_t most_elements = std::int64_t{1} << 48;  // of a tensor: offsets in words have 56 bits

// FNV-1a, 64 bits: every change of a single byte changes it.
std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const std::byte b : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001B3;
  return hash;
}

// ---- content --------------------------------------------------------------------------------

template <typename Io>
void transfer(Io& io, Target& t) {
  io.text("machine", t.machine);
  auto generation = static_cast<std::uint32_t>(t.generation);
  io.number("generation", generation);
  io.check(generation == 2 || generation == 3, "the generation is 2 or 3");
  t.generation = static_cast<int>(generation);
  const auto member = [&](std::string_view name, std::uint32_t& value, std::uint32_t most) {
    io.number(name, value);
    io.check(value >= 1 && value <= most, fmt::format("{} is 1 to {}", name, most));
  };
  member("sbuf_partition_bytes", t.sbuf_partition_bytes, 1U << 30);
  member("psum_bank_bytes", t.psum_bank_bytes, 1U << 20);
  member("psum_banks", t.psum_banks, 1U << 10);
  member("partitions", t.partitions, 128);
  member("semaphores", t.semaphores, 256);
  member("semaphore_max", t.semaphore_max, 65535);
  member("registers", t.registers, 255);
  member("dma_queues", t.dma_queues, 256);
  member("dma_engines", t.dma_engines, 128);
}

template <typename Io>
void transfer(Io& io, Tensor& t) {
  io.text("tensor name", t.name);
  io.check(!t.name.empty(), "every tensor has a name");
  io.enumeration("tensor kind", t.kind, tensor_kinds);
  io.enumeration("tensor type", t.dtype, dtype_count);
  std::int64_t elements = 1;
  io.list("tensor shape", t.shape, 8, [&](std::int64_t& size) {
    io.number("tensor dimension", size);
    io.check(size >= 1 && size <= most_elements / elements, "a tensor has 1 to 2^48 elements");
    elements *= size;
  });
  std::uint64_t bytes = t.data.size();
  io.number("constant size", bytes);
  const bool is_constant = t.kind == TensorKind::constant;
  io.check(bytes == (is_constant ? static_cast<std::uint64_t>(t.bytes()) : 0),
           "constants, and only they, carry data");
  if constexpr (Io::reads) io.check(bytes <= io.rest(), "the data of every constant are in the file");
  t.data.resize(static_cast<std::size_t>(bytes));
  io.raw("constant", t.data);
}

template <typename Io>
void transfer_word(Io& io, Instruction& instruction, const std::string& where) {
  if constexpr (!Io::reads) {
    for (Word& word : encode_words(instruction)) io.raw("instruction", word);
  } else {
    std::vector<std::byte> bytes(word_bytes);
    io.raw("instruction", bytes);
    const std::size_t words = word_count(std::span<const std::byte, word_bytes>(bytes));
    io.check(words * word_bytes <= io.rest() + word_bytes, "all words of every instruction are in the file");
    bytes.resize(words * word_bytes);
    io.raw("instruction", std::span(bytes).subspan(word_bytes));
    instruction = decode(bytes, where);
  }
}

template <typename Io>
void transfer_content(Io& io, Program& p, const std::string& where) {
  transfer(io, p.target);
  io.flag("synchronised", p.synchronised);
  io.list("tensors", p.tensors, 26, [&](Tensor& t) { transfer(io, t); });
  std::set<std::string_view> names;
  for (const Tensor& t : p.tensors) io.check(names.insert(t.name).second, "the names of tensors differ");
  for (const Engine engine : all_engines) {
    std::size_t index = 0;
    io.list("instructions", p.stream(engine), word_bytes, [&](Instruction& instruction) {
      const std::string place =
          Io::reads ? fmt::format("{}: {} instruction {}", where, name(engine), index++) : "";
      transfer_word(io, instruction, place);
    });
  }
}

// ---- debug section --------------------------------------------------------------------------

// The places that on-chip operands come from, in field order.
template <typename Visit>
void for_each_place(Operands& operands, Visit&& visit) {
  for_each_field(operands, [&](std::string_view, auto& field, Role) {
    using T = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<T, AccessPattern>) {
      visit(field.place);
    } else if constexpr (std::is_same_v<T, std::optional<AccessPattern>>) {
      if (field) visit(field->place);
    } else if constexpr (std::is_same_v<T, MemoryOperand>) {
      if (auto* pattern = std::get_if<AccessPattern>(&field)) visit(pattern->place);
    } else if constexpr (std::is_same_v<T, ScalarOperand>) {
      if (auto* pointer = std::get_if<PointerOperand>(&field)) visit(pointer->place);
    }
  });
}

template <typename Io>
void transfer(Io& io, std::optional<std::uint32_t>& value) {
  bool present = value.has_value();
  std::uint32_t number = value.value_or(0);
  io.flag("presence", present);
  io.number("placement", number);
  value = present ? std::optional(number) : std::nullopt;
}

template <typename Io>
void transfer_sizes(Io& io, std::vector<std::int64_t>& sizes) {
  io.list("tile shape", sizes, 8, [&](std::int64_t& size) { io.number("tile dimension", size); });
}

template <typename Io>
void transfer(Io& io, Tile& t) {
  io.text("tile name", t.name);
  io.enumeration("tile memory", t.space, 2);
  io.enumeration("tile type", t.dtype, dtype_count);
  transfer_sizes(io, t.array);
  transfer_sizes(io, t.shape);
  io.number("tile stride", t.stride);
  io.number("tile bytes", t.bytes);
  io.number("tile buffers", t.buffers);
  transfer(io, t.fixed_partition);
  transfer(io, t.fixed_offset);
  io.number("tile scope", t.scope);
  io.number("tile place", t.first_place);
  io.number("tile site", t.site);
}

// What is read by index must be inside its list.
template <typename Io>
void check_indices(const Io& io, const Program& p) {
  const auto index = [&](std::size_t i, std::size_t size) {
    io.check(i < size, "every index is inside its list");
  };
  const auto optional_index = [&](std::size_t i, std::size_t size) {
    if (i != no_index) index(i, size);
  };
  for (std::size_t i = 0; i < p.sites.size(); ++i) {
    optional_index(p.sites[i].file, p.files.size());
    optional_index(p.sites[i].parent, i);  // parents come first
  }
  for (std::size_t i = 0; i < p.scopes.size(); ++i) {
    optional_index(p.scopes[i].parent, i);
    for (const Scope::Entry& e : p.scopes[i].entries)
      index(e.id, e.is_scope ? p.scopes.size() : p.tiles.size());
  }
  for (const Tile& t : p.tiles) {
    index(t.scope, p.scopes.size());
    index(t.site, p.sites.size());
    io.check(std::uint64_t{t.first_place} + t.buffers <= p.places.size(),
             "every place of a tile is in the list");
  }
  for (const Place& place : p.places) optional_index(place.tile, p.tiles.size());
  for (const Tensor& t : p.tensors) index(t.site, p.sites.size());
  for (const Probe& probe : p.probes) {
    index(probe.site, p.sites.size());
    for (const Engine e : all_engines) {
      const std::uint32_t position = probe.position[static_cast<std::size_t>(e)];
      optional_index(position, p.stream(e).size() + 1);
      io.check(position != no_index || !probe.rounds.contains(e),
               "an engine that counts rounds has a position");
    }
    io.check(probe.rounds.bits() < 1U << engine_count, "every engine that counts rounds is one");
    const auto* in_hbm = std::get_if<HbmPattern>(&probe.view);
    if (in_hbm != nullptr) index(in_hbm->tensor, p.tensors.size());
  }
}

template <typename Io>
void transfer(Io& io, Probe& probe, const std::string& where) {
  for (std::uint32_t& position : probe.position) io.number("probe position", position);
  std::uint8_t rounds = probe.rounds.bits();
  io.number("probe rounds", rounds);
  probe.rounds = EngineSet(rounds);
  io.text("probe label", probe.label);
  io.number("probe site", probe.site);
  // The view is kept as the source of an instruction word, which has an encoding for it.
  Instruction carrier;
  carrier.opcode = Opcode::register_load;
  carrier.operands = RegisterLoad{Register{0}, probe.view};
  transfer_word(io, carrier, where);
  const auto* load = std::get_if<RegisterLoad>(&carrier.operands);
  io.check(load != nullptr, "the view of a probe is the source of a register_load");
  probe.view = load->src;
  if (auto* pattern = std::get_if<AccessPattern>(&probe.view)) pattern->place = no_place;
}

template <typename Io>
void transfer_debug(Io& io, Program& p, const std::string& where) {
  io.text("name", p.name);
  io.list("files", p.files, 8, [&](std::string& file) { io.text("file", file); });
  io.list("sites", p.sites, 16, [&](Site& s) {
    io.number("site file", s.file);
    io.number("site line", s.line);
    io.number("site column", s.column);
    io.number("site parent", s.parent);
  });
  io.list("tiles", p.tiles, 58, [&](Tile& t) { transfer(io, t); });
  io.list("places", p.places, 9, [&](Place& place) {
    io.number("place tile", place.tile);
    io.number("place partition", place.partition);
    io.number("place offset", place.offset);
  });
  io.list("scopes", p.scopes, 12, [&](Scope& s) {
    io.number("scope parent", s.parent);
    io.list("scope entries", s.entries, 5, [&](Scope::Entry& e) {
      io.flag("scope entry kind", e.is_scope);
      io.number("scope entry", e.id);
    });
  });
  io.list("semaphores", p.semaphores, 9, [&](NamedSemaphore& s) {
    io.text("semaphore name", s.name);
    io.number("semaphore number", s.number);
  });
  io.list("probes", p.probes, 161, [&](Probe& probe) { transfer(io, probe, where); });
  io.list("allowances", p.allowances, 32, [&](Allowance& a) {
    io.number("allowance file", a.file);
    io.check(a.file < p.files.size(), "the file of every allowance is in the list");
    io.number("allowance line", a.line);
    io.number("allowance comment line", a.at_line);
    io.number("allowance comment column", a.at_column);
    io.list("allowed checks", a.checks, 8, [&](std::string& check) { io.text("allowed check", check); });
    io.text("allowance reason", a.reason);
  });
  for (Tensor& t : p.tensors) io.number("tensor site", t.site);
  for (auto& stream : p.streams) {
    for (Instruction& instruction : stream) {
      io.number("instruction site", instruction.site);
      io.check(instruction.site < p.sites.size(), "the site of every instruction is in the list");
      for_each_place(instruction.operands, [&](PlaceId& place) {
        io.number("operand place", place);
        io.check(place == no_place || place < p.places.size(), "the place of every operand is in the list");
      });
    }
  }
  check_indices(io, p);
}

// ---- reading --------------------------------------------------------------------------------

void check_rules(const Program& program, const std::string& where) {
  std::vector<Violation> violations;
  for (const Engine engine : all_engines) {
    const auto& stream = program.stream(engine);
    for (std::size_t i = 0; i < stream.size(); ++i) {
      check_instruction(stream[i], engine, program.target, &program, violations);
      if (violations.empty()) continue;
      const Violation& v = violations.front();
      throw Fault(FaultKind::input, where, "{} instruction {} ({}): {}{}{} [datasheet {}]", name(engine), i,
                  info(stream[i].opcode).mnemonic, v.operand, v.operand.empty() ? "" : " ", v.message,
                  v.section);
    }
  }
}

}  // namespace

std::vector<std::byte> write_container(const Program& program) {
  ensure(program.order.empty() && program.loops.empty() && program.manual_blocks.empty(),
         "only a synchronised program is written to a container");
  Program copy = program;
  Writer content, debug, file;
  transfer_content(content, copy, program.name);
  transfer_debug(debug, copy, program.name);

  std::uint32_t version = container_version, zero = 0;
  for (const char c : magic) {
    auto byte = static_cast<std::uint8_t>(c);
    file.number("magic", byte);
  }
  file.number("version", version);
  file.number("reserved", zero);
  for (const Writer* section : {&content, &debug}) {
    std::uint64_t size = section->bytes().size(), sum = checksum(section->bytes());
    file.number("size", size);
    file.number("checksum", sum);
  }
  std::vector<std::byte> bytes = file.bytes();
  bytes.insert(bytes.end(), content.bytes().begin(), content.bytes().end());
  bytes.insert(bytes.end(), debug.bytes().begin(), debug.bytes().end());
  return bytes;
}

Program read_container(std::span<const std::byte> bytes, const std::string& name) {
  bool known = bytes.size() >= magic.size();
  for (std::size_t i = 0; known && i < magic.size(); ++i)
    known = bytes[i] == static_cast<std::byte>(magic[i]);
  if (!known)
    throw Fault(FaultKind::input, name, "not an ncemu container (a container begins with {})", magic);

  Reader header(bytes.first(std::min(bytes.size(), header_bytes)).subspan(magic.size()), name);
  std::uint32_t version = 0, zero = 0;
  header.number("version", version);
  if (version != container_version) {
    throw Fault(FaultKind::input, name, "container version {}, this program reads version {}", version,
                container_version);
  }
  header.number("reserved", zero);
  header.check(zero == 0, "the reserved bytes of the header are zero");
  std::uint64_t content_size = 0, content_sum = 0, debug_size = 0, debug_sum = 0;
  header.number("content size", content_size);
  header.number("content checksum", content_sum);
  header.number("debug size", debug_size);
  header.number("debug checksum", debug_sum);
  const std::uint64_t rest = bytes.size() - header_bytes;
  if (content_size > rest || debug_size != rest - content_size) {
    header.fail("sections of {} and {} bytes, but {} bytes follow the header", content_size, debug_size,
                rest);
  }
  const auto content = bytes.subspan(header_bytes, static_cast<std::size_t>(content_size));
  const auto debug = bytes.subspan(header_bytes + static_cast<std::size_t>(content_size));
  header.check(checksum(content) == content_sum, "the checksum of the content agrees");
  header.check(checksum(debug) == debug_sum, "the checksum of the debug section agrees");

  Program program;
  Reader content_reader(content, name);
  transfer_content(content_reader, program, name);
  content_reader.end();
  Reader debug_reader(debug, name);
  transfer_debug(debug_reader, program, name);
  debug_reader.end();
  check_rules(program, name);
  return program;
}

void save_container(const Program& program, const std::string& path) {
  const std::vector<std::byte> bytes = write_container(program);
  // Readers see the old file or the new one, never a part; two writers do not share a temporary name. A
  // device or pipe is written to: renaming over it would put a file in its place.
  std::error_code error, ignored;
  const auto status = std::filesystem::status(path, ignored);
  const bool special = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
                       !std::filesystem::is_directory(status);
  std::random_device random;
  const std::string temporary = special ? path : fmt::format("{}.{:08x}.part", path, random());
  std::ofstream out(temporary, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (out && !special) std::filesystem::rename(temporary, path, error);
  if (out && !error) return;
  if (!special) std::filesystem::remove(temporary, ignored);
  throw Fault(FaultKind::input, path, "cannot be written{}{}", error ? ": " : "",
              error ? error.message() : "");
}

Program load_container(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Fault(FaultKind::input, path, "cannot be opened");
  std::vector<char> text;
  std::array<char, 1 << 16> part{};
  while (in) {
    in.read(part.data(), part.size());
    text.insert(text.end(), part.begin(), part.begin() + in.gcount());
  }
  if (in.bad()) throw Fault(FaultKind::input, path, "cannot be read");
  return read_container(std::as_bytes(std::span<const char>(text)), path);
}

}  // namespace ncemu
