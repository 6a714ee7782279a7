"""DMA: copies between HBM and SBUF, rows chosen by a tile of indices, transposes, sums of several sources."""

from ncemu.nki.errors import NkiError
from ncemu.nki.operands import ONE, box, check_tile, chip, narrow, note_read
from ncemu.nki.tensor import Tensor, new_tile

HBM_DIMENSIONS = 4   # of the HBM side of a transfer (isa/README.md)
CHIP_DIMENSIONS = 4  # free ones of a pattern on chip (datasheet 3.1)


def regions(shape, ranges, rest):
    """The boxes that several conditions over more than one axis leave: rows that agree are one box."""
    def descend(axis, constraints, taken):
        kept = box_of(shape[axis:], ranges[axis:], constraints)
        if kept is None:
            return []
        inner, left = kept
        if not left:
            return [taken + inner]
        out = []
        for i in range(ranges[axis][0], ranges[axis][1]):
            below = [(const + coefs[0] * i, coefs[1:], relation) for const, coefs, relation in constraints]
            for tail in descend(axis + 1, below, ()):
                if out and out[-1][1:] == tail and out[-1][0][1] == i:
                    out[-1] = ((out[-1][0][0], i + 1), *tail)
                else:
                    out.append(((i, i + 1), *tail))
        return [taken + b for b in out]
    return descend(0, rest, ())


def box_of(shape, ranges, constraints):
    """As operands.box, for (const, coefficients, relation) within given ranges."""
    out = [list(r) for r in ranges]
    left = []
    for const, coefs, relation in constraints:
        axes = [d for d in range(len(shape)) if coefs[d] and ranges[d][1] - ranges[d][0] > 0]
        if not axes:
            if not (const >= 0 if relation == "ge" else const == 0 if relation == "eq" else const != 0):
                return None
        elif len(axes) == 1 and relation == "ge":
            d = axes[0]
            c = coefs[d]
            if c > 0:
                out[d][0] = max(out[d][0], -(const // c))
            else:
                out[d][1] = min(out[d][1], const // -c + 1)
            if out[d][0] >= out[d][1]:
                return None
        else:
            left.append((const, coefs, relation))
    return tuple([tuple(r) for r in out]), left


def _axes(dst, src):
    """Joint axes (step in dst, step in src, count), units dropped, and whether the first is the partition."""
    a = [(s, n, k == dst.pdim) for k, (s, n) in enumerate(dst.dims) if n != 1]
    b = [(s, n, k == src.pdim) for k, (s, n) in enumerate(src.dims) if n != 1]
    if [n for _, n, _ in a] != [n for _, n, _ in b]:
        raise NkiError("err_shape_mismatch",
                       f"a transfer has one shape on both sides: destination {dst.describe()}, source {src.describe()}")
    return [(x[0], y[0], x[1], x[2], y[2]) for x, y in zip(a, b)]


def _merge(axes):
    out = []
    for axis in axes:
        if out:
            ds, ss, n, dp, sp = out[-1]
            if (ds == axis[0] * axis[2] and ss == axis[1] * axis[2] and not (dp or sp or axis[3] or axis[4])):
                out[-1] = (axis[0], axis[1], n * axis[2], False, False)
                continue
        out.append(axis)
    return out


def _side(t, steps, counts, partition):
    """The operand of one side; `partition`: which of the axes is the partition, or None."""
    s = t.storage
    if t.pdim is None:
        dims = list(zip(steps, counts)) or [(1, 1)]
        return ("hbm", s, t.dtype_, 0, 0, t.offset, tuple(dims), t.register)
    free = [(st, n) for k, (st, n) in enumerate(zip(steps, counts)) if k != partition] or [(1, 1)]
    n = counts[partition] if partition is not None else 1
    if partition is not None and steps[partition] != 1:
        raise NkiError("err_num_partition_mismatch", f"{t.describe()}: partitions are taken one after the other")
    return (s.space, s, t.dtype_, t.part, n, t.offset, tuple(free), t.register)


def copy(tr, dst, src, mask=None, engine=None, bounds="error", accumulate=False, attributes=()):
    """dst = src, either side in HBM or SBUF."""
    if mask is not None and mask is not True:
        shape = dst.shape
        if len(src.shape) != len(shape):
            src = src.with_dims(_padded(src.dims, len(shape))) if src.outside is None else src
        kept = box(mask, shape)
        if kept is None:
            return
        ranges, rest = kept
        boxes = regions(shape, ranges, rest) if rest else [ranges]
        for ranges in boxes:
            _copy_box(tr, narrow(dst, ranges, shape), narrow(src, ranges, shape), engine, bounds, accumulate, attributes)
        return
    _copy_box(tr, dst, src, engine, bounds, accumulate, attributes)


def _padded(dims, rank):
    return (*dims, *(((0, 1),) * (rank - len(dims))))


def _copy_box(tr, dst, src, engine, bounds, accumulate, attributes):
    dst.settled()
    src.settled()
    for t in (dst, src):
        if t.pdim is not None:
            check_tile(t)
    if dst.storage.space == "psum":
        raise NkiError("err_unsupported_memory", f"a transfer does not write PSUM: {dst.describe()}")
    if dst.rows is not None or src.rows is not None:
        return _copy_rows(tr, dst, src, bounds, accumulate)
    note_read(src)
    known = _shapes.get((dst.dims, src.dims, dst.pdim, src.pdim))
    if known is not None and not (accumulate or attributes or dst.register or src.register):
        operands = [(None, _operand(dst, known[0], known[2])), (None, _operand(src, known[1], known[2]))]
        tr.record("dma_copy", engine, operands, [dst.storage], [src.storage])
        return
    axes = _merge(_axes(dst, src))
    _emit(tr, dst, src, axes, engine, bounds, accumulate, attributes)


def _operand(t, dims, partitions):
    """The operand of one side of a transfer whose patterns are known."""
    s = t.storage
    if t.pdim is None:
        return ("hbm", s, t.dtype_, 0, 0, t.offset, dims, None)
    return (s.space, s, t.dtype_, t.part, partitions, t.offset, dims, None)


_shapes = {}  # (dims of dst, dims of src, their partitions' axes) -> (pattern of dst, of src, partitions)


def _emit(tr, dst, src, axes, engine, bounds, accumulate, attributes, whole=True):
    on_chip = dst.pdim is not None and src.pdim is not None
    limit = HBM_DIMENSIONS if not on_chip else CHIP_DIMENSIONS + 1
    if len(axes) > limit:
        axis = next(k for k, a in enumerate(axes) if not (a[3] or a[4]))
        ds, ss, n, _, _ = axes[axis]
        rest = axes[:axis] + axes[axis + 1:]
        for i in range(n):
            _emit(tr, _moved(dst, ds * i), _moved(src, ss * i), rest, engine, bounds, accumulate, attributes, False)
        return
    counts = [a[2] for a in axes]
    dp = next((k for k, a in enumerate(axes) if a[3]), None)
    sp = next((k for k, a in enumerate(axes) if a[4]), None)
    operands = [(None, _side(dst, [a[0] for a in axes], counts, dp)),
                (None, _side(src, [a[1] for a in axes], counts, sp))]
    if whole:
        _shapes[(dst.dims, src.dims, dst.pdim, src.pdim)] = (
            operands[0][1][6], operands[1][1][6], counts[dp] if dp is not None else counts[sp] if sp is not None else 1)
    if accumulate:
        operands.append(("accumulate", "true"))
    if bounds != "error" and (dst.register or src.register):
        operands.append(("bounds", bounds))
    operands.extend(attributes)
    tr.record("dma_copy", engine, operands, [dst.storage], [src.storage])


def _moved(t, elements):
    return Tensor(t.storage, t.part, t.offset + elements, t.dims, t.pdim, t.dtype_, None, t.rows, t.register)


def _copy_rows(tr, dst, src, bounds, accumulate):
    table, other = (dst, src) if dst.rows is not None else (src, dst)
    index, step, count = table.rows
    check_tile(index)
    if index.isa not in ("i32", "u32"):
        converted = new_tile(index.shape, "i32", "sbuf", "indices", tr)
        from ncemu.nki.emit import stream
        stream(tr, "tensor_copy", converted, [index])
        index = converted
    check_tile(other)
    if other.dims[0][1] != index.dims[0][1]:
        raise NkiError("err_num_partition_mismatch",
                       f"{index.describe()} chooses {index.dims[0][1]} rows, {other.describe()} has another number")
    axes = _merge([(a[0], b[0], a[1], False, False) for a, b in
                   zip([d for d in table.dims[1:] if d[1] != 1], [d for d in other.dims[1:] if d[1] != 1])])
    if [n for _, n in table.dims[1:] if n != 1] != [n for _, n in other.dims[1:] if n != 1]:
        raise NkiError("err_shape_mismatch", f"rows of {table.describe()} and of {other.describe()} differ")
    row = [(a[0], a[2]) for a in axes] or [(1, 1)]
    if len(row) > 3:
        raise NkiError("err_exceed_max_supported_dimension", f"rows of {table.describe()} have {len(row)} dimensions, at most 3")
    there = ("hbm", table.storage, table.dtype_, 0, 0, table.offset, 
             ((step, count), *([(0, 1)] * (3 - len(row))), *row), None)
    here = chip(other, tuple([(a[1], a[2]) for a in axes]) or ONE)
    pair = (there, here) if table is dst else (here, there)
    operands = [(None, pair[0]), (None, pair[1]), ("index", chip(index, ONE))]
    if bounds != "error":
        operands.append(("bounds", bounds))
    if accumulate:
        operands.append(("accumulate", "true"))
    operands.append(("mode", "software"))  # datasheet 7.7: gpsimd makes the descriptors of an index
    note_read(src)
    reads = [src.storage, index.storage]
    if bounds != "error":
        reads.append(dst.storage)
    tr.record("dma_copy", "gpsimd", operands, [dst.storage], reads)


def transpose(tr, dst, src, engine=None):
    """dst[b, a] = src[a, b]; dimensions in between stay."""
    dst.settled()
    src.settled()
    if src.storage.dtype != dst.storage.dtype and src.isa != dst.isa:
        raise NkiError("err_unsupported_dtype", f"a transposing transfer does not convert: {src.isa} to {dst.isa}")
    turned = (src.shape[-1], *src.shape[1:-1], src.shape[0])
    if dst.shape != turned:
        raise NkiError("err_shape_mismatch", f"{src.describe()} transposed is {list(turned)}, not {dst.describe()}")
    operands = []
    for t in (dst, src):
        if t.pdim is None:
            operands.append((None, ("hbm", t.storage, t.dtype_, 0, 0, t.offset, t.dims, t.register)))
        else:
            operands.append((None, chip(t, t.dims[1:])))
    tr.record("dma_transpose", engine, operands, [dst.storage], [src.storage])


def compute(tr, dst, srcs, scales, op):
    """dst = the sum (or minimum, maximum) of up to 16 sources, each times its scale (datasheet 6.10.3)."""
    from ncemu.nki import operators
    name = operators.alu(op)
    if scales is not None and any(float(s) != 1.0 for s in scales):
        name = "fma"
    if name not in ("add", "min", "max", "fma"):
        raise NkiError("err_unsupported_operator", f"dma_compute joins by add, min or max, not '{operators.name_of(op)}'")
    operands = []
    for side, t in [(0, dst)] + [(1, s) for s in srcs]:
        axes = _axes(dst, t) if side else _axes(dst, srcs[0])
        counts = [a[2] for a in axes]
        partition = next((k for k, a in enumerate(axes) if a[3 + side]), None)
        operands.append((None, _side(t, [a[side] for a in axes], counts, partition)))
    if scales is not None and name == "fma":
        from ncemu.nki.emit import number
        operands.extend([(f"scale{k}", number(s)) for k, s in enumerate(scales)])
    operands.append(("op", name))
    tr.record("dma_compute", None, operands, [dst.storage], [s.storage for s in srcs])
