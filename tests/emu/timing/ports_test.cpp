#include "emu/timing/ports.h"

#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/timing/shapes.h"

using namespace ncemu;
using namespace ncemu::shapes;

namespace {

const AccessPattern s = sbuf(DType::f32, 8), p = psum(DType::f32, 8);
const MachineConfig v2 = builtin_machine("trn1"), v3 = builtin_machine("trn2");

// f32[128, n] in PSUM from byte `offset` of each partition on.
AccessPattern psum_at(std::uint32_t offset, int n = 8) {
  AccessPattern at = psum(DType::f32, n);
  at.offset = offset;
  return at;
}

}  // namespace

TEST_CASE("vector and gpsimd exclude each other on SBUF, vector and scalar on PSUM, on v2") {
  Ports ports;
  const PortUse vector_sbuf = port_use(copy(s, s), Engine::vector, v2);
  const PortUse gpsimd_sbuf = port_use(copy(s, s), Engine::gpsimd, v2);
  const PortUse vector_psum = port_use(copy(p, p), Engine::vector, v2);
  const PortUse scalar_psum = port_use(activation(p, p), Engine::scalar, v2);
  ports.claim(vector_sbuf, 10, 50);
  CHECK(ports.free_at(gpsimd_sbuf) == 50);
  CHECK(ports.free_at(scalar_psum) == 0);
  ports.claim(scalar_psum, 20, 70);
  CHECK(ports.free_at(vector_psum) == 70);
  CHECK(ports.free_at(vector_sbuf) == 0);
}

TEST_CASE("an engine does not exclude itself") {
  Ports ports;
  const PortUse bits = port_use(copy(s, s), Engine::vector, v2);
  ports.claim(bits, 0, 100);
  CHECK(ports.free_at(bits) == 0);
  CHECK_NOTHROW(ports.claim(bits, 50, 150));
}

TEST_CASE("an instruction on both memories waits for both ports") {
  Ports ports;
  ports.claim(port_use(copy(s, s), Engine::gpsimd, v2), 0, 30);
  ports.claim(port_use(activation(s, p), Engine::scalar, v2), 0, 40);
  const PortUse both = port_use(copy(s, p), Engine::vector, v2);
  CHECK(ports.free_at(both) == 40);
  CHECK_THROWS_AS(ports.claim(both, 39, 60), Fault);
  ports.claim(both, 40, 60);
  CHECK(ports.free_at(port_use(copy(s, s), Engine::gpsimd, v2)) == 60);
}

TEST_CASE("a claim that ends earlier does not free what a longer one holds") {
  Ports ports;
  const PortUse vector_sbuf = port_use(copy(s, s), Engine::vector, v2);
  ports.claim(vector_sbuf, 0, 100);
  ports.claim(vector_sbuf, 10, 20);
  CHECK(ports.free_at(port_use(copy(s, s), Engine::gpsimd, v2)) == 100);
}

TEST_CASE("a [P,1] operand uses its memory's port") {
  PointerOperand in_psum;
  in_psum.space = Space::psum;
  CHECK(port_use(tensor_scalar(s, s, in_psum), Engine::vector, v2) ==
        port_use(copy(s, p), Engine::vector, v2));
}

TEST_CASE("on v3 vector and scalar take turns at a bank of PSUM, and only there") {
  Ports ports;
  ports.claim(port_use(copy(s, psum_at(2048)), Engine::vector, v3), 10, 50);
  const PortUse same = port_use(activation(s, psum_at(4092, 1)), Engine::scalar, v3);
  CHECK(ports.free_at(same) == 50);
  CHECK_THROWS_AS(ports.claim(same, 49, 60), Fault);
  CHECK(ports.free_at(port_use(activation(s, psum_at(2044, 1)), Engine::scalar, v3)) == 0);
  CHECK(ports.free_at(port_use(activation(s, psum_at(4096)), Engine::scalar, v3)) == 0);
  CHECK(ports.free_at(port_use(activation(psum_at(2040, 4), s), Engine::scalar, v3)) ==
        50);                                                                        // from bank 0 into 1
  CHECK(ports.free_at(port_use(copy(s, psum_at(2048)), Engine::vector, v3)) == 0);  // its own
  AccessPattern anywhere = psum_at(0);
  anywhere.index.number = 3;
  CHECK(ports.free_at(port_use(activation(s, anywhere), Engine::scalar, v3)) == 50);
  ports.claim(same, 50, 70);
  CHECK(ports.free_at(port_use(copy(s, psum_at(2048)), Engine::vector, v3)) == 70);
}

TEST_CASE(
    "on v3 gpsimd keeps off SBUF while vector streams there in a performance mode, and never the reverse") {
  const AccessPattern fast = sbuf(DType::bf16, 64);
  for (const Instruction& i :
       {copy(fast, fast), tensor_scalar(fast, fast, 2.0F), tensor_tensor(fast, fast, fast)}) {
    Ports ports;
    ports.claim(port_use(i, Engine::vector, v3), 10, 50);
    const PortUse gpsimd = port_use(copy(s, s), Engine::gpsimd, v3);
    CHECK(ports.free_at(gpsimd) == 50);
    CHECK_THROWS_AS(ports.claim(gpsimd, 49, 60), Fault);
    ports.claim(gpsimd, 50, 90);
    CHECK(ports.free_at(port_use(i, Engine::vector, v3)) == 0);
  }
  // At the rate of its lanes the vector engine leaves the bus alone.
  CHECK(port_use(copy(s, sbuf(DType::f32, 8, 2)), Engine::vector, v3).holds != 0);  // 7 of 8 cycles
  CHECK(port_use(tensor_tensor(s, s, s), Engine::vector, v3).nothing());
  CHECK(port_use(copy(s, p), Engine::vector, v3).holds == port_use(copy(p, p), Engine::vector, v3).holds);
}

TEST_CASE("each pair has a switch") {
  const AccessPattern fast = sbuf(DType::bf16, 64);
  const auto without = [](MachineConfig machine, const char* setting) {
    set_parameter(machine, setting);
    return machine;
  };
  CHECK(port_use(copy(s, s), Engine::gpsimd, without(v2, "ports.vector_gpsimd_sbuf=0")).nothing());
  CHECK(port_use(copy(p, p), Engine::vector, without(v2, "ports.vector_scalar_psum=0")).nothing());
  CHECK(port_use(copy(p, p), Engine::vector, without(v3, "ports.vector_scalar_bank=0")).nothing());
  CHECK(port_use(copy(fast, fast), Engine::vector, without(v3, "ports.fast_vector_gpsimd=0")).nothing());
}

TEST_CASE("nothing is exclusive for the tensor engine, for control and for transfers") {
  CHECK(port_use(matmul(DType::bf16, 8), Engine::tensor, v2).nothing());
  CHECK(port_use(instruction(Opcode::nop), Engine::vector, v2).nothing());
  CHECK(port_use(instruction(Opcode::dma_copy, DmaCopy{s, s, 0, DgeMode::static_}), Engine::gpsimd, v2)
            .nothing());
  CHECK(port_use(instruction(Opcode::register_load, RegisterLoad{{}, s}), Engine::vector, v2).nothing());
}
