"""Random numbers of the vector engine: seed, bits as numbers in [0, 1), dropout (datasheet 6.9)."""

from ncemu.nki import elementwise, trace as tracing
from ncemu.nki.adapter import produce
from ncemu.nki.emit import chip, stream
from ncemu.nki.operators import is_number
from ncemu.nki.tensor import Tensor, new_tile
from ncemu.nki.types import isa_type


def random_seed(seed, **_):
    """One seed for all lanes: a tile [1, 1] or a number (datasheet 6.9)."""
    tr = tracing.current()
    tr.flush()
    if is_number(seed):
        tile = new_tile((1, 1), "u32", "sbuf", "seed", tr)
        elementwise.memset(tr, tile, int(seed))
    else:
        tile = seed
        if seed.isa not in ("i32", "u32"):
            tile = new_tile((1, 1), "u32", "sbuf", "seed", tr)
            elementwise.tensor_copy(tr, tile, seed)
    tr.record("set_rng_seed", None, [(None, chip(tile))], [], [tile.storage])


def rand(shape, dtype=None, **_):
    """Numbers uniform in [0, 1): the upper 24 bits of a draw."""
    tr = tracing.current()
    tr.flush()

    def emit(dst):
        bits = new_tile(shape, "u32", "sbuf", "bits", tr)
        tr.record("rng", None, [(None, chip(bits))], [bits.storage], [])
        elementwise.tensor_scalar(tr, bits, bits, "right_shift", 8)
        elementwise.tensor_scalar(tr, dst, bits, "multiply", 2.0 ** -24)
    return produce(tr, shape, isa_type(dtype) if dtype is not None else "f32", emit, name="rand")


def dropout_into(tr, dst, data, prob, mask=None):
    prob = elementwise.as_f32(tr, prob) if isinstance(prob, Tensor) else prob
    stream(tr, "dropout", dst, [data], [("threshold", prob, "prob", False)], mask=mask)


def dropout(x, rate, dtype=None, mask=None, **_):
    """Each element becomes 0 with probability `rate`."""
    tr = tracing.current()
    tr.flush()
    return produce(tr, x.shape, isa_type(dtype) if dtype is not None else x.isa,
                   lambda dst: dropout_into(tr, dst, x, rate, mask), name="dropout")


def bits(tr, dst, engine=None):
    """Random bits."""
    from ncemu.nki.emit import written
    tr.record("rng", engine, [(None, chip(dst))], [dst.storage], [])
    written(dst)
