"""Programs built instruction by instruction; README.md, "Building programs"."""

from contextlib import contextmanager

import numpy as np

from . import _native
from .arrays import array_in
from .dtypes import type_name


class Builder(_native.Builder):
    """Appends instructions in text order; finish() makes the program that can run."""

    def constant(self, name, array, dtype=None):
        """A tensor in HBM whose values are part of the program."""
        array = np.asarray(array)
        kind = type_name(array.dtype if dtype is None else dtype)
        data = _native.tensor_bytes(f"constant '{name}'", kind, [array_in(name, array, kind)])
        return self._constant(name, kind, array.shape, data)

    @contextmanager
    def loop(self, start, stop, step=1):
        """A loop that the machine runs; gives its counter register."""
        counter = self._open_loop(start, stop, step)
        yield counter
        self._close_loop()

    @contextmanager
    def block(self, engine):
        """A stretch of one engine with waits and signals by hand."""
        self._open_block(engine)
        yield
        self._close_block()

    def finish(self, *, sync="auto", tables=True, allocate="rotate"):
        """Places the tiles, adds table loads and waits; the builder is empty afterwards."""
        if sync not in ("auto", "manual"):
            raise ValueError(f'sync is "auto" or "manual", not {sync!r}')
        return self._finish(sync == "auto", tables, allocate)
