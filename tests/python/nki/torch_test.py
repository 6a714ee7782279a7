"""Tensors of torch as arguments and results. Torch is not needed for that: a stand-in with what is used of it, which refuses what
torch refuses (numpy has no bf16 and fp8 of its own), takes its place."""

import sys
import types

import numpy as np
import pytest

import ncemu
from neuronxcc import nki
import neuronxcc.nki.language as nl

OWN = {"bfloat16": ("int16", ncemu.bfloat16), "float8_e4m3fn": ("uint8", ncemu.float8_e4m3fn),
       "float8_e5m2": ("uint8", ncemu.float8_e5m2)}


class DType:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


class Tensor:
    """Bits in a numpy array, and torch's name of their type."""

    def __init__(self, bits, dtype, gradient=False):
        self.bits, self.dtype, self.gradient = bits, dtype, gradient

    @property
    def shape(self):
        return self.bits.shape

    def detach(self):
        return Tensor(self.bits, self.dtype)

    def cpu(self):
        return self

    def view(self, dtype):
        return Tensor(self.bits.view(OWN[dtype.name][0] if dtype.name in OWN else dtype.name), dtype)

    def numpy(self):
        if self.gradient:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.dtype.name in OWN:
            raise TypeError(f"Got unsupported ScalarType {self.dtype.name}")
        return self.bits

    def __array__(self, dtype=None):
        return self.numpy()


def from_numpy(array):
    if array.dtype.kind not in "biuf" or array.dtype.name in OWN:
        raise TypeError(f"can't convert np.ndarray of type {array.dtype}")
    return Tensor(array, DType(array.dtype.name))


@pytest.fixture
def torch(monkeypatch):
    module = types.ModuleType("torch")
    for name in (*OWN, "int16", "uint8", "float32"):
        setattr(module, name, DType(name))
    module.Tensor, module.from_numpy = Tensor, from_numpy
    monkeypatch.setattr(Tensor, "__module__", "torch")
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def values(dtype=np.float32):
    return np.random.default_rng(3).standard_normal((32, 48)).astype(np.float32).astype(dtype)


@nki.jit
def same(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(y, nl.load(x))
    return y


def test_fp32_goes_in_and_comes_out(torch):
    x = values()
    y = same(Tensor(x, torch.float32, gradient=True))
    assert type(y) is Tensor and y.dtype.name == "float32" and np.array_equal(y.numpy(), x)


@pytest.mark.parametrize("name", OWN)
def test_types_that_numpy_lacks_go_by_their_bits(torch, name):
    x = values(OWN[name][1])
    y = same(Tensor(x.view(OWN[name][0]), getattr(torch, name)))
    assert type(y) is Tensor and y.dtype.name == name
    assert np.array_equal(y.bits.view(np.uint8), x.view(np.uint8))


def test_what_a_kernel_writes_of_an_argument_is_in_its_memory(torch):
    @nki.jit
    def negated(x):
        nl.store(x, nl.load(x) * -1.0)
    x = values(ncemu.bfloat16)
    bits = x.view(np.int16).copy()
    negated(Tensor(bits, torch.bfloat16))
    assert np.array_equal(bits.view(ncemu.bfloat16), -x)


def test_keywords_lists_and_several_results(torch):
    @nki.jit
    def pairs(tensors, factor):
        made = []
        for t in tensors:
            y = nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.shared_hbm)
            nl.store(y, nl.load(t) * factor)
            made.append(y)
        return tuple(made)
    x = values()
    both = pairs(tensors=[Tensor(x, torch.float32), Tensor(x + 1, torch.float32)], factor=2.0)
    assert [type(y) for y in both] == [Tensor, Tensor]
    assert np.array_equal(both[0].numpy(), 2 * x) and np.array_equal(both[1].numpy(), 2 * (x + 1))


def test_any_array_of_the_numpy_protocol_goes_in():
    class Array:
        shape = (32, 48)

        def __array__(self, dtype=None):
            return values()
    y = same(Array())
    assert type(y) is np.ndarray and np.array_equal(y, values())
