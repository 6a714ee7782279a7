"""The facts of a machine that tracing needs, and which machine a kernel runs on."""

import os


class Target:
    """A machine by name; sizes from datasheet 1.2."""

    def __init__(self, name, generation, sbuf_bytes, psum_banks=8, psum_bank_bytes=2048):
        self.name, self.generation = name, generation
        self.sbuf_bytes, self.psum_banks, self.psum_bank_bytes = sbuf_bytes, psum_banks, psum_bank_bytes


TARGETS = {
    "trn1": Target("trn1", 2, 196608),
    "inf2": Target("inf2", 2, 196608),
    "trn2": Target("trn2", 3, 229376),
}


def chosen(name=None):
    """The machine asked for, or that of the environment, or trn1."""
    from ncemu.nki.errors import NkiError
    name = name or os.environ.get("NCEMU_MACHINE") or os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE") or "trn1"
    found = TARGETS.get({"gen2": "trn1", "gen3": "trn2"}.get(name, name))
    if found is None:
        raise NkiError("err_unsupported_platform", f"'{name}' is no machine here: {', '.join(TARGETS)}")
    return found
