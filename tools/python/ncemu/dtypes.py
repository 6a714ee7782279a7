"""The element types of the machine as numpy types."""

import numpy as np

from .errors import Error

# Types that numpy lacks are held as their bit patterns.
_DTYPES = {
    "f32": np.dtype(np.float32),
    "tf32": np.dtype(np.float32),
    "bf16": np.dtype(np.uint16),
    "f16": np.dtype(np.float16),
    "f8e5m2": np.dtype(np.uint8),
    "f8e4m3": np.dtype(np.uint8),
    "f8e3m4": np.dtype(np.uint8),
    "f8e4m3fn": np.dtype(np.uint8),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
}
_NAMES = {d: n for n, d in _DTYPES.items() if not (n in ("tf32", "bf16") or n.startswith("f8"))}
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
