"""The generation that returns results (neuronxcc.nki): a call makes a tile and is emitted when its tile is known.

`x[...] = nisa.f(...)` is one instruction that writes x, as the vendor's compiler makes it, if nothing else holds the
returned tile; the count of references to it tells. `psum[...] += nisa.nc_matmul(...)` accumulates in place.
"""

import sys

from ncemu.nki import elementwise, matmul, trace as tracing, transfers
from ncemu.nki.errors import NkiError
from ncemu.nki.operators import is_number
from ncemu.nki.subscript import subscript
from ncemu.nki.tensor import Tensor, new_tile
from ncemu.nki.types import INTEGERS


class Pending:
    """A call whose result has no place yet. emit(dst, accumulate) emits it; `exact`: only into its own type."""

    __slots__ = ("trace", "tile", "emit", "site", "exact", "is_matmul", "macro")

    def __init__(self, trace, tile, emit, exact, is_matmul, site):
        self.trace, self.tile, self.emit, self.exact, self.is_matmul = trace, tile, emit, exact, is_matmul
        self.site, self.macro = site, trace.macro

    def emit_to(self, dst, accumulate=False):
        tr = self.trace
        macro = tr.macro
        tr.macro = self.macro
        before = tr.frozen_site
        if before is None:
            tr.frozen_site = self.site
        try:
            if self.is_matmul:
                self.emit(dst, accumulate)
            else:
                self.emit(dst)
        finally:
            tr.frozen_site = before
        tr.macro = macro


def produce(tr, shape, isa, emit, space="sbuf", exact=True, is_matmul=False, name=None):
    """A new tile that `emit` will write; emitted at the latest before the next instruction."""
    tr.flush()
    site = tr.site()
    tile = new_tile(shape, isa, space, name, tr, site)
    if tr.frozen_site is not None:  # inside a macro: nobody assigns
        if is_matmul:
            emit(tile, False)
        else:
            emit(tile)
        return tile
    tr.pending = Pending(tr, tile, emit, exact, is_matmul, site)
    return Tensor(tile.storage, tile.part, tile.offset, tile.dims, tile.pdim)


_probe = []  # while calibrating: reference counts
_expected = [0, 0]


def assign(target, key, value):
    """target[key] = value"""
    if _probe:
        _probe.append(sys.getrefcount(value))
        return
    tr = tracing.current()
    view = subscript(target, key)
    pending = tr.pending
    if isinstance(value, Tensor):
        if value.storage is view.storage and value.dims == view.dims and value.offset == view.offset and \
                value.part == view.part:
            return  # the end of an augmented assignment
        if pending is not None and pending.tile.storage is value.storage:
            unnamed = sys.getrefcount(value) <= _expected[0] and value.whole()
            if unnamed and view.pdim == 0 and _may_write(pending, view):
                tr.pending = None
                pending.emit_to(view)
                return
    tr.flush()
    write(tr, view, value)


def _may_write(pending, view):
    tile = pending.tile
    if view.shape != tile.shape:
        return False
    if view.isa != tile.isa and (pending.exact or view.isa in INTEGERS or tile.isa in INTEGERS) and \
            not (tile.isa == "f32" and view.isa not in INTEGERS):
        return False
    if view.storage.space == tile.storage.space:
        return True
    if pending.is_matmul:
        return False
    return view.storage.space in ("sbuf", "psum") and tile.storage.space == "sbuf" and view.storage.space == "sbuf"


def write(tr, view, value, mask=None):
    """view = value, a tile or a number."""
    if view.pdim is None:
        return store(tr, view, value, mask)
    if isinstance(value, Tensor):
        if value.pdim is None:
            return transfers.copy(tr, view, value, mask)
        if value.shape != view.shape and value.size > view.size:
            raise NkiError("err_store_dst_shape_smaller_than_other_shape",
                           f"illegal assignment destination shape: {list(view.shape)} of '{view.name}' is smaller than "
                           f"{list(value.shape)}")
        if value.dims[0][1] == 1 and view.dims[0][1] > 1:
            from ncemu.nki.macros import broadcast_partitions
            value = broadcast_partitions(tr, value, view.dims[0][1])
        return elementwise.tensor_copy(tr, view, value, mask=mask)
    if is_number(value):
        return elementwise.memset(tr, view, value, mask=mask)
    raise NkiError("err_unsupported_operand", f"a tile takes a tile or a number, found {type(value).__name__}")


def store(tr, view, value, mask=None):
    """HBM = tile or number."""
    if is_number(value):
        shape = view.shape if len(view.shape) > 1 else (*view.shape, 1) if view.shape else (1, 1)
        tile = new_tile(shape, view.isa, "sbuf", "filled", tr)
        elementwise.memset(tr, tile, value)
        value = tile
    if not isinstance(value, Tensor):
        raise NkiError("err_unsupported_operand", f"store takes a tile or a number, found {type(value).__name__}")
    if value.storage.space == "psum":
        copied = new_tile(value.shape, value.isa, "sbuf", "stored", tr)
        elementwise.tensor_copy(tr, copied, value)
        value = copied
    if value.shape != view.shape and value.pdim is not None and value.size < view.size:
        value = value.expand_to(view.shape)
    transfers.copy(tr, view, value, mask)


def add_in_place(target, other):
    """target += other"""
    if _probe:
        _probe.append(sys.getrefcount(other))
        return target
    tr = tracing.current()
    pending = tr.pending
    if target.storage.space == "psum" and isinstance(other, Tensor) and pending is not None and pending.is_matmul and \
            pending.tile.storage is other.storage and pending.tile.shape == target.shape:
        if sys.getrefcount(other) <= _expected[1]:
            tr.pending = None
            pending.emit_to(target, matmul.ADD)
            return target
    tr.flush()
    if target.pdim is None:
        raise NkiError("err_unsupported_memory", f"{target.describe()} is in HBM: load it, add, and store it")
    if isinstance(other, Tensor):
        if other.shape != target.shape:
            other = other.expand_to(target.shape)
        a, b = target, other
        if a.storage.space == "psum" and b.storage.space == "psum":
            copied = new_tile(b.shape, b.isa, "sbuf", "addend", tr)
            elementwise.tensor_copy(tr, copied, b)
            b = copied
        elementwise.tensor_tensor(tr, target, a, b, "add")
    else:
        elementwise.tensor_scalar(tr, target, target, "add", other)
    return target


def _calibrate():
    """What getrefcount says of a value that only the assignment holds."""
    probe = Tensor.__new__(Tensor)
    _probe.append(0)
    probe[...] = Pending.__new__(Pending)
    probe += Pending.__new__(Pending)
    _expected[0], _expected[1] = _probe[1], _probe[2]
    _probe.clear()


_calibrate()
