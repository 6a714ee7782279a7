"""nl.* of the generation that returns results: each call is expanded into the shortest sequence of instructions.

Instructions of a macro carry its name and the kernel's line. Operands are tiles, numbers, or tiles of one column or
one partition, which broadcast.
"""

import builtins  # this module has a sum, a max and a min of its own
import math

from ncemu.nki import elementwise, matmul, operators, trace as tracing, transfers
from ncemu.nki.adapter import produce
from ncemu.nki.elementwise import in_sbuf
from ncemu.nki.emit import is_exact_integers
from ncemu.nki.errors import NkiError, UnsupportedError
from ncemu.nki.index import broadcast_shapes
from ncemu.nki.operators import is_number
from ncemu.nki.tensor import Tensor, new_tile
from ncemu.nki.types import INTEGERS, isa_type, promote


def _type(dtype, default):
    return default if dtype is None else isa_type(dtype)


def on_chip(tr, t, name):
    """The tile of an operand; macros take tiles only."""
    if not isinstance(t, Tensor):
        if hasattr(t, "not_a_tile"):
            raise t.not_a_tile()
        raise NkiError("err_unsupported_operand", f"{name} takes tiles and numbers, found {type(t).__name__}")
    if t.pdim is None:
        raise NkiError("err_unsupported_memory", f"expected operand of '{name}' to be in address space 'psum|sbuf', but got a "
                       f"tile in 'hbm' instead: {t.describe()}")
    if t.pdim != 0:
        raise NkiError("err_failed_to_infer_tile_from_local_tensor",
                       f"failed to infer a tile from {t.describe()}: its first dimension is not the partition")
    return t


def broadcast_partitions(tr, t, partitions):
    """[1, F] to [P, F]: a product with ones on the tensor engine, 512 columns at a time.

    fp32 rows of one bank stay in PSUM, where vector and scalar read them beside an operand in SBUF (datasheet A.2).
    """
    free = t.size
    if t.isa in INTEGERS:
        return _broadcast_by_transfer(tr, t, partitions)
    flat = _flat(in_sbuf(tr, t))
    ones = tr.identities.get(("ones", t.isa))
    if ones is None:
        ones = tr.identities[("ones", t.isa)] = new_tile((1, 128), t.isa, "sbuf", "ones", tr)
        elementwise.memset(tr, ones, 1.0)
    ones = ones.narrow(1, 0, partitions)
    if t.isa == "f32" and free <= matmul.MOVING:
        product = new_tile((partitions, *t.shape[1:]), "f32", "psum", "broadcast", tr)
        matmul.nc_matmul(tr, product, ones, flat, False)
        return product
    out = new_tile((partitions, *t.shape[1:]), t.isa, "sbuf", "broadcast", tr)
    flat_out = _flat(out)
    for at in range(0, free, matmul.MOVING):
        n = builtins.min(matmul.MOVING, free - at)
        product = new_tile((partitions, n), "f32", "psum", "broadcast", tr)
        matmul.nc_matmul(tr, product, ones, flat.narrow(1, at, at + n))
        elementwise.tensor_copy(tr, flat_out.narrow(1, at, at + n), product)
    return out


def _broadcast_by_transfer(tr, t, partitions):
    """Bits, by a transfer to HBM and one that reads the row for every partition."""
    from ncemu.nki.tensor import whole_view
    t = in_sbuf(tr, t)
    row = tr.storage(tr.unique("broadcast_row"), "hbm", t.isa, (t.size,), 0, t.size)
    row.kind = "hbm"
    view = whole_view(row)
    transfers.copy(tr, view.with_dims(((0, 1), (1, t.size))), _flat(t))
    out = new_tile((partitions, *t.shape[1:]), t.isa, "sbuf", "broadcast", tr)
    transfers.copy(tr, _flat(out), view.with_dims(((0, partitions), (1, t.size))))
    return out


def _flat(t):
    if t.ndim == 2:
        return t
    return t.reshape((t.dims[0][1], t.size // t.dims[0][1]))


def broadcast_to(t, shape):
    """nl.broadcast_to and tile.broadcast_to: a view along free axes; a partition is copied."""
    shape = tuple([int(n) for n in shape])
    if t.pdim is None:
        return t.expand_to(shape)
    if len(t.dims) == len(shape) and t.dims[0][1] == 1 and shape[0] > 1:
        tr = tracing.current()
        tr.flush()
        with tr.at_site(tr.site()):
            t = broadcast_partitions(tr, t, shape[0])
    return t.expand_to(shape)


def _operands(tr, x, y, name):
    """Both operands, their shape, partitions made equal."""
    if not isinstance(x, Tensor):
        if not is_number(x):
            on_chip(tr, x, name)
        return x, on_chip(tr, y, name), y.shape
    on_chip(tr, x, name)
    if is_number(y):
        return x, y, x.shape
    on_chip(tr, y, name)
    a, b = x.shape, y.shape
    if len(a) != len(b):  # [P, 1] goes with any number of free axes
        short, long = (a, b) if len(a) < len(b) else (b, a)
        padded = (short[0], *((1,) * (len(long) - len(short))), *short[1:])
        a, b = (padded, b) if short is a else (a, padded)
    return x, y, broadcast_shapes(a, b)


def _binary(name, comparison=False):
    def f(x, y, dtype=None, mask=None, **_):
        tr = tracing.current()
        tr.flush()
        if is_number(x) and is_number(y):
            raise NkiError("err_unsupported_operand", f"nl.{name} of two numbers")
        x, y, shape = _operands(tr, x, y, name)
        tensors = [t for t in (x, y) if isinstance(t, Tensor)]
        if comparison:
            default = "u8"
        else:
            default = tensors[0].isa if len(tensors) == 1 else promote(tensors[0].isa, tensors[1].isa)
            if len(tensors) == 1 and default in INTEGERS:
                other = y if tensors[0] is x else x
                if name == "divide" or (isinstance(other, float) and not float(other).is_integer()):
                    default = "f32"  # an integer tile and a fraction: computed and kept in fp32
            if name == "divide" and default in INTEGERS:
                default = "f32"
        out = _type(dtype, default)

        def emit(dst):
            binary(tr, dst, x, y, name, mask)
        return produce(tr, shape, out, emit, exact=dtype is not None, name=name)
    f.__name__ = f.op = name
    f.__doc__ = f"{name} of tiles and numbers, element by element."
    return f


def binary(tr, dst, x, y, name, mask=None):
    """dst = x op y; numbers and [P, 1] tiles go as scalars of tensor_scalar."""
    tr.macro = f"nl.{name}"
    partitions = dst.dims[0][1]
    x, y = [broadcast_partitions(tr, t, partitions) if isinstance(t, Tensor) and t.dims[0][1] == 1 and partitions > 1
            else t for t in (x, y)]
    op = operators.alu(name)
    if op == "pow":
        return _power(tr, dst, x, y, mask)

    def is_scalar(t):
        return not isinstance(t, Tensor) or (t.size == t.dims[0][1] and dst.size != dst.dims[0][1])
    exact = operators.alu(name) in ("add", "subtract", "mult") and is_exact_integers(
        *[t for t in (x, y, dst) if isinstance(t, Tensor)]) and not (isinstance(x, float) or isinstance(y, float))
    if exact:
        x, y = [_integer_tile(tr, t, dst) if not isinstance(t, Tensor) else t for t in (x, y)]
        elementwise.tensor_tensor(tr, dst, x, y, name, mask=mask)
    elif is_scalar(y) and isinstance(x, Tensor) and _scalar_fits(op, y):
        elementwise.tensor_scalar(tr, dst, x, name, y, mask=mask)
    elif is_scalar(x) and _scalar_fits(op, x):
        elementwise.tensor_scalar(tr, dst, y, name, x, reverse0=True, mask=mask)
    else:
        if x.storage.space == "psum" and y.storage.space == "psum":
            y = in_sbuf(tr, y)
        elementwise.tensor_tensor(tr, dst, x, y, name, mask=mask)
    tr.macro = None


def _scalar_fits(op, value):
    """A [P, 1] tile of another type than fp32 can be a scalar after conversion; bitwise ones take integers as they are."""
    return True


def _integer_tile(tr, value, like):
    tile = new_tile(like.shape, like.isa, "sbuf", "constant", tr)
    elementwise.memset(tr, tile, int(value))
    return tile


def _power(tr, dst, x, y, mask):
    """pow exists between two tensors on gpsimd (datasheet 5.1)."""
    tiles = []
    for t in (x, y):
        if not isinstance(t, Tensor):
            tile = new_tile(dst.shape, "f32", "sbuf", "exponent", tr)
            elementwise.memset(tr, tile, float(t))
            t = tile
        tiles.append(in_sbuf(tr, t.expand_to(dst.shape)))
    elementwise.tensor_tensor(tr, dst, tiles[0], tiles[1], "power", mask=mask)
    tr.macro = None


add, subtract, multiply, divide = (_binary(n) for n in ("add", "subtract", "multiply", "divide"))
maximum, minimum, power, mod = (_binary(n) for n in ("maximum", "minimum", "power", "mod"))
equal, not_equal, greater, greater_equal, less, less_equal, logical_and, logical_or, logical_xor = (
    _binary(n, True) for n in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "logical_and",
                               "logical_or", "logical_xor"))
bitwise_and, bitwise_or, bitwise_xor, left_shift, right_shift = (
    _binary(n) for n in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"))


def _function(name):
    """A function of the scalar engine."""
    def f(x, dtype=None, mask=None, **_):
        tr = tracing.current()
        tr.flush()
        on_chip(tr, x, name)
        default = "f32" if x.isa in INTEGERS and name not in ("abs", "copy", "sign", "relu", "square") else x.isa
        return produce(tr, x.shape, _type(dtype, default), lambda dst: unary(tr, dst, x, name, mask),
                       exact=dtype is not None, name=name)
    f.__name__ = f.op = name
    f.__doc__ = f"{name} of a tile, element by element, on the scalar engine."
    return f


def unary(tr, dst, x, name, mask=None):
    tr.macro = f"nl.{name}"
    elementwise.activation(tr, dst, name, x, mask=mask)
    tr.macro = None


exp, log, sqrt, rsqrt, sigmoid, tanh, sin, arctan, erf, erf_dx, gelu, gelu_dx, silu, silu_dx, softplus, mish, sign, relu, \
    square, gelu_apprx_tanh, gelu_apprx_sigmoid, gelu_apprx_sigmoid_dx = (_function(n) for n in (
        "exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh", "sin", "arctan", "erf", "erf_dx", "gelu", "gelu_dx", "silu",
        "silu_dx", "softplus", "mish", "sign", "relu", "square", "gelu_apprx_tanh", "gelu_apprx_sigmoid",
        "gelu_apprx_sigmoid_dx"))


def cos(x, dtype=None, mask=None, **_):
    """sin(x + pi / 2): x from -3 pi / 2 to pi / 2 (datasheet 5.3)."""
    tr = tracing.current()
    tr.flush()

    def emit(dst):
        elementwise.activation(tr, dst, "sin", x, bias=math.pi / 2, mask=mask)
    return produce(tr, on_chip(tr, x, "cos").shape, _type(dtype, x.isa), emit, exact=dtype is not None, name="cos")


def _vector(name, emit_of):
    """A function of one tile on the vector engine."""
    def f(x, dtype=None, mask=None, **_):
        tr = tracing.current()
        tr.flush()
        on_chip(tr, x, name)
        return produce(tr, x.shape, _type(dtype, x.isa), lambda dst: emit_of(tr, dst, x, mask), exact=dtype is not None,
                       name=name)
    f.__name__ = f.op = name
    return f


copy = _vector("copy", lambda tr, dst, x, mask: elementwise.tensor_copy(tr, dst, x, mask=mask))
negative = _vector("negative", lambda tr, dst, x, mask: elementwise.tensor_scalar(tr, dst, x, "multiply", -1.0, mask=mask))
abs = _vector("abs", lambda tr, dst, x, mask: elementwise.tensor_scalar(tr, dst, x, "abs", None, mask=mask))
reciprocal = _vector("reciprocal", lambda tr, dst, x, mask: elementwise.reciprocal(tr, dst, x, mask=mask))
logical_not = _vector("logical_not", lambda tr, dst, x, mask: elementwise.tensor_scalar(tr, dst, x, "equal", 0.0, mask=mask))
invert = _vector("invert", lambda tr, dst, x, mask: elementwise.tensor_scalar(tr, dst, x, "invert", None, mask=mask))


def floor(x, dtype=None, mask=None, **_):
    """x - mod(x, 1): the remainder has the sign of 1 (datasheet 5.1)."""
    return _rounded("floor", x, dtype, mask, 1.0)


def ceil(x, dtype=None, mask=None, **_):
    """x - mod(x, -1)"""
    return _rounded("ceil", x, dtype, mask, -1.0)


def _rounded(name, x, dtype, mask, divisor):
    tr = tracing.current()
    tr.flush()
    on_chip(tr, x, name)

    def emit(dst):
        rest = new_tile(x.shape, "f32", "sbuf", "fraction", tr)
        elementwise.tensor_scalar(tr, rest, x, "mod", divisor, mask=mask)
        elementwise.tensor_tensor(tr, dst, x, rest, "subtract", mask=mask)
    return produce(tr, x.shape, _type(dtype, x.isa), emit, exact=dtype is not None, name=name)


def _reduction(name, op):
    def f(x, axis, dtype=None, mask=None, keepdims=False, **_):
        tr = tracing.current()
        tr.flush()
        on_chip(tr, x, name)
        axes = elementwise.axes_of(axis, x.ndim)
        shape = elementwise.reduced_shape(x.shape, axes, keepdims)
        return produce(tr, shape, _type(dtype, x.isa), lambda dst: elementwise.tensor_reduce(tr, dst, op, x, axes, mask=mask),
                       exact=dtype is not None, name=name)
    f.__name__ = f.op = name
    return f


sum, max, min, prod, all = (_reduction(n, o) for n, o in (("sum", "add"), ("max", "max"), ("min", "min"),
                                                          ("prod", "multiply"), ("all", "logical_and")))


def mean(x, axis, dtype=None, mask=None, keepdims=False, **_):
    """sum / count"""
    tr = tracing.current()
    tr.flush()
    on_chip(tr, x, "mean")
    axes = elementwise.axes_of(axis, x.ndim)
    count = 1
    for a in axes:
        count *= x.shape[a]
    shape = elementwise.reduced_shape(x.shape, axes, keepdims)

    def emit(dst):
        total = new_tile(shape, "f32", "sbuf", "sum", tr)
        elementwise.tensor_reduce(tr, total, "add", x, axes, mask=mask)
        elementwise.tensor_scalar(tr, dst, total, "multiply", 1.0 / count)
    return produce(tr, shape, _type(dtype, x.isa), emit, exact=dtype is not None, name="mean")


def var(x, axis, dtype=None, mask=None, keepdims=False, **_):
    """mean of (x - mean)^2, the population variance."""
    tr = tracing.current()
    tr.flush()
    on_chip(tr, x, "var")
    axes = elementwise.axes_of(axis, x.ndim)
    count = 1
    for a in axes:
        count *= x.shape[a]
    shape = elementwise.reduced_shape(x.shape, axes, keepdims)

    def emit(dst):
        column = tuple([1 if k in axes else n for k, n in enumerate(x.shape)])
        total = new_tile(column, "f32", "sbuf", "sum", tr)
        elementwise.tensor_reduce(tr, total, "add", x, axes, mask=mask)
        elementwise.tensor_scalar(tr, total, total, "multiply", 1.0 / count)
        centred = new_tile(x.shape, "f32", "sbuf", "centred", tr)
        elementwise.tensor_tensor(tr, centred, x, total.expand_to(x.shape), "subtract", mask=mask)
        elementwise.tensor_tensor(tr, centred, centred, centred, "multiply", mask=mask)
        elementwise.tensor_reduce(tr, total, "add", centred, axes, mask=mask)
        elementwise.tensor_scalar(tr, dst, total if keepdims else total.reshape(shape), "multiply", 1.0 / count)
    return produce(tr, shape, _type(dtype, x.isa), emit, exact=dtype is not None, name="var")


def softmax(x, axis=-1, dtype=None, mask=None, compute_dtype=None, **_):
    """exp(x - max) / sum, along the last axes."""
    tr = tracing.current()
    tr.flush()
    on_chip(tr, x, "softmax")
    axes = elementwise.axes_of(axis, x.ndim)
    if x.ndim != 2 or axes != [1]:
        raise UnsupportedError("nl.softmax takes a tile of two dimensions and the last axis")

    def emit(dst):
        p = x.shape[0]
        top, total, inverse = (new_tile((p, 1), "f32", "sbuf", n, tr) for n in ("negated_max", "sum", "inverse"))
        e = new_tile(x.shape, "f32", "sbuf", "exp", tr)
        elementwise.tensor_reduce(tr, top, "max", x, axes, negate=True, mask=mask)
        elementwise.activation_reduce(tr, e, "exp", x, "add", total, bias=top, mask=mask)
        elementwise.reciprocal(tr, inverse, total)
        elementwise.tensor_scalar(tr, dst, e, "multiply", inverse, mask=mask)
    return produce(tr, x.shape, _type(dtype, x.isa), emit, exact=dtype is not None, name="softmax")


def rms_norm(x, w, axis=-1, n=None, epsilon=1e-6, dtype=None, mask=None, **_):
    """x / sqrt(sum(x^2) / n + epsilon) * w"""
    tr = tracing.current()
    tr.flush()
    on_chip(tr, x, "rms_norm")
    axes = elementwise.axes_of(axis, x.ndim)
    count = n or x.shape[axes[0]]

    def emit(dst):
        p = x.shape[0]
        squares = new_tile(x.shape, "f32", "sbuf", "squares", tr)
        total = new_tile((p, 1), "f32", "sbuf", "sum", tr)
        elementwise.activation_reduce(tr, squares, "square", x, "add", total, mask=mask)
        elementwise.tensor_scalar(tr, total, total, "multiply", 1.0 / count, op1="add", operand1=float(epsilon))
        elementwise.activation(tr, total, "rsqrt", total)
        if w is None:
            elementwise.tensor_scalar(tr, dst, x, "multiply", total, mask=mask)
            return
        weights = broadcast_partitions(tr, w, p) if w.shape[0] == 1 and p > 1 else w
        elementwise.scalar_tensor_tensor(tr, dst, x, "multiply", total, "multiply", weights.expand_to(x.shape), mask=mask)
    return produce(tr, x.shape, _type(dtype, x.isa), emit, exact=dtype is not None, name="rms_norm")


def where(condition, x, y, dtype=None, mask=None, **_):
    """condition ? x : y"""
    tr = tracing.current()
    tr.flush()
    tensors = [t for t in (x, y) if isinstance(t, Tensor)]
    shape = condition.shape
    for t in tensors:
        shape = broadcast_shapes(shape, t.shape)
    default = tensors[0].isa if len(tensors) == 1 else promote(x.isa, y.isa) if tensors else "f32"

    def emit(dst):
        c = condition.expand_to(shape)
        a, b = [t.expand_to(shape) if isinstance(t, Tensor) else t for t in (x, y)]
        if mask is None or mask is True:
            return elementwise.select(tr, dst, c, a, b)
        whole = new_tile(shape, dst.isa, "sbuf", "selected", tr)
        elementwise.select(tr, whole, c, a, b)
        elementwise.tensor_copy(tr, dst, whole, mask=mask)
    return produce(tr, shape, _type(dtype, default), emit, exact=dtype is not None, name="where")


def transpose(x, dtype=None, mask=None, **_):
    """[P, F] to [F, P], both at most 128."""
    tr = tracing.current()
    tr.flush()
    on_chip(tr, x, "transpose")
    if x.ndim > 2:
        raise NkiError("err_exceed_max_supported_dimension",
                       f"parameter {x.describe()} of 'transpose' exceeds the supported number of dimensions of 2")
    if x.shape[1] > 128:
        raise NkiError("err_size_of_dimension_exceed_arch_limit",
                       f"size of dimension 1 in {x.describe()} of 'transpose' exceeds the architecture's limit of 128")

    def emit(dst):
        matmul.nc_transpose(tr, dst, in_sbuf(tr, x), engine="tensor")
    return produce(tr, (x.shape[1], x.shape[0]), _type(dtype, x.isa), emit, space="sbuf", exact=dtype is not None,
                   name="transpose")


def matrix_product(x, y, transpose_x=False, mask=None, **_):
    """nl.matmul: x @ y, x [M, K] (transposed by the tensor engine) or, with transpose_x, [K, M]; K at most 128."""
    tr = tracing.current()
    tr.flush()
    on_chip(tr, x, "matmul")
    on_chip(tr, y, "matmul")
    m, k = (x.shape[1], x.shape[0]) if transpose_x else (x.shape[0], x.shape[1])
    if y.shape[0] != k:
        raise NkiError("err_shape_mismatch", f"nl.matmul of {x.describe()} and {y.describe()}: inner sizes {k} and {y.shape[0]}")
    for t, most, axis in ((x, 128, 0), (y, 128, 0)):
        if t.shape[axis] > most:
            raise NkiError("err_size_of_dimension_exceed_arch_limit", f"size of dimension {axis} in {t.describe()} of 'matmul' "
                           f"exceeds the architecture's limit of {most}")

    def emit(dst, accumulate=False):
        left = in_sbuf(tr, x)
        if not transpose_x:
            turned = new_tile((k, m), x.isa, "sbuf", "transposed", tr)
            matmul.nc_transpose(tr, turned, left, engine="tensor")
            left = turned
        matmul.nc_matmul(tr, dst, left, in_sbuf(tr, y), accumulate, mask)
    return produce(tr, (m, *y.shape[1:]), "f32", emit, space="psum", exact=False, is_matmul=True, name="matmul")
