"""Loops that the machine runs: traced once, indexed by a register."""

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl
from ncemu.nki.errors import NkiError

rng = np.random.default_rng(20240908)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


@nki.jit
def doubled(x, unrolled=False):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in (nl.affine_range if unrolled else nl.dynamic_range)(x.shape[0] // 128):
        tile = nl.ndarray((128, x.shape[1]), x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[i * 128:(i + 1) * 128, :])
        nisa.tensor_scalar(tile, tile, nl.multiply, 2.0)
        nisa.dma_copy(dst=y[nl.ds(i * 128, 128), :], src=tile)
    return y


def test_a_loop_of_the_machine_gives_what_the_unrolled_one_gives(machine):
    x = normal(128 * 7, 50)
    assert np.array_equal(doubled(x), 2 * x)
    assert np.array_equal(doubled(x, unrolled=True), 2 * x)


def test_its_program_does_not_grow_with_the_trip_count():
    sizes = []
    for n in (3, 30):
        doubled(normal(128 * n, 8))
        sizes.append(doubled.last.program.instruction_count)
    assert sizes[0] == sizes[1]


@nki.jit
def running_sum(x):
    """The accumulator lives through the loop; each iteration adds one column block."""
    total = nl.ndarray((x.shape[0], 16), nl.float32, buffer=nl.sbuf)
    nisa.memset(total, value=0.0)
    tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    for i in nl.dynamic_range(0, x.shape[1], 16):
        nisa.tensor_tensor(total, total, tile[:, nl.ds(i, 16)], op=nl.add)
    y = nl.ndarray((x.shape[0], 16), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=y, src=total)
    return y


def test_a_register_walks_along_a_tile_by_its_step(machine):
    x = rng.integers(-9, 9, (64, 160)).astype(np.float32)
    assert np.array_equal(running_sum(x), x.reshape(64, 10, 16).sum(axis=1))


@nki.jit
def first_rows(x, count):
    """The trip count is a value of the device's memory."""
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    zero = nl.ndarray((128, x.shape[1]), x.dtype, buffer=nl.sbuf)
    nisa.memset(zero, value=0.0)
    for i in nl.affine_range(x.shape[0] // 128):
        nisa.dma_copy(dst=y[i * 128:(i + 1) * 128, :], src=zero)
    n = nisa.register_alloc()
    nisa.register_load(n, count)
    for i in nl.dynamic_range(n):
        tile = nl.ndarray((128, x.shape[1]), x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[nl.ds(i * 128, 128), :])
        nisa.dma_copy(dst=y[nl.ds(i * 128, 128), :], src=tile)
    return y


@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_a_loaded_register_bounds_a_loop(count):
    x = normal(128 * 5, 12)
    expected = x.copy()
    expected[count * 128:] = 0
    assert np.array_equal(first_rows(x, np.array([count], np.int32)), expected)


@nki.jit
def nested(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.dynamic_range(x.shape[0] // 32):
        tile = nl.ndarray((32, x.shape[1]), x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[nl.ds(i * 32, 32), :])
        for j in nl.dynamic_range(1, x.shape[1]):
            nisa.tensor_tensor(tile[:, nl.ds(j, 1)], tile[:, nl.ds(j, 1)], tile[:, nl.ds(j - 1, 1)], op=nl.add)
        nisa.dma_copy(dst=y[nl.ds(i * 32, 32), :], src=tile)
    return y


def test_nested_loops_carry_values_between_iterations():
    x = rng.integers(-9, 9, (128, 20)).astype(np.float32)
    assert np.array_equal(nested(x), np.cumsum(x, axis=1))


def test_a_loop_given_as_a_function():
    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)

        def body(i):
            tile = nl.ndarray((128, x.shape[1]), x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[nl.ds(i * 128, 128), :])
            nisa.dma_copy(dst=y[nl.ds(i * 128, 128), :], src=tile)
        nl.fori_loop(0, x.shape[0] // 128, body)
        return y
    x = normal(384, 9)
    assert np.array_equal(kernel(x), x)


def test_a_break_out_of_a_run_time_loop_is_refused():
    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=y, src=x)
        for i in nl.dynamic_range(4):
            break
        return y
    with pytest.raises(NkiError, match="not by break"):
        kernel(normal(4, 4))


def test_a_first_product_inside_a_loop_needs_to_be_said():
    @nki.jit
    def kernel(a, b):
        acc = nl.ndarray((32, 16), nl.float32, buffer=nl.psum)
        left, right = (nl.ndarray(t.shape, t.dtype, buffer=nl.sbuf) for t in (a, b))
        nisa.dma_copy(dst=left, src=a)
        nisa.dma_copy(dst=right, src=b)
        for i in nl.dynamic_range(3):
            nisa.nc_matmul(acc, left, right)
    with pytest.raises(NkiError, match="say accumulate"):
        kernel(normal(64, 32), normal(64, 16))
