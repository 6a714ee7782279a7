"""neuronxcc.nki.isa: instructions that return their result; `dtype`, `mask` and `name` as keywords."""

from ncemu.nki import elementwise, gpsimd, matmul, transfers, trace as _trace
from ncemu.nki.adapter import produce
from ncemu.nki.constants import (dge_mode, engine, matmul_perf_mode, nc_version, oob_mode, reduce_cmd,  # noqa: F401
                                 word as _engine)
from ncemu.nki.errors import NkiError, UnsupportedError
from ncemu.nki.index import Index, broadcast_shapes
from ncemu.nki.operators import alu, is_number
from ncemu.nki.tensor import Tensor, new_tile
from ncemu.nki.types import isa_type, promote


tensor_engine, vector_engine, scalar_engine = engine.tensor, engine.vector, engine.scalar
gpsimd_engine, sync_engine, dma_engine, unknown_engine = engine.gpsimd, engine.sync, engine.dma, engine.unknown


def get_nc_version():
    return {2: nc_version.gen2, 3: nc_version.gen3}[_trace.current().target.generation]


def _out(dtype, default):
    return default if dtype is None else isa_type(dtype)


def _enter(*tensors):
    tr = _trace.current()
    tr.flush()
    for t in tensors:
        if not isinstance(t, Tensor):
            if hasattr(t, "not_a_tile"):
                raise t.not_a_tile()
            raise NkiError("err_unsupported_operand", f"an instruction takes tiles, found {type(t).__name__}")
    return tr


def _pair_shape(a, b):
    if len(a.shape) != len(b.shape):
        short, long = (a, b) if len(a.shape) < len(b.shape) else (b, a)
        padded = (short.shape[0], *((1,) * (len(long.shape) - len(short.shape))), *short.shape[1:])
        return broadcast_shapes(padded, long.shape)
    if a.shape[0] != b.shape[0]:
        raise NkiError("err_num_partition_mismatch",
                       f"number of partitions (dimension 0 size of a tile) mismatch in parameters ({a.describe()}, "
                       f"{b.describe()})")
    return broadcast_shapes(a.shape, b.shape)


def memset(shape, value, dtype, *, mask=None, engine=unknown_engine, **_):
    tr = _enter()
    return produce(tr, shape, isa_type(dtype), lambda dst: elementwise.memset(tr, dst, value, _engine(engine), mask),
                   name="memset")


def tensor_copy(src, *, mask=None, dtype=None, engine=unknown_engine, **_):
    tr = _enter(src)
    return produce(tr, src.shape, _out(dtype, src.isa),
                   lambda dst: elementwise.tensor_copy(tr, dst, src, _engine(engine), mask), exact=dtype is not None,
                   name="tensor_copy")


def tensor_tensor(data1, data2, op, *, dtype=None, mask=None, engine=unknown_engine, **_):
    tr = _enter(data1, data2)
    shape = _pair_shape(data1, data2)
    return produce(tr, shape, _out(dtype, promote(data1.isa, data2.isa)),
                   lambda dst: elementwise.tensor_tensor(tr, dst, data1, data2, op, _engine(engine), mask),
                   exact=dtype is not None, name="tensor_tensor")


def tensor_scalar(data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, *, dtype=None,
                  mask=None, engine=unknown_engine, **_):
    tr = _enter(data)
    return produce(tr, data.shape, _out(dtype, data.isa),
                   lambda dst: elementwise.tensor_scalar(tr, dst, data, op0, operand0, reverse0, op1, operand1, reverse1,
                                                         _engine(engine), mask),
                   exact=dtype is not None, name="tensor_scalar")


def scalar_tensor_tensor(*, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False, dtype=None, mask=None, **_):
    tr = _enter(data, operand1)
    return produce(tr, _pair_shape(data, operand1), _out(dtype, data.isa),
                   lambda dst: elementwise.scalar_tensor_tensor(tr, dst, data, op0, operand0, op1, operand1, reverse0,
                                                                reverse1, mask),
                   exact=dtype is not None, name="scalar_tensor_tensor")


def activation(op, data, *, bias=None, scale=1.0, reduce_op=None, reduce_res=None, reduce_cmd=reduce_cmd.idle, mask=None,
               dtype=None, **_):
    tr = _enter(data)
    command = reduce_cmd.value
    if reduce_op is not None and command == "idle" and reduce_res is not None:
        command = "reset_reduce"

    def emit(dst):
        elementwise.activation(tr, dst, op, data, bias, scale, mask, command)
    if reduce_res is not None:
        # The sum is wanted too: emitted at once, so that it is there whatever becomes of the result.
        tile = new_tile(data.shape, _out(dtype, data.isa), "sbuf", "activation", tr)
        elementwise.activation_reduce(tr, tile, op, data, reduce_op, reduce_res, bias, scale, mask, command)
        return tile
    return produce(tr, data.shape, _out(dtype, data.isa), emit, exact=dtype is not None, name="activation")


def activation_reduce(op, data, *, reduce_op, reduce_res, bias=None, scale=1.0, mask=None, dtype=None, **_):
    tr = _enter(data, reduce_res)
    return _also(tr, data.shape, _out(dtype, data.isa), dtype, lambda dst: elementwise.activation_reduce(
        tr, dst, op, data, reduce_op, reduce_res, bias, scale, mask), "activation_reduce")


def _also(tr, shape, isa, dtype, emit, name):
    """An instruction with a second result, which is written when the first one's place is known."""
    return produce(tr, shape, isa, emit, exact=dtype is not None, name=name)


def tensor_reduce(op, data, axis, *, mask=None, dtype=None, negate=False, keepdims=False, **_):
    tr = _enter(data)
    axes = elementwise.axes_of(axis, data.ndim)
    shape = elementwise.reduced_shape(data.shape, axes, keepdims)
    return produce(tr, shape, _out(dtype, data.isa),
                   lambda dst: elementwise.tensor_reduce(tr, dst, op, data, axes, negate, mask), exact=dtype is not None,
                   name="tensor_reduce")


def tensor_scalar_reduce(*, data, op0, operand0, reduce_op, reduce_res, reverse0=False, dtype=None, mask=None, **_):
    tr = _enter(data, reduce_res)
    if reverse0:
        raise UnsupportedError("tensor_scalar_reduce with reverse0: the documents call it not supported")
    return _also(tr, data.shape, _out(dtype, data.isa), dtype, lambda dst: elementwise.tensor_scalar_reduce(
        tr, dst, data, op0, operand0, reduce_op, reduce_res, mask), "tensor_scalar_reduce")


def reciprocal(data, *, dtype=None, mask=None, **_):
    tr = _enter(data)
    return produce(tr, data.shape, _out(dtype, data.isa), lambda dst: elementwise.reciprocal(tr, dst, data, mask),
                   exact=dtype is not None, name="reciprocal")


def tensor_tensor_scan(data0, data1, initial, op0, op1, reverse0=False, reverse1=False, *, dtype=None, mask=None, **_):
    tr = _enter(data0, data1)
    return produce(tr, _pair_shape(data0, data1), _out(dtype, promote(data0.isa, data1.isa)),
                   lambda dst: elementwise.tensor_tensor_scan(tr, dst, data0, data1, initial, op0, op1, reverse0, reverse1,
                                                              mask),
                   exact=dtype is not None, name="tensor_tensor_scan")


def select_reduce(*, dst, predicate, on_true, on_false, reduce_res=None, reduce_cmd=reduce_cmd.idle, reduce_op=None,
                  reverse_pred=False, mask=None, dtype=None, **_):
    tr = _enter(dst, predicate, on_true)
    with tr.at_site(tr.site()):
        elementwise.select_reduce(tr, dst, predicate, on_true, on_false, reduce_res, reduce_cmd.value, reverse_pred, mask)


def range_select(*, on_true_tile, comp_op0, comp_op1, bound0, bound1, reduce_cmd=reduce_cmd.reset_reduce, reduce_res=None,
                 reduce_op=None, range_start=0, on_false_value=None, mask=None, dtype=None, **_):
    tr = _enter(on_true_tile)
    return produce(tr, on_true_tile.shape, _out(dtype, on_true_tile.isa), lambda dst: elementwise.range_select(
        tr, dst, on_true_tile, comp_op0, bound0, comp_op1, bound1, range_start, reduce_res, reduce_cmd.value, mask),
        exact=dtype is not None, name="range_select")


def tensor_copy_predicated(*, src, dst, predicate, mask=None, dtype=None, reverse_pred=False, **_):
    tr = _enter(dst, predicate)
    with tr.at_site(tr.site()):
        elementwise.tensor_copy_predicated(tr, dst, src, predicate, reverse_pred, mask)
    return dst


def bn_stats(data, *, mask=None, dtype=None, **_):
    tr = _enter(data)
    return produce(tr, (data.shape[0], 6), _out(dtype, "f32"),
                   lambda dst: elementwise.per_lane(tr, "bn_stats", dst, [data], mask=mask), name="bn_stats")


def bn_aggr(data, *, mask=None, dtype=None, **_):
    tr = _enter(data)
    return produce(tr, (data.shape[0], 2), _out(dtype, "f32"),
                   lambda dst: elementwise.per_lane(tr, "bn_aggr", dst, [data], mask=mask), name="bn_aggr")


def max8(*, src, mask=None, dtype=None, **_):
    tr = _enter(src)
    return produce(tr, (src.shape[0], 8), _out(dtype, src.isa),
                   lambda dst: elementwise.per_lane(tr, "max8", dst, [src], mask=mask), name="max8")


def nc_find_index8(*, data, vals, mask=None, dtype=None, **_):
    tr = _enter(data, vals)
    return produce(tr, (data.shape[0], 8), _out(dtype, "u32"),
                   lambda dst: elementwise.find_index8(tr, dst, data, vals, mask), name="find_index8")


def nc_match_replace8(*, data, vals, imm, dst_idx=None, mask=None, dtype=None, **_):
    tr = _enter(data, vals)
    return produce(tr, data.shape, _out(dtype, data.isa),
                   lambda dst: elementwise.match_replace8(tr, dst, data, vals, imm, dst_idx, mask), name="match_replace8")


def nc_matmul(stationary, moving, *, is_stationary_onezero=False, is_moving_onezero=False, is_transpose=False,
              tile_position=(), tile_size=(), perf_mode=None, mask=None, **_):
    tr = _enter(stationary, moving)
    matmul.check_operands(stationary, moving)
    load, stream = matmul.attributes(is_stationary_onezero, is_moving_onezero, is_transpose, tile_position, tile_size)
    if is_transpose:
        shape, isa = matmul.result_shape(stationary, moving), moving.isa if tr.target.generation >= 3 else "f32"
    else:
        shape, isa = matmul.result_shape(stationary, moving), "f32"
    return produce(tr, shape, isa, lambda dst, accumulate: matmul.nc_matmul(
        tr, dst, stationary, moving, accumulate, mask, stream, load), space="psum", exact=False, is_matmul=True,
        name="nc_matmul")


def nc_transpose(data, *, mask=None, dtype=None, engine=unknown_engine, **_):
    tr = _enter(data)
    chosen = _engine(engine)
    p, f = data.shape[0], matmul.free_size(data)
    if chosen is None:
        chosen = "tensor"
    if mask is not None:
        raise UnsupportedError("a mask of nc_transpose is not supported")
    if chosen == "tensor" and f > 128:
        raise NkiError("err_size_of_dimension_exceed_arch_limit",
                       f"free size {f} of {data.describe()} of 'nc_transpose' exceeds the architecture's limit of 128")
    return produce(tr, (f, p), _out(dtype, data.isa), lambda dst: matmul.nc_transpose(tr, dst, data, chosen),
                   space="psum" if chosen == "tensor" else "sbuf", exact=False, name="nc_transpose")


def iota(expr, dtype, *, mask=None, **_):
    tr = _enter()
    if is_number(expr):
        expr = Index((1, 1), (0, 0), int(expr))
    if not isinstance(expr, Index):
        raise NkiError("err_unsupported_operand", "iota takes an index object of nl.arange or nl.mgrid")
    if len(expr.shape) == 1:
        raise NkiError("err_1d_arange_not_supported", "iota of a 1d arange is not supported: write nl.arange(...)[None, :]")
    return produce(tr, expr.dense or expr.shape, isa_type(dtype), lambda dst: gpsimd.iota_of_index(tr, dst, expr), name="iota")


def affine_select(pred, on_true_tile, on_false_value, *, mask=None, dtype=None, **_):
    tr = _enter(on_true_tile)
    return produce(tr, on_true_tile.shape, _out(dtype, on_true_tile.isa),
                   lambda dst: gpsimd.select_by_mask(tr, dst, on_true_tile, pred, on_false_value, mask), exact=dtype is not None,
                   name="affine_select")


def tensor_partition_reduce(op, data, *, mask=None, dtype=None, **_):
    tr = _enter(data)
    return produce(tr, (1, *data.shape[1:]), _out(dtype, data.isa),
                   lambda dst: gpsimd.partition_reduce(tr, dst, op, data), exact=dtype is not None,
                   name="tensor_partition_reduce")


def local_gather(src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, *, mask=None, **_):
    tr = _enter(src_buffer, index)
    valid = num_valid_indices or index.size // index.shape[0] * 16
    return produce(tr, (src_buffer.shape[0], valid * num_elem_per_idx), src_buffer.isa,
                   lambda dst: gpsimd.local_gather(tr, dst, src_buffer, index, num_elem_per_idx, num_valid_indices),
                   name="local_gather")


def sequence_bounds(*, segment_ids, dtype=None, **_):
    tr = _enter(segment_ids)
    n = segment_ids.size
    return produce(tr, (1, 2, n), _out(dtype, segment_ids.isa),
                   lambda dst: elementwise.per_lane(tr, "sequence_bounds", dst, [segment_ids]), name="sequence_bounds")


def nc_stream_shuffle(src, dst, shuffle_mask, *, dtype=None, mask=None, **_):
    tr = _enter(src, dst)
    with tr.at_site(tr.site()):
        elementwise.stream_shuffle(tr, dst, src, shuffle_mask)


def dropout(data, prob, *, mask=None, dtype=None, **_):
    from ncemu.nki.random import dropout_into
    tr = _enter(data)
    return produce(tr, data.shape, _out(dtype, data.isa), lambda dst: dropout_into(tr, dst, data, prob, mask),
                   exact=dtype is not None, name="dropout")


def dma_copy(*, dst, src, mask=None, dst_rmw_op=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, **_):
    tr = _enter(dst, src)
    with tr.at_site(tr.site()):
        transfers.copy(tr, dst, src, mask, bounds=oob_mode.value, accumulate=dst_rmw_op is not None and alu(dst_rmw_op) == "add")


def dma_transpose(src, *, axes=None, dtype=None, mask=None, **_):
    tr = _enter(src)
    turned = (src.shape[-1], *src.shape[1:-1], src.shape[0])
    return produce(tr, turned, src.isa, lambda dst: transfers.transpose(tr, dst, src), name="dma_transpose")
