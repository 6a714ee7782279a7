"""The number types as numpy types: arithmetic, comparisons, ufuncs, printing, sorting, pickling, scalars."""

import copy
import math
import pickle

import numpy as np
import pytest

import ncemu
from number_formats import FORMATS, carrier, codes, nearest, table

TYPES = list(FORMATS)
ALL = [*TYPES, ncemu.tfloat32]


def some(kind, random, n=1000):
    return random.standard_normal(n).astype(np.float32).astype(kind)


def exactly(a):
    return a.astype(np.float64)


def bits(a):
    return a.view(carrier(a.dtype.type))


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("kind", ALL)
def test_arrays_are_made_with_the_type(kind):
    for array in (np.ones((2, 3), dtype=kind), np.full((2, 3), 1.0, kind), np.array([[1] * 3] * 2, kind)):
        assert array.dtype == kind and array.dtype.itemsize == np.dtype(kind).itemsize
        assert np.array_equal(exactly(array), np.ones((2, 3)))
    assert np.array_equal(exactly(np.arange(0, 8, 2, dtype=kind)), [0, 2, 4, 6])
    assert np.array_equal(exactly(np.zeros(4, kind)), np.zeros(4))
    assert np.dtype(kind.__name__) == np.dtype(kind)
    assert ncemu.dtype(ncemu.type_name(kind)) == np.dtype(kind)


OPERATIONS = [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("kind", [k for k in TYPES if np.dtype(k).itemsize == 1])
def test_arithmetic_of_every_pair_of_eight_bits_is_rounded_once(kind, operation):
    """fp32 holds sums and products of two such numbers exactly, and quotients closely enough for one rounding."""
    numbers = table(kind)
    numbers = numbers[np.isfinite(numbers)]
    a, b = np.meshgrid(numbers, numbers)
    got = operation(a.astype(kind), b.astype(kind))
    expected = operation(a, b)
    nans = np.isnan(expected)
    assert got.dtype == kind and np.array_equal(np.isnan(got), nans | (np.isnan(nearest_values(expected, kind))))
    assert np.array_equal(bits(got)[~nans & (expected != 0)], nearest(expected, kind)[~nans & (expected != 0)])
    assert not np.any(exactly(got)[expected == 0])


def nearest_values(values, kind):
    return table(kind)[nearest(values, kind)]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_arithmetic_of_bfloat16_is_that_of_fp32_rounded_once(operation, random):
    a, b = some(ncemu.bfloat16, random), some(ncemu.bfloat16, random)
    expected = operation(a.astype(np.float32), b.astype(np.float32))
    assert np.array_equal(bits(operation(a, b)), nearest(expected, ncemu.bfloat16))


def test_tfloat32_computes_in_fp32_and_rounds(random):
    a, b = some(ncemu.tfloat32, random), some(ncemu.tfloat32, random)
    expected = (a.astype(np.float32) * b.astype(np.float32)).astype(ncemu.tfloat32)
    assert np.array_equal(bits(a * b), bits(expected))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and"])
def test_comparisons_are_those_of_the_values(kind, name, random):
    operation = getattr(np, name)
    a = np.concatenate([some(kind, random), np.array([np.nan, 0.0, -0.0, 1.0], kind)])
    b = np.roll(a, 1)
    got = operation(a, b)
    assert got.dtype == np.bool_ and np.array_equal(got, operation(exactly(a), exactly(b)))


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "signbit", "logical_not"])
def test_tests_of_elements_are_those_of_the_values(kind, name):
    a = np.array([1.0, -1.0, 0.0, -0.0, np.nan, np.inf, -np.inf, 1e9], np.float32).astype(kind)
    assert np.array_equal(getattr(np, name)(a), getattr(np, name)(a.astype(np.float32)))


UNARY = ["negative", "absolute", "sign", "square", "sqrt", "reciprocal", "rint", "floor", "ceil", "trunc", "exp", "exp2",
         "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "tanh", "sinh", "cosh", "arctan", "arcsinh",
         "cbrt", "arcsin", "arccos", "arccosh", "arctanh"]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number_are_numpys_within_a_rounding(kind, name):
    """Exact for what fp32 computes exactly; else numpy's double result may lie on the other side of a middle."""
    values = table(kind)[:: 1 if np.dtype(kind).itemsize == 1 else 7]
    got = getattr(np, name)(values.astype(kind))
    expected = getattr(np, name)(values)
    assert got.dtype == kind
    difference = bits(got).astype(np.int64) - nearest(expected.astype(np.float32), kind).astype(np.int64)
    both_nan = np.isnan(got) & np.isnan(nearest_values(expected, kind))
    wrong = (difference != 0) & ~both_nan & ~((expected == 0) & (exactly(got) == 0))
    assert np.all(np.abs(difference[wrong]) <= 1)
    exact = name in ("negative", "absolute", "sign", "square", "rint", "floor", "ceil", "trunc", "sqrt", "reciprocal")
    assert wrong.sum() <= (0 if exact else len(values) // 100)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "power", "fmax", "fmin", "copysign", "arctan2",
                                  "hypot", "logaddexp"])
def test_functions_of_two_numbers_are_numpys_of_fp32(name, random):
    kind = ncemu.bfloat16
    a, b = some(kind, random), some(kind, random)
    b[b == 0] = kind(1)
    if name == "power":
        a = np.abs(a)
    got = getattr(np, name)(a, b)
    expected = getattr(np, name)(a.astype(np.float32), b.astype(np.float32))
    difference = bits(got).astype(np.int64) - nearest(expected, kind).astype(np.int64)
    assert np.all(np.abs(difference[exactly(got) != 0]) <= (1 if name in ("power", "arctan2", "hypot", "logaddexp") else 0))
    assert np.array_equal(exactly(got) == 0, nearest_values(expected, kind) == 0)


@pytest.mark.parametrize("kind", ALL)
def test_sums_round_at_every_step(kind):
    ones = np.ones(3000, kind)
    steps = {ncemu.bfloat16: 256, ncemu.float8_e4m3: 16, ncemu.float8_e4m3fn: 16, ncemu.float8_e5m2: 8,
             ncemu.float8_e3m4: np.inf, ncemu.tfloat32: 2048}
    # Where 1 is half of the last place it no longer counts; e3m4 overflows at 16 instead.
    assert float(np.add.accumulate(ones)[-1]) == steps[kind]


@pytest.mark.parametrize("kind", ALL)
def test_reductions_in_fp32_are_exact_where_fp32_is(kind):
    a = np.arange(1, 8).astype(kind)
    assert float(np.sum(a, dtype=np.float32)) == 28 and float(a.max()) == 7 and float(a.min()) == 1
    assert a.argmax() == 6 and a.argmin() == 0 and float(np.mean(a, dtype=np.float32)) == 4


@pytest.mark.parametrize("kind", ALL)
def test_products_of_matrices_sum_in_fp32_and_round_once(kind, random):
    a = random.integers(-3, 4, (9, 65)).astype(np.float32)
    b = random.integers(-3, 4, (65, 11)).astype(np.float32)
    expected = (a @ b).astype(kind)
    assert np.array_equal(exactly(a.astype(kind) @ b.astype(kind)), exactly(expected), equal_nan=True)
    assert np.array_equal(exactly(np.dot(a.astype(kind)[0], b.astype(kind)[:, 0])),
                          exactly((a[0] @ b[:, 0]).astype(kind)), equal_nan=True)


@pytest.mark.parametrize("kind", ALL)
def test_sorting_puts_nan_last(kind, random):
    a = np.concatenate([some(kind, random), np.array([np.nan], kind)])
    for order in (np.argsort(a), np.argsort(a, kind="stable")):
        assert np.array_equal(exactly(a[order]), np.sort(exactly(a)), equal_nan=True)
    assert np.array_equal(np.argsort(a, kind="stable"), np.argsort(exactly(a), kind="stable"))


@pytest.mark.parametrize("kind", TYPES)
def test_every_number_prints_as_digits_that_read_back(kind):
    for code in list(codes(kind))[:: 1 if np.dtype(kind).itemsize == 1 else 97]:
        number = np.array([code], carrier(kind)).view(kind)[0]
        text = repr(number)
        again = kind(text)
        assert (again == number) or (math.isnan(again) and math.isnan(number))
        assert len(text.lstrip("-").replace(".", "").split("e")[0].strip("0")) <= {1: 5, 2: 9}[np.dtype(kind).itemsize]
    assert repr(kind(10)) == "10" and str(kind(0.5)) == "0.5" and f"{kind(1.5):.3f}" == "1.500"
    assert str(np.array([1, 0.5, np.nan], kind)) == "[1 0.5 nan]"


@pytest.mark.parametrize("kind", ALL)
def test_arrays_and_numbers_survive_pickling_and_copying(kind, random):
    a = some(kind, random).reshape(10, 100)
    for again in (pickle.loads(pickle.dumps(a)), copy.deepcopy(a), a.copy()):
        assert again.dtype == kind and again.tobytes() == a.tobytes()
    number = pickle.loads(pickle.dumps(a[0, 0]))
    assert type(number) is kind and number == a[0, 0]


@pytest.mark.parametrize("kind", ALL)
def test_numbers_count_like_numbers(kind):
    one, two = kind(1), kind(2)
    assert type(one + two) is kind and float(one + two) == 3 and float(two / 4) == 0.5 and float(3 - one) == 2
    assert float(-one) == -1 and float(abs(kind(-2))) == 2 and int(kind(2.5)) == 2 and bool(one) and not kind(0)
    assert one < two and one == 1 and two > 1.5 and hash(two) == hash(2.0) and isinstance(one, np.generic)
    assert float(one + np.float32(2)) == 3 and type(one + np.ones(2, np.float32)[0]) is not kind
    assert kind("1.5") == 1.5 and kind(np.float32(0.5)) == 0.5 and np.isnan(kind("nan"))
    with pytest.raises((TypeError, ValueError)):
        kind("one")
    with pytest.raises(TypeError):
        kind(None)


def test_types_promote_to_what_holds_both():
    assert np.promote_types(ncemu.bfloat16, np.float32) == np.float32
    assert np.promote_types(ncemu.bfloat16, ncemu.tfloat32) == ncemu.tfloat32
    assert np.promote_types(ncemu.float8_e4m3, ncemu.bfloat16) == ncemu.bfloat16
    assert np.promote_types(ncemu.float8_e5m2, np.float16) == np.float16
    assert (np.ones(2, ncemu.bfloat16) * 2.0).dtype == ncemu.bfloat16
    assert (np.ones(2, ncemu.bfloat16) + np.ones(2, np.float32)).dtype == np.float32


def test_the_comparisons_of_numpys_tests_take_them(random):
    a = some(ncemu.bfloat16, random)
    assert np.allclose(a, a.astype(np.float32)) and np.allclose(a.astype(np.float32), a, rtol=2**-8)
    np.testing.assert_allclose(a, a.astype(np.float32))
    np.testing.assert_array_equal(a, a)
    assert np.array_equal(np.where(a > 0, a, -a), np.abs(a)) and np.concatenate([a, a]).dtype == a.dtype


@pytest.mark.parametrize("kind", TYPES)
def test_the_limits_of_a_type_are_those_of_its_values(kind):
    values = table(kind)
    finite = values[np.isfinite(values)]
    info = ncemu.finfo(kind)
    assert (float(info.max), float(info.min)) == (finite.max(), finite.min())
    assert float(info.smallest_subnormal) == finite[finite > 0].min() and info.bits == np.dtype(kind).itemsize * 8
    assert float(info.eps) == finite[finite > 1].min() - 1
    assert float(kind(info.tiny)) == float(info.smallest_subnormal) * 2**info.nmant
    assert ncemu.finfo(np.float32).max == np.finfo(np.float32).max and ncemu.finfo("bf16").nmant == 7


def test_other_types_are_not_equal_to_each_other():
    for kind in ALL:
        assert [other for other in [*ALL, np.float16, np.float32, np.uint8] if np.dtype(other) == kind] == [kind]


@pytest.mark.parametrize("name, kind", [("bf16", ncemu.bfloat16), ("f8e4m3", ncemu.float8_e4m3),
                                        ("f8e5m2", ncemu.float8_e5m2), ("f8e3m4", ncemu.float8_e3m4)])
def test_the_machine_rounds_as_the_types_do(name, kind, random):
    b = ncemu.Builder()
    x, y = b.tensor("x", "input", (128, 256), "f32"), b.tensor("y", "output", (128, 256), kind)
    t, u = b.tile("t", (128, 256), "f32"), b.tile("u", (128, 256), name)
    b.emit("dma_copy", dst=t, src=x)
    b.emit("tensor_copy", dst=u, src=t)
    b.emit("dma_copy", dst=y, src=u)
    values = (random.standard_normal((128, 256)) * 4).astype(np.float32)
    got = ncemu.run(b.finish(), {"x": values}, checks="all,-saturation")["y"]
    assert got.dtype == kind and got.tobytes() == values.astype(kind).tobytes()


def test_inputs_take_the_types_as_they_are_and_round_the_others(random):
    b = ncemu.Builder()
    x, y = b.tensor("x", "input", (4, 64), "bf16"), b.tensor("y", "output", (4, 64), "bf16")
    b.emit("dma_copy", dst=y, src=x)
    program = b.finish()
    values = random.standard_normal((4, 64))
    rounded = values.astype(ncemu.bfloat16)
    for given in (rounded, rounded.view(np.uint16), values.astype(np.float32), rounded.astype(np.float64),
                  rounded.astype(ncemu.tfloat32), np.asfortranarray(rounded)):
        assert ncemu.run(program, {"x": given})["y"].tobytes() == values.astype(np.float32).astype(ncemu.bfloat16).tobytes()
