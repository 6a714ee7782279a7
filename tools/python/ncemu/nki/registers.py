"""Registers of the sequencers, and loops that the machine runs.

`for i in nl.dynamic_range(...)` is traced once: `i` is a register, the loop is the machine's. Registers index tensors
with a factor and a summand: `t[i]`, `t[nl.ds(i * 128, 128)]`, `t[i * 128:(i + 1) * 128]`. A register that is loaded or
moved holds its value on all five engines.
"""

from ncemu.nki import trace as tracing
from ncemu.nki.emit import chip
from ncemu.nki.errors import NkiError, UnsupportedError
from ncemu.nki.operators import integer
from ncemu.nki.tensor import Tensor

ENGINES = ("tensor", "vector", "scalar", "gpsimd", "sync")
MOST = 32  # by hand; loop counters are taken from 63 downwards (isa/README.md)


class Register:
    """scale * register + base; `key` names a loop or a register by number."""

    __slots__ = ("key", "scale", "base")

    def __init__(self, key, scale=1, base=0):
        self.key, self.scale, self.base = key, scale, base

    @property
    def register_number(self):
        return self.key

    def __add__(self, other):
        if not hasattr(other, "__index__"):
            return NotImplemented
        return Register(self.key, self.scale, self.base + int(other))

    __radd__ = __add__

    def __sub__(self, other):
        if not hasattr(other, "__index__"):
            return NotImplemented
        return Register(self.key, self.scale, self.base - int(other))

    def __mul__(self, other):
        if not hasattr(other, "__index__"):
            return NotImplemented
        return Register(self.key, self.scale * int(other), self.base * int(other))

    __rmul__ = __mul__

    def __bool__(self):
        raise UnsupportedError("'if' and 'while' on a register are not supported: use nl.dynamic_range")


def _bound(value):
    """An integer or a plain register."""
    if isinstance(value, Register):
        if (value.scale, value.base) != (1, 0):
            raise NkiError("err_unsupported_operand", "a bound of a run-time loop is a number or a register, without arithmetic")
        return value
    return _number(value, "a bound of a run-time loop")


def _number(value, what):
    found = integer(value)
    if found is None:
        raise NkiError("err_unsupported_operand", f"{what} is an integer or a register, found {value!r}")
    return found


def dynamic_range(start, stop=None, step=1):
    """A loop that the machine runs; its body is traced once."""
    tr = tracing.current()
    tr.flush()
    if stop is None:
        start, stop = 0, start
    if not isinstance(step, int) or step < 1:
        raise NkiError("err_unsupported_operand", f"the step of a run-time loop is a positive number, found {step}")
    return _iterate(tr, _bound(start), _bound(stop), int(step))


def _iterate(tr, start, stop, step):
    # Counted from 0 where that is known, so that `i - 1` never points before a tensor.
    base = 0
    if isinstance(start, int) and isinstance(stop, int):
        base, start, stop = start, 0, max(stop - start, 0)
    key = tr.open_loop(start, stop, step)
    finished = False
    try:
        yield Register(key, 1, base)
        finished = True
    finally:
        tr.flush()
        tr.close_loop()
        if not finished:  # a generator that is dropped cannot raise: the trace does when it is finished
            tr.left_early = tr.left_early or tr.sites[tr.instructions[-1][2]]


def fori_loop(lower, upper, body, init=None):
    """body(i) or body(i, init), as a loop that the machine runs."""
    for i in dynamic_range(lower, upper):
        body(i) if init is None else body(i, init)
    return init


def while_loop(*_, **__):
    raise UnsupportedError("nl.while_loop is not supported: use nl.dynamic_range with a register as its bound")


while_loop.refused = "refuses: use dynamic_range with a register as its bound"


def register_alloc(x=None, **_):
    """A register; with a number or a tile [1, 1] it holds that."""
    tr = tracing.current()
    tr.flush()
    if tr.registers >= MOST:
        raise NkiError("err_out_of_registers", f"a kernel has {MOST} registers")
    register = Register(("register", tr.registers))
    tr.registers += 1
    if isinstance(x, Tensor):
        register_load(register, x)
    elif x is not None:
        register_move(register, x)
    return register


def register_move(dst, src=None, imm=None, **_):
    tr = tracing.current()
    tr.flush()
    value = imm if src is None else src
    value = value if isinstance(value, Register) else str(_number(value, "what a register takes"))
    for engine in ENGINES:
        tr.record("register_move", engine, [("dst", dst), ("src", value)], [], [])


def register_load(dst, src, **_):
    """Loads one element, of 32-bit integers."""
    tr = tracing.current()
    tr.flush()
    if src.size != 1:
        raise NkiError("err_shape_mismatch", f"a register is loaded from one element, found {src.describe()}")
    for engine in ENGINES:
        tr.record("register_load", engine, [("dst", dst), ("src", element(src))], [], [src.storage])


def register_store(dst, src, **_):
    tr = tracing.current()
    tr.flush()
    if dst.size != 1:
        raise NkiError("err_shape_mismatch", f"a register is stored into one element, found {dst.describe()}")
    tr.record("register_store", "sync", [("dst", element(dst)), ("src", src)], [dst.storage], [])


def element(t):
    if t.pdim is None:
        t.settled()
        return ("hbm", t.storage, t.dtype_, 0, 0, t.offset, ((1, 1),), t.register)
    return chip(t, ((1, 1),))
