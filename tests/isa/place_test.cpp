#include "isa/place.h"

#include <doctest/doctest.h>

#include <random>

#include "isa/builder.h"

using namespace ncemu;

namespace {

TileSpec spec(std::string name, Space space, std::int64_t partitions, std::int64_t bytes,
              std::uint32_t buffers = 1) {
  TileSpec s;
  s.name = std::move(name);
  s.space = space;
  s.dtype = DType::u8;
  s.shape = {partitions, bytes};
  s.buffers = buffers;
  return s;
}
TileSpec sbuf(std::string name, std::int64_t bytes, std::uint32_t buffers = 1) {
  return spec(std::move(name), Space::sbuf, 128, bytes, buffers);
}
TileSpec psum(std::string name, std::int64_t bytes, std::uint32_t buffers = 1) {
  return spec(std::move(name), Space::psum, 128, bytes, buffers);
}
TileSpec at(TileSpec s, std::uint32_t partition, std::uint32_t offset) {
  s.partition = partition;
  s.offset = offset;
  return s;
}

Builder trn1() { return Builder(*find_target("trn1")); }

Diagnostics placed(Builder& b) {
  Diagnostics diagnostics;
  place(b.program(), diagnostics);
  return diagnostics;
}

std::uint32_t offset(const Builder& b, const TileRef& ref) {
  return const_cast<Builder&>(b).program().places[ref.place].offset;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("SBUF tiles are aligned to 32 bytes and follow one another in text order") {
  Builder b = trn1();
  const TileRef x = b.tile(sbuf("x", 33));
  const TileRef y = b.tile(sbuf("y", 32));
  const TileRef z = b.tile(sbuf("z", 1));
  CHECK_FALSE(placed(b).has_errors());
  CHECK(offset(b, x) == 0);
  CHECK(offset(b, y) == 64);
  CHECK(offset(b, z) == 96);
}

TEST_CASE("tiles of sibling blocks share addresses only when they would not fit otherwise") {
  for (const std::int64_t bytes : {98304, 98336}) {  // twice the first is exactly 192 KiB
    Builder b = trn1();
    b.open_scope("one");
    const TileRef x = b.tile(sbuf("x", bytes));
    b.close_scope();
    b.open_scope("two");
    const TileRef y = b.tile(sbuf("y", bytes));
    b.close_scope();
    CHECK_FALSE(placed(b).has_errors());
    CHECK(offset(b, x) == 0);
    CHECK(offset(b, y) == (bytes == 98304 ? 98304U : 0U));
  }
}

TEST_CASE("tiles used in rotation keep addresses of their own while the others share") {
  Builder b = trn1();
  b.open_scope("one");
  const TileRef r = b.tile(sbuf("rotating", 50000, 2));
  const TileRef x = b.tile(sbuf("x", 60000));
  b.close_scope();
  b.open_scope("two");
  const TileRef y = b.tile(sbuf("y", 60000));
  b.close_scope();
  CHECK_FALSE(placed(b).has_errors());
  CHECK(offset(b, x) == offset(b, y));
  const std::uint32_t first = b.program().places[b.program().tiles[r.tile].first_place].offset;
  const std::uint32_t second = b.program().places[b.program().tiles[r.tile].first_place + 1].offset;
  CHECK(second >= first + 50000);
  CHECK(offset(b, x) >= second + 50000);
}

TEST_CASE("a tile used in rotation lives over its whole block, also before its declaration") {
  Builder b = trn1();
  b.open_scope("inner");
  const TileRef x = b.tile(sbuf("x", 65536));
  b.close_scope();
  const TileRef r = b.tile(sbuf("rotating", 65536, 2));
  CHECK_FALSE(placed(b).has_errors());
  CHECK(offset(b, r) != offset(b, x));
  Builder c = trn1();  // one byte too many: the inner tile must not lie over the rotating one
  c.open_scope("inner");
  c.tile(sbuf("x", 65568));
  c.close_scope();
  c.tile(sbuf("rotating", 65536, 2));
  CHECK(placed(c).has_errors());
}

TEST_CASE("a PSUM tile starts at a bank; larger than a bank it takes whole consecutive banks") {
  Builder b = trn1();
  const TileRef x = b.tile(psum("x", 4));
  const TileRef y = b.tile(psum("y", 2049));
  const TileRef z = b.tile(psum("z", 2048));
  CHECK_FALSE(placed(b).has_errors());
  CHECK(offset(b, x) == 0);
  CHECK(offset(b, y) == 2048);
  CHECK(offset(b, z) == 3 * 2048);
  CHECK(usage(b.program()).psum_banks == 4);
}

TEST_CASE("a ninth bank is an error that names needed, available and the largest tiles") {
  Builder b = trn1();
  b.at("k.nca", 3);
  b.tile(psum("big", 4 * 2048));
  b.at("k.nca", 4);
  b.tile(psum("small", 2048, 5));
  const Diagnostics d = placed(b);
  REQUIRE(d.errors() == 1);
  const std::string text = d.text();
  CHECK(contains(text, "PSUM"));
  CHECK(contains(text, "18432 bytes per partition needed, 16384 available"));
  CHECK(contains(text, "k.nca:3"));
  CHECK(contains(text, "tile 'big' takes 8192 bytes"));
  CHECK(contains(text, "tile 'small' takes 10240 bytes"));
}

TEST_CASE("three tiles that do not fit together fail with needed, available and the largest lines") {
  Builder b = trn1();
  const std::int64_t sizes[] = {98568, 98568, 888};
  for (std::uint32_t i = 0; i < 3; ++i) {
    b.at("c55.nca", 10 + i);
    b.tile(sbuf("t" + std::to_string(i), sizes[i]));
  }
  const Diagnostics d = placed(b);
  REQUIRE(d.errors() == 1);
  const std::string text = d.text();
  // 98568 is 98592 with alignment to 32 bytes, 888 is 896.
  CHECK(contains(text, "198080 bytes per partition needed, 196608 available"));
  CHECK(contains(text, "c55.nca:10"));
  CHECK(contains(text, "tile 't0' takes 98592 bytes"));
  CHECK(contains(text, "c55.nca:11"));
  CHECK(contains(text, "tile 't2' takes 896 bytes"));
}

TEST_CASE("explicit tiles that overlap while both live are a warning naming both with lines") {
  Builder b = trn1();
  b.at("c57.nca", 5);
  b.tile(at(sbuf("first", 128), 0, 4096));
  b.at("c57.nca", 6);
  b.tile(at(sbuf("second", 128), 0, 4160));
  const Diagnostics d = placed(b);
  CHECK_FALSE(d.has_errors());
  REQUIRE(d.all().size() == 1);
  const std::string text = d.text();
  CHECK(contains(text, "'second' overlaps the live tile 'first'"));
  CHECK(d.all().front().fails_run);
  CHECK(contains(text, "c57.nca:5"));
  CHECK(contains(text, "c57.nca:6"));
  CHECK(contains(text, "bytes 4160 to 4223"));
}

TEST_CASE("explicit tiles of sibling blocks, or in other partitions, overlap nothing") {
  Builder b = trn1();
  b.open_scope("one");
  b.tile(at(sbuf("x", 128), 0, 0));
  b.close_scope();
  b.open_scope("two");
  b.tile(at(spec("y", Space::sbuf, 32, 128), 32, 0));
  b.tile(at(spec("z", Space::sbuf, 32, 128), 64, 0));
  b.close_scope();
  CHECK(placed(b).all().empty());
}

TEST_CASE("an explicitly placed tile is not given to another, nor the rest of its PSUM bank") {
  Builder b = trn1();
  b.tile(at(sbuf("fixed", 100), 0, 20));
  const TileRef x = b.tile(sbuf("x", 32));
  b.tile(at(psum("bank", 4), 0, 1000));
  const TileRef y = b.tile(psum("y", 4));
  CHECK(placed(b).all().empty());
  CHECK(offset(b, x) == 128);
  CHECK(offset(b, y) == 2048);
}

TEST_CASE("explicit tiles may touch without padding between them") {
  Builder b = trn1();
  b.tile(at(sbuf("x", 40), 0, 0));
  b.tile(at(sbuf("y", 40), 0, 40));
  CHECK(placed(b).all().empty());
}

TEST_CASE("an explicit partition must be a legal start for the tile's partitions") {
  const struct {
    std::int64_t partitions;
    std::uint32_t start;
    bool legal;
  } rows[] = {{32, 96, true},  {33, 64, true}, {33, 32, false}, {32, 48, false},
              {65, 64, false}, {64, 64, true}, {128, 0, true},  {32, 128, false}};
  for (const auto& row : rows) {
    CAPTURE(row.partitions);
    CAPTURE(row.start);
    Builder b = trn1();
    b.tile(at(spec("x", Space::sbuf, row.partitions, 32), row.start, 0));
    CHECK(placed(b).has_errors() != row.legal);
  }
}

TEST_CASE("an explicit tile behind the end of its partition is an error") {
  Builder b = trn1();
  b.tile(at(sbuf("x", 64), 0, 192 * 1024 - 32));
  CHECK(contains(placed(b).text(), "ends at byte 196640"));
}

TEST_CASE("the places of an explicitly placed rotating tile follow one another") {
  Builder b = trn1();
  const TileRef x = b.tile(at(sbuf("x", 40, 3), 0, 640));
  CHECK_FALSE(placed(b).has_errors());
  const PlaceId first = b.program().tiles[x.tile].first_place;
  CHECK(b.program().places[first].offset == 640);
  CHECK(b.program().places[first + 1U].offset == 640 + 64);
  CHECK(b.program().places[first + 2U].offset == 640 + 128);
}

TEST_CASE("operands, pointers and probes become addresses") {
  Builder b = trn1();
  b.sbuf("pad", DType::f32, {128, 8});
  TileSpec s = spec("t", Space::sbuf, 32, 64);
  s.partition = 64;
  const View t = b.view(b.tile(s)).as(DType::f32);
  const View column = t.slice(1, 1, 2);
  TensorScalar op;
  op.dst = t.pattern();
  op.src = t.pattern();
  op.scalar0 = column.pointer();
  b.emit(Opcode::tensor_scalar, op);
  b.print("t", t);
  CHECK_FALSE(placed(b).has_errors());
  const auto& done = std::get<TensorScalar>(b.program().stream(Engine::vector)[0].operands);
  // The first 32 bytes of every partition belong to 'pad'.
  CHECK(done.dst.partition == 64);
  CHECK(done.dst.offset == 32);
  const auto& pointer = std::get<PointerOperand>(done.scalar0);
  CHECK(pointer.partition == 64);
  CHECK(pointer.offset == 36);
  CHECK(std::get<AccessPattern>(b.program().probes[0].view).offset == 32);
}

TEST_CASE("tiles that live together never overlap, whatever the blocks (random trees)") {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Builder b = trn1();
    int depth = 0;
    for (int i = 0; i < 40; ++i) {
      const auto dice = random() % 10;
      const std::string key = std::to_string(i);
      if (dice < 2 && depth < 4) {
        b.open_scope(key);
        ++depth;
      } else if (dice < 4 && depth > 0) {
        b.close_scope();
        --depth;
      } else {
        b.tile(sbuf(key, 1 + static_cast<std::int64_t>(random() % 24000), 1 + random() % 2));
      }
    }
    for (; depth > 0; --depth) b.close_scope();
    if (placed(b).has_errors()) continue;
    const Program& p = b.program();
    const auto all = placements(p);
    // Two tiles live together unless the older one's block has ended; a block is inside another if it is
    // reached through parents.
    const auto inside = [&](std::uint32_t scope, std::uint32_t outer) {
      for (; scope != no_index; scope = p.scopes[scope].parent) {
        if (scope == outer) return true;
      }
      return false;
    };
    for (const Placement& x : all) {
      REQUIRE(x.offset + x.bytes <= 192 * 1024);
      REQUIRE(x.offset % 32 == 0);
      for (const Placement& y : all) {
        if (x.place >= y.place) continue;
        // Tiles are numbered in text order here: y is the younger.
        if (!inside(p.tiles[y.tile].scope, p.tiles[x.tile].scope)) continue;
        const bool apart = x.offset + x.bytes <= y.offset || y.offset + y.bytes <= x.offset;
        REQUIRE(apart);
      }
    }
  }
}
