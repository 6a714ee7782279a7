"""nki.language: memory, loops and types; its functions are the operators of instructions, a few make tiles."""

from ncemu.nki.index import ds  # noqa: F401
from ncemu.nki.memory import empty_like, full, ndarray, ones, zeros, zeros_like  # noqa: F401
from ncemu.nki.registers import dynamic_range, fori_loop, while_loop  # noqa: F401
from neuronxcc.nki.language import *  # noqa: F401,F403
from neuronxcc.nki.language import (abs, affine_range, all, bool_, hbm, max, min, num_programs, private_hbm,  # noqa: F401
                                    program_id, program_ndim, psum, sbuf, sequential_range, shared_hbm,
                                    static_range, sum, tile_size)
from ncemu.nki.types import PACKS as _PACKS

globals().update(_PACKS)


def is_hbm(buffer):
    return getattr(buffer, "space", buffer) == "hbm"


def is_sbuf(buffer):
    return getattr(buffer, "space", buffer) == "sbuf"


def is_psum(buffer):
    return getattr(buffer, "space", buffer) == "psum"
