"""Subscripts: integers, slices, nl.ds, index objects and tiles of indices become access patterns."""

from ncemu.nki.errors import NkiError
from ncemu.nki.index import DynamicSlice, Index, broadcast_shapes
from ncemu.nki.operators import integer
from ncemu.nki.tensor import Tensor


def subscript(t, key):
    if key is Ellipsis:
        return t
    if not isinstance(key, tuple):
        key = (key,)
    advanced = indirect = False
    given, ellipsis = 0, -1
    for i, k in enumerate(key):
        kind = type(k)
        if kind is Index:
            advanced = True
        elif kind is Tensor:
            indirect = True
        elif k is Ellipsis:
            ellipsis = i
            continue
        if k is not None:
            given += 1
    if given > len(t.dims):
        raise NkiError("err_index_rank", f"{t.describe()} has {len(t.dims)} dimensions, {given} subscripts are given")
    if ellipsis >= 0:
        key = key[:ellipsis] + (slice(None),) * (len(t.dims) - given) + key[ellipsis + 1:]
    if indirect:
        return _indirect(t, key)
    if advanced:
        return _advanced(t, key)
    return _basic(t, key)


def _basic(t, key):
    dims, out, outside = t.dims, [], None
    part, offset, pdim, register = t.part, t.offset, t.pdim, t.register
    new_pdim = pdim
    axis = 0
    for k in key:
        if k is None:
            out.append((0, 1))
            continue
        step, n = dims[axis]
        if isinstance(k, slice):
            start, stop, by = k.start, k.stop, k.step
            if start is None and stop is None and by is None:
                if axis == pdim:
                    new_pdim = len(out)
                out.append((step, n))
                axis += 1
                continue
            if _is_register(start) and _is_register(stop) and by is None:
                if start.key != stop.key or start.scale != stop.scale:
                    raise NkiError("err_unsupported_index", "a slice at run time has a fixed length: use nl.ds(start, length)")
                register, moved = _moved(t, register, start, step, axis)
                offset += moved
                start, stop = 0, stop.base - start.base
            by = 1 if by is None else _integer(t, by)
            start = 0 if start is None else _integer(t, start)
            stop = n if stop is None else _integer(t, stop)
            if start < 0:
                start += n
            if stop < 0:
                stop += n
            count = -(-(stop - start) // by)
            if by <= 0 or count <= 0:
                raise NkiError("err_empty_slice",
                               f"slice {start}:{stop}:{by} of dimension {axis} of {t.describe()} is empty")
        elif type(k) is DynamicSlice:
            start, count, by = k.start, k.size, 1
            if _is_register(start):
                register, moved = _moved(t, register, start, step, axis)
                offset += moved
                start = 0
            else:
                start = _integer(t, start)
        elif _is_register(k):
            register, moved = _moved(t, register, k, step, axis)
            offset += moved
            axis += 1
            continue
        else:
            k = _integer(t, k)
            if k < 0:
                k += n
            if not 0 <= k < n:
                outside = (outside or []) + [(k, None, n, axis, None)]
            if axis == pdim:
                new_pdim = len(out)
                part += k
                out.append((step, 1))
            else:
                offset += k * step
            axis += 1
            continue
        if start < 0 or start + (count - 1) * by >= n:
            outside = (outside or []) + [(start, by, n, axis, len(out))]
        if axis == pdim:
            new_pdim = len(out)
            part += start * step
        else:
            offset += start * step
        out.append((step * by, count))
        axis += 1
    while axis < len(dims):
        if axis == pdim:
            new_pdim = len(out)
        out.append(dims[axis])
        axis += 1
    if pdim is not None and len(out) == 1:
        out.append((0, 1))
    if outside is not None:
        rank = len(out)
        outside = [(const, tuple([by if d == at else 0 for d in range(rank)]), n, of)
                   for const, by, n, of, at in outside]
    if t.outside is not None:
        t.settled()
    rows = t.rows
    return Tensor(t.storage, part, offset, tuple(out), new_pdim, t.dtype_, outside, rows, register)


def _integer(t, k):
    if type(k) is int:
        return k
    value = integer(k)
    if value is None:
        raise NkiError("err_unsupported_index",
                       f"{t.describe()} is indexed by {type(k).__name__}: subscripts are integers, slices, nl.ds, nl.arange, "
                       f"nl.mgrid and tiles of indices")
    return value


def _is_register(k):
    return hasattr(k, "register_number")


def _moved(t, register, k, step, axis):
    """The register and its step in elements, and what is known of the offset."""
    if register is not None:
        raise NkiError("err_unsupported_index", f"{t.describe()}: a register can choose only one index")
    if axis == t.pdim:
        raise NkiError("err_unsupported_index", f"{t.describe()}: a register cannot choose the partition")
    return (k.key, k.scale * step), k.base * step


def _grid(t, key):
    shape = ()
    for k in key:
        if isinstance(k, Index):
            if len(k.shape) == 1:
                raise NkiError("err_1d_arange_not_supported",
                               f"indexing tensor '{t.storage.name}' with 1d arange is not supported: write "
                               f"nl.arange(...)[:, None]")
            shape = broadcast_shapes(shape, k.shape) if shape else k.shape
        elif isinstance(k, (slice, DynamicSlice)) or k is None:
            raise NkiError("err_unsupported_mixing_basic_advanced_tensor_indexing",
                           f"'{t.storage.name}': mixing basic and advanced indexing is not supported")
        elif _is_register(k):
            raise NkiError("err_unsupported_index",
                           f"'{t.storage.name}': a register goes with slices and nl.ds, not with index objects")
    return shape


_plans = {}  # (dims, partition's axis, index objects without their constants) -> _plan


def _plan(t, key):
    """What index objects make of a tensor, but for their constants: dimensions, and per axis its step, size and reach."""
    grid = _grid(t, key)
    rank = len(grid)
    steps, psteps, axes = [0] * rank, None, []
    for axis, k in enumerate(key):
        step, n = t.dims[axis]
        lo = hi = 0
        coefs = (0,) * rank
        if isinstance(k, Index):
            coefs = k.coefs if len(k.coefs) == rank else k.widen(rank)
            for d in range(rank):
                c = coefs[d]
                if c:
                    lo += min(0, c * (grid[d] - 1))
                    hi += max(0, c * (grid[d] - 1))
                    if axis != t.pdim:
                        steps[d] += c * step
            if axis == t.pdim:
                psteps = coefs
        axes.append((step, n, lo, hi, coefs, axis == t.pdim))
    if t.pdim is None:
        return tuple(zip(steps, grid)), axes
    if psteps is not None and any(psteps[1:]):
        raise NkiError("err_failed_to_infer_tile_from_local_tensor",
                       f"'{t.storage.name}': the partition must vary along the first axis of the index objects alone")
    if steps[0] and grid[0] > 1:
        raise NkiError("err_failed_to_infer_tile_from_local_tensor",
                       f"'{t.storage.name}': along the first axis of the index objects only the partition may vary")
    pstep = 1 if grid[0] == 1 else psteps[0] if psteps is not None else 0
    return ((pstep, grid[0]), *zip(steps[1:], grid[1:])), axes


def _advanced(t, key):
    if len(key) < len(t.dims):
        raise NkiError("err_unsupported_mixing_basic_advanced_tensor_indexing",
                       f"'{t.storage.name}' has {len(t.dims)} dimensions, {len(key)} index objects are given")
    if t.outside is not None:
        t.settled()
    shapes = tuple([(k.coefs, k.shape) if type(k) is Index else hasattr(k, "__index__") for k in key])
    plan = _plans.get((t.dims, t.pdim, shapes))
    if plan is None:
        plan = _plan(t, key)
        _plans[(t.dims, t.pdim, shapes)] = plan
    dims, axes = plan
    offset, part, outside = t.offset, t.part, None
    for axis, k in enumerate(key):
        step, n, lo, hi, coefs, is_partition = axes[axis]
        if type(k) is Index:
            const = k.const
        else:
            const = _integer(t, k)
            if const < 0:
                const += n
        if const + lo < 0 or const + hi >= n:
            outside = (outside or []) + [(const, coefs, n, axis)]
        if is_partition:
            part += const * step
        else:
            offset += const * step
    return Tensor(t.storage, part if t.pdim is not None else 0, offset, dims, None if t.pdim is None else 0, t.dtype_,
                  outside, None, t.register)


def _indirect(t, key):
    """Rows chosen by a tile [P, 1] of indices: in HBM, along one dimension."""
    t.settled()
    if t.pdim is not None:
        raise NkiError("err_copy_dynamic_indirect_indices_not_natively_supported",
                       f"'{t.storage.name}' is on chip: a tile of indices chooses rows of a tensor in HBM")
    where = [i for i, k in enumerate(key) if isinstance(k, Tensor)]
    if len(where) != 1:
        raise NkiError("err_unsupported_index", f"'{t.storage.name}': one dimension can be chosen by a tile")
    at = where[0]
    tile = key[at]
    if tile.size != tile.dims[0][1]:
        raise NkiError("err_indirect_indices_free_dim",
                       f"'{t.storage.name}': the indices {tile.describe()} must be [P, 1], one per partition")
    count = tile.dims[0][1]
    rest = [0 if i == at else k for i, k in enumerate(key)]
    step, n = t.dims[at]
    if any(isinstance(k, Index) for k in rest):
        view = _advanced(t, tuple(rest))
        if view.dims[0][1] not in (1, count) or (view.dims[0][1] > 1 and view.dims[0][0]):
            raise NkiError("err_indirect_indices_free_dim",
                           f"'{t.storage.name}': beside a tile of indices the other dimensions vary along the free axes")
        dims = ((step, count), *view.dims[1:])
    else:
        view = _basic(t, tuple(rest))
        dims = ((step, count), *view.dims)
    return Tensor(t.storage, 0, view.offset, dims, None, t.dtype_, None, (tile, step, n), t.register)


Tensor.__getitem__ = subscript
