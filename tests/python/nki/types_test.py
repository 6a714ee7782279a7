"""Types numpy lacks: host arrays that round, kernels that keep them, matrix products of them."""

import numpy as np
import pytest

import nki as new
import nki.isa as new_nisa
import nki.language as new_nl
from neuronxcc import nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

rng = np.random.default_rng(20240909)
SMALL = ["bfloat16", "float16", "float8_e5m2", "float8_e4m3"]


def rounded(x, name):
    """x through the type, by its own rule: nearest, halves to even, on the bits of fp32."""
    kept = {"bfloat16": 7, "float16": 10, "float8_e5m2": 2, "float8_e4m3": 3}[name]
    m, e = np.frexp(x.astype(np.float64))
    return np.ldexp(np.rint(m * 2.0 ** (kept + 1)), e - (kept + 1))


@pytest.mark.parametrize("name", SMALL)
def test_host_arrays_have_the_type_and_round(name):
    kind = getattr(nl, name)
    x = rng.uniform(0.5, 8, 500).astype(np.float32)
    assert np.ones((4, 3), dtype=kind).dtype == np.dtype(kind)
    assert np.ones(3, dtype=kind).itemsize == (2 if name.endswith("16") else 1)
    assert np.array_equal(x.astype(kind).astype(np.float64), rounded(x, name))
    assert float(nl.static_cast(1.0 + 2 ** -12, kind)) == 1.0


@nki.jit
def doubled(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    assert tile.dtype == x.dtype
    nl.store(y, nl.multiply(tile, 1.7))
    return y


@pytest.mark.parametrize("name", SMALL)
def test_results_have_the_inputs_type_rounded_once(machine, name):
    x = rng.uniform(0.5, 8, (64, 40)).astype(np.float32).astype(getattr(nl, name))
    y = doubled(x)
    assert y.dtype == x.dtype
    assert np.array_equal(y.astype(np.float64), rounded(x.astype(np.float32) * np.float32(1.7), name))


@nki.jit
def product(at, b):
    y = nl.ndarray((at.shape[1], b.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    acc = nl.zeros((nl.par_dim(at.shape[1]), b.shape[1]), dtype=nl.float32, buffer=nl.psum)
    for k in nl.affine_range(at.shape[0] // 128):
        acc += nisa.nc_matmul(nl.load(at[k * 128:(k + 1) * 128]), nl.load(b[k * 128:(k + 1) * 128]))
    nl.store(y, nl.copy(acc))
    return y


@pytest.mark.parametrize("name", SMALL)
def test_products_of_small_types_are_exact_sums_in_fp32(machine, name):
    kind = getattr(nl, name)
    at, b = (rng.integers(-3, 4, (256, n)).astype(np.float32).astype(kind) for n in (96, 200))
    assert np.array_equal(product(at, b), at.astype(np.float32).T @ b.astype(np.float32))


@nki.jit
def turned(x):
    y = nl.ndarray((x.shape[1], x.shape[0]), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(y, nl.copy(nisa.nc_transpose(nl.load(x))))
    return y


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_small_types_are_transposed_without_loss(machine, name):
    x = rng.standard_normal((128, 72)).astype(np.float32).astype(getattr(nl, name))
    assert np.array_equal(turned(x).astype(np.float32), x.T.astype(np.float32))


def test_a_load_may_convert(machine):
    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=nl.bfloat16, buffer=nl.shared_hbm)
        tile = nl.load(x, dtype=nl.bfloat16)
        assert tile.dtype == np.dtype(nl.bfloat16)
        nl.store(y, tile)
        return y
    x = rng.uniform(0.5, 8, (20, 30)).astype(np.float32)
    assert np.array_equal(kernel(x).astype(np.float64), rounded(x, "bfloat16"))


@new.jit
def reinterpreted(x):
    """The bits of bf16 as integers, their sign removed."""
    t = new_nl.ndarray(x.shape, x.dtype, buffer=new_nl.sbuf)
    new_nisa.dma_copy(dst=t, src=x)
    bits = t.view(new_nl.uint16)
    new_nisa.tensor_scalar(bits, bits, new_nl.bitwise_and, 0x7FFF)
    y = new_nl.ndarray(x.shape, x.dtype, buffer=new_nl.shared_hbm)
    new_nisa.dma_copy(dst=y, src=t)
    return y


def test_a_view_reads_the_same_bytes_as_another_type():
    x = rng.standard_normal((16, 24)).astype(np.float32).astype(nl.bfloat16)
    assert np.array_equal(reinterpreted(x).astype(np.float32), np.abs(x.astype(np.float32)))


def test_types_promote_where_the_kernel_does_not_say():
    seen = []

    @nki.jit
    def kernel(a, b, c):
        y = nl.ndarray(a.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        x, z, i = nl.load(a), nl.load(b), nl.load(c)
        for left, right in ((x, z), (z, z), (z, i), (i, i)):
            seen.append(np.dtype(nl.add(left, right).dtype))
        nl.store(y, x)
        return y
    kernel(np.ones((4, 4), np.float32), np.ones((4, 4), nl.bfloat16), np.ones((4, 4), np.int32))
    assert seen == [np.dtype(k) for k in (np.float32, nl.bfloat16, nl.bfloat16, np.int32)]
