"""Which elements of a PSUM tile a matmul has written, so that accumulation follows from the program.

The first matmul into an element overwrites, further ones add; a tile declared as zeros costs nothing unless
something reads an element that no matmul replaced: then its memset stays (design: PSUM groups).
"""

import numpy as np


def _key(t):
    return (t.part, t.dims[0][1], t.offset, t.dims[1:])


def _elements(key):
    _, _, offset, dims = key
    at = np.array([offset], dtype=np.int64)
    for step, n in dims:
        at = (at[:, None] + np.arange(n, dtype=np.int64) * step).ravel()
    return at


def written(t):
    """True if a matmul wrote any element of the view since its group was opened."""
    groups = t.storage.groups
    if not groups:
        return False
    key = _key(t)
    if key in groups:
        return True
    mine = None
    for other in groups:
        if other[0] < key[0] + key[1] and key[0] < other[0] + other[1]:
            if mine is None:
                mine = _elements(key)
            if np.intersect1d(mine, _elements(other)).size:
                return True
    return False


def write(t):
    """A matmul writes the view."""
    s = t.storage
    if s.groups is None:
        s.groups = {}
    s.groups[_key(t)] = True


def overwrite(t, zero=False):
    """Another instruction writes the view: its groups end. `zero`: it writes zeros, which += may replace."""
    groups = t.storage.groups
    if not zero:
        t.storage.covered = True
    if not groups:
        return
    if t.whole():
        groups.clear()
        return
    key = _key(t)
    if key in groups and all(k == key for k in groups):
        groups.clear()
        return
    mine = _elements(key)
    for other in list(groups):
        if other[0] < key[0] + key[1] and key[0] < other[0] + other[1]:
            if np.intersect1d(mine, _elements(other)).size:
                del groups[other]


def read(t):
    """Something reads a tile that was declared as zeros."""
    s = t.storage
    groups = s.groups or {}
    if _key(t) in groups:
        return
    left = np.ones((t.dims[0][1], s.elements), dtype=bool)
    seen = np.zeros(s.elements, dtype=bool)
    seen[_elements(_key(t))] = True
    left &= seen
    for part, n, offset, dims in groups:
        lo, hi = max(part, t.part) - t.part, min(part + n, t.part + t.dims[0][1]) - t.part
        if lo < hi:
            left[lo:hi, _elements((part, n, offset, dims))] = False
    if left.any():
        s.fill = True
