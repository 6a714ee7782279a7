"""The table of names in NKI.md is the one the modules give; what refuses does so by name."""

import pathlib

import numpy as np
import pytest

import nki
import nki.collectives
import nki.isa as nisa
import nki.language as nl
from ncemu.nki import features
from ncemu.nki.errors import NkiError, UnsupportedError
from neuronxcc.nki import nccl

PAGE = pathlib.Path(features.__file__).resolve().parents[2] / "NKI.md"


def test_the_page_has_the_table_of_today():
    """python3 -m ncemu.nki.features prints it."""
    assert "<!-- features: begin -->\n" + features.table() + "<!-- features: end -->" in PAGE.read_text()


@pytest.mark.parametrize("call", [
    lambda: nisa.nc_matmul_mx(), lambda: nisa.quantize_mx(), lambda: nisa.sendrecv(), lambda: nisa.core_barrier(),
    lambda: nl.while_loop(None, None), lambda: nki.collectives.all_reduce(), lambda: nccl.all_gather(),
], ids=["nc_matmul_mx", "quantize_mx", "sendrecv", "core_barrier", "while_loop", "all_reduce", "all_gather"])
def test_what_is_not_supported_says_so_at_the_callers_line(call):
    with pytest.raises(UnsupportedError, match="err_not_supported") as caught:
        call()
    assert caught.value.file == __file__


def test_a_value_is_printed_when_the_run_comes_to_it(capsys):
    @nki.jit
    def kernel(x):
        tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x)
        nl.device_print("before", tile)
        nisa.tensor_scalar(tile, tile, nl.multiply, 10.0)
        nl.device_print("after", tile[0:1, 1:3])
        y = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=y, src=tile)
        return y
    kernel(np.arange(6, dtype=np.float32).reshape(2, 3))
    text = capsys.readouterr().out
    assert text.index("before") < text.index("after")
    assert "3 4 5" in " ".join(text.split("after")[0].replace("[", "").replace("]", "").split())
    assert "10 20" in " ".join(text.split("after")[1].replace("[", "").replace("]", "").split())


def test_rows_named_twice_add_twice():
    import neuronxcc.nki
    import neuronxcc.nki.language as old

    @neuronxcc.nki.jit
    def kernel(x, ids):
        y = old.zeros((20, x.shape[1]), dtype=x.dtype, buffer=old.shared_hbm)
        p, f = old.arange(x.shape[0])[:, None], old.arange(x.shape[1])[None, :]
        index = old.load(ids)
        old.atomic_rmw(y[index[p, 0], f], old.load(x), op=np.add)
        return y
    x = np.arange(30, dtype=np.float32).reshape(6, 5)
    ids = np.array([[3], [7], [3], [0], [7], [3]], np.int32)
    expected = np.zeros((20, 5), np.float32)
    np.add.at(expected, ids[:, 0], x)
    assert np.array_equal(kernel(x, ids), expected)
