"""The operators and functions a kernel may name, and what the machine calls them (datasheet 5.1, 5.3)."""

import operator

import numpy as np

from ncemu.nki.errors import NkiError

# Name in the interface -> operator of vector and gpsimd.
ALU = {
    "add": "add", "subtract": "subtract", "multiply": "mult", "divide": "divide", "mod": "mod", "power": "pow",
    "maximum": "max", "max": "max", "minimum": "min", "min": "min", "sum": "add", "prod": "mult",
    "equal": "is_equal", "not_equal": "not_equal", "greater_equal": "is_ge", "greater": "is_gt",
    "less_equal": "is_le", "less": "is_lt",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "invert": "bitwise_not",
    "left_shift": "logical_shift_left", "right_shift": "logical_shift_right",
    "arithmetic_right_shift": "arith_shift_right",
    "abs": "abs", "rsqrt": "rsqrt", "copy": "bypass", "average": "average",
}
BITWISE = frozenset(("bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_shift_left",
                     "logical_shift_right", "arith_shift_right"))
UNARY = frozenset(("bypass", "bitwise_not", "abs", "rsqrt"))

# Name in the interface -> function of the scalar engine.
ACTIVATION = {
    "copy": "copy", "square": "square", "relu": "relu", "abs": "abs", "sign": "sign", "exp": "exp", "log": "log",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "reciprocal": "reciprocal", "sigmoid": "sigmoid", "gelu": "gelu",
    "gelu_dx": "gelu_dx", "gelu_apprx_tanh": "gelu_apprx_tanh", "gelu_apprx_sigmoid": "gelu_apprx_sigmoid",
    "gelu_apprx_sigmoid_dx": "gelu_apprx_sigmoid_dx", "silu": "silu", "silu_dx": "silu_dx", "tanh": "tanh",
    "softplus": "softplus", "mish": "mish", "erf": "erf", "erf_dx": "erf_dx", "sin": "sin", "arctan": "arctan",
    "identity": "copy",
}
# numpy's names of the same.
_NUMPY = {"amax": "max", "amin": "min", "absolute": "abs", "power": "power", "remainder": "mod",
          "true_divide": "divide", "bitwise_not": "invert", "float_power": "power"}


def name_of(op):
    """The interface's name of an operator: one of nl's functions, numpy's, or a string."""
    if isinstance(op, str):
        return op
    name = getattr(op, "op", None)
    if isinstance(name, str):
        return name
    name = getattr(op, "__name__", None)
    if name is None:
        raise NkiError("err_unsupported_operator", f"{op!r} is not an operator")
    return _NUMPY.get(name, name)


_alu_cache = {}


def alu(op):
    try:
        return _alu_cache[op]
    except (KeyError, TypeError):
        pass
    found = ALU.get(name_of(op))
    if found is None:
        raise NkiError("err_unsupported_operator", f"'{name_of(op)}' is not an operator of the vector engine")
    try:
        _alu_cache[op] = found
    except TypeError:
        pass
    return found


def activation(op):
    found = ACTIVATION.get(name_of(op))
    if found is None:
        raise NkiError("err_unsupported_operator", f"'{name_of(op)}' is not a function of the scalar engine")
    return found


def is_number(x):
    return isinstance(x, (int, float, np.number, np.bool_))


def integer(x):
    """The value of an integer (Python's, numpy's, a loop variable), None for anything else."""
    if isinstance(x, bool) or not hasattr(x, "__index__"):
        return None
    try:
        return x.__index__()
    except TypeError:  # arrays have the method, and only those of one element the value
        return None


def span_of(what, args):
    """range(*args) of integers."""
    numbers = [integer(a) for a in args]
    if None in numbers or not 1 <= len(args) <= 3 or numbers[2:] == [0]:
        raise NkiError("err_unsupported_operand", f"nl.{what} takes integers, start, stop and a step other than 0, found "
                                                  f"({', '.join([repr(a) for a in args])})")
    return range(*numbers)


def pairs(pattern, what):
    """((step, count), ...) of a pattern [[step, count], ...]."""
    try:
        found = tuple([(operator.index(step), operator.index(count)) for step, count in pattern])
    except (TypeError, ValueError):
        raise NkiError("err_unsupported_access_pattern", f"{what} is a list of [step, count], found {pattern!r}") from None
    return found
