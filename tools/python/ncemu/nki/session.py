"""What `ncemu nki` asks of every kernel call of a script: machine, checks, files, explanations.

Without the command the environment speaks: NCEMU_MACHINE or NEURON_PLATFORM_TARGET_OVERRIDE, NCEMU_CHECKS,
NCEMU_MODE=timing-only and NCEMU_SPILL=1.
"""

import os
import pathlib
import subprocess
import sys

from ncemu.nki import explain, lint
from ncemu.nki.errors import NkiError


class Session:
    def __init__(self, machine=None, checks=None, timing_only=None, strict=False, profile=None, save_asm=None,
                 explained=False, linted=False, announce=False, command=None, spill=None):
        self.machine = machine                # of `ncemu`: a name or a Machine, None: the script's choice
        self.checks = checks or os.environ.get("NCEMU_CHECKS", "default")
        self.timing_only = os.environ.get("NCEMU_MODE") == "timing-only" if timing_only is None else timing_only
        self.strict = strict
        self.spill = os.environ.get("NCEMU_SPILL", "0") != "0" if spill is None else spill
        self.profile = pathlib.Path(profile) if profile else None
        self.save_asm = pathlib.Path(save_asm) if save_asm else None
        self.explained, self.linted, self.announce = explained, linted, announce
        self.command = command                # the program ncemu, for pages and traces
        self.calls = {}                       # kernel -> how many calls

    def starting(self, kernel):
        if self.linted:
            found = lint.findings(kernel.function)
            if found:
                file, line, message = found[0]
                text = "\n".join([f"{f}:{at}: {m}" for f, at, m in found])
                raise NkiError("err_strict_python", text, (file, line))

    def finished(self, kernel, run):
        """After a kernel's run: what was asked for it."""
        name = kernel.function.__name__
        number = self.calls[name] = self.calls.get(name, 0) + 1
        label = name if number == 1 else f"{name}-{number}"
        if self.announce:
            print(f"{label}: {run.us:.3f} us modelled on {run.program.machine.name}, {run.result.instructions} instructions, "
                  f"checks {'clean' if not run.findings else f'{len(run.findings)} findings'}", file=sys.stderr)
            for f in run.findings:
                print(f"{f.file}:{f.line}: {f.severity}: {f.message} [{f.check}]", file=sys.stderr)
        if self.explained:
            print(explain.text(run), file=sys.stderr)
        if self.save_asm:
            self.save_asm.mkdir(parents=True, exist_ok=True)
            (self.save_asm / f"{label}.nca").write_text(run.source)
        if self.profile:
            self.write_profile(label, run)

    def write_profile(self, label, run):
        """Text, JSON, the program, and with the command a page and a trace."""
        import json
        self.profile.mkdir(parents=True, exist_ok=True)
        profile = run.profile()
        (self.profile / f"{label}.txt").write_text(profile.text)
        (self.profile / f"{label}.json").write_text(json.dumps(profile, indent=1))
        (self.profile / f"{label}.nca").write_text(run.source)
        container = self.profile / f"{label}.ncb"
        run.program.save(container)
        if self.command:
            done = subprocess.run([self.command, "profile", str(container), "--html", str(self.profile / f"{label}.html"),
                                   "--perfetto", str(self.profile / f"{label}.pftrace.gz")], capture_output=True, text=True)
            if done.returncode != 0:
                raise NkiError("err_profile", done.stderr or done.stdout, ("<profile>", 0))


_sessions = []


def current():
    if not _sessions:
        _sessions.append(Session())
    return _sessions[-1]


def use(session):
    """Makes it the session of every kernel call from here on."""
    _sessions.append(session)
