"""neuronxcc.nki.language: memory, loops, indices, and operations that return tiles."""

import numpy as np

import ncemu
from ncemu.nki import adapter, elementwise, gpsimd, matmul, trace as _trace, transfers
from ncemu.nki.errors import NkiError, UnsupportedError
from ncemu.nki.index import arange, ds, mgrid  # noqa: F401
from ncemu.nki.macros import *  # noqa: F401,F403
from ncemu.nki.macros import (abs, all, max, min, sum, copy, matrix_product as matmul_, broadcast_to,  # noqa: F401
                              mean, where)
from ncemu.nki.memory import (HBM as hbm, PRIVATE as private_hbm, PSUM as psum, SBUF as sbuf,  # noqa: F401
                              SHARED as shared_hbm, ParDim, constant, empty_like, full, ndarray, ones, zeros,
                              zeros_like)
from ncemu.nki.program import (device_print, nc, num_programs, program_id, program_ndim, spmd_dim)  # noqa: F401
from ncemu.nki.random import dropout, rand, random_seed  # noqa: F401
from ncemu.nki.ranges import affine_range, sequential_range, static_range  # noqa: F401
from ncemu.nki.operators import alu as _alu
from ncemu.nki.tensor import Tensor, new_tile
from ncemu.nki.types import NUMPY, TABLE, isa_type, public_type

par_dim = ParDim
matmul = matmul_
for _isa, (_names, _, _) in TABLE.items():
    for _n in _names:
        if _n not in ("bool",):
            globals()[_n] = NUMPY[_isa]
bool_ = np.bool_


class tile_size:
    """Limits of tiles (datasheet 1.2, 6.1)."""

    pmax = 128
    psum_fmax = 512
    gemm_stationary_fmax = 128
    gemm_moving_fmax = 512
    bn_stats_fmax = 512
    psum_min_align = 4
    sbuf_min_align = 1
    total_available_sbuf_size = 24 << 20


class fp32:
    """np.float32 as a type; `min` and `max` of what it holds."""

    min = float(np.finfo(np.float32).min)
    max = float(np.finfo(np.float32).max)


def load(src, *, mask=None, dtype=None, mode=None, **_):
    """A tile of a tensor in HBM; its first axis becomes the partition."""
    tr = _trace.current()
    tr.flush()
    _in_hbm(src, "src", "load")
    shape = src.shape if len(src.shape) > 1 else (*src.shape, 1) if src.shape else (1, 1)
    view = src if len(src.dims) > 1 else src.with_dims((*src.dims, (0, 1))) if src.dims else src.with_dims(((0, 1), (0, 1)))
    isa = isa_type(dtype) if dtype is not None else src.isa
    bounds = "skip" if str(mode).endswith("skip") else "error"
    if bounds == "error" and src.rows is None:
        _check(view, mask, shape)
    return adapter.produce(tr, shape, isa, lambda dst: transfers.copy(tr, dst, view, mask, bounds=bounds),
                           exact=dtype is not None, name="load")


def _check(view, mask, shape):
    """Out of bounds without a mask is an error at the call."""
    if view.outside is not None and mask is None:
        view.settled()


def store(dst, value, *, mask=None, mode=None, **_):
    """Writes a tile, or a number, to a tensor in HBM."""
    tr = _trace.current()
    tr.flush()
    _in_hbm(dst, "dst", "store")
    if isinstance(value, Tensor) and value.pdim is None:
        raise NkiError("err_unsupported_memory", f"expected operand 'value' of 'store' to be in address space 'psum|sbuf', but "
                       f"got a tensor in 'hbm' instead: {value.describe()}")
    if not dst.dims:
        dst = dst.with_dims(((0, 1), (0, 1)))
    with tr.at_site(tr.site()):
        adapter.store(tr, dst, value, mask)


def _in_hbm(t, what, name):
    if not isinstance(t, Tensor):
        raise NkiError("err_unsupported_operand", f"operand '{what}' of '{name}' is {type(t).__name__}, not a tensor")
    if t.pdim is not None:
        raise NkiError("err_unsupported_memory", f"expected operand '{what}' of '{name}' to be in address space 'hbm', but got a "
                       f"tile in '{t.storage.space}' instead")


def load_transpose2d(src, *, mask=None, dtype=None, **_):
    """A tile [F, P] of a tensor [P, F] in HBM, transposed by the transfer."""
    tr = _trace.current()
    tr.flush()
    _in_hbm(src, "src", "load_transpose2d")
    if src.ndim != 2:
        raise NkiError("err_exceed_max_supported_dimension", f"load_transpose2d takes two dimensions, found {src.describe()}")
    if mask is not None:
        raise UnsupportedError("a mask of load_transpose2d is not supported")
    isa = src.isa if dtype is None else isa_type(dtype)

    def emit(dst):
        if dst.isa == src.isa:
            return transfers.transpose(tr, dst, src)
        turned = new_tile(dst.shape, src.isa, "sbuf", "transposed", tr)  # such a transfer does not convert
        transfers.transpose(tr, turned, src)
        elementwise.tensor_copy(tr, dst, turned)
    return adapter.produce(tr, (src.shape[1], src.shape[0]), isa, emit, name="load_transpose2d")


def shared_constant(value, dtype=None, **_):
    """An array of the host as a tensor in HBM."""
    tr = _trace.current()
    value = np.asarray(value)
    if dtype is not None:
        value = value.astype(public_type(isa_type(dtype)))
    return constant(tr, value, "shared_constant")


def shared_identity_matrix(n, dtype=np.float32, **_):
    """The unit matrix of size n, in SBUF when it is loaded."""
    return shared_constant(np.identity(n, dtype=np.float32), dtype)


def static_cast(value, dtype):
    """A host value as a type of the machine."""
    kind = public_type(isa_type(dtype))
    return np.asarray(value).astype(kind) if hasattr(value, "shape") else np.dtype(kind).type(value)


def cast(x, dtype, **_):
    return copy(x, dtype=dtype)  # noqa: F405


def loop_reduce(x, op, loop_indices, dtype=None, mask=None, **_):
    """Accumulates x over loops; the result holds the whole sum after the last iteration."""
    from ncemu.nki.reduce_loops import loop_reduce as reduce
    return reduce(x, op, loop_indices, dtype, mask)


def gather_flattened(data, indices, *, mask=None, dtype=None, **_):
    """out[p, i] = data[p].flatten()[indices[p, i]]"""
    tr = _trace.current()
    tr.flush()

    def emit(dst):
        gpsimd.gather_flattened(tr, dst, data, indices)
    return adapter.produce(tr, indices.shape, data.isa, emit, name="gather_flattened")


def atomic_rmw(dst, value, op, *, mask=None, **_):
    """Adds rows to those of a tensor that a tile of indices chooses; rows named twice add twice, partition by partition."""
    tr = _trace.current()
    tr.flush()
    if _alu(op) != "add":
        raise UnsupportedError("atomic_rmw adds only")
    if dst.rows is None:
        raise NkiError("err_atomic_rmw_dynamic_index", "atomic_rmw takes a destination indexed by a tile")
    transfers.copy(tr, dst, value, mask, accumulate=True)


def finfo(dtype):
    """Limits of a float type, of those that numpy lacks too."""
    return ncemu.finfo(public_type(isa_type(dtype)))
