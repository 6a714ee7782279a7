"""Words and sizes of the language."""

from ncemu.nki.types import SIZE, isa_type


def sizeinbytes(dtype):
    return SIZE[isa_type(dtype)]
