"""Ways to run that measure: benchmark and profile, in the shape users of the vendor's tools read them."""

import functools
import json
import pathlib

from ncemu.nki import launch


def simulate(kernel, *args, **kwargs):
    """Runs a kernel and returns what it returns; arrays that it wrote are updated."""
    if not isinstance(kernel, launch.Kernel):
        kernel = launch.Kernel(kernel, "neuronxcc", "simulation")
    return kernel(*args, **kwargs)


class Latency:
    """Modelled, so that every run takes the same time: all percentiles are equal."""

    def __init__(self, us):
        self.us = us

    def get_latency_percentile(self, percentile):
        if not 0 <= percentile <= 100:
            raise ValueError(f"a percentile lies between 0 and 100, found {percentile}")
        return self.us


class BenchmarkResult:
    def __init__(self, us):
        self.nc_latency = Latency(us)


def _wrapped(kernel, after):
    class Measured:
        def __init__(self, inner):
            self.inner = inner
            functools.update_wrapper(self, inner.function)

        def __getitem__(self, grid):
            return Measured(self.inner[grid])

        def __call__(self, *args, **kwargs):
            result = self.inner(*args, **kwargs)
            after(self, self.inner.last)
            return result
    return Measured(kernel)


def benchmarked(kernel, program_file=None, trace_file=None):
    """`program_file` gets the program's text, `trace_file` the run's report (save_neff_name and save_trace_name)."""
    def after(measured, run):
        if program_file:
            pathlib.Path(program_file).write_text(run.source)
        if trace_file:
            pathlib.Path(trace_file).write_text(json.dumps(run.report))
        measured.benchmark_result = BenchmarkResult(run.us)
    return _wrapped(kernel, after)


def profiled(kernel, directory):
    def after(measured, run):
        if directory is not None:
            path = pathlib.Path(directory)
            path.mkdir(parents=True, exist_ok=True)
            (path / f"{kernel.function.__name__}.nca").write_text(run.source)
        measured.report = run.report
    return _wrapped(kernel, after)
