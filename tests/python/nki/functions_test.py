"""nl.* and nisa.* of the generation that returns results, one by one, against numpy."""

import math

import numpy as np
import pytest

from neuronxcc import nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

rng = np.random.default_rng(20240906)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def apply(f, *arrays, dtype=None):
    """f of loaded tiles, stored."""
    @nki.jit
    def kernel(*tensors):
        tile = f(*[nl.load(t) for t in tensors])
        y = nl.ndarray(tile.shape, dtype=dtype or tile.dtype, buffer=nl.shared_hbm)
        nl.store(y, tile)
        return y
    return kernel(*arrays)


def erf(x):
    return np.vectorize(math.erf)(x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def phi(x):
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def normal_cdf(x):
    return (1 + erf(x / math.sqrt(2))) / 2


UNARY = {
    "exp": np.exp, "log": lambda x: np.log(np.abs(x) + 0.5), "sqrt": lambda x: np.sqrt(np.abs(x) + 0.5),
    "rsqrt": lambda x: 1 / np.sqrt(np.abs(x) + 0.5), "sigmoid": sigmoid, "tanh": np.tanh, "sin": np.sin, "cos": np.cos,
    "arctan": np.arctan, "erf": erf, "gelu": lambda x: x * normal_cdf(x), "gelu_dx": lambda x: normal_cdf(x) + x * phi(x),
    "silu": lambda x: x * sigmoid(x), "silu_dx": lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))),
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(1.702 * x),
    "gelu_apprx_tanh": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))),
    "softplus": lambda x: np.log1p(np.exp(x)), "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))), "sign": np.sign,
    "relu": lambda x: np.maximum(x, 0), "square": np.square, "reciprocal": lambda x: 1 / (np.abs(x) + 0.5),
    "negative": np.negative, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "copy": lambda x: x,
    "logical_not": lambda x: (x == 0).astype(float),
}
POSITIVE = ("log", "sqrt", "rsqrt", "reciprocal")


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_tile(name):
    x = np.clip(normal(40, 50), -1.5 if name in ("cos", "arctan") else -3, 1.5 if name in ("cos", "arctan") else 3)
    expected = UNARY[name](x.astype(np.float64))
    given = np.abs(x) + np.float32(0.5) if name in POSITIVE else x
    if name in POSITIVE:
        expected = {"log": np.log, "sqrt": np.sqrt, "rsqrt": lambda v: v ** -0.5, "reciprocal": lambda v: 1 / v}[name](
            given.astype(np.float64))
    got = apply(getattr(nl, name), given)
    assert np.abs(got - expected).max() <= 4e-7 * max(1, np.abs(expected).max())


BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "maximum": np.maximum,
    "minimum": np.minimum, "power": lambda a, b: np.abs(a) ** b, "equal": np.equal, "not_equal": np.not_equal,
    "greater": np.greater, "greater_equal": np.greater_equal, "less": np.less, "less_equal": np.less_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}


@pytest.mark.parametrize("second", ["tile", "column", "row", "number"])
@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_operands(name, second):
    a = normal(24, 36)
    a[3, 4] = 0
    if name == "power":
        a = np.abs(a) + np.float32(0.1)
    b = {"tile": normal(24, 36), "column": normal(24, 1), "row": normal(1, 36), "number": 0.75}[second]
    if second != "number":
        b[0, 0] = 1.0 if name in ("divide", "power") else a[0, 0]
    f = getattr(nl, name)
    got = apply(lambda x: f(x, b), a) if second == "number" else apply(f, a, b)
    expected = BINARY[name](a.astype(np.float64), np.float64(b)) if name == "power" else BINARY[name](a, np.float32(b))
    assert np.abs(got - expected.astype(np.float64)).max() <= 1e-6 * max(1, np.abs(expected.astype(np.float64)).max())


@pytest.mark.parametrize("name", ["subtract", "divide", "power", "less"])
def test_a_number_may_come_first(name):
    a = np.abs(normal(8, 9)) + np.float32(0.5)
    got = apply(lambda x: getattr(nl, name)(2.0, x), a)
    expected = {"subtract": 2 - a, "divide": 2 / a, "power": 2.0 ** a.astype(np.float64), "less": 2 < a}[name]
    assert np.abs(got - np.float64(expected)).max() < 1e-6 * 8


BITS = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
        "left_shift": np.left_shift, "right_shift": np.right_shift}


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_bits_of_integers(name, kind):
    a = rng.integers(0, 200, (16, 20)).astype(kind)
    b = rng.integers(0, 7, (16, 20)).astype(kind)
    assert np.array_equal(apply(getattr(nl, name), a, b), BITS[name](a, b).astype(kind))
    assert np.array_equal(apply(lambda x: getattr(nl, name)(x, 3), a), BITS[name](a, kind(3)).astype(kind))


def test_32_bit_integers_add_exactly_on_gpsimd():
    a = rng.integers(-2 ** 30, 2 ** 30, (16, 20)).astype(np.int32)
    b = rng.integers(-2 ** 30, 2 ** 30, (16, 20)).astype(np.int32)
    assert np.array_equal(apply(nl.add, a, b), a + b)
    assert np.array_equal(apply(lambda x, y: nisa.tensor_tensor(x, y, op=nl.multiply), a % 1000, b % 1000), (a % 1000) * (b % 1000))


def test_operators_of_python_are_functions():
    a, b = normal(8, 9), normal(8, 9)
    assert np.array_equal(apply(lambda x, y: -x + y * 2.0 - 1.0, a, b), -a + b * 2 - 1)
    assert np.array_equal(apply(lambda x, y: x / y, a, b), a / b)
    assert np.array_equal(apply(lambda x, y: 3.0 - x, a, b), 3 - a)
    assert np.array_equal(apply(lambda x, y: x < y, a, b), (a < b).astype(np.uint8))


@pytest.mark.parametrize("name,expected", [("sum", np.sum), ("max", np.max), ("min", np.min)])
@pytest.mark.parametrize("axis", [1, 2, (1, 2), -1])
def test_reductions_along_free_axes(name, expected, axis):
    x = rng.integers(-9, 9, (12, 5, 7)).astype(np.float32)
    got = apply(lambda t: getattr(nl, name)(t, axis=axis), x)
    want = expected(x, axis=axis)
    assert np.array_equal(got, want.reshape(got.shape))


def test_mean_and_variance():
    x = normal(30, 64)
    assert np.abs(apply(lambda t: nl.mean(t, axis=1), x)[:, 0] - x.mean(axis=1, dtype=np.float64)).max() < 1e-6
    assert np.abs(apply(lambda t: nl.var(t, axis=1), x)[:, 0] - x.var(axis=1, dtype=np.float64)).max() < 1e-5


def test_softmax_and_rms_norm_macros(machine):
    x, w = normal(70, 90), normal(1, 90)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    assert np.abs(apply(lambda t: nl.softmax(t, axis=-1), x) - e / e.sum(axis=1, keepdims=True)).max() < 1e-6
    expected = x / np.sqrt((x.astype(np.float64) ** 2).mean(axis=1, keepdims=True) + 1e-5) * w
    assert np.abs(apply(lambda t, u: nl.rms_norm(t, u, axis=1, n=90, epsilon=1e-5), x, w) - expected).max() < 1e-5


@pytest.mark.parametrize("transposed", [True, False])
def test_matmul_with_and_without_a_transposed_left_side(machine, transposed):
    x, y = normal(96, 64), normal(96 if transposed else 64, 200)
    expected = (x.T if transposed else x).astype(np.float64) @ y
    assert np.abs(apply(lambda a, b: nl.matmul(a, b, transpose_x=transposed), x, y) - expected).max() < 1e-4


def test_memory_with_content():
    x = normal(16, 8)
    assert np.array_equal(apply(lambda t: t + nl.ones(t.shape, dtype=t.dtype), x), x + 1)
    assert np.array_equal(apply(lambda t: t + nl.full(t.shape, 2.5, dtype=t.dtype), x), x + np.float32(2.5))
    assert np.array_equal(apply(lambda t: t + nl.zeros_like(t), x), x)


def test_shared_constants_are_inputs_of_the_host():
    x = normal(32, 48)
    unit = apply(lambda t: nl.matmul(nl.load(nl.shared_identity_matrix(32)), t, transpose_x=True), x)
    assert np.array_equal(unit, x)
    table = normal(32, 48)
    assert np.array_equal(apply(lambda t: t + nl.load(nl.shared_constant(table)), x), x + table)


def test_zeros_in_memory_are_stored():
    @nki.jit
    def kernel(x):
        y = nl.zeros((300, 70), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(y[5:13], nl.load(x))
        return y
    x = normal(8, 70)
    expected = np.zeros((300, 70), np.float32)
    expected[5:13] = x
    assert np.array_equal(kernel(x), expected)


def test_a_transposing_load():
    @nki.jit
    def kernel(x):
        y = nl.ndarray((x.shape[1], x.shape[0]), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(y, nl.load_transpose2d(x))
        return y
    x = normal(100, 60)
    assert np.array_equal(kernel(x), x.T)


def test_rows_are_gathered_and_scattered_by_a_tile_of_indices():
    @nki.jit
    def kernel(table, ids, places):
        y = nl.zeros((200, table.shape[1]), dtype=table.dtype, buffer=nl.shared_hbm)
        p, f = nl.arange(64)[:, None], nl.arange(table.shape[1])[None, :]
        index, where = nl.load(ids), nl.load(places)
        rows = nl.load(table[index[p, 0], f])
        nl.store(y[where[p, 0], f], rows)
        return y
    table, ids = normal(500, 30), rng.integers(0, 500, (64, 1)).astype(np.int32)
    places = rng.permutation(200)[:64].astype(np.int32)[:, None]
    expected = np.zeros((200, 30), np.float32)
    expected[places[:, 0]] = table[ids[:, 0]]
    assert np.array_equal(kernel(table, ids, places), expected)


def test_gather_flattened_takes_each_lane_by_its_own_indices():
    x, at = normal(20, 50), rng.integers(0, 50, (20, 13)).astype(np.uint32)
    assert np.array_equal(apply(nl.gather_flattened, x, at), np.take_along_axis(x, at.astype(np.int64), axis=1))


def test_scalar_tensor_tensor_and_its_order():
    a, b, c = normal(16, 20), normal(16, 20), normal(16, 1)
    got = apply(lambda x, y, z: nisa.scalar_tensor_tensor(data=x, op0=nl.subtract, operand0=z, reverse0=True, op1=nl.multiply,
                                                          operand1=y), a, b, c)
    assert np.array_equal(got, (c - a) * b)


def test_two_operators_of_tensor_scalar_with_columns():
    a, c, d = normal(16, 20), normal(16, 1), normal(16, 1)
    got = apply(lambda x, u, v: nisa.tensor_scalar(x, op0=np.multiply, operand0=u, op1=np.subtract, operand1=v, reverse1=True),
                a, c, d)
    assert np.array_equal(got, d - a * c)


def test_activation_reduce_sums_what_it_writes(machine):
    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        s = nl.ndarray((x.shape[0], 1), dtype=nl.float32, buffer=nl.shared_hbm)
        total = nl.ndarray((nl.par_dim(x.shape[0]), 1), dtype=nl.float32)
        out = nisa.activation_reduce(np.square, nl.load(x), reduce_op=np.add, reduce_res=total[:, 0])
        nl.store(y, out)
        nl.store(s, total)
        return y, s
    x = rng.integers(-5, 5, (40, 60)).astype(np.float32)
    y, s = kernel(x)
    assert np.array_equal(y, x * x) and np.array_equal(s[:, 0], (x * x).sum(axis=1))


def test_tensor_scalar_reduce_gives_both_results():
    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        s = nl.ndarray((x.shape[0], 1), dtype=nl.float32, buffer=nl.shared_hbm)
        top = nl.ndarray((nl.par_dim(x.shape[0]), 1), dtype=nl.float32)
        nl.store(y, nisa.tensor_scalar_reduce(data=nl.load(x), op0=np.multiply, operand0=-2.0, reduce_op=np.max, reduce_res=top))
        nl.store(s, top)
        return y, s
    x = normal(40, 60)
    y, s = kernel(x)
    assert np.array_equal(y, -2 * x) and np.array_equal(s[:, 0], (-2 * x).max(axis=1))


def test_partition_reduce_sums_lanes():
    x = rng.integers(-5, 5, (100, 30)).astype(np.float32)
    assert np.array_equal(apply(lambda t: nisa.tensor_partition_reduce(np.add, t), x)[0], x.sum(axis=0))


def test_affine_select_by_a_condition_on_index_objects():
    x = normal(48, 64)
    p, f = np.arange(48)[:, None], np.arange(64)
    got = apply(lambda t: nisa.affine_select(nl.arange(48)[:, None] + 3 >= 2 * nl.arange(64)[None, :], t, -7.5), x)
    assert np.array_equal(got, np.where(p + 3 >= 2 * f, x, np.float32(-7.5)))
    both = apply(lambda t: nisa.affine_select((nl.arange(48)[:, None] > nl.arange(64)[None, :]) & (nl.arange(64)[None, :] >= 5), t, 0.0), x)
    assert np.array_equal(both, np.where((p > f) & (f >= 5), x, np.float32(0)))


def test_iota_of_an_expression():
    got = apply(lambda t: nisa.iota(nl.arange(8)[:, None] * 100 + nl.arange(6)[None, :] * 2 + 1, dtype=nl.int32), normal(8, 6))
    assert np.array_equal(got, np.arange(8)[:, None] * 100 + np.arange(6) * 2 + 1)


def test_replacing_the_eight_largest():
    x = rng.permutation(20 * 40).reshape(20, 40).astype(np.float32)
    got = apply(lambda t: nisa.nc_match_replace8(data=t, vals=nisa.max8(src=t), imm=-1.0), x)
    expected = x.copy()
    np.put_along_axis(expected, np.argsort(-x, axis=1)[:, :8], -1, axis=1)
    assert np.array_equal(got, expected)


def test_dropout_drops_all_or_nothing_at_the_ends():
    x = normal(16, 100)
    assert np.array_equal(apply(lambda t: nl.dropout(t, 0.0), x), x)
    assert not apply(lambda t: nl.dropout(t, 1.0), x).any()


def test_random_numbers_are_uniform_and_follow_their_seed():
    def kernel(seed):
        return apply(lambda t: (nl.random_seed(seed), nl.rand((64, 500), dtype=nl.float32))[1], normal(2, 2))
    first, again, other = kernel(7), kernel(7), kernel(8)
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert 0 <= first.min() and first.max() < 1 and abs(first.mean() - 0.5) < 0.01


def test_iota_of_a_grid_has_the_grids_shape():
    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.shared_hbm)
        i = nl.mgrid[0:8, 0:5, 0:3, 0:3]
        where = nisa.iota(3 * i.y + i.z, dtype=nl.int32)
        assert where.shape == (8, 5, 3, 3)
        nl.store(y, nl.where(nl.load(x), where, 9, dtype=nl.int32))
        return y
    x = rng.integers(0, 2, (8, 5, 3, 3)).astype(np.uint8)
    assert np.array_equal(kernel(x), np.where(x != 0, np.arange(9).reshape(3, 3), 9))


def test_affine_select_of_a_product_and_a_mask_of_the_loop(machine):
    @nki.jit
    def kernel(at, b):
        y = nl.ndarray((64, 96), dtype=at.dtype, buffer=nl.shared_hbm)
        p, f = nl.mgrid[0:64, 0:96]
        out = nl.zeros((nl.par_dim(64), 96), dtype=nl.float32)
        acc = nl.matmul(nl.load(at), nl.load(b), transpose_x=True)
        for i in nl.affine_range(3):
            out[...] = nisa.affine_select(pred=p >= f, on_true_tile=acc, on_false_value=-5.0, mask=i == 1)
        nl.store(y, out)
        return y
    at, b = rng.integers(-4, 4, (128, 64)).astype(np.float32), rng.integers(-4, 4, (128, 96)).astype(np.float32)
    assert np.array_equal(kernel(at, b), np.where(np.arange(64)[:, None] >= np.arange(96), at.T @ b, np.float32(-5)))


def test_a_transpose_into_fp32_of_a_small_type(machine):
    @nki.jit
    def kernel(x):
        y = nl.ndarray((x.shape[1], x.shape[0]), dtype=nl.float32, buffer=nl.shared_hbm)
        turned = nl.ndarray((nl.par_dim(x.shape[1]), x.shape[0]), dtype=np.float32, buffer=nl.psum)
        turned[:, :] = nisa.nc_transpose(nl.load(x))
        nl.store(y, nl.copy(turned))
        return y
    x = normal(64, 96).astype(nl.bfloat16)
    assert np.array_equal(kernel(x), x.T.astype(np.float32))


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float8_e5m2"])
def test_limits_of_float_types(name):
    limits = {"float32": 3.4028234663852886e38, "bfloat16": 3.3895313892515355e38, "float8_e5m2": 57344.0}
    assert float(nl.finfo(getattr(nl, name)).max) == limits[name] and float(nl.finfo(getattr(nl, name)).min) == -limits[name]
