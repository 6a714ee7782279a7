"""Traced programs on the emulator: builds, runs and profiles them through the package ncemu."""

import contextlib
import gc
import sys

import numpy as np

import ncemu
from ncemu.nki import emitter, spill
from ncemu.nki.errors import NkiError
from ncemu.nki.types import NUMPY, ElementType


class Run:
    """What a run left: arrays by tensor, the result of ncemu.run, the program."""

    def __init__(self, trace, program, result, inputs):
        self.trace, self.program, self.result, self.inputs = trace, program, result, inputs
        self.arrays = result.outputs
        self.report = result.summary
        self.findings = result.findings

    @property
    def us(self):
        """Modelled device time."""
        return self.result.us

    @property
    def source(self):
        """The program in the assembly language; it assembles to the same words."""
        return self.program.text()

    def profile(self):
        return ncemu.profile(self.program)


class KernelFailed(NkiError):
    """The emulated program faulted, or a check found an error."""


SHARES = (0.75, 0.9, 1.0)  # of SBUF, tried one after the other when tiles are spilled


def program_of(tr, may_spill=False):
    """The finished program; memory that has been free for longest is used first, else what is lowest."""
    try:
        return placed(tr)
    except emitter.RuleBroken as error:
        if not may_spill or error.name != "err_out_of_memory":
            raise
    # At first not all of SBUF, so that transfers may run ahead: the fourth matrix product of the vendor's tutorial takes
    # 9.6 ms at 1024 x 8192 x 8192 with three quarters of it, 11.9 ms with all.
    original = tr.instructions
    for share in SHARES:
        tr.instructions = original
        try:
            tr.spilled = spill.spill(tr, int(tr.target.sbuf_bytes * share))
            return placed(tr)
        except NkiError as error:
            if share == SHARES[-1] or error.name != "err_out_of_memory":
                raise


@contextlib.contextmanager
def without_collector():
    """A trace only grows, and holds no cycles: without the collector, which would walk it again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def placed(tr):
    for order in ("rotate", "compact"):
        try:
            with without_collector():
                return emitter.build(tr).finish(allocate=order)
        except ncemu.Error as error:
            broken = emitter.rule_broken(error)
            if order == "compact" or broken.name != "err_out_of_memory":
                raise broken from None


def host_input(s, place=None):
    """The array of an input in a form that ncemu takes."""
    array = s.array
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        kept = np.iinfo(NUMPY[s.dtype])
        lowest, highest = int(array.min()), int(array.max())
        if lowest < kept.min or highest > kept.max:
            raise NkiError("err_unsupported_dtype", f"'{s.name}' is {array.dtype} and has values from {lowest} to {highest}: the "
                           f"machine's integers have 32 bits", place)
    if not isinstance(NUMPY[s.dtype], ElementType) and array.dtype != NUMPY[s.dtype]:
        array = array.astype(NUMPY[s.dtype])
    return np.ascontiguousarray(array).reshape(s.shape)


def run(tr, session):
    program = program_of(tr, session.spill)
    inputs = {s.name: host_input(s, tr.place) for s in tr.storages if s.kind in ("input", "inout")}
    data = not session.timing_only
    try:
        result = ncemu.run(program, inputs if data else None, checks=session.checks, data=data, strict=session.strict)
    except MemoryError as error:
        largest = max(tr.storages, key=lambda s: s.bytes if s.space == "hbm" else 0)
        raise KernelFailed("err_out_of_memory", f"this host cannot hold the kernel's tensors, the largest is '{largest.name}' "
                           f"{list(largest.shape)}: {error}", tr.sites[largest.site]) from None
    except ncemu.Error as error:
        raise KernelFailed("err_kernel_failed", str(error), (error.file, error.line) if error.line else tr.place) from None
    for (file, line), message in tr.warnings:
        print(f"{file}:{line}: warning: {message}", file=sys.stderr)
    if result.printed:
        print(result.printed, end="")
    finished = Run(tr, program, result, inputs)
    wrong = [f for f in result.findings if f.severity == "error" and not f.allowed]
    if wrong:
        places = [place_of(tr, f) for f in wrong]
        lines = [f"{file}:{line}: {f.check}: {f.message}" + (f"\n  hint: {f.fix}" if f.fix else "")
                 for (file, line), f in zip(places, wrong)]
        raise KernelFailed("err_check_failed", "\n".join(lines), places[0])
    return finished


def place_of(tr, finding):
    """(file, line): of the instruction; of what is said of an output, where the kernel declares it; else the kernel."""
    if finding.line:
        return finding.file, finding.line
    declared = [s for s in tr.storages if s.space == "hbm" and s.kind != "input" and f"'{s.name}'" in finding.message]
    return tr.sites[declared[0].site] if declared else tr.place
