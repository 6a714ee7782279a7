"""Registers of the sequencers and loops that the machine runs.

`for i in nl.dynamic_range(...)` is traced once, with a register in place of the number; the loop is the machine's.
A register indexes tensors (`t[i]`, `t[nl.ds(i * 128, 128)]`) with a factor and a summand.
"""

from ncemu.nki import trace as tracing
from ncemu.nki.errors import NkiError, UnsupportedError


class Register:
    """scale * register + base"""

    def __init__(self, name, scale=1, base=0):
        self.register_number, self.scale, self.base = name, scale, base

    def _affine(self, scale, base):
        return Register(self.register_number, scale, base)

    def __add__(self, other):
        return self._affine(self.scale, self.base + int(other))

    __radd__ = __add__

    def __sub__(self, other):
        return self._affine(self.scale, self.base - int(other))

    def __mul__(self, other):
        return self._affine(self.scale * int(other), self.base * int(other))

    __rmul__ = __mul__

    def __int__(self):
        raise NkiError("err_dynamic_control_flow_not_supported", "the variable of a run-time loop has no value while tracing")

    __index__ = None

    def __bool__(self):
        raise NkiError("err_dynamic_control_flow_not_supported", "control flow depending on a register is not supported")


def dynamic_range(*args, **_):
    raise UnsupportedError("nl.dynamic_range is not supported yet")


def fori_loop(*args, **_):
    raise UnsupportedError("nl.fori_loop is not supported yet")


def while_loop(*args, **_):
    raise UnsupportedError("nl.while_loop is not supported yet")


def register_alloc(*args, **_):
    raise UnsupportedError("nisa.register_alloc is not supported yet")


register_load = register_move = register_store = register_alloc
