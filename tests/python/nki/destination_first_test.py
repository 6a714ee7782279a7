"""The generation whose instructions take their destination first, against numpy."""

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl

rng = np.random.default_rng(20240902)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def loaded(x):
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    return tile


def stored(tile, shape=None):
    out = nl.ndarray(shape or tile.shape, dtype=tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def product(at, b):
    k_size, m_size = at.shape
    n_size = b.shape[1]
    result = nl.ndarray((m_size, n_size), dtype=at.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(m_size // 128):
        acc = nl.ndarray((128, n_size), nl.float32, buffer=nl.psum)
        for k in nl.affine_range(k_size // 128):
            nisa.nc_matmul(dst=acc, stationary=loaded(at[k * 128:(k + 1) * 128, m * 128:(m + 1) * 128]),
                           moving=loaded(b[k * 128:(k + 1) * 128, :]))
        out = nl.ndarray((128, n_size), dtype=result.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=out, src=acc)
        nisa.dma_copy(dst=result[m * 128:(m + 1) * 128, :], src=out)
    return result


def test_products_into_one_tile_accumulate(machine):
    at, b = normal(384, 256), normal(384, 512)
    assert np.abs(product(at, b) - at.T.astype(np.float64) @ b).max() < 1e-3


@nki.jit
def two_groups(at, b, restart):
    acc = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)
    left, right = loaded(at), loaded(b)
    nisa.nc_matmul(acc, left, right)
    nisa.nc_matmul(acc, left, right, accumulate=False if restart else None)
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(out, acc)
    return stored(out)


@pytest.mark.parametrize("restart,times", [(True, 1), (False, 2)])
def test_accumulate_false_opens_a_new_group(restart, times):
    at, b = normal(128, 128), normal(128, 512)
    assert np.abs(two_groups(at, b, restart) - times * (at.T.astype(np.float64) @ b)).max() < 1e-3


@nki.jit
def pooled(x, n):
    c, h, w = x.shape
    tile = loaded(x)
    windows = tile.ap([[h * w, c], [n * w, h // n], [n, w // n], [w, n], [1, n]])
    total = nl.sum(windows, axis=[3, 4])
    mean = nl.ndarray(total.shape, dtype=total.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / (n * n))
    return stored(mean)


def test_an_access_pattern_pools_windows(machine):
    x = np.arange(4 * 6 * 9, dtype=np.float32).reshape(4, 6, 9)
    expected = x.reshape(4, 2, 3, 3, 3).mean(axis=(2, 4), dtype=np.float64)
    assert np.abs(pooled(x, 3) - expected).max() < 1e-4


@nki.jit
def softmax(x):
    rows, columns = x.shape
    tile = loaded(x)
    top, total, inverse = (nl.ndarray((rows, 1), nl.float32, buffer=nl.sbuf) for _ in range(3))
    e = nl.ndarray(x.shape, nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=top, op=nl.maximum, data=tile, axis=1, negate=True)
    nisa.activation_reduce(dst=e, op=nl.exp, data=tile, reduce_op=nl.add, reduce_res=total, bias=top)
    nisa.reciprocal(dst=inverse, data=total)
    nisa.tensor_scalar(dst=e, data=e, op0=nl.multiply, operand0=inverse)
    return stored(e)


def test_softmax_by_activation_reduce(machine):
    x = normal(100, 333)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    assert np.abs(softmax(x) - e / e.sum(axis=1, keepdims=True)).max() < 1e-6


@nki.jit
def causal(x):
    tile = loaded(x)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    nisa.affine_select(dst=out, pattern=[[-1, x.shape[1]]], channel_multiplier=1, on_true_tile=tile, on_false_value=-9.0,
                       cmp_op=nl.greater_equal)
    return stored(out)


def test_affine_select_keeps_the_lower_triangle(machine):
    x = normal(96, 96)
    assert np.array_equal(causal(x), np.where(np.tril(np.ones((96, 96), bool)), x, np.float32(-9)))


@nki.jit
def counted(rows, columns):
    tile = nl.ndarray((rows, columns), nl.int32, buffer=nl.sbuf)
    nisa.iota(dst=tile, pattern=[[1, columns]], offset=7, channel_multiplier=columns)
    return stored(tile)


def test_iota_counts_along_lanes_and_partitions():
    assert np.array_equal(counted(13, 31), np.arange(13 * 31, dtype=np.int32).reshape(13, 31) + 7)


@nki.jit
def scanned(a, b):
    left, right = loaded(a), loaded(b)
    out = nl.ndarray(a.shape, nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor_scan(dst=out, data0=left, data1=right, initial=0.5, op0=nl.multiply, op1=nl.add)
    return stored(out)


def test_scan_runs_the_recurrence_of_each_lane(machine):
    a, b = np.abs(normal(64, 50)) % 1, normal(64, 50)
    state, expected = np.full(64, 0.5, np.float32), np.empty_like(a)
    for i in range(50):
        state = (a[:, i] * state).astype(np.float32) + b[:, i]
        expected[:, i] = state
    assert np.array_equal(scanned(a, b), expected)


@nki.jit
def normalised(x):
    tile = loaded(x)
    stats = nl.ndarray((x.shape[0], 6), nl.float32, buffer=nl.sbuf)
    moments = nl.ndarray((x.shape[0], 2), nl.float32, buffer=nl.sbuf)
    nisa.bn_stats(dst=stats, data=tile)
    nisa.bn_aggr(dst=moments, data=stats)
    return stored(moments)


def test_bn_stats_and_bn_aggr_give_mean_and_variance(machine):
    x = normal(128, 300)
    got = normalised(x)
    assert np.abs(got[:, 0] - x.mean(axis=1, dtype=np.float64)).max() < 1e-6
    assert np.abs(got[:, 1] - x.var(axis=1, dtype=np.float64)).max() < 1e-5


@nki.jit
def best_eight(x):
    tile = loaded(x)
    values = nl.ndarray((x.shape[0], 8), nl.float32, buffer=nl.sbuf)
    places = nl.ndarray((x.shape[0], 8), nl.uint32, buffer=nl.sbuf)
    nisa.max8(dst=values, src=tile)
    nisa.nc_find_index8(dst=places, data=tile, vals=values)
    return stored(values), stored(places)


def test_max8_and_find_index8_name_the_eight_largest(machine):
    x = rng.permutation(64 * 100).reshape(64, 100).astype(np.float32)
    values, places = best_eight(x)
    order = np.argsort(-x, axis=1)[:, :8]
    assert np.array_equal(places, order)
    assert np.array_equal(values, np.take_along_axis(x, order, axis=1))


@nki.jit
def gathered(table, ids):
    index = nl.ndarray((ids.shape[0], 1), nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=ids)
    rows = nl.ndarray((ids.shape[0], table.shape[1]), table.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=table.ap([[table.shape[1], ids.shape[0]], [1, table.shape[1]]], vector_offset=index))
    return stored(rows)


def test_a_vector_offset_chooses_rows(machine):
    table, ids = normal(1000, 48), rng.integers(0, 1000, (77, 1)).astype(np.int32)
    assert np.array_equal(gathered(table, ids), table[ids[:, 0]])


@nki.jit
def views(x):
    tile = loaded(x)                                    # [P, 4, 6]
    turned = tile.permute((0, 2, 1)).reshape_dim(1, (2, 3)).flatten_dims(1, 2)
    out = nl.ndarray((x.shape[0], 6, 4), x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(out, turned)
    column = tile.select(1, 2).expand_dim(1).broadcast(1, 5)
    more = nl.ndarray((x.shape[0], 5, 6), x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(more, column)
    part = nl.ndarray((x.shape[0], 4, 2), x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(part, tile.slice(2, 1, 4, 2))
    return stored(out), stored(more), stored(part)


def test_views_move_no_element_and_name_the_right_ones():
    x = normal(9, 4, 6)
    out, more, part = views(x)
    assert np.array_equal(out, x.transpose(0, 2, 1))
    assert np.array_equal(more, np.repeat(x[:, 2:3, :], 5, axis=1))
    assert np.array_equal(part, x[:, :, 1:4:2])


@nki.jit
def shuffled(x):
    tile = loaded(x)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    nisa.memset(out, value=0.0)
    nisa.nc_stream_shuffle(dst=out, src=tile, shuffle_mask=[31 - i for i in range(32)])
    return stored(out)


def test_stream_shuffle_reverses_each_quadrant():
    x = normal(64, 20)
    assert np.array_equal(shuffled(x), x.reshape(2, 32, 20)[:, ::-1].reshape(64, 20))


@nki.jit
def picked(x, y, where):
    tile, other, predicate = loaded(x), loaded(y), loaded(where)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(out, other)
    nisa.tensor_copy_predicated(dst=out, src=tile, predicate=predicate)
    return stored(out)


def test_a_predicate_chooses_elements(machine):
    x, y, where = normal(30, 40), normal(30, 40), rng.integers(0, 2, (30, 40)).astype(np.uint8)
    assert np.array_equal(picked(x, y, where), np.where(where != 0, x, y))


@nki.jit
def accumulated(x, y):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    nisa.dma_copy(dst=out, src=loaded(y), dst_rmw_op=nl.add)
    return out


def test_dma_adds_to_its_destination(machine):
    x, y = normal(50, 60), normal(50, 60)
    assert np.array_equal(accumulated(x, y), x + y)


def test_a_host_array_that_the_kernel_writes_is_updated():
    @nki.jit
    def doubled(x):
        tile = loaded(x)
        nisa.tensor_scalar(tile, tile, nl.multiply, 2.0)
        nisa.dma_copy(dst=x, src=tile)
    x = normal(16, 8)
    before = x.copy()
    doubled(x)
    assert np.array_equal(x, 2 * before)


@nki.jit
def joined(x, y, z):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_compute(dst=out, srcs=[x, y, z], scales=[1.0, 2.0, 0.5], reduce_op=nl.add)
    return out


def test_dma_compute_sums_scaled_sources():
    x, y, z = (rng.integers(-8, 8, (32, 16)).astype(np.float32) for _ in range(3))
    assert np.array_equal(joined(x, y, z), x + 2 * y + z / 2)
