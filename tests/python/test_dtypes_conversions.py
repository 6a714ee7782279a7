"""Conversions of the number types: every pattern of 8 and 16 bits, against the formats written down in Python."""

import numpy as np
import pytest

import ncemu
from number_formats import FORMATS, awkward, bits_of, carrier, codes, float_of, nearest, table

TYPES = list(FORMATS)
FLOATS = [np.float32, np.float64, np.longdouble, np.complex64, np.complex128]
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def same(a, b):
    """The same numbers, NaN where the other is, and the same signs of zeros."""
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a[a == 0]), np.signbit(b[b == 0]))


def every(kind):
    return np.arange(len(codes(kind))).astype(carrier(kind)).view(kind)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("to", FLOATS)
def test_every_pattern_has_the_value_of_its_format(kind, to):
    got = every(kind).astype(to)
    assert same(np.real(got).astype(np.float64), table(kind))
    assert not np.iscomplexobj(got) or not np.any(np.imag(got))


@pytest.mark.parametrize("kind", TYPES)
def test_every_pattern_survives_the_way_through_float32(kind):
    codes_back = every(kind).astype(np.float32).astype(kind).view(carrier(kind))
    numbers = ~np.isnan(table(kind))
    assert np.array_equal(codes_back[numbers], np.arange(len(codes(kind)))[numbers])


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("source", FLOATS)
def test_floats_round_to_the_nearest_and_ties_to_even(kind, source):
    values = awkward(kind)
    assert np.array_equal(values.astype(source).astype(kind).view(carrier(kind)), nearest(values, kind))


@pytest.mark.parametrize("kind", TYPES)
def test_random_floats_of_every_size_round_to_the_nearest(kind, random):
    values = random.integers(0, 2**32, 400_000, dtype=np.uint32).view(np.float32)
    values = values[~np.isnan(values)]
    assert np.array_equal(values.astype(kind).view(carrier(kind)), nearest(values, kind))


@pytest.mark.parametrize("kind", TYPES)
def test_every_half_rounds_to_the_nearest(kind):
    values = np.arange(65536, dtype=np.uint16).view(np.float16)
    values = values[~np.isnan(values)]
    assert np.array_equal(values.astype(kind).view(carrier(kind)), nearest(values, kind))


@pytest.mark.parametrize("kind", TYPES)
def test_nan_stays_nan(kind):
    assert np.isnan(np.float32([np.nan, -np.nan]).astype(kind).astype(np.float32)).all()


@pytest.mark.parametrize("kind", TYPES)
def test_every_pattern_becomes_the_half_that_numpy_rounds_to(kind):
    values = table(kind)
    with np.errstate(over="ignore"):
        expected = values.astype(np.float32).astype(np.float16)
    assert same(every(kind).astype(np.float16), expected)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("to", INTEGERS)
def test_numbers_are_cut_off_to_integers(kind, to):
    values = table(kind)
    limits = np.iinfo(to)
    inside = np.isfinite(values) & (np.trunc(values) >= limits.min) & (np.trunc(values) < float(limits.max))
    assert inside.sum() > 10
    expected = [int(v) for v in values[inside]]
    assert every(kind)[inside].astype(to).tolist() == expected


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("source", INTEGERS)
def test_integers_round_like_the_floats_of_their_value(kind, source):
    limits = np.iinfo(source)
    values = [v for v in [*range(-600, 601), 2**15 - 1, 2**24 + 1, 2**31 - 1, -(2**31)] if limits.min <= v <= limits.max]
    through = np.array(values, dtype=source).astype(np.float32)
    assert np.array_equal(np.array(values, dtype=source).astype(kind).view(carrier(kind)), nearest(through, kind))


@pytest.mark.parametrize("kind", TYPES)
def test_truth_is_whether_a_number_is_zero(kind):
    assert np.array_equal(every(kind).astype(np.bool_), table(kind) != 0)
    assert np.array_equal(np.array([True, False]).astype(kind).astype(np.float32), [1, 0])


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("to", TYPES)
def test_every_pattern_of_one_type_rounds_to_every_other(kind, to):
    numbers = ~np.isnan(table(kind))
    got = every(kind)[numbers].astype(to).view(carrier(to))
    assert np.array_equal(got, nearest(table(kind)[numbers], to))


def rounded_tf32(bits):
    """The 13 low bits of fp32 rounded away, to nearest even."""
    low, kept = bits & 0x1FFF, bits & ~0x1FFF & 0xFFFFFFFF
    up = low > 0x1000 or (low == 0x1000 and kept >> 13 & 1)
    return float_of(kept + 0x2000 if up else kept)


def test_tfloat32_keeps_ten_bits_of_the_mantissa(random):
    values = random.integers(0, 2**32, 50_000, dtype=np.uint32)
    values = np.concatenate([values & np.uint32(0xFFFFF000), values, np.uint32([0x3F801000, 0x3F803000, 0x7F7FFFFF])])
    values = values.view(np.float32)
    values = values[np.isfinite(values)]
    expected = np.array([rounded_tf32(bits_of(v)) for v in values.tolist()], np.float32)
    assert same(values.astype(ncemu.tfloat32).astype(np.float32), expected)


def test_the_largest_numbers_are_those_of_the_datasheet():
    largest = {kind: np.nanmax(np.where(np.isinf(table(kind)), np.nan, table(kind))) for kind in TYPES}
    assert (largest[ncemu.float8_e4m3], largest[ncemu.float8_e4m3fn]) == (240, 448)
    assert (largest[ncemu.float8_e5m2], largest[ncemu.float8_e3m4]) == (57344, 15.5)
    for kind, most in largest.items():
        assert float(kind(most)) == most


@pytest.mark.parametrize("kind", TYPES)
def test_strided_and_swapped_arrays_convert_like_plain_ones(kind):
    values = every(kind)[::3]
    assert same(values.astype(np.float32), np.ascontiguousarray(values).astype(np.float32))
    assert same(table(kind)[::-7].astype(kind).astype(np.float64), table(kind)[::-7])
    swapped = values.astype(values.dtype.newbyteorder())
    assert same(swapped.astype(np.float32), values.astype(np.float32))
