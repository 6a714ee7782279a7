"""Runs kernels: arguments become tensors in HBM, the function is executed to trace it, the trace is emulated.

What the kernel returns comes back as numpy arrays; arrays of arguments that the kernel wrote are updated in place.
"""

import functools
import inspect
import operator
import sys

import numpy as np

import ncemu
from ncemu.nki import backend, session, target as targets, trace as tracing
from ncemu.nki.errors import NkiError
from ncemu.nki.memory import Blocks
from ncemu.nki.operators import integer
from ncemu.nki.tensor import Tensor, whole_view
from ncemu.nki.types import isa_type, public_type


def host_array(value):
    """The numpy array of an argument (arrays, torch and jax tensors), or None."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (int, float, str, bytes, type, list, tuple, dict)) or value is None:
        return None
    if is_torch(value):
        return from_torch(value)
    if hasattr(value, "__array__") and hasattr(value, "shape") and not isinstance(value, np.generic):
        return np.asarray(value)
    return None


# Types that torch does not hand to numpy: torch's name -> (torch's integer of the width, numpy's, ours).
TORCH_BY_BITS = {"bfloat16": ("int16", np.int16, ncemu.bfloat16),
                 "float8_e4m3fn": ("uint8", np.uint8, ncemu.float8_e4m3fn),
                 "float8_e5m2": ("uint8", np.uint8, ncemu.float8_e5m2)}


def is_torch(value):
    """A tensor of torch, which is asked for only if somebody else has imported it."""
    return type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach")


def from_torch(value):
    """The numpy array on the tensor's memory, where that is the host's."""
    value = value.detach().cpu()
    row = TORCH_BY_BITS.get(str(value.dtype).removeprefix("torch."))
    if row is None:
        return value.numpy()
    return value.view(getattr(sys.modules["torch"], row[0])).numpy().view(row[2])


def to_torch(array):
    torch = sys.modules["torch"]
    for name, (_, bits, own) in TORCH_BY_BITS.items():
        if array.dtype == np.dtype(own):
            return torch.from_numpy(array.view(bits)).view(getattr(torch, name))
    return torch.from_numpy(array)


def argument(tr, name, value):
    """An array as an input tensor, lists and tuples of them too; everything else as it is."""
    array = host_array(value)
    if array is None:
        if isinstance(value, (list, tuple)) and any(host_array(v) is not None for v in value):
            return type(value)([argument(tr, f"{name}_{i}", v) for i, v in enumerate(value)])
        return value
    s = tr.storage(tr.unique(name), "hbm", isa_type(array.dtype), array.shape or (1,), 0, array.size)
    s.kind, s.array = "input", array
    return whole_view(s)


class Traced:
    """A traced kernel call: the trace, what it returns, and, after a run, its results."""

    def __init__(self, trace, returned):
        self.trace, self.returned = trace, returned


def trace_kernel(function, args, kwargs, generation, machine=None, grid=None):
    """Executes the kernel once per program of the grid."""
    with backend.without_collector():
        return _trace(function, args, kwargs, generation, machine, grid)


def _trace(function, args, kwargs, generation, machine, grid):
    tr = tracing.Trace(targets.chosen(machine), generation, function.__name__)
    tr.machine = None if machine is None or isinstance(machine, str) else machine
    code = getattr(function, "__code__", None)
    if code is not None:
        tr.place = (code.co_filename, code.co_firstlineno)
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{function.__name__}(): {error}") from None
    bound.apply_defaults()
    grid = tuple(grid) if grid else (1,)
    tr.grid = grid
    with tracing.active(tr):
        arguments = {}
        for name, value in bound.arguments.items():
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                arguments[name] = tuple([argument(tr, f"{name}_{i}", v) for i, v in enumerate(value)])
            elif kind is inspect.Parameter.VAR_KEYWORD:
                arguments[name] = {k: argument(tr, k, v) for k, v in value.items()}
            else:
                arguments[name] = argument(tr, name, value)
        returned = None
        for ids in np.ndindex(*grid):
            tr.program_ids = tuple([int(i) for i in ids])
            tr.shared_next = 0
            call = inspect.BoundArguments(signature, dict(arguments))
            returned = function(*call.args, **call.kwargs)
            tr.flush()
            tr.accumulators.clear()
        finish(tr, returned)
    return Traced(tr, returned)


def outputs_of(returned):
    if returned is None:
        return []
    if isinstance(returned, (Tensor, Blocks)):
        return [returned]
    if isinstance(returned, dict):
        return [t for v in returned.values() for t in outputs_of(v)]
    if isinstance(returned, (list, tuple)):
        return [t for v in returned for t in outputs_of(v)]
    return []


def finish(tr, returned):
    """Kinds of tensors, memsets that nobody needs."""
    if tr.left_early is not None:
        raise NkiError("err_dynamic_control_flow_not_supported", "a run-time loop is left at its end only, not by break",
                       tr.left_early)
    results = outputs_of(returned)
    for t in results:
        s = t.storage
        if s.space != "hbm":
            raise NkiError("err_unsupported_memory", f"a kernel returns tensors in HBM, {t.describe()} is in {s.space}",
                           tr.sites[s.site])
        if not s.is_written and s.kind == "hbm":
            raise NkiError("err_tensor_output_not_written_to", f"the output '{s.name}' is never written", tr.sites[s.site])
        if s.kind == "hbm":
            s.kind = "output"
    for s in tr.storages:
        if s.kind == "input" and s.is_written:
            s.kind = "inout"
    if not results and not any(s.kind == "inout" for s in tr.storages):
        raise NkiError("err_tensor_output_not_written_to", f"the kernel '{tr.name}' writes no output", tr.place)
    for position, s in tr.barriers:
        if s.fill:
            s.first = min(s.first, position)
            s.last = max(s.last, position)
        else:
            tr.instructions[position] = None


def convert(returned, arrays):
    """The kernel's return value with arrays in place of tensors."""
    if isinstance(returned, Tensor):
        array = arrays[returned.storage.name]
        if returned.whole():
            return array.reshape(returned.shape)
        flat = array.reshape(-1)
        at = np.array([returned.offset], dtype=np.int64)
        for step, n in returned.dims:
            at = (at[:, None] + np.arange(n, dtype=np.int64) * step).ravel()
        return flat[at].reshape(returned.shape)
    if isinstance(returned, dict):
        return {k: convert(v, arrays) for k, v in returned.items()}
    if isinstance(returned, (list, tuple)):
        return type(returned)([convert(v, arrays) for v in returned])
    return returned


def any_torch(arguments):
    return any([any_torch(a) if isinstance(a, (list, tuple)) else is_torch(a) for a in arguments])


def as_torch(result):
    """Arrays as tensors of torch, in dictionaries, lists and tuples too."""
    if isinstance(result, np.ndarray):
        return to_torch(result)
    if isinstance(result, dict):
        return {k: as_torch(v) for k, v in result.items()}
    if isinstance(result, (list, tuple)):
        return type(result)([as_torch(r) for r in result])
    return result


class Kernel:
    """What nki.jit makes of a function: call it, or choose a grid first: kernel[grid](...)."""

    def __init__(self, function, generation, mode="auto", grid=None, machine=None, session=None):
        self.function, self.generation, self.mode = function, generation, mode
        self.grid, self.machine, self.session = grid, machine, session
        self.last = None
        functools.update_wrapper(self, function)
        self.gridless = self  # the kernel that this was made of by kernel[grid]

    def __reduce__(self):
        """By name, as functions are: worker processes get a kernel of a module that way."""
        if self.gridless is not self:
            return operator.getitem, (self.gridless, self.grid)
        return self.__qualname__

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return functools.partial(self, instance)

    def __getitem__(self, grid):
        if isinstance(grid, (list, tuple)) and not isinstance(grid, str):
            grid = tuple([_size(g) for g in grid])
        else:
            grid = (_size(grid),)
        kernel = Kernel(self.function, self.generation, self.mode, grid, self.machine, self.session)
        kernel.gridless = self.gridless
        return kernel

    def __call__(self, *args, **kwargs):
        if tracing.tracing():
            if self.grid is not None and self.grid not in ((1,),):
                raise NkiError("err_nested_kernel_with_spmd_grid",
                               f"calling kernel with spmd grid ({self.function.__name__}{list(self.grid)}) inside another "
                               f"kernel is not supported")
            return self.function(*args, **kwargs)
        return run(self, args, kwargs)


def _size(g):
    """The programs along one axis of a grid."""
    n = integer(getattr(g, "size", g))
    if n is None or n < 1:
        raise NkiError("err_unsupported_operand", f"a grid has positive integers, found {g!r}")
    return n


def run(kernel, args, kwargs):
    """Traces and emulates one call."""
    now = session.current()
    now.starting(kernel)
    traced = trace_kernel(kernel.function, args, kwargs, kernel.generation, now.machine or kernel.machine, kernel.grid)
    tr = traced.trace
    result = backend.run(tr, now)
    kernel.last = kernel.gridless.last = result
    now.finished(kernel, result)
    if not result.arrays:
        result.arrays = {s.name: np.zeros(s.shape, public_type(s.dtype)) for s in tr.storages if s.kind in ("output", "inout")}
    for s in tr.storages:
        if s.kind == "inout" and s.array is not None and result.result.outputs:
            written = result.arrays[s.name].reshape(s.array.shape)
            if s.array.flags.writeable:
                s.array[...] = written
    returned = convert(traced.returned, {**{s.name: s.array for s in tr.storages if s.array is not None}, **result.arrays})
    return as_torch(returned) if any_torch([*args, *kwargs.values()]) else returned
