"""The tensor engine: matrix products with inferred accumulation, and transposes."""

from ncemu.nki import psum
from ncemu.nki.elementwise import BROADCAST, in_sbuf, memset, tensor_copy, tensor_tensor
from ncemu.nki.emit import stream
from ncemu.nki.errors import NkiError, UnsupportedError
from ncemu.nki.operands import box, check_tile, chip, narrow
from ncemu.nki.tensor import new_tile

MOVING, STATIONARY = 512, 128  # largest free sizes (datasheet 6.1)
ADD = "add"                    # of `accumulate`: what += means
ONLY_THEMSELVES = ("f32", "tf32")  # pair with each other, not with narrower types (datasheet 6.1)
BLOCK = 32                     # of the vector engine's transpose (datasheet 6.2)


def free_size(t):
    dims = t.dims
    n = dims[1][1]
    for _, count in dims[2:]:
        n *= count
    return n


def check_operands(stationary, moving):
    """The free sizes of both operands, which are tiles in SBUF of the same partitions."""
    for name, t in (("stationary", stationary), ("moving", moving)):
        if t.pdim != 0:
            check_tile(t)
        if t.storage.space != "sbuf":
            raise NkiError("err_unsupported_memory", f"expected operand '{name}' of 'nc_matmul' in SBUF, but {t.describe()} is in "
                           f"{t.storage.space}")
    if stationary.dims[0][1] != moving.dims[0][1]:
        raise NkiError("err_num_partition_mismatch",
                       f"number of partitions (dimension 0 size of a tile) mismatch in parameters "
                       f"({stationary.describe()}, {moving.describe()}) of 'nc_matmul'")
    if stationary.isa != moving.isa and (stationary.isa in ONLY_THEMSELVES or moving.isa in ONLY_THEMSELVES) and \
            not (stationary.isa in ONLY_THEMSELVES and moving.isa in ONLY_THEMSELVES):
        raise NkiError("err_unsupported_dtype", f"stationary {stationary.describe()} is {stationary.isa} and moving {moving.describe()} "
                       f"is {moving.isa}: f32 and tf32 pair only with each other")
    columns, rows = free_size(stationary), free_size(moving)
    for name, t, n, most in (("stationary", stationary, columns, STATIONARY), ("moving", moving, rows, MOVING)):
        if n > most:
            raise NkiError("err_size_of_dimension_exceed_arch_limit",
                           f"free size {n} of the {name} operand {t.describe()} of 'nc_matmul' exceeds the architecture's "
                           f"limit of {most}")
    return columns, rows


def physical_f32(dst):
    """The tensor engine writes fp32 (datasheet 6.1): a PSUM tile of another type holds that."""
    s = dst.storage
    if dst.isa != "f32":
        if dst.dtype_ is not None:
            raise NkiError("err_unsupported_dtype", f"{dst.describe()} is a view as {dst.isa}; a product is fp32")
        s.dtype = "f32"


def result_shape(stationary, moving):
    return (free_size(stationary), *moving.shape[1:])


def nc_matmul(tr, dst, stationary, moving, accumulate=None, mask=None, attributes=(), load_attributes=(), is_transpose=False):
    """dst = stationary^T @ moving; accumulate None: added where a matmul has written before."""
    if mask is not None and mask is not True:
        # Grid axes of a product's mask: K is the partition of both operands; the interface documents the operands' axes.
        kept = box(mask, moving.shape)
        if kept is None:
            return
        if kept[1]:
            raise NkiError("err_unsupported_mask", "a mask over several axes of a product is not supported")
        shape = moving.shape
        stationary = narrow(stationary, [kept[0][0]] + [[0, n] for n in stationary.shape[1:]],
                            (shape[0], *stationary.shape[1:]))
        moving = narrow(moving, kept[0], shape)
        dst = narrow(dst, [[0, dst.shape[0]], *kept[0][1:]], (dst.shape[0], *shape[1:]))
    if stationary.storage.space == "psum" or moving.storage.space == "psum":
        stationary, moving = [in_sbuf(tr, t) if t.storage.name == BROADCAST else t for t in (stationary, moving)]
    m, n = check_operands(stationary, moving)
    check_tile(dst)
    if dst.storage.space != "psum":
        raise NkiError("err_unsupported_memory", f"expected the destination of 'nc_matmul' in PSUM, but {dst.describe()} is in "
                       f"{dst.storage.space}")
    if dst.dims[0][1] != m or free_size(dst) != n:
        raise NkiError("err_shape_mismatch", f"stationary {stationary.describe()} and moving {moving.describe()} give "
                       f"[{m}, {n}], the destination is {dst.describe()}")
    physical_f32(dst)
    before = psum.written(dst)
    if accumulate is None and not before and tr.run_time_loops and dst.storage.made <= tr.run_time_loops[-1][1]:
        raise UnsupportedError(f"{dst.describe()} is declared outside a run-time loop, so that its first product is known only at "
                               f"run time: say accumulate=True or False")
    if accumulate is True and not before and tr.run_time_loops:
        emit_product(tr, dst, stationary, moving, True, attributes, load_attributes)
        return psum.write(dst)
    if accumulate == ADD and not before and dst.storage.covered:
        # Something else than zeros was written there: the product is added to it.
        product = new_tile(dst.shape, "f32", "psum", "product", tr)
        emit_product(tr, product, stationary, moving, False, attributes, load_attributes)
        held = new_tile(dst.shape, "f32", "sbuf", "held", tr)
        tensor_copy(tr, held, dst)
        tensor_tensor(tr, dst, product, held, "add")
        return
    if accumulate is True and not before and not dst.storage.zero:
        tr.warn(f"nc_matmul accumulates into {dst.describe()}, which no matmul has written: undefined on hardware")
    if not accumulate and accumulate is not None:
        psum.overwrite(dst, zero=True)
        before = False
    accumulate = before
    emit_product(tr, dst, stationary, moving, accumulate, attributes, load_attributes)
    psum.write(dst)


def emit_product(tr, dst, stationary, moving, accumulate, attributes, load_attributes):
    tr.record("load_stationary", None, [(None, chip(stationary)), *load_attributes], [], [stationary.storage])
    operands = [(None, chip(dst)), (None, chip(moving))]
    if accumulate:
        operands.append(("accumulate", "true"))
    operands.extend(attributes)
    tr.record("matmul", None, operands, [dst.storage], [moving.storage, dst.storage] if accumulate else [moving.storage])


def identity(tr, size, isa):
    """The unit matrix in SBUF, one per type and trace."""
    known = tr.identities.get(isa)
    if known is None or known.dims[0][1] < size:
        tile = new_tile((128, 128), isa, "sbuf", f"identity_{isa}", tr)
        memset(tr, tile, 1.0 if isa[0] in "fbt" else 1, engine="gpsimd")
        operand = chip(tile)
        tr.record("affine_select", None,
                  [(None, operand), (None, operand), ("pattern", "[[-1, 128]]"), ("channel_multiplier", "1"),
                   ("cmp", "eq"), ("on_false", "0.0")], [tile.storage], [tile.storage])
        known = tr.identities[isa] = tile
    return known.narrow(0, 0, size).narrow(1, 0, size)


def transpose_by_tensor(tr, dst, data):
    """dst[f, p] = data[p, f], dst in PSUM (datasheet 6.2)."""
    check_tile(data)
    p, f = data.dims[0][1], free_size(data)
    if f > STATIONARY:
        raise NkiError("err_size_of_dimension_exceed_arch_limit",
                       f"free size {f} of {data.describe()} of 'nc_transpose' exceeds the architecture's limit of 128")
    if data.storage.space != "sbuf":
        raise NkiError("err_unsupported_memory", f"the tensor engine reads SBUF, {data.describe()} is in {data.storage.space}")
    unit = identity(tr, p, data.isa)
    if tr.target.generation < 3:
        physical_f32(dst)
    tr.record("load_stationary", None, [(None, chip(data)), ("transpose", "true")], [], [data.storage])
    tr.record("matmul", None, [(None, chip(dst)), (None, chip(unit)), ("transpose", "true")], [dst.storage],
              [unit.storage])
    psum.overwrite(dst)
    psum.write(dst)


def transpose_by_vector(tr, dst, data):
    """32 x 32 blocks by the vector engine; smaller tiles go through one block."""
    p, f = data.dims[0][1], free_size(data)
    if p > BLOCK or f > BLOCK:
        raise NkiError("err_size_of_dimension_exceed_arch_limit",
                       f"{data.describe()}: the vector engine transposes up to 32 x 32; use the tensor engine")
    if (p, f) == (BLOCK, BLOCK):
        return stream(tr, "transpose", dst, [data.reshape((p, f))])
    block = new_tile((BLOCK, BLOCK), data.isa, "sbuf", "block", tr)
    turned = new_tile((BLOCK, BLOCK), data.isa, "sbuf", "turned", tr)
    memset(tr, block, 0)
    tensor_copy(tr, block.narrow(0, 0, p).narrow(1, 0, f), data.reshape((p, f)))
    stream(tr, "transpose", turned, [block])
    tensor_copy(tr, dst, turned.narrow(0, 0, f).narrow(1, 0, p))


def nc_transpose(tr, dst, data, engine=None):
    if dst.dims[0][1] != free_size(data) or free_size(dst) != data.dims[0][1]:
        raise NkiError("err_shape_mismatch", f"{data.describe()} transposed is [{free_size(data)}, {data.dims[0][1]}], the "
                       f"destination is {dst.describe()}")
    if engine is None:
        engine = "tensor" if dst.storage.space == "psum" else "vector"
    if engine == "vector":
        return transpose_by_vector(tr, dst, data)
    if dst.storage.space == "psum" and (tr.target.generation < 3 or dst.isa == data.isa):
        return transpose_by_tensor(tr, dst, data)  # from v3 on bits are moved: the types are equal (datasheet 6.2)
    between = new_tile((free_size(data), data.dims[0][1]), data.isa, "psum", "transposed", tr)
    transpose_by_tensor(tr, between, data)
    tensor_copy(tr, dst, between)


def attributes(stationary_onezero=False, moving_onezero=False, is_transpose=False, tile_position=(), tile_size=()):
    """The flags of load_stationary and of matmul."""
    if not (stationary_onezero or moving_onezero or is_transpose or tile_position or tile_size):
        return (), ()
    load, stream = [], []
    if stationary_onezero:
        load.append(("one_zero", "true"))
        stream.append(("stationary_one_zero", "true"))
    if moving_onezero:
        stream.append(("moving_one_zero", "true"))
    if is_transpose:
        load.append(("transpose", "true"))
        stream.append(("transpose", "true"))
    for name, pair in (("tile_position", tile_position), ("tile_size", tile_size)):
        if pair:
            text = f"[{int(pair[0])}, {int(pair[1])}]"
            load.append((name, text))
            stream.append((name, text))
    return load, stream
