"""Running programs on numpy arrays; README.md, "Running"."""

import json
import os
import re
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np

from . import _native
from .arrays import array_in
from .errors import Error


@dataclass(frozen=True)
class Finding:
    """What a check found."""

    check: str
    severity: str
    message: str
    fix: str
    file: str
    line: Optional[int]
    column: Optional[int]
    count: int
    allowed: Optional[str]  # the reason, where a comment of the source allows it
    notes: tuple

    @staticmethod
    def from_json(data):
        place = data["place"]
        return Finding(
            data["check"], data["severity"], data["message"], data["fix"], place["file"], place["line"], place["column"],
            data["count"], data["allowed"], tuple((note["place"], note["message"]) for note in data["notes"]))


@dataclass
class Result:
    """What a run gave. outputs is empty where the run had no data."""

    outputs: dict
    ticks: int
    us: float
    core_cycles: float
    instructions: int
    status: str
    message: str
    passed: bool
    findings: list
    summary: dict
    text: str
    printed: str
    host_seconds: float
    _native: Any = field(repr=False)

    def __getitem__(self, name):
        return self.outputs[name]

    def __getstate__(self):
        """What was measured travels to other processes, the recording of the run does not."""
        return {**self.__dict__, "_native": None}


class Profile(dict):
    """The report of `ncemu profile --json` as a dictionary."""

    text: str
    result: Result

    def write_html(self, path):
        """The report as one HTML file with an interactive timeline."""
        self.result._native.profile.write_html(os.fspath(path))

    def write_perfetto(self, path):
        """The run as a trace for the Perfetto viewer."""
        self.result._native.profile.write_perfetto(os.fspath(path))


def _on(program, machine):
    return program if machine is None else _native.on_machine(program, machine)


def _run(program, inputs, machine, mode, checks, strict, poison, seed, max_time, max_instructions, windows,
         threads=1):
    program = _on(program, machine)
    tensors = {t.name: t for t in program.tensors}
    data = mode in ("timed", "functional")
    given = [array_in(name, array, tensors[name].type if name in tensors else None) for name, array in (inputs or {}).items()] if data else []
    outputs = {}
    if data:
        for number, tensor in enumerate(program.tensors):
            if tensor.kind in ("output", "inout"):
                outputs[tensor.name] = (number, np.empty(tensor.shape, tensor.dtype))
    native = _native.run(
        program, given, [(number, array.reshape(-1).view(np.uint8)) for number, array in outputs.values()], mode=mode,
        checks=checks, strict=strict, poison=poison, seed=seed, max_time=max_time,
        max_instructions=max_instructions or 0, threads=threads, windows=windows)
    summary = json.loads(native.json)
    return Result(
        outputs={name: array for name, (_, array) in outputs.items()}, ticks=native.ticks, us=native.us,
        core_cycles=native.core_cycles, instructions=native.instructions, status=native.status,
        message=native.message, passed=native.passed,
        findings=[Finding.from_json(f) for f in summary["findings"]], summary=summary, text=native.text,
        printed=native.printed, host_seconds=native.host_seconds, _native=native)


_PLACE = re.compile(r"(.+?):(\d+)(?::(\d+))?: ")  # how the message of a fault begins


def _ended(result, raises):
    if raises and result._native.partial:
        place = _PLACE.match(result.message) if result.status == "fault" else None
        file, line, column = place.groups() if place else ("", 0, 0)
        raise Error(f"{result.status}: {result.message}", message=result.message, file=file, line=int(line),
                    column=int(column or 0), kind="program", result=result)
    return result


def _mode(data, timing):
    return {(True, True): "timed", (True, False): "functional", (False, True): "timing-only",
            (False, False): "check"}[bool(data), bool(timing)]


def run(program, inputs=None, *, machine=None, data=True, timing=True, checks="default", strict=False, poison=None,
        seed=None, max_time=None, max_instructions=None, threads=1, raises=True):
    """Runs a program on arrays by the names of its inputs."""
    result = _run(program, inputs, machine, _mode(data, timing), checks, strict, poison, seed, max_time,
                  max_instructions, 0, threads)
    return _ended(result, raises)


def check(program, *, machine=None, checks="default", strict=False, max_time=None, max_instructions=None):
    """All checks that need neither data nor a clock."""
    return _run(program, None, machine, "check", checks, strict, None, None, max_time, max_instructions, 0)


def profile(program, inputs=None, *, machine=None, windows=1, checks="default", strict=False, poison=None, seed=None,
            max_time=None, max_instructions=None, raises=True):
    """Where the time goes. Without inputs the clock alone runs: times do not depend on values."""
    if windows < 1:
        raise ValueError("windows must be at least 1")
    mode = _mode(inputs is not None, True)
    result = _ended(_run(program, inputs, machine, mode, checks, strict, poison, seed, max_time, max_instructions,
                         windows), raises)
    recorded = result._native.profile
    made = Profile(json.loads(recorded.json()))
    made.text = recorded.text()
    made.result = result
    return made
