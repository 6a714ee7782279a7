"""Direct allocation: objects given as `buffer=` that place each block of a tensor themselves.

SBUF places are (start partition, byte offset); PSUM places (bank, start partition, byte offset in the bank).
"""

import inspect

from ncemu.nki.errors import NkiError
from ncemu.nki.types import SIZE

BANK = 2048  # bytes of a PSUM bank of one partition (datasheet 1.2)


def _bytes(shape, isa):
    n = SIZE[isa]
    for d in shape[1:]:
        n *= d
    return n


class _Placed:
    """place(index of the block, block dimensions, tile shape, type) -> (first partition, byte offset)"""

    def __init__(self, space, place):
        self.space, self.place = space, place


class SbufAllocator:
    """ncc.sbuf: also the plain buffer."""

    space = "sbuf"

    def mod_alloc(self, *, base_addr, base_partition=0, num_par_tiles=(), num_free_tiles=(), **_):
        """Block index modulo the number of tiles, each after the other from base_addr."""
        partitions, free = tuple(num_par_tiles), tuple(num_free_tiles)

        def place(index, lead, shape, isa):
            size = _bytes(shape, isa)
            if not index:
                return (base_partition, base_addr)
            counts = free or (1,) * len(index)
            if len(counts) != len(index):
                raise NkiError("err_allocation", f"num_free_tiles {list(counts)} has not one number per block dimension "
                               f"{list(lead)}")
            at = 0
            for i, n in zip(index, counts):
                at = at * n + i % n
            start = 0
            if partitions:
                for i, n in zip(index, partitions):
                    start = start * n + i % n
            return (base_partition + start * shape[0], base_addr + at * size)
        return _Placed("sbuf", place)

    def alloc(self, func=None, **_):
        """func(block index, partitions, bytes per partition) -> (start partition, byte offset)"""
        def place(index, lead, shape, isa):
            result = _call(func, index, shape, isa)
            return (int(result[0]), int(result[1]))
        return _Placed("sbuf", place)

    def auto_alloc(self, **_):
        from ncemu.nki.memory import SBUF
        return SBUF

    def __repr__(self):
        return "nl.sbuf"


def _call(func, index, shape, isa):
    """The interface calls allocation functions with these names, so that partial functions may bind others."""
    sizes = {"pdim_size": shape[0], "fdim_size": _bytes(shape, isa)}
    parameters = inspect.signature(func).parameters
    if "idx" in parameters and set(sizes) <= set(parameters):
        return func(idx=tuple(index), **sizes)
    return func(tuple(index), *sizes.values())


class PsumAllocator:
    """ncc.psum."""

    space = "psum"

    def mod_alloc(self, *, base_bank, base_addr=0, base_partition=0, num_bank_tiles=(), num_par_tiles=(), num_free_tiles=(), **_):
        """Block index modulo the number of banks."""
        banks, free, partitions = tuple(num_bank_tiles), tuple(num_free_tiles), tuple(num_par_tiles)

        def place(index, lead, shape, isa):
            size = _bytes(shape, isa)
            whole = -(-size // BANK)

            def count(numbers):
                at = 0
                for i, n in zip(index, numbers):
                    at = at * n + i % n
                return at
            bank = base_bank + count(banks) * whole
            if bank + whole > 8:
                raise NkiError("err_allocation", f"bank {bank} of PSUM, which has 8")
            return (base_partition + count(partitions) * shape[0], bank * BANK + base_addr + count(free) * size)
        return _Placed("psum", place)

    def alloc(self, func=None, **_):
        """func(block index, partitions, bytes per partition) -> (bank, start partition, byte offset)"""
        def place(index, lead, shape, isa):
            result = _call(func, index, shape, isa)
            bank, partition, offset = result
            return (int(partition), int(bank) * BANK + int(offset))
        return _Placed("psum", place)

    def auto_alloc(self, **_):
        from ncemu.nki.memory import PSUM
        return PSUM

    def __repr__(self):
        return "nl.psum"
