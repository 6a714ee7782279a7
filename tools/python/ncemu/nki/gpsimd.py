"""Patterns of integers, selections by position, reductions across partitions, gathers."""

from ncemu.nki import operators
from ncemu.nki.emit import stream, written
from ncemu.nki.elementwise import in_sbuf, tensor_copy
from ncemu.nki.errors import NkiError, UnsupportedError
from ncemu.nki.index import Index, Mask
from ncemu.nki.operands import box, chip, dims_text
from ncemu.nki.operators import pairs
from ncemu.nki.tensor import new_tile


def iota(tr, dst, pattern, offset=0, channel_multiplier=0):
    """dst[p, i] = offset + p * channel_multiplier + the pattern's value; pattern: [[step, count], ...]."""
    operands = [(None, chip(dst)), ("pattern", dims_text(pairs(pattern, "iota's pattern")))]
    if offset:
        operands.append(("offset", str(int(offset))))
    if channel_multiplier:
        operands.append(("channel_multiplier", str(int(channel_multiplier))))
    tr.record("iota", None, operands, [dst.storage], [])


def iota_of_index(tr, dst, index):
    """The values of an index object."""
    shape = index.dense or index.shape
    free = list(zip(index.coefs[1:], shape[1:])) or [(0, 1)]
    iota(tr, dst, free, index.const, index.coefs[0])


NEGATED = {"lt": "gt", "le": "ge"}


def affine_select(tr, dst, src, pattern, offset, channel_multiplier, cmp, on_false):
    pattern = [tuple(d) for d in pattern]
    if cmp in NEGATED:  # datasheet 6.8.2: a < 0 is -a > 0
        pattern = [(-s, n) for s, n in pattern]
        offset, channel_multiplier, cmp = -offset, -channel_multiplier, NEGATED[cmp]
    count = 1
    for _, n in pattern:
        count *= n
    if count != src.size // src.dims[0][1]:
        raise NkiError("err_shape_mismatch", f"the pattern {pattern} has {count} values, {src.describe()} has "
                       f"{src.size // src.dims[0][1]} elements per partition")
    stream(tr, "affine_select", dst, [src], [("on_false", on_false, "on_false_value", False)],
           (("pattern", dims_text(pattern)), ("offset", str(int(offset))),
            ("channel_multiplier", str(int(channel_multiplier))), ("cmp", cmp)))


def select_by_mask(tr, dst, src, pred, on_false, mask=None):
    """Keeps src where the predicate holds: one affine_select per condition, in SBUF, which is all that gpsimd sees."""
    kept = box(mask, src.shape)
    if kept is None:
        return
    if kept[1] or any(tuple(r) != (0, n) for r, n in zip(kept[0], src.shape)):
        raise UnsupportedError("a mask of affine_select that leaves part of the tile is not supported")
    src = in_sbuf(tr, src)
    if dst.storage.space != "sbuf":
        selected = new_tile(dst.shape, dst.isa, "sbuf", "selected", tr)
        select_by_mask(tr, selected, src, pred, on_false)
        return tensor_copy(tr, dst, selected)
    mask = pred
    if isinstance(mask, bool):
        mask = Mask(()) if mask else None
    shape = src.shape
    if not isinstance(mask, Mask):
        raise NkiError("err_unsupported_mask", "pred compares index objects")
    at = src
    constraints = mask.constraints or ((Index((1,) * len(shape), (0,) * len(shape), 0), "ge"),)
    for index, relation in constraints:
        coefs = index.widen(len(shape)) if len(index.coefs) <= len(shape) else index.coefs[-len(shape):]
        affine_select(tr, dst, at, list(zip(coefs[1:], shape[1:])), index.const, coefs[0], relation, on_false)
        at = dst


def partition_reduce(tr, dst, op, data):
    if dst.dims[0][1] != 1:
        raise NkiError("err_num_partition_mismatch",
                       f"a reduction across partitions leaves one partition, the destination is {dst.describe()}")
    tr.record("tensor_partition_reduce", None, [(None, chip(dst)), (None, chip(data)), ("op", operators.alu(op))],
              [dst.storage], [data.storage])
    written(dst)


def gather_flattened(tr, dst, data, indices):
    """dst[p, i] = data[p] flattened at indices[p, i], which are unsigned 32-bit numbers."""
    index = indices if indices.isa in ("u32", "i32") else None
    if index is None:
        raise NkiError("err_unsupported_dtype", f"indices are uint32 or int32, found {indices!r}")
    tr.record("n_gather", None, [(None, chip(dst)), (None, chip(data)), (None, chip(index.view("u32")))], [dst.storage],
              [data.storage, index.storage])
    written(dst)


def local_gather(tr, dst, src, index, num_elem_per_idx=1, num_valid_indices=None):
    """Runs of elements of each lane by indices that 16 lanes share (datasheet 6.8.3)."""
    operands = [(None, chip(dst)), (None, chip(src)), (None, chip(index))]
    if num_elem_per_idx != 1:
        operands.append(("num_elem_per_idx", str(int(num_elem_per_idx))))
    if num_valid_indices:
        operands.append(("num_valid_indices", str(int(num_valid_indices))))
    tr.record("local_gather", None, operands, [dst.storage], [src.storage, index.storage])
    written(dst)
