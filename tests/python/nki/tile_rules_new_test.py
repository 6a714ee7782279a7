"""The small rules of tiles again, in the generation whose instructions take their destination first."""

import numpy as np
import pytest

from ncemu.nki.errors import NkiError
import nki
import nki.isa as nisa
import nki.language as nl

rng = np.random.default_rng(20240904)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def loaded(x, shape=None):
    tile = nl.ndarray(shape or x.shape, x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile.reshape(x.shape) if shape else tile, src=x)
    return tile


def stored(tile):
    out = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


def seen_by(body, x):
    seen = []

    @nki.jit
    def kernel(x):
        tile = loaded(x)
        seen.extend(body(tile))
        return stored(tile)
    kernel(x)
    return seen


def test_integers_keep_the_partition_and_two_dimensions():
    shapes = seen_by(lambda t: [v.shape for v in (t[0, 0, 10], t[2], t[:, 4, 7], t[:, 0])], normal(4, 5, 12))
    assert shapes == [(1, 1), (1, 5, 12), (4, 1), (4, 12)]


def test_a_column_stays_a_column_under_two_subscripts():
    assert seen_by(lambda t: [t[:, 0].shape, t[:, 0][:, 0].shape, t[0:5, 3].shape], normal(16, 8)) == [(16, 1), (16, 1), (5, 1)]


def test_a_column_broadcasts_over_all_free_axes():
    @nki.jit
    def kernel(x, b):
        tile, column = loaded(x), loaded(b)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=column)
        return stored(tile)
    x, b = normal(8, 3, 4), normal(8, 1)
    assert np.array_equal(kernel(x, b), x + b[:, :, None])


def test_reshape_takes_its_shape_by_keyword():
    assert seen_by(lambda t: [t.reshape(shape=(8, 3, 4)).shape], normal(8, 12)) == [(8, 3, 4)]


def test_annotations_are_evaluated_and_say_nothing():
    from nki.typing import tensor

    @nki.jit
    def kernel(x: tensor[8, 4]):
        tile: tensor[8, 4] = loaded(x)
        return stored(tile)
    x = normal(8, 4)
    assert np.array_equal(kernel(x), x)


@pytest.mark.parametrize("partitions", [129, 256])
def test_more_than_128_partitions_are_an_error_at_the_call(partitions):
    @nki.jit
    def kernel(x):
        return stored(loaded(x))
    with pytest.raises(NkiError, match="err_num_partition_exceed_arch_limit") as caught:
        kernel(normal(partitions, 4))
    assert caught.value.file == __file__


def test_comparisons_give_numbers_in_the_output_type():
    @nki.jit
    def kernel(x):
        tile = loaded(x)
        flags = nl.ndarray(x.shape, nl.int32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=flags, data=tile, op0=nl.greater, operand0=0.0)
        return stored(flags)
    x = normal(16, 16)
    assert np.array_equal(kernel(x), (x > 0).astype(np.int32))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3", "float8_e5m2", "tfloat32"])
def test_types_are_types_of_numpy_on_the_host(name):
    kind = getattr(nl, name)
    x = normal(4, 4)
    assert np.ones((2, 3), dtype=kind).sum() == 6
    assert x.astype(kind).astype(np.float32).dtype == np.float32
    assert np.array_equal(nl.static_cast(x, kind).astype(np.float32), x.astype(kind).astype(np.float32))


@pytest.mark.parametrize("name", ["float8_e4m3fn_x4", "float8_e5m2_x4", "float4_e2m1fn_x4"])
def test_packs_of_four_have_names_that_libraries_may_import_and_no_memory(name):
    kind = getattr(nl, name)

    @nki.jit
    def kernel(x):
        nl.ndarray((4, 4), kind, buffer=nl.sbuf)
    with pytest.raises(NkiError, match=f"err_unsupported_dtype: '{name}' is not an element type"):
        kernel(normal(4, 4))
