"""The kernels everybody starts with, in the generation that returns results, against numpy."""

import numpy as np
import pytest

from neuronxcc import nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

rng = np.random.default_rng(20240901)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


@nki.jit
def vector_add(a, b):
    c = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    rows, columns = a.shape
    for i in nl.affine_range(rows // 128):
        p = i * 128 + nl.arange(128)[:, None]
        f = nl.arange(columns)[None, :]
        left = nl.load(a[p, f])
        right = nl.load(b[p, f])
        nl.store(c[p, f], value=left + right)
    return c


def test_vector_add_is_exactly_numpys_sum(machine):
    a, b = normal(384, 700), normal(384, 700)
    assert np.array_equal(vector_add(a, b), a + b)


@nki.jit
def product_of_tiles(at, b):
    k_size, m_size = at.shape
    n_size = b.shape[1]
    c = nl.ndarray((m_size, n_size), dtype=at.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(m_size // 128):
        for n in nl.affine_range(n_size // 512):
            acc = nl.zeros((nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(k_size // 128):
                left = nl.ndarray((nl.par_dim(128), 128), dtype=at.dtype, buffer=nl.sbuf)
                right = nl.ndarray((nl.par_dim(128), 512), dtype=b.dtype, buffer=nl.sbuf)
                left[...] = nl.load(at[k * 128:(k + 1) * 128, m * 128:(m + 1) * 128])
                right[...] = nl.load(b[k * 128:(k + 1) * 128, n * 512:(n + 1) * 512])
                acc += nl.matmul(left[...], right[...], transpose_x=True)
            out = nl.copy(acc, dtype=c.dtype)
            nl.store(c[m * 128:(m + 1) * 128, n * 512:(n + 1) * 512], value=out)
    return c


def test_product_accumulates_in_psum_over_k(machine):
    at, b = normal(384, 256), normal(384, 1024)
    expected = at.T.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(product_of_tiles(at, b) - expected).max() < 384 * 2.0 ** -23 * 16


def test_a_product_costs_two_instructions_per_tile_and_no_memset():
    at, b = normal(256, 128), normal(256, 512)
    product_of_tiles(at, b)
    source = product_of_tiles.last.source
    assert source.count("  matmul ") == source.count("  load_stationary ") == 2
    assert source.count("accumulate = true") == 1
    assert "memset" not in source


@nki.jit
def row_softmax(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows, columns = x.shape
    p, f = nl.arange(128)[:, None], nl.arange(columns)[None, :]
    for i in nl.affine_range((rows + 127) // 128):
        inside = i * 128 + p < rows
        tile = nl.load(x[i * 128 + p, f], mask=inside)
        top = nl.max(tile, axis=[1], mask=inside)
        e = nl.exp(tile - top, mask=inside)
        total = nl.sum(e, axis=[1], mask=inside)
        nl.store(y[i * 128 + p, f], value=nl.divide(e, total, mask=inside), mask=inside)
    return y


@pytest.mark.parametrize("rows", [1, 127, 128, 129, 300])
def test_softmax_with_a_ragged_last_tile(machine, rows):
    x = normal(rows, 200)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    assert np.abs(row_softmax(x) - e / e.sum(axis=1, keepdims=True)).max() < 1e-6


@nki.jit
def turned(x):
    y = nl.ndarray((x.shape[1], x.shape[0]), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(y, value=nisa.nc_transpose(nl.load(x)))
    return y


@pytest.mark.parametrize("shape", [(128, 128), (32, 128), (128, 5), (1, 64)])
def test_transpose_by_the_tensor_engine_moves_every_element(machine, shape):
    x = normal(*shape)
    assert np.array_equal(turned(x), x.T)


@nki.jit
def turned_by_vector(x):
    y = nl.ndarray((x.shape[1], x.shape[0]), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(y, value=nisa.nc_transpose(nl.load(x), engine=nisa.vector_engine))
    return y


@pytest.mark.parametrize("shape", [(32, 32), (7, 32), (5, 3)])
def test_transpose_by_the_vector_engine_takes_tiles_up_to_a_block(shape):
    x = normal(*shape)
    assert np.array_equal(turned_by_vector(x), x.T)


@nki.jit
def silu_and_scale(x, factor):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    gate = nisa.activation(op=nl.silu, data=tile, scale=factor)
    scaled = nisa.tensor_scalar(gate, op0=np.multiply, operand0=2.0, op1=np.add, operand1=1.0)
    nl.store(y, scaled)
    return y


def test_scalars_of_the_host_reach_activation_and_tensor_scalar(machine):
    x = normal(64, 96)
    z = 0.5 * x.astype(np.float64)
    expected = 2.0 * z / (1 + np.exp(-z)) + 1
    assert np.abs(silu_and_scale(x, 0.5) - expected).max() < 1e-6
