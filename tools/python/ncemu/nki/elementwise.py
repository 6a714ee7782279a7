"""Instructions that work element by element on vector, scalar and gpsimd; reductions and scans along a lane.

Each function checks what the interface allows, applies the engine policy (policies.py) and emits. The destination
comes first; operands may be broadcast along free axes of size 1.
"""

from ncemu.nki import operators, policies
from ncemu.nki.emit import as_f32, chip, note_read, number, stream, written
from ncemu.nki.errors import NkiError
from ncemu.nki.operands import ONE, box, merged, narrow
from ncemu.nki.operators import is_number
from ncemu.nki.tensor import Tensor, new_tile
from ncemu.nki.types import INTEGERS


BROADCAST = "broadcast"  # name of tiles that the interface broadcast into PSUM


def in_sbuf(tr, t):
    """The tile, or its copy in SBUF."""
    if t.storage.space == "sbuf":
        return t
    tile = new_tile(t.shape, t.isa, "sbuf", "copied", tr)
    tensor_copy(tr, tile, t)
    return tile


def memset(tr, dst, value, engine=None, mask=None):
    integer = dst.isa in INTEGERS
    stream(tr, "memset", dst, [], [("value", value, "value", integer)],
           engine=engine or policies.memset_engine(tr, dst), mask=mask)


def tensor_copy(tr, dst, src, engine=None, mask=None):
    if engine == "scalar" and tr.target.generation < 3:
        return stream(tr, "activation", dst, [src], mask=mask)  # datasheet 6.4.3: no tensor_copy on its scalar engine
    stream(tr, "tensor_copy", dst, [src], engine=engine or policies.copy_engine(tr, dst, src), mask=mask)


def tensor_tensor(tr, dst, data1, data2, op, engine=None, mask=None):
    name = operators.alu(op)
    if name in operators.UNARY:
        raise NkiError("err_unsupported_operator", f"'{operators.name_of(op)}' takes one operand, tensor_tensor has two")
    if engine is None:
        engine = policies.pair_engine(tr, name, dst, data1, data2)
    if data1.storage.space == "psum" and data2.storage.space == "psum" and data2.storage.name == BROADCAST:
        data2 = in_sbuf(tr, data2)
    elif data1.storage.space == "psum" and data2.storage.space == "psum" and data1.storage.name == BROADCAST:
        data1 = in_sbuf(tr, data1)
    if data1.storage.space == "psum" and data2.storage.space == "psum":
        raise NkiError("err_unsupported_memory", f"{data1.describe()} and {data2.describe()} are both in PSUM, an instruction "
                       f"reads one operand from there")
    stream(tr, "tensor_tensor", dst, [data1, data2], attributes=(("op", name),), engine=engine, mask=mask)


def tensor_scalar(tr, dst, data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, engine=None,
                  mask=None):
    name0 = operators.alu(op0)
    integer = name0 in operators.BITWISE
    if not integer:
        operand0, operand1 = as_f32(tr, operand0), as_f32(tr, operand1)
    attributes = [("op0", name0)]
    scalars = []
    if name0 not in operators.UNARY:
        if operand0 is None:
            raise NkiError("err_unsupported_operand", f"{operators.name_of(op0)} needs operand0")
        scalars.append(("scalar0", operand0, "operand0", integer))
    if reverse0:
        attributes.append(("reverse0", "true"))
    if op1 is not None:
        name1 = operators.alu(op1)
        if (name1 in operators.BITWISE) != integer:
            raise NkiError("err_unsupported_operator", f"{operators.name_of(op0)} and {operators.name_of(op1)} are not both "
                           f"arithmetic or both bitwise")
        attributes.append(("op1", name1))
        if name1 not in operators.UNARY:
            if operand1 is None:
                raise NkiError("err_unsupported_operand", f"{operators.name_of(op1)} needs operand1")
            scalars.append(("scalar1", operand1, "operand1", integer))
        if reverse1:
            attributes.append(("reverse1", "true"))
    stream(tr, "tensor_scalar", dst, [data], scalars, attributes, engine or policies.scalar_engine(tr, name0, op1), mask)


def scalar_tensor_tensor(tr, dst, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False, mask=None):
    attributes = [("op0", operators.alu(op0)), ("op1", operators.alu(op1))]
    if reverse0:
        attributes.append(("reverse0", "true"))
    if reverse1:
        attributes.append(("reverse1", "true"))
    stream(tr, "scalar_tensor_tensor", dst, [data, operand1],
           [("scalar0", as_f32(tr, operand0), "operand0", False)], attributes, mask=mask)


def activation(tr, dst, op, data, bias=None, scale=1.0, mask=None, reduce_cmd="idle"):
    function = operators.activation(op)
    scalars = []
    if isinstance(scale, Tensor):
        if scale.isa != "f32":
            raise NkiError("err_activation_scale_invalid_type",
                           f"scale must be a number or a vector of float32, found {scale!r}")
        if scale.size != scale.dims[0][1]:
            raise NkiError("err_activation_scale_scalar_or_vector",
                           f"scale must be a number or [P, 1], one per partition, found {scale.describe()}")
        scalars.append(("scale", scale, "scale", False))
    elif scale is not None and float(scale) != 1.0:
        scalars.append(("scale", scale, "scale", False))
    if isinstance(bias, Tensor):
        if bias.isa not in ("f32", "f16", "bf16"):
            raise NkiError("err_activation_bias_invalid_type",
                           f"bias must be a vector of float32, float16 or bfloat16, found {bias!r}")
        scalars.append(("bias", bias, "bias", False))
    elif bias is not None and float(bias) != 0.0:
        if tr.target.generation < 3:  # datasheet 6.4.1: a bias is one value per lane there
            lane = new_tile((data.shape[0], 1), "f32", "sbuf", "bias", tr)
            memset(tr, lane, float(bias))
            bias = lane
        scalars.append(("bias", bias, "bias", False))
    attributes = [("func", function)]
    if reduce_cmd != "idle":
        attributes.append(("reduce_cmd", reduce_cmd))
    stream(tr, "activation", dst, [data], scalars, attributes, mask=mask)


def activation_reduce(tr, dst, op, data, reduce_op, reduce_res, bias=None, scale=1.0, mask=None, reduce_cmd="reset_reduce"):
    if reduce_op is not None and operators.alu(reduce_op) != "add":
        raise NkiError("err_unsupported_operator", "activation reduces by add only")  # datasheet 6.4.2
    activation(tr, dst, op, data, bias, scale, mask, reduce_cmd)
    if reduce_res is not None:
        read_accumulator(tr, reduce_res, data, mask, "scalar")


def read_accumulator(tr, dst, data, mask, engine):
    if mask is not None and mask is not True:
        kept = box(mask, data.shape)
        if kept is None:
            return
        dst = narrow(dst, [kept[0][0]] + [[0, n] for n in dst.shape[1:]], (data.shape[0], *dst.shape[1:]))
    tr.record("read_accumulator", engine, [(None, chip(dst, ONE))], [dst.storage], [])
    written(dst)


def reciprocal(tr, dst, data, mask=None):
    stream(tr, "reciprocal", dst, [data], mask=mask)


def axes_of(axis, rank):
    """The reduced axes, ascending; axis 0 is the partition."""
    axes = [axis] if isinstance(axis, int) or hasattr(axis, "__index__") else list(axis)
    axes = sorted({int(a) + rank if int(a) < 0 else int(a) for a in axes})
    if not axes or axes[-1] >= rank:
        raise NkiError("err_unsupported_axis", f"axis {axis} of a tile with {rank} dimensions")
    if axes[0] == 0:
        raise NkiError("err_unsupported_axis",
                       "axis 0 is the partition: an instruction reduces along free axes; use "
                       "nisa.tensor_partition_reduce")
    return axes


def reduced_shape(shape, axes, keepdims):
    """At least two dimensions (rule of tiles)."""
    if keepdims:
        return tuple([1 if k in axes else n for k, n in enumerate(shape)])
    out = tuple([n for k, n in enumerate(shape) if k not in axes])
    return out if len(out) > 1 else (out[0], 1)


LETTERS = ("X", "XY", "XYZ", "XYZW")


def tensor_reduce(tr, dst, op, data, axis, negate=False, mask=None):
    axes = axes_of(axis, data.ndim)
    name = operators.alu(op)
    if data.dims[0][1] != dst.dims[0][1]:
        raise NkiError("err_num_partition_mismatch",
                       f"number of partitions mismatch in parameters ({dst.describe()}, {data.describe()}) of 'tensor_reduce'")
    if mask is not None and mask is not True:
        shape = data.shape
        kept = box(mask, shape)
        if kept is None:
            return
        ranges, rest = kept
        if rest:
            raise NkiError("err_unsupported_mask", "a mask over several axes of a reduction is not supported")
        data = narrow(data, ranges, shape)
        full = [r for k, r in enumerate(ranges) if k not in axes]
        if len(dst.dims) == len(shape):
            dst = narrow(dst, [r if k not in axes else [0, 1] for k, r in enumerate(ranges)],
                         tuple([n if k not in axes else 1 for k, n in enumerate(shape)]))
        else:
            full += [[0, 1]] * (len(dst.dims) - len(full))
            dst = narrow(dst, full, tuple([shape[k] for k in range(len(shape)) if k not in axes]) +
                         (1,) * (len(dst.dims) - (len(shape) - len(axes))))
    kept = merged([d for k, d in enumerate(data.dims) if k and k not in axes])
    reduced = merged([data.dims[k] for k in axes])
    if kept == [(1, 1)]:
        kept = []
    if len(kept) + len(reduced) > 4:
        raise NkiError("err_exceed_max_supported_dimension",
                       f"reducing {data.describe()} along {list(axes)} needs {len(kept) + len(reduced)} free dimensions, an "
                       f"instruction has at most 4")
    attributes = [("op", name), ("axes", LETTERS[len(reduced) - 1])]
    if negate:
        attributes.append(("negate", "true"))
    note_read(data)
    tr.record("tensor_reduce", None,
              [(None, chip(dst)), (None, chip(data, tuple(kept + reduced))), *attributes],
              [dst.storage], [data.storage])
    written(dst)


def tensor_scalar_reduce(tr, dst, data, op0, operand0, reduce_op, reduce_res, mask=None):
    attributes = [("op0", operators.alu(op0)), ("reduce_op", operators.alu(reduce_op))]
    stream(tr, "tensor_scalar_reduce", dst, [data], [("scalar0", as_f32(tr, operand0), "operand0", False)], attributes,
           mask=mask, also_written=(("reduce_res", reduce_res),))


def tensor_tensor_scan(tr, dst, data0, data1, initial, op0, op1, reverse0=False, reverse1=False, mask=None):
    attributes = [("op0", operators.alu(op0)), ("op1", operators.alu(op1))]
    if reverse0:
        attributes.append(("reverse0", "true"))
    if reverse1:
        attributes.append(("reverse1", "true"))
    stream(tr, "tensor_tensor_scan", dst, [data0, data1], [("initial", as_f32(tr, initial), "initial", False)],
           attributes, mask=mask)


def tensor_scalar_cumulative(tr, dst, src, op0, op1, imm0, imm1=None, reduce_cmd="reset_reduce"):
    scalars = [("scalar0", as_f32(tr, imm0), "imm0", False)]
    if imm1 is not None:
        scalars.append(("scalar1", as_f32(tr, imm1), "imm1", False))
    stream(tr, "tensor_scalar_cumulative", dst, [src], scalars,
           (("op0", operators.alu(op0)), ("op1", operators.alu(op1)), ("reduce_cmd", reduce_cmd)))


def tensor_copy_predicated(tr, dst, src, predicate, reverse=False, mask=None):
    """dst = src where the predicate is not 0."""
    predicate = unsigned(tr, predicate)
    named, scalars = [], []
    if is_number(src):
        scalars.append(("value", src, "src", dst.isa in INTEGERS))
    else:
        if src.isa != dst.isa:
            converted = new_tile(src.shape, dst.isa, "sbuf", "converted", tr)
            tensor_copy(tr, converted, src)
            src = converted
        named.append(("src", src.expand_to(dst.shape)))
    stream(tr, "tensor_copy_predicated", dst, [predicate], scalars, (("reverse", "true"),) if reverse else (), mask=mask,
           named=named)


def unsigned(tr, predicate):
    """Predicates have unsigned types (datasheet 6.3.2): others become 0 or 1."""
    if predicate.isa in ("u8", "u16", "u32"):
        return predicate
    if predicate.isa in ("i8", "i16", "i32"):
        return predicate.view({"i8": "u8", "i16": "u16", "i32": "u32"}[predicate.isa])
    tile = new_tile(predicate.shape, "u8", "sbuf", "predicate", tr)
    tensor_scalar(tr, tile, predicate, "not_equal", 0.0)
    return tile


def select(tr, dst, condition, on_true, on_false):
    """dst = condition ? on_true : on_false, each a tile or a number."""
    if is_number(on_false):
        memset(tr, dst, on_false)
    else:
        tensor_copy(tr, dst, on_false)
    tensor_copy_predicated(tr, dst, on_true, condition)


def per_lane(tr, mnemonic, dst, sources, attributes=(), mask=None):
    """Instructions with other shapes on the two sides: bn_stats, bn_aggr, max8, find_index8."""
    for t in sources:
        if t.dims[0][1] != dst.dims[0][1]:
            raise NkiError("err_num_partition_mismatch",
                           f"number of partitions mismatch in parameters ({dst.describe()}, {t.describe()}) of "
                           f"'{mnemonic}'")
    if mask is not None and mask is not True:
        shape = sources[0].shape
        kept = box(mask, shape)
        if kept is None:
            return
        if kept[1]:
            raise NkiError("err_unsupported_mask", f"a mask over several axes of {mnemonic} is not supported")
        sources = [narrow(t, kept[0], shape) for t in sources]
        dst = narrow(dst, [kept[0][0]] + [[0, n] for n in dst.shape[1:]], (shape[0], *dst.shape[1:]))
    for t in sources:
        note_read(t)
    tr.record(mnemonic, None, [(None, chip(dst)), *[(None, chip(t)) for t in sources], *attributes], [dst.storage],
              [t.storage for t in sources])
    written(dst)


def find_index8(tr, dst, data, vals, mask=None):
    """Where the eight values of each lane are in data."""
    tr.record("match_value_load", None, [(None, chip(vals))], [], [vals.storage])
    per_lane(tr, "find_index8", dst, [data], mask=mask)


def match_replace8(tr, dst, data, vals, imm, dst_idx=None, mask=None):
    """data with the eight values of each lane replaced by imm."""
    tr.record("match_value_load", None, [(None, chip(vals))], [], [vals.storage])
    attributes = [("value", number(imm))]
    if dst_idx is not None:
        attributes.append(("index", chip(dst_idx)))
    per_lane(tr, "match_replace8", dst, [data], attributes, mask)
    if dst_idx is not None:
        note_write(tr, dst_idx)


def note_write(tr, t):
    """The last instruction writes this tile too."""
    position = len(tr.instructions) - 1
    s = t.storage
    s.first, s.last, s.is_written = min_of(s.first, position), position, True
    written(t)


def min_of(a, b):
    return a if a < b else b


def select_reduce(tr, dst, predicate, on_true, on_false, reduce_res, command, reverse, mask=None):
    """dst = predicate ? on_true : on_false; reduce_res = the maximum of each lane."""
    predicate = unsigned(tr, predicate)
    attributes = []
    if reverse:
        attributes.append(("reverse", "true"))
    if command != "idle":
        attributes.append(("reduce_cmd", command))
    stream(tr, "select_reduce", dst, [on_true, predicate], [("on_false", as_f32(tr, on_false), "on_false", False)], attributes,
           mask=mask)
    if reduce_res is not None:
        read_accumulator(tr, reduce_res, on_true, mask, "vector")


def range_select(tr, dst, src, comp0, bound0, comp1, bound1, range_start, reduce_res, command, mask=None):
    attributes = [("comp0", operators.alu(comp0)), ("comp1", operators.alu(comp1)), ("range_start", number(range_start)),
                  ("reduce_cmd", command)]
    stream(tr, "range_select", dst, [src], [("bound0", as_f32(tr, bound0), "bound0", False),
                                            ("bound1", as_f32(tr, bound1), "bound1", False)], attributes, mask=mask,
           also_written=(("reduce_res", reduce_res),) if reduce_res is not None else ())


def stream_shuffle(tr, dst, src, mask):
    """Lanes of each quadrant of 32 in another order; 255 keeps (datasheet 6.6.10)."""
    tr.record("load_mask", None, [("mask", "[" + ", ".join(str(int(m)) for m in mask) + "]")], [], [])
    tr.record("stream_shuffle", None, [(None, chip(dst)), (None, chip(src))], [dst.storage], [src.storage, dst.storage])
    written(dst)
