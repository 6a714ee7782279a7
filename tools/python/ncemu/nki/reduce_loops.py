"""nl.loop_reduce: a sum over iterations of enclosing loops, known by the loops' identities."""

from ncemu.nki import elementwise, operators, trace as tracing
from ncemu.nki.emit import stream
from ncemu.nki.errors import NkiError
from ncemu.nki.ranges import LoopInt
from ncemu.nki.tensor import new_tile
from ncemu.nki.types import isa_type


def loop_reduce(x, op, loop_indices, dtype=None, mask=None):
    """The accumulator of this call and of the iterations of the loops outside the reduced ones."""
    tr = tracing.current()
    tr.flush()
    loops = []
    for i in loop_indices:
        if not isinstance(i, LoopInt):
            raise NkiError("err_unsupported_operand", "loop_indices are variables of enclosing nl loops")
        loops.append(i.loop)
    outer = tuple([(id(loop), loop.at) for loop in tr.loops if loop not in loops])
    key = (tr.sites[tr.site()], outer)
    isa = isa_type(dtype) if dtype is not None else x.isa
    known = tr.accumulators.get(key)
    if known is None:
        tile = tr.accumulators[key] = new_tile(x.shape, isa, "sbuf", "loop_reduce", tr)
        elementwise.tensor_copy(tr, tile, x, mask=mask)
        return tile
    stream(tr, "tensor_tensor", known, [known, x], attributes=(("op", operators.alu(op)),), mask=mask)
    return known
