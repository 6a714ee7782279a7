#include "emu/timing/ports.h"

#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/timing/shapes.h"

using namespace ncemu;
using namespace ncemu::shapes;

namespace {

const AccessPattern s = sbuf(DType::f32, 8), p = psum(DType::f32, 8);

}  // namespace

TEST_CASE("vector and gpsimd exclude each other on SBUF, vector and scalar on PSUM, on v2") {
  Ports ports;
  const PortBits vector_sbuf = exclusive_ports(copy(s, s), Engine::vector, 2);
  const PortBits gpsimd_sbuf = exclusive_ports(copy(s, s), Engine::gpsimd, 2);
  const PortBits vector_psum = exclusive_ports(copy(p, p), Engine::vector, 2);
  const PortBits scalar_psum = exclusive_ports(activation(p, p), Engine::scalar, 2);
  ports.claim(vector_sbuf, 10, 50);
  CHECK(ports.free_at(gpsimd_sbuf) == 50);
  CHECK(ports.free_at(scalar_psum) == 0);
  ports.claim(scalar_psum, 20, 70);
  CHECK(ports.free_at(vector_psum) == 70);
  CHECK(ports.free_at(vector_sbuf) == 0);
}

TEST_CASE("an engine does not exclude itself") {
  Ports ports;
  const PortBits bits = exclusive_ports(copy(s, s), Engine::vector, 2);
  ports.claim(bits, 0, 100);
  CHECK(ports.free_at(bits) == 0);
  CHECK_NOTHROW(ports.claim(bits, 50, 150));
}

TEST_CASE("an instruction on both memories waits for both ports") {
  Ports ports;
  ports.claim(exclusive_ports(copy(s, s), Engine::gpsimd, 2), 0, 30);
  ports.claim(exclusive_ports(activation(s, p), Engine::scalar, 2), 0, 40);
  const PortBits both = exclusive_ports(copy(s, p), Engine::vector, 2);
  CHECK(ports.free_at(both) == 40);
  CHECK_THROWS_AS(ports.claim(both, 39, 60), Fault);
  ports.claim(both, 40, 60);
  CHECK(ports.free_at(exclusive_ports(copy(s, s), Engine::gpsimd, 2)) == 60);
}

TEST_CASE("a claim that ends earlier does not free what a longer one holds") {
  Ports ports;
  const PortBits vector_sbuf = exclusive_ports(copy(s, s), Engine::vector, 2);
  ports.claim(vector_sbuf, 0, 100);
  ports.claim(vector_sbuf, 10, 20);
  CHECK(ports.free_at(exclusive_ports(copy(s, s), Engine::gpsimd, 2)) == 100);
}

TEST_CASE("a [P,1] operand uses its memory's port") {
  PointerOperand in_psum;
  in_psum.space = Space::psum;
  CHECK(exclusive_ports(tensor_scalar(s, s, in_psum), Engine::vector, 2) ==
        exclusive_ports(copy(s, p), Engine::vector, 2));
}

TEST_CASE("nothing is exclusive on v3, for the tensor engine, for control and for transfers") {
  for (const Engine e : all_engines) CHECK(exclusive_ports(copy(s, p), e, 3) == 0);
  CHECK(exclusive_ports(matmul(DType::bf16, 8), Engine::tensor, 2) == 0);
  CHECK(exclusive_ports(instruction(Opcode::nop), Engine::vector, 2) == 0);
  CHECK(exclusive_ports(instruction(Opcode::dma_copy, DmaCopy{s, s, 0, DgeMode::static_}), Engine::gpsimd,
                        2) == 0);
  CHECK(exclusive_ports(instruction(Opcode::register_load, RegisterLoad{{}, s}), Engine::vector, 2) == 0);
}
