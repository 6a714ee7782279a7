"""The number formats written down again, from datasheet 4.1 and 4.2, in plain Python: what the tests compare with."""

import math
import struct

import numpy as np

import ncemu

# exponent bits, mantissa bits, bias, whether there are infinities
FORMATS = {
    ncemu.bfloat16: (8, 7, 127, True),
    ncemu.float8_e4m3: (4, 3, 7, True),
    ncemu.float8_e4m3fn: (4, 3, 7, False),
    ncemu.float8_e5m2: (5, 2, 15, True),
    ncemu.float8_e3m4: (3, 4, 3, True),
}


def carrier(kind):
    """The unsigned type of the same width."""
    return {1: np.uint8, 2: np.uint16, 4: np.uint32}[np.dtype(kind).itemsize]


def value(code, kind):
    """The value of a code, exactly."""
    exponent_bits, mantissa_bits, bias, infinities = FORMATS[kind]
    sign = -1.0 if code >> (exponent_bits + mantissa_bits) else 1.0
    exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = code & ((1 << mantissa_bits) - 1)
    if infinities and exponent == (1 << exponent_bits) - 1:
        return math.nan if mantissa else sign * math.inf
    if not infinities and exponent == (1 << exponent_bits) - 1 and mantissa == (1 << mantissa_bits) - 1:
        return math.nan
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * math.ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)


def codes(kind):
    return range(1 << 8 * np.dtype(kind).itemsize)


def table(kind):
    """All values by code, as float64."""
    return np.array([value(code, kind) for code in codes(kind)])


def magnitudes(kind):
    """The finite values from 0 upwards, and what would come next if the format went on: beyond half of the way
    there a number overflows."""
    positive = table(kind)[: len(codes(kind)) // 2]
    finite = positive[np.isfinite(positive)]
    return np.append(finite, 2 * finite[-1] - finite[-2])


def nearest(values, kind):
    """The codes of float64 values: to nearest, ties to the even code, too large to infinity or else NaN."""
    values = np.asarray(values, np.float64)
    steps = magnitudes(kind)
    size = np.abs(values)
    upper = np.clip(np.searchsorted(steps, size, side="left"), 1, len(steps) - 1)
    lower = upper - 1
    middle = (steps[lower] + steps[upper]) / 2
    code = np.where(size > middle, upper, np.where(size < middle, lower, np.where(upper % 2 == 0, upper, lower)))
    exponent_bits, mantissa_bits, _, infinities = FORMATS[kind]
    sign_bit = len(codes(kind)) // 2
    infinity = ((1 << exponent_bits) - 1) << mantissa_bits
    nan = infinity | (1 << (mantissa_bits - 1)) if infinities else sign_bit - 1
    beyond = len(steps) - 1
    code = np.where(code >= beyond, infinity if infinities else nan, code)
    # There is one NaN, without a sign.
    code = np.where(np.isnan(values) | (code == nan), nan, code + np.where(np.signbit(values), sign_bit, 0))
    return code.astype(carrier(kind))


def awkward(kind):
    """Every value of the type, the middles between neighbours, what lies a hair beside those, and the ends, as
    float32."""
    steps = magnitudes(kind)
    middles = ((steps[:-1] + steps[1:]) / 2).astype(np.float32)
    with np.errstate(over="ignore"):
        positive = np.concatenate([
            steps.astype(np.float32), middles, np.nextafter(middles, np.float32(np.inf)),
            np.nextafter(middles, np.float32(0)), np.float32([1e-45, 1e-38, 3e38, np.inf, 0.1, 1 / 3])])
    return np.concatenate([positive, -positive])


def bits_of(number):
    return struct.unpack("<I", struct.pack("<f", number))[0]


def float_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]
