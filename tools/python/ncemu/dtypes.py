"""The element types of the machine as numpy types."""

from dataclasses import dataclass

import numpy as np

from . import _native
from .errors import Error

bfloat16 = _native.bfloat16
float8_e4m3 = _native.float8_e4m3
float8_e4m3fn = _native.float8_e4m3fn
float8_e5m2 = _native.float8_e5m2
float8_e3m4 = _native.float8_e3m4
tfloat32 = _native.tfloat32

_DTYPES = {
    "f32": np.dtype(np.float32),
    "tf32": np.dtype(tfloat32),
    "bf16": np.dtype(bfloat16),
    "f16": np.dtype(np.float16),
    "f8e5m2": np.dtype(float8_e5m2),
    "f8e4m3": np.dtype(float8_e4m3),
    "f8e3m4": np.dtype(float8_e3m4),
    "f8e4m3fn": np.dtype(float8_e4m3fn),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
}
# Those that numpy lacks.
NUMBER_TYPES = frozenset(_DTYPES[name] for name in ("tf32", "bf16", "f8e5m2", "f8e4m3", "f8e3m4", "f8e4m3fn"))
_NAMES = {made: name for name, made in _DTYPES.items()}
_NAMES[np.dtype(np.bool_)] = "u8"


def dtype(name):
    """The numpy dtype of a type of the language: dtype("bf16")."""
    try:
        return _DTYPES[name]
    except KeyError:
        raise Error(f"there is no element type {name!r}; known are: {' '.join(_DTYPES)}") from None


def type_name(dtype):
    """The language's name of a numpy dtype, or of anything that makes one."""
    if isinstance(dtype, str) and dtype in _DTYPES:
        return dtype
    try:
        found = np.dtype(dtype)
        return _NAMES[found]
    except (KeyError, TypeError):
        raise Error(f"the machine has no element type {dtype!r}; it has: {' '.join(_DTYPES)}") from None


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a float type, under the names of numpy.finfo."""

    dtype: np.dtype
    bits: int
    nexp: int
    nmant: int
    eps: np.generic  # from 1 to the next number
    tiny: np.generic  # the least normal number
    smallest_subnormal: np.generic
    max: np.generic
    min: np.generic


def finfo(dtype):
    """numpy.finfo, for the types that numpy lacks too."""
    found = np.dtype(_DTYPES.get(dtype, dtype) if isinstance(dtype, str) else dtype)
    if found not in NUMBER_TYPES:
        return np.finfo(found)
    exponent, mantissa, bias, has_infinity = _native.float_format(type_name(found))
    # The codes above the largest number: those of infinity and NaN, or of NaN alone.
    largest = (2.0 - 2.0**-mantissa) * 2.0 ** ((1 << exponent) - 2 - bias) if has_infinity else (
        (2.0 - 2.0 ** (1 - mantissa)) * 2.0 ** ((1 << exponent) - 1 - bias))
    number = found.type
    return FloatInfo(found, found.itemsize * 8, exponent, mantissa, number(2.0**-mantissa), number(2.0 ** (1 - bias)),
                     number(2.0 ** (1 - bias - mantissa)), number(largest), number(-largest))
