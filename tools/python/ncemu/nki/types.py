"""Element types: the names of the instruction set, of the interface, and numpy's types."""

import numpy as np

import ncemu

from ncemu.nki.errors import NkiError

# isa name -> names of the interface, bytes, numpy's own type or None. Datasheet 4.1.
TABLE = {
    "f32": (("float32", "fp32"), 4, np.float32),
    "tf32": (("tfloat32",), 4, None),
    "bf16": (("bfloat16",), 2, None),
    "f16": (("float16",), 2, np.float16),
    "f8e5m2": (("float8_e5m2",), 1, None),
    "f8e4m3": (("float8_e4m3",), 1, None),
    "f8e3m4": (("float8_e3m4",), 1, None),
    "f8e4m3fn": (("float8_e4m3fn",), 1, None),
    "i8": (("int8",), 1, np.int8),
    "i16": (("int16",), 2, np.int16),
    "i32": (("int32",), 4, np.int32),
    "u8": (("uint8", "bool_", "bool"), 1, np.uint8),
    "u16": (("uint16",), 2, np.uint16),
    "u32": (("uint32",), 4, np.uint32),
}
SIZE = {name: row[1] for name, row in TABLE.items()}
INTEGERS = frozenset(("i8", "i16", "i32", "u8", "u16", "u32"))


class ElementType:
    """A type numpy lacks, where the extension that registers it is not built: a name and a size."""

    def __init__(self, name, itemsize):
        self.name, self.itemsize = name, itemsize

    def __repr__(self):
        return self.name


def _numpy_types():
    result = {}
    for isa, (names, size, own) in TABLE.items():
        found = own if own is not None else getattr(ncemu, names[0], None)
        result[isa] = found if found is not None else ElementType(names[0], size)
    return result


# Packs of four, of a later generation: libraries name them when they are imported; memory of them is refused.
PACKS = {name: ElementType(name, size) for name, size in (("float8_e4m3fn_x4", 4), ("float8_e5m2_x4", 4), ("float4_e2m1fn_x4", 2))}
NUMPY = _numpy_types()  # isa name -> what the interface exports as nl.<name>
_BY_KEY = {}
for _isa, (_names, _size, _own) in TABLE.items():
    for _key in (_isa, *_names, NUMPY[_isa]):
        _BY_KEY[_key] = _isa
    if not isinstance(NUMPY[_isa], ElementType):
        _BY_KEY[np.dtype(NUMPY[_isa])] = _isa
# What a host array of these becomes when it is loaded.
for _wide, _isa in ((np.float64, "f32"), (np.int64, "i32"), (np.uint64, "u32"), (np.bool_, "u8"), (float, "f32"),
                    (int, "i32"), (bool, "u8")):
    _BY_KEY[_wide] = _isa
    _BY_KEY[np.dtype(_wide)] = _isa


def isa_type(dtype):
    """The instruction set's name of any spelling of a type."""
    try:
        return _BY_KEY[dtype]
    except (KeyError, TypeError):
        pass
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    if name is None:
        name = str(dtype)
    found = _BY_KEY.get(name.removeprefix("torch."))
    if found is None:
        raise NkiError("err_unsupported_dtype", f"'{dtype}' is not an element type of this machine")
    _BY_KEY[dtype] = found
    return found


_PUBLIC = {isa: kind if isinstance(kind, ElementType) else np.dtype(kind) for isa, kind in NUMPY.items()}


def public_type(isa):
    """What `tensor.dtype` says."""
    return _PUBLIC[isa]


def promote(a, b):
    """The type of an operation on two types, where the kernel does not say."""
    if a == b:
        return a
    ia, ib = a in INTEGERS, b in INTEGERS
    if ia != ib:
        return b if ia else a
    if SIZE[a] != SIZE[b]:
        return a if SIZE[a] > SIZE[b] else b
    if ia:  # the same width with and without sign
        return a if a[0] == "i" else b
    return "f32" if SIZE[a] >= 2 else "bf16"
