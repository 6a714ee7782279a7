#include "emu/observe/summary.h"

#include <doctest/doctest.h>

#include <memory>
#include <random>

#include "tests/emu/timing/shapes.h"

using namespace ncemu;
using namespace ncemu::shapes;

namespace {

const MachineConfig trn1 = builtin_machine("trn1");
const Instruction nothing = instruction(Opcode::nop);

Started started(Engine engine, Ticks start, Ticks busy_until, Ticks complete,
                const Instruction& i = nothing) {
  Started s;
  s.engine = engine;
  s.instruction = &i;
  s.stalled_since = start;
  s.work = work(i);
  s.passage = {.start = start, .busy_until = busy_until, .read_done = busy_until, .complete = complete};
  return s;
}
Started stalled(Started s, Ticks since, StallReason reason) {
  s.stalled_since = since;
  s.reason = reason;
  return s;
}
DmaService::Event packet(Ticks begin, Ticks end) {
  DmaService::Event e;
  e.kind = DmaService::Event::Kind::packet;
  e.begin = begin;
  e.end = end;
  return e;
}

Ticks accounted(const EngineSummary& e) { return e.busy + e.stalled_in_all() + e.idle; }

}  // namespace

TEST_CASE("an engine's time is divided into busy, stalled and idle by the design's definitions") {
  SummaryObserver o(trn1);
  o.on_start(started(Engine::vector, 0, 100, 300));
  o.on_start(stalled(started(Engine::vector, 340, 440, 640), 100, StallReason::semaphore));
  o.on_start(stalled(started(Engine::vector, 700, 800, 1000), 650, StallReason::port));
  o.on_end(1100);
  const EngineSummary& v = o.summary().engine(Engine::vector);
  CHECK(v.busy == 300);
  CHECK(v.stalled_for(StallReason::semaphore) == 240);
  CHECK(v.stalled_for(StallReason::port) == 50);
  CHECK(v.idle == 210 + 300);  // 440 to 650, and after 800
  CHECK(v.active == 300 + 300 + 300);
  CHECK(v.instructions == 3);
  CHECK(accounted(v) == 1100);
}

TEST_CASE("overlapping intervals are busy once, overlapping lives active once") {
  SummaryObserver o(trn1);
  o.on_start(started(Engine::tensor, 0, 1000, 1400));
  o.on_start(started(Engine::tensor, 0, 64, 300));  // a weight load behind the stream
  o.on_start(started(Engine::tensor, 1000, 2000, 2400));
  o.on_end(2400);
  const EngineSummary& t = o.summary().engine(Engine::tensor);
  CHECK(t.busy == 2000);
  CHECK(t.idle == 400);
  CHECK(t.active == 2400);
}

TEST_CASE("the window begins with the first start of any engine and ends with the last completion") {
  SummaryObserver o(trn1);
  o.on_start(started(Engine::scalar, 500, 600, 700));
  o.on_start(stalled(started(Engine::sync, 900, 950, 950), 0, StallReason::dma));
  o.on_end(6100);
  const Summary& s = o.summary();
  CHECK(s.total == 5600);
  CHECK(s.total_us == 1.0);
  CHECK(s.core_cycles == 1400.0);
  CHECK(s.engine(Engine::sync).stalled_for(StallReason::dma) == 400);  // from the window's begin
  CHECK(s.engine(Engine::sync).idle == 5600 - 400 - 50);
  CHECK(s.engine(Engine::gpsimd).idle == 5600);  // an engine without instructions
}

TEST_CASE("an interval beyond the window counts only inside it") {
  SummaryObserver o(trn1);
  o.on_start(started(Engine::vector, 0, 900, 800));
  o.on_end(800);
  CHECK(o.summary().engine(Engine::vector).busy == 800);
  CHECK(o.summary().engine(Engine::vector).idle == 0);
}

TEST_CASE("gated time is a part of busy time") {
  SummaryObserver o(trn1);
  Started s = started(Engine::tensor, 0, 1000, 1500);
  s.passage.gated = 400;
  o.on_start(s);
  o.on_end(1500);
  CHECK(o.summary().engine(Engine::tensor).gated == 400);
  CHECK(o.summary().engine(Engine::tensor).busy == 1000);
}

TEST_CASE("busy, stalls and idle add up to the total for any sequence of in-order starts") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    SummaryObserver o(trn1);
    std::array<Ticks, engine_count> free{};
    Ticks now = static_cast<Ticks>(random() % 100), end = now;
    for (int k = 0; k < 100; ++k) {
      now += static_cast<Ticks>(random() % 50);
      const Engine e = all_engines[random() % engine_count];
      Ticks& mine = free[static_cast<std::size_t>(e)];
      const Ticks busy_until = now + static_cast<Ticks>(random() % 120);
      const Ticks complete = now + static_cast<Ticks>(random() % 300);
      const Ticks since = std::min(now, mine + static_cast<Ticks>(random() % 20));
      o.on_start(stalled(started(e, now, busy_until, complete), since,
                         static_cast<StallReason>(1 + random() % (stall_reason_count - 1))));
      mine = std::max(mine, busy_until);
      end = std::max(end, complete);
    }
    o.on_end(end);
    for (const EngineSummary& e : o.summary().engines) {
      CHECK(accounted(e) == o.summary().total);
      CHECK(e.active <= o.summary().total);
      CHECK(e.busy >= 0);
    }
  }
}

TEST_CASE("DMA bytes are counted by direction") {
  SummaryObserver o(trn1);
  const Instruction i = instruction(Opcode::dma_copy, DmaCopy{});
  const TransferWork load =
      transfer_work({sbuf(DType::bf16, 64), hbm(DType::f32, 128, 64, 64), 0, DgeMode::static_});
  const TransferWork store =
      transfer_work({hbm(DType::bf16, 128, 64, 64), sbuf(DType::bf16, 64), 0, DgeMode::static_});
  TransferStarted t;
  t.instruction = &i;
  t.work = &load;
  o.on_transfer(t);
  t.work = &store;
  o.on_transfer(t);
  o.on_end(0);
  const DmaSummary& d = o.summary().dma;
  CHECK(d.transfers == 2);
  CHECK(d.descriptors == 256);
  CHECK(d.hbm_read == 128 * 64 * 4);
  CHECK(d.sbuf_written == 128 * 64 * 2);
  CHECK(d.hbm_written == 128 * 64 * 2);
  CHECK(d.sbuf_read == 128 * 64 * 2);
  CHECK(d.bytes == 128 * 64 * 4 + 128 * 64 * 2);
}

TEST_CASE("DMA is active while any engine serves a packet") {
  SummaryObserver o(trn1);
  o.on_start(started(Engine::sync, 0, 10, 10));
  o.on_dma(packet(100, 200));
  o.on_dma(packet(300, 400));
  o.on_dma(packet(150, 450));  // joins all before it
  o.on_dma(packet(450, 500));  // touches
  o.on_dma(packet(600, 700));
  o.on_end(5600);
  const Summary& s = o.summary();
  CHECK(s.dma.active == 400 + 100);
  CHECK(s.dma.packet_time == 100 + 100 + 300 + 50 + 100);
  CHECK(s.dma.packets == 5);
}

TEST_CASE("rates are bytes over the window, and over the active time") {
  SummaryObserver o(trn1);
  o.on_start(started(Engine::sync, 0, 10, 10));
  const Instruction i = instruction(Opcode::dma_copy, DmaCopy{});
  const TransferWork load =
      transfer_work({sbuf(DType::u8, 1000), hbm(DType::u8, 128, 1000, 1000), 0, DgeMode::static_});
  TransferStarted t;
  t.instruction = &i;
  t.work = &load;
  o.on_transfer(t);
  CHECK_FALSE(o.summary().dma_active_gb_per_s().has_value());
  o.on_dma(packet(0, 2800));
  o.on_end(5600);                                                       // 1 us
  CHECK(*o.summary().dma_gb_per_s() == doctest::Approx(128.0));         // 128,000 B in 1000 ns
  CHECK(*o.summary().dma_active_gb_per_s() == doctest::Approx(256.0));  // in 500 ns
}

TEST_CASE("a tensor engine that streams bf16 all the time reaches 100 percent") {
  SummaryObserver o(trn1);
  const Instruction mm = matmul(DType::bf16, 512);
  for (int k = 0; k < 4; ++k)
    o.on_start(started(Engine::tensor, k * 1024, (k + 1) * 1024, (k + 1) * 1024, mm));
  o.on_end(4 * 1024);  // 512 cycles of two ticks each
  CHECK(o.summary().hardware_flops == 4LL * 2 * 128 * 128 * 512);
  CHECK(*o.summary().mfu_estimated_percent == doctest::Approx(100.0));
}

TEST_CASE("fp32 counts four times, fp8 once on v2 and half on v3") {
  const auto adjusted = [](const char* machine, DType stationary, DType moving) {
    SummaryObserver o(builtin_machine(machine));
    const Instruction l = load(stationary, 128), mm = matmul(moving, 100);
    o.on_start(started(Engine::tensor, 0, 10, 10, l));
    o.on_start(started(Engine::tensor, 10, 20, 20, mm));
    o.on_end(1000);
    return o.summary().adjusted_hardware_flops / static_cast<double>(o.summary().hardware_flops);
  };
  CHECK(adjusted("trn1", DType::f32, DType::f32) == 4.0);
  CHECK(adjusted("trn1", DType::tf32, DType::tf32) == 1.0);
  CHECK(adjusted("trn1", DType::bf16, DType::bf16) == 1.0);
  CHECK(adjusted("trn1", DType::f8e4m3, DType::f8e4m3) == 1.0);
  CHECK(adjusted("trn2", DType::f8e4m3, DType::f8e5m2) == 0.5);
  CHECK(adjusted("trn2", DType::bf16, DType::f8e4m3) == 1.0);
}

TEST_CASE("utilisation is absent, not zero, without a matmul or without a clock") {
  SummaryObserver idle(trn1);
  idle.on_start(started(Engine::vector, 0, 10, 20));
  idle.on_end(20);
  CHECK_FALSE(idle.summary().mfu_estimated_percent.has_value());
  SummaryObserver clockless(trn1);
  const Instruction mm = matmul(DType::bf16, 8);
  clockless.on_start(started(Engine::tensor, 0, 0, 0, mm));
  clockless.on_end(0);
  CHECK_FALSE(clockless.summary().mfu_estimated_percent.has_value());
  CHECK_FALSE(clockless.summary().dma_gb_per_s().has_value());
  CHECK(clockless.summary().hardware_flops > 0);
}

TEST_CASE("instructions are counted by opcode in the table's order, and their bytes by memory") {
  SummaryObserver o(trn1);
  const Instruction c = copy(psum(DType::f32, 8), sbuf(DType::bf16, 8)), mm = matmul(DType::bf16, 8);
  o.on_start(started(Engine::vector, 0, 1, 1, c));
  o.on_start(started(Engine::tensor, 1, 2, 2, mm));
  o.on_start(started(Engine::vector, 2, 3, 3, c));
  o.on_end(3);
  const Summary& s = o.summary();
  REQUIRE(s.opcodes.size() == 2);
  CHECK(s.opcodes[0].opcode == Opcode::matmul);
  CHECK(s.opcodes[0].count == 1);
  CHECK(s.opcodes[1].opcode == Opcode::tensor_copy);
  CHECK(s.opcodes[1].count == 2);
  CHECK(s.instructions == 3);
  CHECK(s.sbuf_read == 2 * 128 * 8 * 2 + 128 * 8 * 2);
  CHECK(s.psum_written == 2 * 128 * 8 * 4 + 128 * 8 * 4);
}

TEST_CASE("an empty run has an empty summary") {
  SummaryObserver o(trn1);
  o.on_end(0);
  CHECK(o.summary().total == 0);
  CHECK(o.summary().instructions == 0);
  CHECK(o.summary().opcodes.empty());
}
