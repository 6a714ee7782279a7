"""Emits one instruction: checks, masks and records it."""

from ncemu.nki import psum
from ncemu.nki.errors import NkiError
from ncemu.nki.operands import ONE, box, chip, dims_text, narrow, note_read
from ncemu.nki.operators import is_number
from ncemu.nki.tensor import Tensor, new_tile


def number(value):
    """A number as the language writes it."""
    try:
        value = float(value)
    except OverflowError:
        raise NkiError("err_unsupported_operand", "a number is beyond those of this machine") from None
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return repr(value)


def scalar_operand(tr, value, what, partitions, integer=False):
    """A number, or a tile [P, 1]: the operand and the storages it reads."""
    if value is None:
        return None, ()
    if isinstance(value, Tensor):
        if value.size != value.dims[0][1]:
            raise NkiError("err_shape_mismatch", f"{what} {value.describe()} must be a number or [P, 1], one per partition")
        if value.dims[0][1] != partitions:
            raise NkiError("err_num_partition_mismatch",
                           f"number of partitions (dimension 0) of {what} {value.describe()} must be {partitions}")
        note_read(value)
        return chip(value, ONE), (value.storage,)
    if hasattr(value, "register_number"):
        if (value.scale, value.base) != (1, 0):
            raise NkiError("err_unsupported_operand", f"{what} is a register without arithmetic")
        return value, ()
    if not is_number(value):
        raise NkiError("err_unsupported_operand", f"{what} must be a number or a tile [P, 1], found {type(value).__name__}")
    return (str(int(value)) if integer else number(value)), ()


def as_f32(tr, value):
    """Per-lane scalars are fp32 (datasheet 6.5.1): a tile of another type is converted."""
    if isinstance(value, Tensor) and value.isa != "f32":
        converted = new_tile(value.shape, "f32", "sbuf", "scalar", tr)
        stream(tr, "tensor_copy", converted, [value])
        return converted
    return value


def written(dst):
    """The destination's memory now holds something; PSUM groups in it end."""
    if dst.storage.space == "psum":
        psum.overwrite(dst)


def stream(tr, mnemonic, dst, sources, scalars=(), attributes=(), engine=None, mask=None, named=(), shape=None,
           also_written=()):
    """dst = mnemonic(sources...), element by element.

    sources: tiles, positional. scalars: (field, number or tile [P, 1], what it is called, integer). named: (field,
    tile). attributes: (field, text). A mask keeps a box, or selects elements by a predicate.
    """
    shape = shape or dst.shape
    partitions = shape[0]
    views = []
    for t in sources:
        if not isinstance(t, Tensor):
            raise NkiError("err_unsupported_operand", f"{mnemonic} takes tiles, found {type(t).__name__}")
        if t.dims[0][1] != partitions and t.pdim == 0:
            raise NkiError("err_num_partition_mismatch",
                           f"number of partitions (dimension 0 size of a tile) mismatch in parameters "
                           f"({dst.describe()}, {t.describe()}) of '{mnemonic}'")
        if t.shape != shape and t.size != dst.size:
            t = t.expand_to(shape)
        views.append(t)
    if mask is not None and mask is not True:
        kept = box(mask, shape)
        if kept is None:
            return
        ranges, rest = kept
        if rest:
            if dst.storage.is_written:
                return predicated(tr, mnemonic, dst, sources, scalars, attributes, engine, ranges, rest, named)
        dst = narrow(dst, ranges, shape)
        views = [narrow(t, ranges, shape) for t in views]
        scalars = [(f, narrow(v, ranges, shape), w, i) for f, v, w, i in scalars]
        named = [(f, narrow(v, ranges, shape)) for f, v in named]
        also_written = [(f, narrow(v, ranges, shape)) for f, v in also_written]
        partitions = dst.dims[0][1]
    operands, reads = [(None, chip(dst))], []
    for t in views:
        operands.append((None, chip(t)))
        reads.append(t.storage)
        if t.storage.zero:
            note_read(t)
    for field, t in named:
        operands.append((field, chip(t)))
        reads.append(t.storage)
        note_read(t)
    for field, value, what, integer in scalars:
        operand, storages = scalar_operand(tr, value, what, partitions, integer)
        if operand is not None:
            operands.append((field, operand))
            reads.extend(storages)
    operands.extend(attributes)
    writes = [dst.storage]
    for field, t in also_written:
        operands.append((field, chip(t, ONE)))
        writes.append(t.storage)
        written(t)
    tr.record(mnemonic, engine, operands, writes, reads)
    if dst.storage.space == "psum":
        psum.overwrite(dst, zero=mnemonic == "memset" and scalars[0][1] == 0)


def predicated(tr, mnemonic, dst, sources, scalars, attributes, engine, ranges, rest, named):
    """A mask that is no box: the result goes through a tile and is copied where the mask holds."""
    shape = dst.shape
    whole = new_tile(shape, dst.isa, "sbuf", "masked", tr)
    stream(tr, mnemonic, whole, sources, scalars, attributes, engine, None, named)
    copy_where(tr, dst, whole, ranges, rest)


def copy_where(tr, dst, src, ranges, rest):
    shape = dst.shape
    predicate = predicate_tile(tr, shape, rest)
    dst, src, predicate = (narrow(t, ranges, shape) for t in (dst, src, predicate))
    tr.record("tensor_copy_predicated", None, [(None, chip(dst)), (None, chip(predicate)), ("src", chip(src))],
              [dst.storage], [predicate.storage, src.storage, dst.storage])
    written(dst)


def predicate_tile(tr, shape, constraints):
    """1 where all constraints (const, coefficients, relation) hold, else 0."""
    tile = new_tile(shape, "u8", "sbuf", "predicate", tr)
    stream(tr, "memset", tile, [], [("value", 1, "value", True)], engine="gpsimd")
    for const, coefs, relation in constraints:
        pattern = dims_text([(c, n) for c, n in zip(coefs[1:], shape[1:])])
        operand = chip(tile)
        tr.record("affine_select", None,
                  [(None, operand), (None, operand), ("pattern", pattern), ("offset", str(const)),
                   ("channel_multiplier", str(coefs[0])), ("cmp", relation), ("on_false", "0.0")],
                  [tile.storage], [tile.storage])
    return tile


def is_exact_integers(*tensors):
    return all(t.isa in ("i32", "u32") for t in tensors)
