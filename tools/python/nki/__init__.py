"""nki on the emulator: the generation of the interface whose instructions take their destination first."""

import pathlib

from ncemu.nki import errors

errors.own_code(str(pathlib.Path(__file__).resolve().parent))

from ncemu.nki.launch import Kernel  # noqa: E402
from ncemu.nki.measure import benchmarked, profiled  # noqa: E402
from nki import collectives, isa, language, typing  # noqa: E402,F401
from nki.typing import tensor  # noqa: E402,F401


def jit(function=None, **options):
    """Makes a kernel: call it with arrays, or choose cores first: kernel[1](...)."""
    def wrap(f):
        return Kernel(f, "nki", machine=options.get("platform_target"))
    return wrap(function) if function is not None else wrap


trace = jit


def simulate(kernel):
    """The kernel, to be called on numpy arrays."""
    return kernel if isinstance(kernel, Kernel) else Kernel(kernel, "nki")


def simulate_kernel(kernel, *args, **kwargs):
    return simulate(kernel)(*args, **kwargs)


def baremetal(kernel=None, **options):
    return simulate(kernel) if kernel is not None else simulate


def benchmark(kernel=None, warmup=0, iters=1, **options):
    """`.benchmark_result.nc_latency.get_latency_percentile(99)` is the modelled device time in us."""
    def wrap(k):
        return benchmarked(simulate(k), options.get("save_neff_name"), options.get("save_trace_name"))
    return wrap(kernel) if kernel is not None else wrap


def profile(kernel=None, working_directory=None, **options):
    def wrap(k):
        return profiled(simulate(k), working_directory)
    return wrap(kernel) if kernel is not None else wrap


class NKIObject:
    """Base of classes that carry values through kernels."""


class dtype:
    """Types by name."""


for _name in ("float32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2", "int8", "int16", "int32", "uint8",
              "uint16", "uint32"):
    setattr(dtype, _name, getattr(language, _name))
