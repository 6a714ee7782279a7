"""The facts of a machine that tracing needs, and which machine a kernel runs on."""

import os

import ncemu
from ncemu.nki.errors import NkiError


class Target:
    """A machine and what decides tracing (datasheet 1.2)."""

    def __init__(self, machine):
        self.name, self.generation = machine.name, machine.generation
        self.sbuf_bytes = machine.sbuf_partition_bytes


# Platform names of the interface.
NAMES = {"gen2": "trn1", "gen3": "trn2"}
_known = {}


def chosen(machine=None):
    """The machine asked for (a name, a file or an ncemu.Machine), or that of the environment, or trn1."""
    if machine is not None and not isinstance(machine, str):
        return Target(machine)
    name = machine or os.environ.get("NCEMU_MACHINE") or os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE") or "trn1"
    name = NAMES.get(name, name)
    if name not in _known:
        try:
            _known[name] = Target(ncemu.Machine(name))
        except ncemu.Error as error:
            raise NkiError("err_unsupported_platform", str(error)) from None
    return _known[name]
