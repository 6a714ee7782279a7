"""Declaring memory: nl.ndarray, zeros, full, and the buffers that say where."""

import linecache
import math
import re

import numpy as np

from ncemu.nki import elementwise, trace as tracing
from ncemu.nki.errors import NkiError
from ncemu.nki.operators import integer, is_number
from ncemu.nki.subscript import subscript
from ncemu.nki.tensor import new_tile, whole_view
from ncemu.nki.types import isa_type


class Buffer:
    """nl.sbuf, nl.psum, nl.hbm and their kind."""

    def __init__(self, name, space):
        self.name, self.space = name, space

    def __repr__(self):
        return f"nl.{self.name}"

    def __eq__(self, other):
        return other is self or (isinstance(other, str) and other in (self.name, self.space))

    def __hash__(self):
        return hash(self.name)


SBUF, PSUM = Buffer("sbuf", "sbuf"), Buffer("psum", "psum")
HBM, PRIVATE, SHARED = Buffer("hbm", "hbm"), Buffer("private_hbm", "hbm"), Buffer("shared_hbm", "hbm")
SPACES = {b.name: b.space for b in (SBUF, PSUM, HBM, PRIVATE, SHARED)}


class ParDim(int):
    """nl.par_dim(n): this dimension is the partition."""


class Blocks:
    """A tensor with dimensions before its partition: one tile for each index of them, each with a life of its own.

    A block's memory exists from its first use to its last, as the interface allows ("may keep 1 to n tiles").
    """

    def __init__(self, name, lead, shape, make):
        self.name, self.lead, self.tile_shape, self.make = name, lead, shape, make
        self.tiles = {}

    @property
    def shape(self):
        return (*self.lead, *self.tile_shape)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def dtype(self):
        return self.tile((0,) * len(self.lead)).dtype

    @property
    def buffer(self):
        return self.tile((0,) * len(self.lead)).buffer

    def tile(self, at):
        known = self.tiles.get(at)
        if known is None:
            known = self.tiles[at] = self.make(at)
        return known

    def split(self, key):
        if key is Ellipsis or isinstance(key, slice):
            raise self.not_a_tile()
        if not isinstance(key, tuple):
            key = (key,)
        lead = len(self.lead)
        known = self.tiles.get(key[:lead]) if all([isinstance(k, int) for k in key[:lead]]) else None
        if known is not None:
            return known, key[lead:]
        if Ellipsis in [k for k in key[:lead] if k is Ellipsis] or len(key) < lead:
            raise self.not_a_tile()
        at = []
        for k, n in zip(key[:lead], self.lead):
            if hasattr(k, "range") and hasattr(k, "coefs"):
                lo, hi = k.range()
                if lo != hi:
                    raise self.not_a_tile()
                k = lo
            if not hasattr(k, "__index__"):
                raise self.not_a_tile()
            k = int(k)
            if k < 0:
                k += n
            if not 0 <= k < n:
                from ncemu.nki.errors import OutOfBoundError
                raise OutOfBoundError(f"out-of-bound access for tensor '{self.name}' on dimension {len(at)}: index "
                                      f"{k} exceeds the dimension's size of {n}")
            at.append(k)
        return self.tile(tuple(at)), key[lead:]

    def not_a_tile(self):
        return NkiError("err_failed_to_infer_tile_from_local_tensor",
                        f"failed to infer a tile from tensor '{self.name}' {list(self.shape)}: choose one block by integers "
                        f"before its partition dimension")

    def __getitem__(self, key):
        tile, rest = self.split(key)
        return subscript(tile, rest) if rest else tile

    def __setitem__(self, key, value):
        from ncemu.nki.adapter import assign
        tile, rest = self.split(key)
        assign(tile, rest if rest else ..., value)  # at once: it counts who holds the value

    def __iter__(self):
        for i in range(self.shape[0]):
            yield self[i]

    def __repr__(self):
        return f"{self.name}{list(self.shape)}"


def _shape(shape):
    if is_number(shape):
        shape = (shape,)
    if isinstance(shape, (tuple, list)):
        sizes = tuple([n if isinstance(n, ParDim) else integer(n) for n in shape])
        if sizes and None not in sizes and min(sizes) > 0:
            return sizes
    raise NkiError("err_unsupported_operand", f"a shape is a tuple of positive integers, found {shape!r}")


_ASSIGNMENT = re.compile(r"\s*(?:\w+\s*,\s*)*?([A-Za-z_]\w*)\s*(?::[^=]*)?=[^=]")
_variables = {}  # (file, line) -> name


def variable(key):
    """The variable of an assignment `name = nl.ndarray(...)` at the kernel's line (file, line): the tile's name in reports."""
    name = _variables.get(key)
    if name is None:
        found = _ASSIGNMENT.match(linecache.getline(*key))
        name = _variables[key] = found.group(1) if found else "tile"
    return name


def ndarray(shape, dtype, buffer=None, name=None, address=None, **_):
    """Memory without content."""
    tr = tracing.current()
    shape = _shape(shape)
    isa = isa_type(dtype)
    allocator = buffer if hasattr(buffer, "place") else None
    if allocator is not None:
        space = allocator.space
    elif buffer is None:
        space = "sbuf"
    elif isinstance(buffer, Buffer):
        space = buffer.space
    elif isinstance(buffer, str):
        space = SPACES.get(buffer)
    else:
        space = None
    if space is None:
        raise NkiError("err_unsupported_memory", f"{buffer!r} is no buffer")
    site = tr.site()
    name = name or variable(tr.sites[site])
    if space == "hbm":
        return hbm(tr, shape, isa, buffer, name)
    return tiles(tr, shape, isa, space, name, allocator, address, site)


def hbm(tr, shape, isa, buffer, name):
    shape = tuple([int(n) for n in shape])
    if buffer is SHARED and tr.grid != (1,):
        # Programs of a grid share these, in order of declaration.
        if tr.shared_next < len(tr.shared):
            known = tr.shared[tr.shared_next]
            tr.shared_next += 1
            return whole_view(known)
    elements = math.prod(shape)
    s = tr.storage(tr.unique(name), "hbm", isa, shape, 0, elements)
    s.kind = "hbm"
    if buffer is SHARED and tr.grid != (1,):
        tr.shared.append(s)
        tr.shared_next += 1
    return whole_view(s)


def tiles(tr, shape, isa, space, name, allocator, address, site):
    """A tile, or blocks of tiles if dimensions come before nl.par_dim."""
    at = 0
    for k, n in enumerate(shape):
        if type(n) is ParDim:
            at = k
            break
    if at == 0:
        return placed(tr, shape, isa, space, name, allocator, address, (), (), site)
    lead, tile = tuple([int(n) for n in shape[:at]]), tuple([int(n) for n in shape[at:]])
    return Blocks(name, lead, tile, lambda index: placed(
        tr, tile, isa, space, name + "".join([f"_{i}" for i in index]), allocator, address, index, lead, site))


def placed(tr, shape, isa, space, name, allocator, address, index, lead, site):
    """One tile, at its place if the kernel chose one."""
    t = new_tile(shape, isa, space, name, tr, site)
    if allocator is not None:
        t.storage.fixed = allocator.place(index, lead, t.shape, isa)
    elif address is not None:
        at = tuple([integer(a) for a in address]) if isinstance(address, (tuple, list)) else ()
        if len(at) != 2 or None in at or min(at) < 0:
            raise NkiError("err_allocation", f"an address is (partition, byte offset), both 0 or more, found {address!r}")
        t.storage.fixed = at
    return t


def zeros(shape, dtype, buffer=None, name=None, **_):
    """Memory filled with 0; in PSUM it costs nothing where products replace it."""
    return filled(shape, 0, dtype, buffer, name)


def ones(shape, dtype, buffer=None, name=None, **_):
    return filled(shape, 1, dtype, buffer, name)


def full(shape, fill_value, dtype, buffer=None, name=None, **_):
    return filled(shape, fill_value, dtype, buffer, name)


def zeros_like(x, dtype=None, buffer=None, name=None, **_):
    return filled(x.shape, 0, dtype or x.dtype, buffer, name)


def empty_like(x, dtype=None, buffer=None, name=None, **_):
    return ndarray(x.shape, dtype or x.dtype, buffer, name)


def filled(shape, value, dtype, buffer, name):
    tr = tracing.current()
    tr.flush()
    t = ndarray(shape, dtype, buffer, name)
    with tr.at_site(tr.site()):
        if isinstance(t, Blocks):
            for at in np.ndindex(*t.lead):
                fill(tr, t.tile(tuple(at)), value)
        elif t.pdim is None:
            fill_hbm(tr, t, value)
        else:
            fill(tr, t, value)
    return t


def fill(tr, t, value):
    s = t.storage
    if s.space == "psum" and value == 0:
        s.zero = True
        s.fill = None
        first, last, before = s.first, s.last, s.is_written
        elementwise.memset(tr, t, 0.0 if t.isa[0] in "fbt" else 0)
        s.first, s.last, s.is_written = first, last, before
        s.covered = None
        tr.barriers.append((len(tr.instructions) - 1, s))
        return
    elementwise.memset(tr, t, value)


def fill_hbm(tr, t, value):
    """A tile of the value, stored over and over."""
    from ncemu.nki import transfers
    total, flat = t.size, t.reshape((t.size,))
    columns = min(-(-total // 128), 4096)
    tile = new_tile((128, columns), t.isa, "sbuf", "filled", tr)
    elementwise.memset(tr, tile, value)
    at = 0
    while at < total:
        rows = min(128, (total - at) // columns)
        if rows:
            transfers.copy(tr, flat.narrow(0, at, at + rows * columns).reshape((rows, columns)), tile.narrow(0, 0, rows))
            at += rows * columns
        else:
            rest = total - at
            transfers.copy(tr, flat.narrow(0, at, total).reshape((1, rest)), tile.narrow(0, 0, 1).narrow(1, 0, rest))
            at = total


def constant(tr, array, name="constant"):
    """An array of the host as a tensor in HBM."""
    array = np.ascontiguousarray(array)
    isa = isa_type(array.dtype)
    s = tr.storage(tr.unique(name), "hbm", isa, array.shape or (1,), 0, array.size)
    s.kind = "input"
    s.array = array
    return whole_view(s)
