"""Where traced programs run: the command ncemu, found on the PATH, by NCEMU, or in the checkout's build directory."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

from ncemu.nki import allocate, emitter
from ncemu.nki.errors import NkiError
from ncemu.nki.types import NUMPY, SIZE, ElementType


class Run:
    """What a run left: arrays by tensor, the report, the program's text."""

    def __init__(self, arrays, report, source):
        self.arrays, self.report, self.source = arrays, report, source


class KernelFailed(NkiError):
    """The emulated program broke a rule, or a check found something."""


def command():
    named = os.environ.get("NCEMU")
    if named:
        return named
    found = shutil.which("ncemu")
    if found:
        return found
    built = pathlib.Path(__file__).resolve().parents[4] / "build" / "ncemu"
    if built.exists():
        return str(built)
    raise NkiError("err_no_emulator", "the command 'ncemu' is neither on the PATH nor built in this checkout")


def run(tr):
    allocate.allocate(tr, tr.target.sbuf_bytes, tr.target.psum_banks, tr.target.psum_bank_bytes)
    source, sites = emitter.text(tr)
    with tempfile.TemporaryDirectory(prefix="ncemu-nki-") as directory:
        path = os.path.join(directory, "kernel.nca")
        with open(path, "w") as f:
            f.write(source)
        arguments = [command(), "run", path, "--json=" + os.path.join(directory, "report.json")]
        outputs = {}
        for s in tr.storages:
            if s.kind in ("input", "inout"):
                name = os.path.join(directory, s.name + ".in.npy")
                array = s.array
                if not isinstance(NUMPY[s.dtype], ElementType) and array.dtype != NUMPY[s.dtype]:
                    array = array.astype(NUMPY[s.dtype])
                if array.dtype.kind == "V" or array.dtype.num > 23:
                    array = array.view(np.dtype(f"u{SIZE[s.dtype]}"))
                np.save(name, array.reshape(s.shape))
                arguments += ["--in", f"{s.name}={name}"]
            if s.kind in ("output", "inout"):
                outputs[s.name] = (s, os.path.join(directory, s.name + ".out.npy"))
                arguments += ["--out", f"{s.name}={outputs[s.name][1]}"]
        done = subprocess.run(arguments, capture_output=True, text=True)
        if done.returncode != 0:
            message, site = located(done.stderr or done.stdout, path, sites, tr)
            raise KernelFailed("err_kernel_failed", message, site)
        arrays = {}
        for name, (s, file) in outputs.items():
            arrays[name] = np.load(file).reshape(s.shape)
        with open(os.path.join(directory, "report.json")) as f:
            report = json.load(f)
    return Run(arrays, report, source)


def located(message, path, sites, tr):
    """Messages with the kernel's lines instead of the program's, and the first of these."""
    out, first = [], ("<kernel>", 0)
    for line in message.splitlines():
        if line.startswith(path + ":"):
            number = line[len(path) + 1:].split(":")[0]
            site = sites[int(number) - 1] if number.isdigit() and 0 < int(number) <= len(sites) else None
            if site is not None:
                file, at = tr.sites[site]
                if first[1] == 0:
                    first = (file, at)
                line = f"{file}:{at}: " + line.split(" ", 1)[1]
        out.append(line)
    return "\n".join(out), first
