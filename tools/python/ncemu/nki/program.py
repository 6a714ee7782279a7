"""Which program of a grid runs, and prints of the device."""

from ncemu.nki import trace as tracing
from ncemu.nki.emit import chip
from ncemu.nki.errors import NkiError
from ncemu.nki.registers import element
from ncemu.nki.tensor import Tensor
from ncemu.nki.trace import PRINT


def program_id(axis):
    ids = tracing.current().program_ids
    return ids[int(axis)] if int(axis) < len(ids) else 0


def num_programs(axes=None):
    grid = tracing.current().grid
    if axes is None:
        total = 1
        for n in grid:
            total *= n
        return total
    if isinstance(axes, (list, tuple)):
        return tuple([grid[a] for a in axes])
    return grid[axes] if axes < len(grid) else 1


def program_ndim():
    grid = tracing.current().grid
    return 0 if grid == (1,) else len(grid)


class GridSize:
    """nl.nc(n): cores of a grid; a grid's programs run one after the other on one core here."""

    def __init__(self, size):
        self.size = int(size)

    def __mul__(self, other):
        return GridSize(self.size * int(getattr(other, "size", other)))

    __rmul__ = __mul__

    def __int__(self):
        return self.size


def nc(n):
    return GridSize(n)


def spmd_dim(n, kind=None):
    return GridSize(int(getattr(n, "size", n)) * int(getattr(kind, "size", kind) or 1))


def device_print(prefix, x, **_):
    """Shows a tile or a tensor when the run comes here."""
    tr = tracing.current()
    tr.flush()
    if not isinstance(x, Tensor):
        raise NkiError("err_unsupported_operand", f"device_print shows a tile or a tensor, found {type(x).__name__}")
    tr.record(PRINT, None, [(str(prefix), element(x) if x.size == 1 else shown(x))], [], [x.storage])


def shown(t):
    if t.pdim is not None:
        return chip(t)
    t.settled()
    return ("hbm", t.storage, t.dtype_, 0, 0, t.offset, t.dims, t.register)
