#include "isa/container.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "isa/codec.h"
#include "isa/fault.h"
#include "tests/support/random_instruction.h"

using namespace ncemu;

namespace {

constexpr std::size_t header_bytes = 48;

Instruction make(Opcode opcode, Operands operands, std::uint32_t site) {
  Instruction i;
  i.opcode = opcode;
  i.operands = operands;
  i.site = site;
  return i;
}

// A small program with something in every list.
Program sample() {
  Program p;
  p.name = "sample";
  p.target = *find_target("trn2");
  Tensor in, table;
  in.name = "in";
  in.kind = TensorKind::input;
  in.shape = {4, 8};
  in.site = 1;
  table.name = "table";
  table.kind = TensorKind::constant;
  table.dtype = DType::i16;
  table.shape = {3};
  table.data = {std::byte{1}, std::byte{0}, std::byte{2}, std::byte{0}, std::byte{0xFF}, std::byte{0x7F}};
  p.tensors = {in, table};
  p.files = {"sample.nca", "std.nca"};
  p.sites = {Site{}, Site{0, 3, 1, no_index}, Site{1, 7, 2, 1}};
  Tile tile;
  tile.name = "t";
  tile.shape = {4, 8};
  tile.array = {2};
  tile.stride = 32;
  tile.bytes = 64;
  tile.fixed_offset = 64;
  tile.site = 1;
  p.tiles = {tile};
  p.places = {Place{0, 0, 64}};
  p.scopes[0].entries = {{true, 1}, {false, 0}};
  p.scopes.push_back(Scope{0, {}});
  p.semaphores = {{"ready", 96}};

  AccessPattern dst;
  dst.partitions = 4;
  dst.offset = 64;
  dst.dims[0] = {1, 8};
  dst.place = 0;
  HbmPattern src;
  src.dims[0] = {1, 32};
  p.stream(Engine::sync).push_back(make(Opcode::dma_copy, DmaCopy{dst, src, 0, DgeMode::static_}, 1));
  p.stream(Engine::vector).push_back(make(Opcode::memset, Memset{dst, 1.5F}, 2));
  p.stream(Engine::vector).push_back(make(Opcode::halt, NoOperands{}, 0));
  p.probes.resize(2);
  p.probes[0].label = "t[0]";
  p.probes[0].view = dst;
  p.probes[0].site = 1;
  p.probes[0].position[static_cast<std::size_t>(Engine::vector)] = 2;
  p.probes[0].position[static_cast<std::size_t>(Engine::sync)] = 1;
  p.probes[0].rounds = Engine::vector;
  p.probes[1].label = "in";
  p.probes[1].view = src;
  std::get<AccessPattern>(p.probes[0].view).place = no_place;
  p.synchronised = true;
  return p;
}

// FNV-1a as published, 64 bits.
std::uint64_t fnv(std::span<const std::byte> bytes) {
  std::uint64_t hash = 14695981039346656037U;
  for (const std::byte b : bytes) {
    hash ^= std::to_integer<std::uint64_t>(b);
    hash *= 1099511628211U;
  }
  return hash;
}

std::uint64_t read_u64(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
  return value;
}

// Makes both checksums agree again, so that only the content is wrong.
void mend(std::vector<std::byte>& bytes) {
  const auto content = static_cast<std::size_t>(read_u64(bytes, 16));
  const std::span<const std::byte> all(bytes);
  const std::uint64_t sums[] = {fnv(all.subspan(header_bytes, content)),
                                fnv(all.subspan(header_bytes + content))};
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[24 + i] = static_cast<std::byte>(sums[0] >> (8 * i));
    bytes[40 + i] = static_cast<std::byte>(sums[1] >> (8 * i));
  }
}

// The message of the Fault about the input; empty if there was none.
std::string refusal(std::span<const std::byte> bytes) {
  try {
    (void)read_container(bytes, "k.ncb");
    return "";
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::input);
    return fault.what();
  }
}

std::size_t find(const std::vector<std::byte>& bytes, std::string_view text) {
  for (std::size_t at = 0; at + text.size() <= bytes.size(); ++at) {
    bool equal = true;
    for (std::size_t i = 0; i < text.size(); ++i)
      equal = equal && bytes[at + i] == static_cast<std::byte>(text[i]);
    if (equal) return at;
  }
  return bytes.size();
}

}  // namespace

TEST_CASE("the checksum in these tests is FNV-1a") {
  const auto of = [](std::string_view text) { return fnv(std::as_bytes(std::span(text))); };
  CHECK(of("") == 0xCBF29CE484222325);
  CHECK(of("a") == 0xAF63DC4C8601EC8C);
  CHECK(of("foobar") == 0x85944171F73967E8);
}

TEST_CASE("a program read back has the same words, tensors, constants and debug data") {
  const Program p = sample();
  const Program q = read_container(write_container(p), "k.ncb");
  CHECK(q.name == "sample");
  CHECK(q.target == p.target);
  CHECK(q.synchronised);
  for (const Engine e : all_engines) CHECK(q.stream(e) == p.stream(e));
  REQUIRE(q.tensors.size() == 2);
  CHECK(q.tensors[0].name == "in");
  CHECK(q.tensors[0].kind == TensorKind::input);
  CHECK(q.tensors[0].shape == std::vector<std::int64_t>{4, 8});
  CHECK(q.tensors[0].site == 1);
  CHECK(q.tensors[1].dtype == DType::i16);
  CHECK(q.tensors[1].data == p.tensors[1].data);
  CHECK(q.files == p.files);
  CHECK(q.sites == p.sites);
  REQUIRE(q.tiles.size() == 1);
  CHECK(q.tiles[0].name == "t");
  CHECK(q.tiles[0].array == p.tiles[0].array);
  CHECK(q.tiles[0].shape == p.tiles[0].shape);
  CHECK(q.tiles[0].bytes == 64);
  CHECK_FALSE(q.tiles[0].fixed_partition.has_value());
  CHECK(q.tiles[0].fixed_offset == 64U);
  REQUIRE(q.places.size() == 1);
  CHECK(q.places[0].offset == 64);
  REQUIRE(q.scopes.size() == 2);
  CHECK(q.scopes[1].parent == 0);
  REQUIRE(q.scopes[0].entries.size() == 2);
  CHECK(q.scopes[0].entries[0].is_scope);
  REQUIRE(q.semaphores.size() == 1);
  CHECK(q.semaphores[0].name == "ready");
  CHECK(q.semaphores[0].number == 96);
  REQUIRE(q.probes.size() == 2);
  CHECK(q.probes[0].view == p.probes[0].view);
  CHECK(q.probes[1].label == "in");
  CHECK(q.probes[0].position == p.probes[0].position);
  CHECK(q.probes[0].rounds == EngineSet(Engine::vector));
  CHECK(q.probes[1].position == Probe::no_positions());
  CHECK(q.probes[1].rounds.empty());
  CHECK(q.stream(Engine::vector)[0].site == 2);
  CHECK(std::get<Memset>(q.stream(Engine::vector)[0].operands).dst.place == 0);
}

TEST_CASE("a container of thousands of random instructions reads back to the same bytes") {
  test::RandomInstructions random(99, *find_target("trn2"));
  Program p = random.program();
  for (auto& stream : p.streams) stream.clear();
  for (int i = 0; i < 5000; ++i) {
    const auto s = random.next();
    p.stream(s.engine).push_back(s.instruction);
  }
  const auto bytes = write_container(p);
  CHECK(write_container(read_container(bytes, "k.ncb")) == bytes);
}

TEST_CASE("debug data have their own section: without them the content is the same bytes") {
  const Program p = sample();
  Program bare = p;
  bare.name = "other";
  bare.files = {"elsewhere.nca", "std.nca"};
  bare.probes.clear();
  const auto a = write_container(p), b = write_container(bare);
  const auto size = static_cast<std::ptrdiff_t>(header_bytes + read_u64(a, 16));
  CHECK(std::vector(a.begin(), a.begin() + 32) == std::vector(b.begin(), b.begin() + 32));
  CHECK(std::vector(a.begin() + header_bytes, a.begin() + size) ==
        std::vector(b.begin() + header_bytes, b.begin() + size));
  CHECK(read_u64(a, 40) != read_u64(b, 40));
}

TEST_CASE("every truncation is refused") {
  const auto bytes = write_container(sample());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    CAPTURE(n);
    CHECK_FALSE(refusal(std::span(bytes).first(n)).empty());
  }
}

TEST_CASE("every change of one byte is refused") {
  const auto bytes = write_container(sample());
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned bits : {0x01U, 0x10U, 0x80U, 0xFFU}) {
      auto changed = bytes;
      changed[at] ^= static_cast<std::byte>(bits);
      if (refusal(changed).empty()) ++accepted;
    }
  }
  CHECK(accepted == 0);
}

TEST_CASE("a changed byte under a mended checksum is refused or read, never a crash") {
  const auto bytes = write_container(sample());
  std::mt19937_64 random(5);
  std::size_t refused = 0, tried = 0;
  for (std::size_t at = header_bytes; at < bytes.size(); ++at) {
    for (const unsigned value : {0U, 1U, 0x7FU, 0xFFU, static_cast<unsigned>(random() % 256)}) {
      auto changed = bytes;
      changed[at] = static_cast<std::byte>(value);
      mend(changed);
      ++tried;
      if (!refusal(changed).empty()) ++refused;
    }
  }
  CHECK(refused > tried / 4);
  CHECK(refused < tried);
}

TEST_CASE("what is not a container, or another version, is named so") {
  CHECK(refusal({}) == "k.ncb: not an ncemu container (a container begins with NCEMUNCB)");
  auto bytes = write_container(sample());
  bytes[8] = std::byte{container_version + 1};
  CHECK(refusal(bytes) == "k.ncb: container version 4, this program reads version 3");
}

TEST_CASE("a well-formed container is refused when an instruction breaks a rule of its target") {
  Program p = sample();
  std::get<Memset>(p.stream(Engine::vector)[0].operands).dst.partition = 1;
  CHECK(
      refusal(write_container(p)) ==
      "k.ncb: vector instruction 0 (memset): dst 4 partitions start at partition 1, expected 0, 32, 64 or 96 "
      "[datasheet 1.5]");
}

TEST_CASE("references to what is not there are refused") {
  const auto broken = [](auto change) {
    Program p = sample();
    change(p);
    auto bytes = write_container(p);
    return refusal(bytes);
  };
  // The writer itself refuses what it can see, as our own bug.
  const auto refuses = [&](auto change) { CHECK_THROWS_AS(broken(change), Fault); };
  refuses([](Program& p) { p.stream(Engine::vector)[0].site = 3; });
  refuses([](Program& p) { p.sites[1].parent = 1; });
  refuses([](Program& p) { p.tiles[0].scope = 2; });
  refuses([](Program& p) { p.tiles[0].buffers = 2; });
  refuses([](Program& p) { p.probes[1].position[0] = 9; });
  refuses([](Program& p) { p.probes[1].rounds = Engine::vector; });
  refuses([](Program& p) { p.probes[0].rounds = EngineSet(0x82); });
  refuses([](Program& p) { p.tensors[1].name = "in"; });
  refuses([](Program& p) { p.tensors[1].data.pop_back(); });
  refuses([](Program& p) { p.tensors[0].shape[0] = 0; });
  refuses([](Program& p) { p.order = {Engine::sync}; });
  // A tensor that is not there is a rule, checked when reading.
  CHECK(broken([](Program& p) {
          std::get<HbmPattern>(std::get<DmaCopy>(p.stream(Engine::sync)[0].operands).src).tensor = 2;
        }).find("names tensor 2, the program has 2") != std::string::npos);
  // The reader trusts no writer: the same in a file whose checksum agrees.
  auto bytes = write_container(sample());
  bytes[find(bytes, "table")] = std::byte{'i'};
  bytes[find(bytes, "iable") + 5] = std::byte{9};  // the kind follows the name
  mend(bytes);
  CHECK(refusal(bytes).find("tensor kind is 9, expected 0 to 4") != std::string::npos);
}

TEST_CASE("a list longer than the file is refused before memory is asked for") {
  auto bytes = write_container(sample());
  const std::size_t machine = find(bytes, "trn2");
  for (std::size_t i = 0; i < 8; ++i) bytes[machine - 8 + i] = std::byte{0x7F};
  mend(bytes);
  CHECK(refusal(bytes).find("do not fit the file") != std::string::npos);
}

TEST_CASE("saving replaces a file as a whole and leaves no other behind") {
  const auto directory = std::filesystem::temp_directory_path() / "ncemu_container_test";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directory(directory);
  const std::string path = (directory / "k.ncb").string();
  std::ofstream(path) << "old";
  const Program p = sample();
  save_container(p, path);
  CHECK(write_container(load_container(path)) == write_container(p));
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++files;
  CHECK(files == 1);
  CHECK_THROWS_AS(save_container(p, (directory / "missing" / "k.ncb").string()), Fault);
  CHECK_THROWS_AS(load_container((directory / "missing.ncb").string()), Fault);
  CHECK_THROWS_AS(load_container(directory.string()), Fault);
  std::filesystem::remove_all(directory);
}

TEST_CASE("a pipe is written to and stays a pipe") {
  const std::string path = std::filesystem::temp_directory_path() / fmt::format("ncemu_pipe_{}", getpid());
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const int end = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  save_container(sample(), path);
  CHECK(std::filesystem::is_fifo(path));
  std::vector<std::byte> bytes(1 << 16);
  const auto n = read(end, bytes.data(), bytes.size());
  close(end);
  std::filesystem::remove(path);
  REQUIRE(n > 0);
  bytes.resize(static_cast<std::size_t>(n));
  CHECK(bytes == write_container(sample()));
}

TEST_CASE("an allowance keeps its line, its checks and its reason through a container") {
  Program program;
  program.synchronised = true;
  program.files = {"k.nca"};
  program.allowances = {
      {.file = 0, .line = 7, .at_line = 6, .at_column = 3, .checks = {"races", "init"}, .reason = "why"}};
  const Program back = read_container(write_container(program), "k.ncb");
  CHECK(back.allowances == program.allowances);
}
