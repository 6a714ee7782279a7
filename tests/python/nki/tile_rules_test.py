"""The small rules of tiles that a first implementation gets wrong, each as a kernel."""

import logging

import numpy as np
import pytest

import nki as new
import nki.language as new_nl
from neuronxcc import nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import neuronxcc.nki.typing as nt

rng = np.random.default_rng(20240903)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def traced(kernel, *arguments):
    """What a kernel's body says of its tiles, as a list it appends to."""
    seen = []

    @nki.jit
    def wrapper(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        kernel(tile, seen)
        nl.store(y, tile)
        return y
    wrapper(*arguments)
    return seen


def test_tiles_stay_two_dimensional():
    def body(tile, seen):
        seen += [tile[:, 0].shape, tile[0:5, 3].shape, tile[:, 0][:, 0].shape, tile[3, :].shape]
    assert traced(body, normal(16, 8)) == [(16, 1), (5, 1), (16, 1), (1, 8)]


def test_integers_keep_the_partition_and_two_dimensions():
    def body(tile, seen):
        three = tile.reshape((4, 5, 12))
        seen += [three[0, 0, 10].shape, three[2].shape, three[:, 4, 7].shape]
    assert traced(body, normal(4, 60)) == [(1, 1), (1, 5, 12), (4, 1)]


def test_a_column_of_a_tile_is_a_bias():
    @nki.jit
    def kernel(x, b):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        columns = nl.ndarray((nl.par_dim(32), 2), dtype=nl.float32)
        columns[:, 0] = nl.load(b)
        columns[:, 1] = nl.load(b)
        nl.store(y, nisa.activation(np.exp, nl.load(x), bias=columns[:, 1]))
        return y
    x, b = normal(32, 20), normal(32, 1)
    assert np.abs(kernel(x, b) - np.exp(x.astype(np.float64) + b)).max() < 1e-4


def test_an_allocator_carries_its_memory():
    @nki.jit
    def kernel(at, b):
        y = nl.ndarray((64, 96), dtype=at.dtype, buffer=nl.shared_hbm)
        acc = nl.ndarray((2, nl.par_dim(64), 96), dtype=nl.float32, buffer=ncc.psum.mod_alloc(base_bank=2, num_bank_tiles=(2,)))
        left = nl.ndarray((nl.par_dim(128), 64), dtype=at.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=1024))
        right = nl.ndarray((nl.par_dim(128), 96), dtype=b.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=4096))
        left[...] = nl.load(at)
        right[...] = nl.load(b)
        for _ in range(3):
            acc[1] += nisa.nc_matmul(left, right)
        nl.store(y, nl.copy(acc[1]))
        return y
    at, b = normal(128, 64), normal(128, 96)
    assert np.abs(kernel(at, b) - 3 * (at.T.astype(np.float64) @ b)).max() < 1e-3
    assert ".ap(psum, f32, 0, 64, 6144," in kernel.last.source          # bank 3: 2 + 1 % 2
    assert ".ap(sbuf, f32, 0, 128, 4096," in kernel.last.source


def test_reshape_takes_its_shape_by_keyword():
    def body(tile, seen):
        seen.append(tile.reshape(shape=(8, 3, 4)).shape)
    assert traced(body, normal(8, 12)) == [(8, 3, 4)]


def test_annotations_are_evaluated_and_say_nothing():
    @nki.jit
    def kernel(x: nt.tensor[8, 4]):
        y: nt.tensor[8, 4] = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(y, nl.load(x))
        return y
    x = normal(8, 4)
    assert np.array_equal(kernel(x), x)


def test_mgrid_has_names_for_its_axes():
    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        i = nl.mgrid[0:8, 0:3, 0:4]
        tile = nl.load(x[i.p, i.x, i.y])
        nl.store(y[i.p, i.x, i.y], tile)
        return y
    x = normal(8, 3, 4)
    assert np.array_equal(kernel(x), x)


def test_reductions_over_several_axes_leave_a_column():
    def body(tile, seen):
        three = tile.reshape((6, 4, 5))
        seen += [nl.sum(three, axis=[-2, -1]).shape, nl.sum(three, axis=[1, 2], keepdims=True).shape,
                 nisa.tensor_reduce(np.max, three, axis=(1,)).shape]
    assert traced(body, normal(6, 20)) == [(6, 1), (6, 1, 1), (6, 5)]


def test_an_integer_tile_over_a_number_is_computed_in_fp32():
    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.shared_hbm)
        nl.store(y, nl.floor(nl.load(x) / 3, dtype=nl.int32))
        return y
    x = np.arange(60, dtype=np.int32).reshape(4, 15)
    assert np.array_equal(kernel(x), x // 3)


def test_one_dimension_of_memory_loads_as_a_column():
    @nki.jit
    def kernel(x):
        y = nl.ndarray((64, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x[nl.arange(64)[:, None]])
        assert tile.shape == (64, 1)
        nl.store(y, tile)
        return y
    x = normal(64)
    assert np.array_equal(kernel(x), x[:, None])


def test_comparisons_give_numbers_in_the_output_type():
    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        z = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        tile = nl.load(x)
        nl.store(y, nl.greater(tile, 0.0, dtype=nl.float32))
        nl.store(z, nl.where(tile * 0.5, tile, 7.0))       # a predicate that is not 0 is true
        return y, z
    x = normal(16, 16)
    x[:, 3] = 0
    y, z = kernel(x)
    assert np.array_equal(y, (x > 0).astype(np.float32))
    assert np.array_equal(z, np.where(x != 0, x, np.float32(7)))


def test_a_column_broadcasts_over_all_free_axes():
    @nki.jit
    def kernel(x, b):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(y, nl.load(x) + nl.load(b))
        return y
    x, b = normal(8, 3, 4), normal(8, 1)
    assert np.array_equal(kernel(x, b), x + b[:, :, None])


def test_a_row_broadcasts_over_partitions_where_results_are_returned(machine):
    @nki.jit
    def kernel(x, b):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        row = nl.load(b).broadcast_to(x.shape)
        nl.store(y, nisa.tensor_tensor(nl.load(x), row, op=nl.multiply))
        return y
    x, b = normal(100, 700), normal(1, 700)
    assert np.array_equal(kernel(x, b), x * b)


def test_a_row_does_not_broadcast_over_partitions_in_an_instruction():
    from ncemu.nki.errors import NkiError
    import nki.isa as new_nisa

    @new.jit
    def kernel(x, b):
        tiles = [new_nl.ndarray(t.shape, t.dtype, buffer=new_nl.sbuf) for t in (x, b)]
        for tile, t in zip(tiles, (x, b)):
            new_nisa.dma_copy(dst=tile, src=t)
        new_nisa.tensor_tensor(tiles[0], tiles[0], tiles[1], op=new_nl.add)
    with pytest.raises(NkiError, match="err_num_partition_mismatch"):
        kernel(normal(8, 4), normal(1, 4))


def test_a_slice_beyond_the_end_is_fine_where_a_mask_removes_it():
    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        rows = x.shape[0]
        p = nl.arange(128)[:, None]
        for at in range(0, rows, 128):
            tile = nl.load(x[at:at + 128], mask=at + p < rows)
            nl.store(y[at:at + 128], tile, mask=at + p < rows)
        return y
    x = normal(200, 9)
    assert np.array_equal(kernel(x), x)


def test_importing_leaves_logging_alone():
    assert not hasattr(logging, "OFF") or isinstance(logging.OFF, int)


@pytest.mark.parametrize("partitions", [129, 256])
def test_more_than_128_partitions_are_an_error_at_the_call(partitions):
    from ncemu.nki.errors import NkiError

    @nki.jit
    def kernel(x):
        nl.load(x)
        nl.ndarray((partitions, 4), dtype=nl.float32, buffer=nl.sbuf)
    with pytest.raises(NkiError, match="err_num_partition_exceed_arch_limit"):
        kernel(normal(partitions, 4))


def test_objects_of_the_interface_can_be_dataclasses():
    from dataclasses import dataclass

    @dataclass
    class Shape(new.NKIObject):
        rows = 4
        columns: int = 5
    assert (Shape().rows, Shape(6).columns) == (4, 6)
    assert new.dtype.float32 is new_nl.float32
    from nki.isa.constants import matmul_perf_mode
    assert matmul_perf_mode.double_row.value == "double_row"
