"""neuronxcc.nki on the emulator: jit, trace, simulate_kernel, baremetal, benchmark, profile."""

import pathlib

from ncemu.nki import errors

errors.own_code(str(pathlib.Path(__file__).resolve().parent))

from ncemu.nki.launch import Kernel  # noqa: E402
from ncemu.nki.measure import benchmarked, profiled, simulate as simulate_kernel  # noqa: E402
from neuronxcc.nki import compiler, isa, language, typing  # noqa: E402,F401


def _decorator(mode):
    def jit(function=None, **options):
        def wrap(f):
            return Kernel(f, "neuronxcc", options.get("mode", mode), machine=options.get("platform_target"))
        return wrap(function) if function is not None else wrap
    return jit


jit = _decorator("auto")
trace = _decorator("trace")


def baremetal(kernel=None, **options):
    """Runs the kernel on numpy arrays."""
    def wrap(k):
        return k if isinstance(k, Kernel) else Kernel(k, "neuronxcc", "baremetal")
    return wrap(kernel) if kernel is not None else wrap


def benchmark(kernel=None, warmup=0, iters=1, **options):
    """As baremetal; `.benchmark_result.nc_latency.get_latency_percentile(99)` is the modelled device time in us."""
    def wrap(k):
        return benchmarked(k if isinstance(k, Kernel) else Kernel(k, "neuronxcc", "benchmark"),
                           options.get("save_neff_name"), options.get("save_trace_name"))
    return wrap(kernel) if kernel is not None else wrap


def profile(kernel=None, working_directory=None, **options):
    """As baremetal; leaves the program and the report of the profile in `working_directory`."""
    def wrap(k):
        return profiled(k if isinstance(k, Kernel) else Kernel(k, "neuronxcc", "profile"), working_directory)
    return wrap(kernel) if kernel is not None else wrap
