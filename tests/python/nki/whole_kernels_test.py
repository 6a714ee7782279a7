"""Kernels as people write them, in both generations, against numpy."""

import numpy as np
import pytest

import nki as new
import nki.isa as new_nisa
import nki.language as new_nl
from neuronxcc import nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

rng = np.random.default_rng(20240907)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def attention_of(q, k, v):
    """q, k, v: [S, D]"""
    s = q.astype(np.float64) @ k.T.astype(np.float64) / np.sqrt(q.shape[1])
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) @ v


@nki.jit
def attention_direct(q, k, v):
    """Attention of one head, D = 128, every tile placed by hand; q, k: [D, S]."""
    d, s = q.shape
    out = nl.ndarray((s, d), dtype=q.dtype, buffer=nl.shared_hbm)
    blocks = s // 128
    qt = nl.ndarray((nl.par_dim(128), s), dtype=q.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    kt = nl.ndarray((nl.par_dim(128), s), dtype=q.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=4 * s))
    vt = nl.ndarray((blocks, nl.par_dim(128), d), dtype=q.dtype,
                    buffer=ncc.sbuf.mod_alloc(base_addr=8 * s, num_free_tiles=(blocks,)))
    base = 8 * s + blocks * 4 * d
    unit = nl.ndarray((nl.par_dim(128), 128), dtype=q.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=base))
    e = nl.ndarray((blocks, nl.par_dim(128), s), dtype=q.dtype,
                   buffer=ncc.sbuf.mod_alloc(base_addr=base + 512, num_free_tiles=(2,)))
    small = base + 512 + 2 * 4 * s
    top, total = (nl.ndarray((blocks, nl.par_dim(128), 1), dtype=nl.float32,
                             buffer=ncc.sbuf.mod_alloc(base_addr=small + 64 * i, num_free_tiles=(2,))) for i in range(2))
    et = nl.ndarray((blocks, blocks, nl.par_dim(128), 128), dtype=q.dtype,
                    buffer=ncc.sbuf.mod_alloc(base_addr=small + 256, num_free_tiles=(1, blocks)))
    o = nl.ndarray((blocks, nl.par_dim(128), d), dtype=q.dtype,
                   buffer=ncc.sbuf.mod_alloc(base_addr=small + 256 + blocks * 512, num_free_tiles=(2,)))
    scores = nl.ndarray((blocks, nl.par_dim(128), s), dtype=nl.float32,
                        buffer=ncc.psum.mod_alloc(base_bank=0, num_bank_tiles=(2,)))
    turned = nl.ndarray((blocks, nl.par_dim(128), 128), dtype=nl.float32,
                        buffer=ncc.psum.mod_alloc(base_bank=2, num_bank_tiles=(4,)))
    product = nl.ndarray((blocks, nl.par_dim(128), d), dtype=nl.float32,
                         buffer=ncc.psum.mod_alloc(base_bank=6, num_bank_tiles=(2,)))
    qt[...] = nl.load(q)
    kt[...] = nl.load(k)
    unit[...] = nl.load(nl.shared_constant(np.identity(128, dtype=np.float32)))
    for j in nl.affine_range(blocks):
        vt[j] = nl.load(v[j * 128:(j + 1) * 128])
    for i in nl.affine_range(blocks):
        scores[i] = nisa.nc_matmul(qt[:, i * 128:(i + 1) * 128], kt)
        top[i] = nisa.tensor_reduce(np.max, scores[i], axis=(1,), negate=True)
        top[i] = nisa.tensor_scalar(top[i], op0=np.multiply, operand0=d ** -0.5)
        e[i] = nisa.activation_reduce(np.exp, scores[i], reduce_op=np.add, reduce_res=total[i], bias=top[i], scale=d ** -0.5)
        for j in nl.affine_range(blocks):
            turned[j] = nisa.nc_matmul(e[i, :, j * 128:(j + 1) * 128], unit, is_transpose=True)
            et[i, j] = nisa.tensor_copy(turned[j])
        for j in nl.affine_range(blocks):
            product[i] += nisa.nc_matmul(et[i, j], vt[j])
        o[i] = nl.divide(product[i], total[i])
        nl.store(out[i * 128:(i + 1) * 128], o[i])
    return out


def test_attention_with_every_tile_placed_by_hand(machine):
    q, k, v = normal(384, 128), normal(384, 128), normal(384, 128)
    got = attention_direct(np.ascontiguousarray(q.T), np.ascontiguousarray(k.T), v)
    assert np.abs(got - attention_of(q, k, v)).max() < 2e-6


@nki.jit
def flash_attention(q, k, v):
    """Running maximum and sum over blocks of keys, causal; q, k: [D, S], allocated by the interface."""
    d, s = q.shape
    out = nl.ndarray((s, d), dtype=q.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(s // 128):
        qt = nl.load(q[:, i * 128:(i + 1) * 128])
        top = nl.full((nl.par_dim(128), 1), -1e30, dtype=nl.float32)
        total = nl.zeros((nl.par_dim(128), 1), dtype=nl.float32)
        acc = nl.zeros((nl.par_dim(128), d), dtype=nl.float32)
        for j in nl.sequential_range(i + 1):
            kt = nl.load(k[:, j * 128:(j + 1) * 128])
            vt = nl.load(v[j * 128:(j + 1) * 128])
            scores = nl.multiply(nl.matmul(qt, kt, transpose_x=True), d ** -0.5)
            scores = nisa.affine_select(i * 128 + nl.arange(128)[:, None] >= j * 128 + nl.arange(128)[None, :], scores, -1e30)
            highest = nl.maximum(top, nl.max(scores, axis=[1]))
            shrink = nl.exp(top - highest)
            part = nl.ndarray((nl.par_dim(128), 1), dtype=nl.float32)
            p = nisa.activation_reduce(np.exp, scores, reduce_op=np.add, reduce_res=part, bias=nl.negative(highest))
            total[...] = total * shrink + part
            acc[...] = nl.multiply(acc, shrink) + nl.matmul(p, vt)
            top[...] = highest
        nl.store(out[i * 128:(i + 1) * 128], acc / total)
    return out


def test_causal_flash_attention_keeps_a_running_maximum(machine):
    d, s = 64, 384
    q, k, v = normal(s, d), normal(s, d), normal(s, d)
    scores = q.astype(np.float64) @ k.T / np.sqrt(d)
    scores[np.triu_indices(s, 1)] = -np.inf
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = e / e.sum(axis=1, keepdims=True) @ v
    got = flash_attention(np.ascontiguousarray(q.T), np.ascontiguousarray(k.T), v)
    assert np.abs(got - expected).max() < 2e-6


@nki.jit
def convolution(x, w):
    """x: [C, H, W], w: [KH, KW, C, O]; every tap is a product over the channels, summed in PSUM."""
    c, h, width = x.shape
    kh, kw, _, o = w.shape
    oh, ow = h - kh + 1, width - kw + 1
    y = nl.ndarray((o, oh, ow), dtype=x.dtype, buffer=nl.shared_hbm)
    image = nl.load(x)
    acc = nl.zeros((nl.par_dim(o), oh, ow), dtype=nl.float32, buffer=nl.psum)
    ic, iy, ix = nl.mgrid[0:c, 0:oh, 0:ow]
    for dy in nl.affine_range(kh):
        for dx in nl.affine_range(kw):
            acc += nisa.nc_matmul(nl.load(w[dy, dx]), image[ic, iy + dy, ix + dx])
    nl.store(y, nl.copy(acc))
    return y


def test_convolution_by_products_of_shifted_windows(machine):
    x, w = rng.integers(-4, 4, (16, 12, 14)).astype(np.float32), rng.integers(-4, 4, (3, 3, 16, 24)).astype(np.float32)
    expected = sum(np.einsum("chw,co->ohw", x[:, i:i + 10, j:j + 12], w[i, j]) for i in range(3) for j in range(3))
    assert np.array_equal(convolution(x, w), expected)


@nki.jit
def transposed_convolution(x, w):
    """Stride 2: windows of the result overlap, so that some elements are written first by a later product."""
    c, n = x.shape
    taps, _, o = w.shape
    y = nl.ndarray((o, 2 * n + taps - 2), dtype=x.dtype, buffer=nl.shared_hbm)
    acc = nl.zeros((nl.par_dim(o), 2 * n + taps - 2), dtype=nl.float32, buffer=nl.psum)
    row = nl.load(x)
    io, i = nl.arange(o)[:, None], nl.arange(n)[None, :]
    for t in nl.affine_range(taps):
        acc[io, 2 * i + t] += nisa.nc_matmul(nl.load(w[t]), row)
    nl.store(y, nl.copy(acc))
    return y


def test_overlapping_windows_accumulate_per_element(machine):
    x, w = rng.integers(-4, 4, (8, 20)).astype(np.float32), rng.integers(-4, 4, (5, 8, 12)).astype(np.float32)
    expected = np.zeros((12, 43), np.float32)
    for t in range(5):
        expected[:, t:t + 40:2] += w[t].T @ x
    assert np.array_equal(transposed_convolution(x, w), expected)


@nki.jit
def product_by_loop_reduce(at, b):
    k_size, m = at.shape
    n = b.shape[1]
    y = nl.ndarray((m, n), dtype=at.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(n // 256):
        for k in nl.affine_range(k_size // 128):
            left = nl.load(at[k * 128:(k + 1) * 128])
            right = nl.load(b[k * 128:(k + 1) * 128, i * 256:(i + 1) * 256])
            total = nl.loop_reduce(nl.matmul(left, right, transpose_x=True), op=np.add, loop_indices=[k])
        nl.store(y[:, i * 256:(i + 1) * 256], total)
    return y


def test_loop_reduce_sums_over_its_loop_and_starts_again(machine):
    at, b = rng.integers(-4, 4, (384, 100)).astype(np.float32), rng.integers(-4, 4, (384, 512)).astype(np.float32)
    assert np.array_equal(product_by_loop_reduce(at, b), at.T @ b)


@nki.jit
def layer_norm(x, gamma, beta, eps):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows, columns = x.shape
    p, f = nl.arange(128)[:, None], nl.arange(columns)[None, :]
    g = nl.load(gamma.reshape((1, columns))).broadcast_to((128, columns))
    b = nl.load(beta.reshape((1, columns))).broadcast_to((128, columns))
    for i in nl.affine_range((rows + 127) // 128):
        inside = i * 128 + p < rows
        t = nl.load(x[i * 128 + p, f], mask=inside)
        mean = nl.mean(t, axis=1, mask=inside)
        centred = nl.subtract(t, mean, mask=inside)
        variance = nl.mean(nl.square(centred, mask=inside), axis=1, mask=inside)
        scale = nl.rsqrt(nl.add(variance, eps, mask=inside), mask=inside)
        n = nl.multiply(centred, scale, mask=inside)
        n = nl.add(nl.multiply(n, g, mask=inside), b, mask=inside)
        nl.store(y[i * 128 + p, f], n, mask=inside)
    return y


@pytest.mark.parametrize("rows", [128, 77, 200])
def test_layer_norm_with_ragged_rows(rows):
    x, gamma, beta = normal(rows, 300), normal(300), normal(300)
    x64 = x.astype(np.float64)
    expected = (x64 - x64.mean(axis=1, keepdims=True)) / np.sqrt(x64.var(axis=1, keepdims=True) + 1e-5) * gamma + beta
    assert np.abs(layer_norm(x, gamma, beta, 1e-5) - expected).max() < 1e-5


@nki.jit
def max_pool(x):
    c, h, w = x.shape
    y = nl.ndarray((c, h // 2, w // 2), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    i0, i1, i2, i3, i4 = nl.mgrid[0:c, 0:h // 2, 0:w // 2, 0:2, 0:2]
    nl.store(y, nl.max(t[i0, 2 * i1 + i3, 2 * i2 + i4], axis=[3, 4]))
    return y


def test_max_pool_over_a_five_dimensional_view():
    x = normal(20, 8, 10)
    assert np.array_equal(max_pool(x), x.reshape(20, 4, 2, 5, 2).max(axis=(2, 4)))


@nki.jit
def rotary(x, cos, sin):
    """Halves of each row are turned into one another."""
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    half = x.shape[1] // 2
    t, c, s = nl.load(x), nl.load(cos), nl.load(sin)
    out = nl.ndarray((nl.par_dim(x.shape[0]), x.shape[1]), dtype=x.dtype)
    out[:, 0:half] = t[:, 0:half] * c - t[:, half:] * s
    out[:, nl.ds(half, half)] = t[:, nl.ds(half, half)] * c + t[:, 0:half] * s
    nl.store(y, out)
    return y


def test_rotary_embedding_in_halves():
    x, angle = normal(100, 64), normal(100, 32)
    c, s = np.cos(angle), np.sin(angle)
    a, b = x[:, :32], x[:, 32:]
    assert np.array_equal(rotary(x, c, s), np.concatenate([a * c - b * s, b * c + a * s], axis=1))


@nki.jit
def prefix_sum(x):
    """Chunks of 64 columns; each starts with the last column of the one before."""
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows, columns = x.shape
    last = nl.zeros((nl.par_dim(rows), 1), dtype=nl.float32)
    ones = nl.ones((nl.par_dim(rows), 64), dtype=nl.float32)
    for j in nl.static_range(columns // 64):
        t = nl.load(x[:, j * 64:(j + 1) * 64])
        s = nisa.tensor_tensor_scan(ones, t, initial=last, op0=np.multiply, op1=np.add)
        nl.store(y[:, j * 64:(j + 1) * 64], s)
        last[...] = nl.copy(s[:, 63])
    return y


def test_prefix_sums_carry_over_chunks():
    x = rng.integers(-9, 9, (50, 256)).astype(np.float32)
    assert np.array_equal(prefix_sum(x), np.cumsum(x, axis=1))


@nki.jit
def named_and_used_twice(x):
    """The returned tile has a name, so that an assignment copies it."""
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    a = nl.ndarray(x.shape, dtype=x.dtype)
    b = nl.multiply(t, 3.0)
    a[...] = b
    a[...] = nl.add(a, 1.0)
    nl.store(y, nl.add(a, b))
    return y


def test_an_assigned_tile_that_has_a_name_keeps_its_value():
    x = rng.integers(-9, 9, (16, 16)).astype(np.float32)
    assert np.array_equal(named_and_used_twice(x), 3 * x + 1 + 3 * x)


@nki.jit
def swapped(x):
    """A pair of tiles, each assigned from the other."""
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    half = x.shape[1] // 2
    keep = nl.copy(t[:, 0:half])
    t[:, 0:half] = t[:, half:]
    t[:, half:] = keep
    nl.store(y, t)
    return y


def test_parts_of_a_tile_are_exchanged():
    x = normal(9, 20)
    assert np.array_equal(swapped(x), np.concatenate([x[:, 10:], x[:, :10]], axis=1))


@new.jit
def mlp(x_t, w1, w2):
    """silu(x @ w1) @ w2 with x transposed [D, S]; hidden sizes of several tiles."""
    d, s = x_t.shape
    hidden, o = w2.shape
    out = new_nl.ndarray((s, o), dtype=x_t.dtype, buffer=new_nl.shared_hbm)
    x = new_nl.ndarray((d, s), dtype=x_t.dtype, buffer=new_nl.sbuf)
    new_nisa.dma_copy(dst=x, src=x_t)
    weights = new_nl.ndarray((d, hidden), dtype=w1.dtype, buffer=new_nl.sbuf)
    new_nisa.dma_copy(dst=weights, src=w1)
    result = new_nl.ndarray((s, o), dtype=new_nl.float32, buffer=new_nl.psum)
    for h in new_nl.affine_range(hidden // 128):
        up = new_nl.ndarray((128, s), dtype=new_nl.float32, buffer=new_nl.psum)
        new_nisa.nc_matmul(dst=up, stationary=weights[:, h * 128:(h + 1) * 128], moving=x)
        act = new_nl.ndarray((128, s), dtype=x_t.dtype, buffer=new_nl.sbuf)
        new_nisa.activation(dst=act, op=new_nl.silu, data=up)
        down = new_nl.ndarray((128, o), dtype=w2.dtype, buffer=new_nl.sbuf)
        new_nisa.dma_copy(dst=down, src=w2[h * 128:(h + 1) * 128, :])
        new_nisa.nc_matmul(dst=result, stationary=act, moving=down)
    y = new_nl.ndarray((s, o), dtype=out.dtype, buffer=new_nl.sbuf)
    new_nisa.tensor_copy(dst=y, src=result)
    new_nisa.dma_copy(dst=out, src=y)
    return out


def test_mlp_with_a_hidden_layer_of_several_tiles(machine):
    x, w1, w2 = normal(96, 64), normal(64, 384) / 8, normal(384, 200) / 20
    z = x.astype(np.float64) @ w1
    expected = z / (1 + np.exp(-z)) @ w2
    assert np.abs(mlp(np.ascontiguousarray(x.T), w1, w2) - expected).max() < 1e-5


@new.jit
def placed(x):
    """Two tiles at addresses of their own: bytes behind one another."""
    out = new_nl.ndarray(x.shape, dtype=x.dtype, buffer=new_nl.shared_hbm)
    a = new_nl.ndarray(x.shape, dtype=x.dtype, buffer=new_nl.sbuf, address=(0, 4096))
    b = new_nl.ndarray(x.shape, dtype=x.dtype, buffer=new_nl.sbuf, address=(0, 8192))
    new_nisa.dma_copy(dst=a, src=x)
    new_nisa.tensor_scalar(dst=b, data=a, op0=new_nl.multiply, operand0=3.0)
    new_nisa.dma_copy(dst=out, src=b)
    return out


def test_tiles_lie_at_the_addresses_given():
    x = normal(128, 100)
    assert np.array_equal(placed(x), 3 * x)
    assert ".ap(sbuf, f32, 0, 128, 8192," in placed.last.source and ".ap(sbuf, f32, 0, 128, 4096," in placed.last.source


@new.jit
def library_style(x, factor=2.0, flags=()):
    """What libraries do in Python: classes, closures, lists, asserts with messages."""
    class Tiles(new.NKIObject):
        def __init__(self, count):
            self.tiles = [new_nl.ndarray((128, x.shape[1]), x.dtype, buffer=new_nl.sbuf, name=f"part{i}") for i in range(count)]

        def __getitem__(self, i):
            return self.tiles[i]
    count = x.shape[0] // 128
    assert x.shape[0] % 128 == 0, f"rows {x.shape[0]}"
    out = new_nl.ndarray(x.shape, x.dtype, buffer=new_nl.shared_hbm)
    tiles = Tiles(count)
    for i in range(count):
        new_nisa.dma_copy(dst=tiles[i], src=x[i * 128:(i + 1) * 128])
    scaled = [lambda t=tiles[i]: new_nisa.tensor_scalar(t, t, new_nl.multiply, factor) for i in range(count)]
    for f in scaled:
        f()
    for i in reversed(range(count)):
        if "negate" in flags:
            new_nisa.tensor_scalar(tiles[i], tiles[i], new_nl.multiply, -1.0)
        new_nisa.dma_copy(dst=out[i * 128:(i + 1) * 128], src=tiles[i])
    return out


def test_kernels_may_use_all_of_python():
    x = normal(384, 40)
    assert np.array_equal(library_style(x), 2 * x)
    assert np.array_equal(library_style(x, factor=3.0, flags=("negate",)), -3 * x)


@nki.jit
def loaded_into_blocks(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = nl.ndarray((2, nl.par_dim(64), x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    i = nl.mgrid[0:64, 0:x.shape[1]]
    for b in nl.affine_range(2):
        tiles[b, i.p, i.x] = nl.load(x[b * 64 + i.p, i.x])
    for b in nl.affine_range(2):
        nl.store(y[b * 64 + i.p, i.x], tiles[b])
    return y


def test_a_load_into_a_block_is_one_transfer():
    x = normal(128, 30)
    assert np.array_equal(loaded_into_blocks(x), x)
    assert loaded_into_blocks.last.source.count("  dma_copy ") == 4
    assert "tensor_copy" not in loaded_into_blocks.last.source


def test_indices_of_different_grids_combine():
    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        p, _ = nl.mgrid[0:32, 0:100]
        _, f = nl.mgrid[0:1, 0:25]
        t = nl.load(x)
        total = nl.ndarray((nl.par_dim(32), 4), dtype=nl.float32)
        for j in nl.affine_range(4):
            total[p, j] = nisa.tensor_reduce(np.add, t[p, j * 25 + f], axis=(1,))
            nl.store(y[p, j * 25 + f], nl.subtract(t[p, j * 25 + f], total[p, j]))
        return y
    x = rng.integers(-9, 9, (32, 100)).astype(np.float32)
    blocks = x.reshape(32, 4, 25)
    assert np.array_equal(kernel(x), (blocks - blocks.sum(axis=2, keepdims=True)).reshape(32, 100))


def test_an_allocation_function_may_have_bound_arguments():
    import functools

    def bank_of(banks, idx, pdim_size, fdim_size):
        assert (pdim_size, fdim_size) == (64, 128)
        return (banks[idx], 0, 0)

    @nki.jit
    def kernel(at, b):
        y = nl.ndarray((64, 32), dtype=at.dtype, buffer=nl.shared_hbm)
        acc = nl.ndarray((2, nl.par_dim(64), 32), dtype=nl.float32,
                         buffer=ncc.psum.alloc(functools.partial(bank_of, banks={(0,): 1, (1,): 5})))
        acc[1] = nisa.nc_matmul(nl.load(at), nl.load(b))
        nl.store(y, nl.copy(acc[1]))
        return y
    at, b = rng.integers(-4, 4, (128, 64)).astype(np.float32), rng.integers(-4, 4, (128, 32)).astype(np.float32)
    assert np.array_equal(kernel(at, b), at.T @ b)
    assert ".ap(psum, f32, 0, 64, 10240," in kernel.last.source


def test_a_transposing_load_may_convert():
    @nki.jit
    def kernel(x):
        y = nl.ndarray((x.shape[1], x.shape[0]), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(y, nl.load_transpose2d(x, dtype=nl.bfloat16) * 0.5)
        return y
    x = rng.integers(-9, 9, (40, 30)).astype(np.float32)
    assert np.array_equal(kernel(x), x.T / 2)
