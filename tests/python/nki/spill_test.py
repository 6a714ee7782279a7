"""Kernels whose tiles do not fit SBUF: refused, or with spilling right to the bit."""

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl
from ncemu.nki.errors import NkiError

rng = np.random.default_rng(20240910)
WIDTH = 8192  # 32 KiB of fp32 per partition: six tiles fill trn1's 192 KiB


def tile():
    return nl.ndarray((128, WIDTH), nl.float32, buffer=nl.sbuf)


@nki.jit
def loaded_sums(x):
    """All blocks are loaded, then used twice: they can be loaded again."""
    n = x.shape[0] // 128
    y = nl.ndarray((n * 128, WIDTH), x.dtype, buffer=nl.shared_hbm)
    tiles = []
    for i in nl.affine_range(n):
        tiles.append(tile())
        nisa.dma_copy(dst=tiles[i], src=x[i * 128:(i + 1) * 128, :])
    for i in nl.affine_range(n):
        total = tile()
        nisa.tensor_tensor(total, tiles[i], tiles[n - 1 - i], op=nl.subtract)
        nisa.dma_copy(dst=y[i * 128:(i + 1) * 128, :], src=total)
    return y


@nki.jit
def computed_sums(x):
    """The blocks are computed, and changed once more between their uses: they have to be stored."""
    n = x.shape[0] // 128
    y = nl.ndarray((n * 128, WIDTH), x.dtype, buffer=nl.shared_hbm)
    tiles = []
    for i in nl.affine_range(n):
        t = tile()
        nisa.dma_copy(dst=t, src=x[i * 128:(i + 1) * 128, :])
        nisa.tensor_scalar(t, t, nl.multiply, float(i + 1))
        tiles.append(t)
    for i in nl.affine_range(n):
        nisa.tensor_scalar(tiles[i], tiles[i], nl.add, 1.0)
    for i in nl.affine_range(n):
        nisa.dma_copy(dst=y[i * 128:(i + 1) * 128, :], src=tiles[i])
    return y


def test_without_spilling_a_full_memory_is_an_error(monkeypatch):
    monkeypatch.delenv("NCEMU_SPILL", raising=False)
    with pytest.raises(NkiError, match="err_out_of_memory"):
        loaded_sums(np.zeros((9 * 128, WIDTH), np.float32))


def spilling(monkeypatch):
    from ncemu.nki import session
    monkeypatch.setattr(session, "_sessions", [session.Session(spill=True)])


def test_tiles_that_were_loaded_are_loaded_again(monkeypatch):
    spilling(monkeypatch)
    x = rng.integers(-9, 9, (9 * 128, WIDTH)).astype(np.float32)
    blocks = x.reshape(9, 128, WIDTH)
    assert np.array_equal(loaded_sums(x), (blocks - blocks[::-1]).reshape(x.shape))
    assert loaded_sums.last.trace.spilled > 0
    assert not [s for s in loaded_sums.last.trace.storages if s.name.startswith("spill")]


def test_tiles_that_were_computed_are_stored_and_come_back(monkeypatch):
    spilling(monkeypatch)
    x = rng.integers(-9, 9, (9 * 128, WIDTH)).astype(np.float32)
    factors = np.arange(1, 10, dtype=np.float32)[:, None, None]
    assert np.array_equal(computed_sums(x), (x.reshape(9, 128, WIDTH) * factors + 1).reshape(x.shape))
    assert [s for s in computed_sums.last.trace.storages if s.name.startswith("spill")]


def test_a_kernel_that_fits_is_not_touched_by_the_option(monkeypatch):
    x = rng.integers(-9, 9, (2 * 128, WIDTH)).astype(np.float32)
    loaded_sums(x)
    before = loaded_sums.last.source
    spilling(monkeypatch)
    loaded_sums(x)
    assert loaded_sums.last.source == before and loaded_sums.last.trace.spilled == 0
