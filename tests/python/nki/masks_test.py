"""Masks: boxes, dropped instructions, and conditions over two axes."""

import numpy as np
import pytest

from neuronxcc import nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

rng = np.random.default_rng(20240904)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


@nki.jit
def ragged_both_ways(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows, columns = x.shape
    p, f = nl.arange(128)[:, None], nl.arange(96)[None, :]
    for i in nl.affine_range((rows + 127) // 128):
        for j in nl.affine_range((columns + 95) // 96):
            inside = (i * 128 + p < rows) & (j * 96 + f < columns)
            tile = nl.load(x[i * 128 + p, j * 96 + f], mask=inside)
            twice = nl.add(tile, tile, mask=inside)
            nl.store(y[i * 128 + p, j * 96 + f], twice, mask=inside)
    return y


@pytest.mark.parametrize("shape", [(128, 96), (129, 97), (255, 191), (1, 1), (130, 95)])
def test_ragged_edges_both_ways(shape):
    x = normal(*shape)
    assert np.array_equal(ragged_both_ways(x), x + x)


@nki.jit
def flattened_positions(x, count):
    """Stores the first `count` elements of [P, F] in row order; the condition joins both axes."""
    rows, columns = x.shape
    y = nl.zeros(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    p, f = nl.arange(rows)[:, None], nl.arange(columns)[None, :]
    tile = nl.load(x)
    nl.store(y[p, f], tile, mask=p * columns + f < count)
    return y


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 1000, 64 * 64])
def test_a_transfer_masked_by_both_axes_moves_the_rows_before_the_count(count):
    x = normal(64, 64)
    expected = np.where(np.arange(64 * 64).reshape(64, 64) < count, x, np.float32(0))
    assert np.array_equal(flattened_positions(x, count), expected)


def test_whole_rows_of_such_a_mask_are_one_transfer():
    flattened_positions(normal(64, 64), 64 * 40 + 5)
    # The zeros, 40 whole rows, 5 elements of the next.
    assert flattened_positions.last.source.count("  dma_copy .hbm(y") == 3


@nki.jit
def triangle(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    p, f = nl.arange(x.shape[0])[:, None], nl.arange(x.shape[1])[None, :]
    tile = nl.load(x)
    other = nl.full((nl.par_dim(x.shape[0]), x.shape[1]), 5.0, dtype=x.dtype)
    nisa.tensor_copy_predicated(src=tile, dst=other, predicate=nisa.affine_select(
        p >= f, nisa.memset(x.shape, 1, nl.uint8), 0))
    nl.store(y, other)
    return y


def test_a_predicate_made_by_position_selects_the_triangle():
    x = normal(50, 70)
    assert np.array_equal(triangle(x), np.where(np.arange(50)[:, None] >= np.arange(70), x, np.float32(5)))


@nki.jit
def accumulated_below_the_diagonal(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    p, f = nl.arange(x.shape[0])[:, None], nl.arange(x.shape[1])[None, :]
    tile = nl.load(x)
    total = nl.ndarray((nl.par_dim(x.shape[0]), x.shape[1]), dtype=x.dtype)
    total[...] = nl.copy(tile)
    doubled = nl.multiply(tile, 2.0, mask=p > f)
    total[p, f] = nl.where(nisa.affine_select(p > f, nisa.memset(x.shape, 1.0, nl.float32), 0.0), doubled, total)
    nl.store(y, total)
    return y


def test_masked_results_reach_their_elements_only():
    x = normal(33, 40)
    below = np.arange(33)[:, None] > np.arange(40)
    assert np.array_equal(accumulated_below_the_diagonal(x), np.where(below, 2 * x, x))


@nki.jit
def loop_only(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(6):
        tile = nl.load(x[nl.ds(i * 32, 32)] if i < 4 else x[0:32], mask=i < 4)
        nl.store(y[nl.ds(i * 32, 32)] if i < 4 else y[0:32], tile, mask=i < 4)
    return y


def test_a_mask_of_the_loop_variable_drops_instructions():
    x = normal(128, 20)
    assert np.array_equal(loop_only(x), x)
    assert loop_only.last.source.count("  dma_copy ") == 8


@nki.jit
def reduced(x, kept):
    y = nl.ndarray((x.shape[0], 1), dtype=x.dtype, buffer=nl.shared_hbm)
    f = nl.arange(x.shape[1])[None, :]
    nl.store(y, nisa.tensor_reduce(np.add, nl.load(x), axis=1, mask=f < kept))
    return y


def test_a_mask_shortens_a_reduction():
    x = rng.integers(-9, 9, (40, 50)).astype(np.float32)
    assert np.array_equal(reduced(x, 17), x[:, :17].sum(axis=1, keepdims=True))


@nki.jit
def product_of_part(at, b, k):
    y = nl.ndarray((at.shape[1], b.shape[1]), dtype=at.dtype, buffer=nl.shared_hbm)
    p = nl.arange(128)[:, None]
    acc = nl.zeros((nl.par_dim(at.shape[1]), b.shape[1]), dtype=nl.float32, buffer=nl.psum)
    left, right = nl.load(at), nl.load(b)
    acc[...] += nisa.nc_matmul(left[p, nl.arange(at.shape[1])[None, :]], right[p, nl.arange(b.shape[1])[None, :]],
                               mask=p < k)
    nl.store(y, nl.copy(acc))
    return y


def test_a_mask_of_the_partition_shortens_a_product():
    at, b = rng.integers(-4, 4, (128, 32)).astype(np.float32), rng.integers(-4, 4, (128, 48)).astype(np.float32)
    assert np.array_equal(product_of_part(at, b, 77), at[:77].T @ b[:77])
