"""From views to operands of instructions: patterns of at most four free dimensions, and boxes of masks.

An operand is a tuple (space, storage, type or None, partition, partitions, offset, dimensions, register): `type` only
where a view reinterprets its storage, whose own type may still change (PSUM, matmul.py).
"""

import numpy as np

from ncemu.nki import psum
from ncemu.nki.errors import NkiError
from ncemu.nki.index import Mask
from ncemu.nki.tensor import Tensor
from ncemu.nki.trace import PARTITIONS

_patterns = {}


def merged(dims):
    """Without units, adjacent dimensions joined; at least one."""
    out = []
    for step, n in dims:
        if n == 1:
            continue
        if out and out[-1][0] == step * n:
            out[-1] = (step, out[-1][1] * n)
        else:
            out.append((step, n))
    return out or [(1, 1)]


ONE = ((1, 1),)  # a column


def dims_text(dims):
    """A pattern as the language writes it."""
    return "[" + ", ".join([f"[{s}, {n}]" for s, n in dims]) + "]"


def pattern_of(free, t):
    """The merged dimensions of a tile, slowest first."""
    pattern = _patterns.get(free)
    if pattern is None:
        dims = merged(free)
        if len(dims) > 4:
            raise NkiError("err_exceed_max_supported_dimension",
                           f"the access pattern of {t.describe()} has {len(dims)} free dimensions {dims}, an "
                           f"instruction has at most 4")
        pattern = _patterns[free] = tuple(dims)
    return pattern


def check_tile(t):
    """A tile on chip with the partition first."""
    if t.outside is not None:
        t.settled()
    if t.pdim != 0:
        if t.pdim is None:
            raise NkiError("err_unsupported_memory",
                           f"expected {t.describe()} in SBUF or PSUM, but it is in HBM")
        raise NkiError("err_failed_to_infer_tile_from_local_tensor",
                       f"failed to infer a tile from {t.describe()}: its first dimension is not the partition")
    step, n = t.dims[0]
    if n > PARTITIONS:
        raise NkiError("err_num_partition_exceed_arch_limit",
                       f"number of partitions {n} of {t.describe()} exceeds the architecture's limit of 128")
    if n > 1 and step != 1:
        raise NkiError("err_num_partition_mismatch",
                       f"{t.describe()}: an instruction reads one row per partition; use broadcast_to"
                       if step == 0 else f"{t.describe()}: partitions are taken one after the other, not by {step}")


def chip(t, pattern=None):
    """The operand of a tile; `pattern`: other free dimensions than the view's own."""
    check_tile(t)
    s = t.storage
    if pattern is None:
        free = t.dims[1:]
        pattern = _patterns.get(free) or pattern_of(free, t)
    return (s.space, s, t.dtype_, t.part, t.dims[0][1], t.offset, pattern, t.register)


def note_read(t):
    """PSUM zeros that no matmul replaced have to be there when something reads them."""
    if t.storage.zero:
        psum.read(t)


def box(mask, shape):
    """(ranges, rest): what a mask leaves of a tile of this shape; None: nothing. `rest`: what is no box."""
    ranges = [[0, n] for n in shape]
    rest = []
    if mask is None or mask is True:
        return ranges, rest
    if not isinstance(mask, Mask):
        if not isinstance(mask, (bool, np.bool_)):
            raise NkiError("err_unsupported_mask", f"a mask is a condition on indices or True or False, found {type(mask).__name__}")
        return (ranges, rest) if mask else None
    for index, relation in mask.constraints:
        rank = len(shape)
        if len(index.coefs) > rank:
            lead = len(index.coefs) - rank
            if any(index.coefs[:lead]):
                raise NkiError("err_unsupported_mask", f"the mask has {len(index.coefs)} axes, the tile {rank}")
            coefs = index.coefs[lead:]
        else:
            coefs = index.widen(rank)
        axes = [d for d in range(rank) if coefs[d] and shape[d] > 1]
        const = index.const
        if not axes:
            holds = const >= 0 if relation == "ge" else const == 0 if relation == "eq" else const != 0
            if not holds:
                return None
            continue
        if len(axes) == 1 and relation != "ne":
            d = axes[0]
            c = coefs[d]
            if relation == "eq":
                if const % c:
                    return None
                ranges[d][0] = max(ranges[d][0], -const // c)
                ranges[d][1] = min(ranges[d][1], -const // c + 1)
            elif c > 0:
                ranges[d][0] = max(ranges[d][0], -(const // c))
            else:
                ranges[d][1] = min(ranges[d][1], const // -c + 1)
            if ranges[d][0] >= ranges[d][1]:
                return None
            continue
        lo = hi = const
        for d in axes:
            lo += min(0, coefs[d] * (shape[d] - 1))
            hi += max(0, coefs[d] * (shape[d] - 1))
        if relation == "ge" and lo >= 0:
            continue
        if relation == "ge" and hi < 0:
            return None
        rest.append((const, coefs, relation))
    return ranges, rest


def narrow(t, ranges, shape):
    """The view's part of a box; axes of size 1 and operands of one column stay."""
    if t is None or not isinstance(t, Tensor):
        return t
    dims = t.dims
    if len(dims) == len(shape):
        for d, (lo, hi) in enumerate(ranges):
            if dims[d][1] == shape[d] and (lo, hi) != (0, shape[d]):
                t = t.narrow(d, lo, hi)
        return t
    lo, hi = ranges[0]
    if dims[0][1] == shape[0] and (lo, hi) != (0, shape[0]):
        t = t.narrow(0, lo, hi)
    return t
