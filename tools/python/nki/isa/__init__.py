"""nki.isa: instructions that take their destination first. Results have the destination's shape and type."""

from ncemu.nki import elementwise, gpsimd, matmul, random as _random, trace as _trace, transfers
from ncemu.nki.constants import (dge_mode, engine, matmul_perf_mode, nc_version, oob_mode, reduce_cmd,  # noqa: F401
                                 word as _word)
from ncemu.nki.errors import NkiError, UnsupportedError
from ncemu.nki.operators import alu
from ncemu.nki.registers import register_alloc, register_load, register_move, register_store  # noqa: F401
from ncemu.nki.tensor import Tensor
from nki.isa import constants  # noqa: F401

tensor_engine, vector_engine, scalar_engine = engine.tensor, engine.vector, engine.scalar
gpsimd_engine, sync_engine, dma_engine, unknown_engine = engine.gpsimd, engine.sync, engine.dma, engine.unknown


def get_nc_version():
    return {2: nc_version.gen2, 3: nc_version.gen3}[_trace.current().target.generation]


def _enter(*tensors):
    tr = _trace.current()
    tr.flush()
    for t in tensors:
        if type(t) is not Tensor:
            raise NkiError("err_unsupported_operand", f"an instruction takes tensors, found {type(t).__name__}")
    return tr


def _fits(dst, shape, what):
    """Element-wise results have the operands' shape, or as many elements per partition."""
    if dst.shape != shape and dst.size != _product(shape):
        raise NkiError("err_shape_mismatch", f"the result of {what} is {list(shape)}, the destination is {dst.describe()}")


def _product(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def dma_copy(dst, src, dst_rmw_op=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, unique_indices=True, name=None,
             engine=unknown_engine):
    tr = _enter(dst, src)
    accumulate = dst_rmw_op is not None
    if accumulate and alu(dst_rmw_op) != "add":
        raise UnsupportedError("dma_copy updates its destination by add only")
    transfers.copy(tr, dst, src, engine=_issuer(engine), bounds=_word(oob_mode), accumulate=accumulate)


def _issuer(engine):
    chosen = _word(engine)
    return None if chosen == "dma" else chosen


def dma_transpose(dst, src, axes=None, dge_mode=dge_mode.unknown, oob_mode=oob_mode.error, name=None, engine=unknown_engine):
    tr = _enter(dst, src)
    if axes is not None and tuple(axes) != (src.ndim - 1, *range(1, src.ndim - 1), 0):
        raise UnsupportedError(f"dma_transpose exchanges the first and the last axis, not {tuple(axes)}")
    transfers.transpose(tr, dst, src, _issuer(engine))


def dma_compute(dst, srcs, scales=None, reduce_op="add", unique_indices=True, name=None):
    tr = _enter(dst, *srcs)
    transfers.compute(tr, dst, srcs, scales, reduce_op)


def tensor_copy(dst, src, engine=unknown_engine, name=None):
    tr = _enter(dst, src)
    elementwise.tensor_copy(tr, dst, src, _word(engine))


def memset(dst, value, engine=unknown_engine, name=None):
    elementwise.memset(_enter(dst), dst, value, _word(engine))


def tensor_tensor(dst, data1, data2, op, engine=unknown_engine, name=None):
    elementwise.tensor_tensor(_enter(dst, data1, data2), dst, data1, data2, op, _word(engine))


def tensor_scalar(dst, data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, engine=unknown_engine,
                  name=None):
    elementwise.tensor_scalar(_enter(dst, data), dst, data, op0, operand0, reverse0, op1, operand1, reverse1, _word(engine))


def scalar_tensor_tensor(dst, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False, name=None):
    elementwise.scalar_tensor_tensor(_enter(dst, data, operand1), dst, data, op0, operand0, op1, operand1, reverse0, reverse1)


def activation(dst, op, data, bias=None, scale=1.0, reduce_op=None, reduce_res=None, reduce_cmd=reduce_cmd.idle, name=None):
    tr = _enter(dst, data)
    command = _word(reduce_cmd)
    if reduce_res is not None:
        if command == "idle":
            command = "reset_reduce"
        return elementwise.activation_reduce(tr, dst, op, data, reduce_op, reduce_res, bias, scale, None, command)
    elementwise.activation(tr, dst, op, data, bias, scale, None, command)


def activation_reduce(dst, op, data, reduce_op, reduce_res, bias=None, scale=1.0, name=None):
    elementwise.activation_reduce(_enter(dst, data, reduce_res), dst, op, data, reduce_op, reduce_res, bias, scale)


def tensor_reduce(dst, op, data, axis, negate=False, keepdims=False, name=None):
    tr = _enter(dst, data)
    axes = elementwise.axes_of(axis, data.ndim)
    _fits(dst, elementwise.reduced_shape(data.shape, axes, keepdims), "tensor_reduce")
    elementwise.tensor_reduce(tr, dst, op, data, axes, negate)


def tensor_scalar_reduce(dst, data, op0, operand0, reduce_op, reduce_res, reverse0=False, name=None):
    if reverse0:
        raise UnsupportedError("tensor_scalar_reduce with reverse0: the documents call it not supported")
    elementwise.tensor_scalar_reduce(_enter(dst, data, reduce_res), dst, data, op0, operand0, reduce_op, reduce_res)


def tensor_scalar_cumulative(dst, src, op0, op1, imm0, imm1=None, reduce_cmd=reduce_cmd.reset_reduce, name=None):
    elementwise.tensor_scalar_cumulative(_enter(dst, src), dst, src, op0, op1, imm0, imm1, _word(reduce_cmd))


def reciprocal(dst, data, name=None):
    elementwise.reciprocal(_enter(dst, data), dst, data)


def tensor_tensor_scan(dst, data0, data1, initial, op0, op1, reverse0=False, reverse1=False, name=None):
    elementwise.tensor_tensor_scan(_enter(dst, data0, data1), dst, data0, data1, initial, op0, op1, reverse0, reverse1)


def tensor_copy_predicated(dst, src, predicate, reverse_pred=False, name=None):
    elementwise.tensor_copy_predicated(_enter(dst, predicate), dst, src, predicate, reverse_pred)


def select_reduce(dst, predicate, on_true, on_false, reduce_res=None, reduce_cmd=reduce_cmd.idle, reduce_op=None,
                  reverse_pred=False, name=None):
    tr = _enter(dst, predicate, on_true)
    command = _word(reduce_cmd)
    if reduce_res is not None and command == "idle":
        command = "reset_reduce"
    elementwise.select_reduce(tr, dst, predicate, on_true, on_false, reduce_res, command, reverse_pred)


def range_select(dst, on_true_tile, comp_op0, comp_op1, bound0, bound1, reduce_cmd=reduce_cmd.reset_reduce, reduce_res=None,
                 reduce_op=None, range_start=0, on_false_value=None, name=None):
    elementwise.range_select(_enter(dst, on_true_tile), dst, on_true_tile, comp_op0, bound0, comp_op1, bound1, range_start,
                             reduce_res, _word(reduce_cmd))


def bn_stats(dst, data, name=None):
    elementwise.per_lane(_enter(dst, data), "bn_stats", dst, [data])


def bn_aggr(dst, data, name=None):
    elementwise.per_lane(_enter(dst, data), "bn_aggr", dst, [data])


def max8(dst, src, name=None):
    elementwise.per_lane(_enter(dst, src), "max8", dst, [src])


def nc_find_index8(dst, data, vals, name=None):
    elementwise.find_index8(_enter(dst, data, vals), dst, data, vals)


def nc_match_replace8(dst, data, vals, imm, dst_idx=None, name=None):
    elementwise.match_replace8(_enter(dst, data, vals), dst, data, vals, imm, dst_idx)


def nc_matmul(dst, stationary, moving, is_stationary_onezero=False, is_moving_onezero=False, is_transpose=False,
              accumulate=None, tile_position=(), tile_size=(), perf_mode=matmul_perf_mode.none, name=None):
    tr = _enter(dst, stationary, moving)
    if _word(perf_mode) not in ("none", None):
        raise UnsupportedError(f"nc_matmul with perf_mode {_word(perf_mode)} is not supported")
    load, stream = matmul.attributes(is_stationary_onezero, is_moving_onezero, is_transpose, tile_position, tile_size)
    matmul.nc_matmul(tr, dst, stationary, moving, accumulate, None, stream, load, is_transpose)


def nc_transpose(dst, data, engine=unknown_engine, name=None):
    matmul.nc_transpose(_enter(dst, data), dst, data, _word(engine))


def iota(dst, pattern, offset=0, channel_multiplier=0, name=None):
    gpsimd.iota(_enter(dst), dst, pattern, offset, channel_multiplier)


COMPARISONS = {"equal": "eq", "not_equal": "ne", "greater_equal": "ge", "greater": "gt", "less_equal": "le", "less": "lt"}


def affine_select(dst, pattern, channel_multiplier, on_true_tile, on_false_value, offset=0, cmp_op="equal", name=None):
    from ncemu.nki.operators import name_of
    comparison = COMPARISONS.get(name_of(cmp_op))
    if comparison is None:
        raise NkiError("err_unsupported_operator", f"affine_select compares, '{name_of(cmp_op)}' does not")
    tr = _enter(dst, on_true_tile)
    gpsimd.affine_select(tr, dst, elementwise.in_sbuf(tr, on_true_tile), pattern, offset, channel_multiplier, comparison,
                         on_false_value)


def tensor_partition_reduce(dst, op, data, name=None):
    gpsimd.partition_reduce(_enter(dst, data), dst, op, data)


def local_gather(dst, src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, name=None):
    gpsimd.local_gather(_enter(dst, src_buffer, index), dst, src_buffer, index, num_elem_per_idx, num_valid_indices)


def nc_n_gather(dst, data, indices, name=None):
    gpsimd.gather_flattened(_enter(dst, data, indices), dst, data, indices)


def sequence_bounds(dst, segment_ids, name=None):
    elementwise.per_lane(_enter(dst, segment_ids), "sequence_bounds", dst, [segment_ids])


def nonzero_with_count(dst, src, index_offset=0, padding_val=-1, name=None):
    elementwise.per_lane(_enter(dst, src), "nonzero_with_count", dst, [src],
                         (("index_offset", str(int(index_offset))), ("padding_val", str(int(padding_val)))))


def nc_stream_shuffle(dst, src, shuffle_mask, name=None):
    elementwise.stream_shuffle(_enter(dst, src), dst, src, shuffle_mask)


def dropout(dst, data, prob, name=None):
    _random.dropout_into(_enter(dst, data), dst, data, prob)


def rng(dst, engine=unknown_engine, name=None):
    _random.bits(_enter(dst), dst, _word(engine))


def _refused(name, why):
    def f(*_, **__):
        raise UnsupportedError(f"nisa.{name}: {why}")
    f.__name__, f.refused = name, f"refuses: {why}"
    return f


nc_matmul_mx, quantize_mx = (_refused(n, "mx types are of a later generation") for n in ("nc_matmul_mx", "quantize_mx"))
sendrecv, core_barrier = (_refused(n, "one core is emulated") for n in ("sendrecv", "core_barrier"))
