"""The trace of one kernel call: memory it declared and instructions it emitted, in program order.

A trace knows no machine memory: storages get addresses when it is finished (allocate.py), by the instructions that
touched them first and last. `pending` is the one instruction whose result nobody has named yet: an assignment to a
view may still become its destination (adapter.py).
"""

import sys
import threading

from ncemu.nki import errors
from ncemu.nki.errors import NkiError
from ncemu.nki.types import SIZE

PARTITIONS = 128  # datasheet 1.2
NEVER = 1 << 60
LOOP_OPEN, LOOP_CLOSE = "loop_open", "loop_close"  # records of run-time loops
PRINT = "print"  # a record that shows a value


class Storage:
    """The memory of one tile or tensor."""

    __slots__ = ("name", "space", "dtype", "shape", "partitions", "elements", "kind", "site", "first", "last",
                 "fixed", "made", "groups", "zero", "is_written", "is_read", "array", "number", "fill",
                 "covered")

    def __init__(self, name, space, dtype, shape, partitions, elements, site):
        self.name, self.space, self.dtype, self.shape = name, space, dtype, shape
        self.partitions = partitions  # on chip
        self.elements = elements      # per partition on chip, in all in HBM
        self.site = site
        self.kind = None              # HBM: input, output, inout, hbm, const
        self.first, self.last = NEVER, -1  # instructions that touch it
        self.fixed = None             # (partition, byte offset) chosen by the kernel
        self.made = 0                 # how many instructions there were when it was declared
        self.groups = None            # PSUM: which elements a matmul has written (psum.py)
        self.zero = False             # PSUM: declared as zeros, no instruction emitted for it
        self.is_written = self.is_read = False
        self.array = None             # HBM: the host's array
        self.number = -1
        self.fill = None              # PSUM zeros: the position where they were declared
        self.covered = None

    @property
    def bytes(self):
        return self.elements * SIZE[self.dtype]


class Trace:
    """What a kernel did so far."""

    def __init__(self, target, generation, name="kernel"):
        self.target = target          # machine facts (target.py)
        self.machine = None           # a machine of one's own (ncemu.Machine), else the target's
        self.generation = generation  # of the interface: "neuronxcc" or "nki"
        self.name = name
        self.place = ("<kernel>", 0)  # (file, line) of the kernel's function
        self.instructions = []        # [mnemonic, engine, site, operands, notes]
        self.storages = []
        self.sites = []               # (file, line)
        self._site_index = {}         # (code, line) -> number
        self._ours = {}               # code -> whether it is the interface's
        self.pending = None
        self.frozen_site = None       # while a pending instruction or a macro is emitted
        self.identities = {}
        self.loops = []
        self.program_ids, self.grid = (0,), (1,)
        self.shared = []              # shared HBM tensors, matched between the programs of a grid
        self.shared_next = 0
        self.warnings = []
        self.names = {}
        self.macro = None
        self.accumulators = {}
        self.barriers = []
        self.run_time_loops = []      # open ones: (key, position of the record)
        self.loop_count = 0
        self.left_early = None        # place of a run-time loop that was left by break
        self.registers = 0            # allocated by the kernel
        self.spilled = 0              # how often a tile left SBUF (spill.py)

    # ---- source places ---------------------------------------------------------------------

    def site(self):
        """The number of the kernel's line that runs now."""
        if self.frozen_site is not None:
            return self.frozen_site
        frame = sys._getframe(2)
        ours = self._ours
        code = frame.f_code
        while True:
            own = ours.get(code)
            if own is None:
                own = ours[code] = errors.is_ours(code.co_filename)
            if not own or frame.f_back is None:
                break
            frame = frame.f_back
            code = frame.f_code
        line = frame.f_lineno
        number = self._site_index.get((code, line))
        if number is None:
            number = self._site_index[(code, line)] = len(self.sites)
            self.sites.append((code.co_filename, line))
        return number

    def warn(self, message):
        entry = (self.sites[self.site()], message)
        if entry not in self.warnings:
            self.warnings.append(entry)

    # ---- memory ----------------------------------------------------------------------------

    def storage(self, name, space, dtype, shape, partitions, elements, site=None):
        s = Storage(name, space, dtype, shape, partitions, elements, self.site() if site is None else site)
        s.number, s.made = len(self.storages), len(self.instructions)
        self.storages.append(s)
        return s

    def unique(self, name):
        """A name for a tensor in HBM that no other has."""
        cleaned = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "tensor"
        if not (cleaned[0].isalpha() or cleaned[0] == "_"):
            cleaned = "t_" + cleaned
        count = self.names.get(cleaned, 0)
        self.names[cleaned] = count + 1
        return cleaned if count == 0 else self.unique(f"{cleaned}_{count + 1}")

    # ---- instructions ----------------------------------------------------------------------

    def flush(self):
        """Emits the pending instruction into a tile of its own."""
        pending = self.pending
        if pending is not None:
            self.pending = None
            pending.emit_to(pending.tile)

    def record(self, mnemonic, engine, operands, writes, reads):
        """Appends an instruction; `operands` are (name or None, text or operand tuple)."""
        position = len(self.instructions)
        for s in writes:
            if position < s.first:
                s.first = position
            s.last = position
            s.is_written = True
        for s in reads:
            if position < s.first:
                s.first = position
            s.last = position
            s.is_read = True
        self.instructions.append([mnemonic, engine, self.site(), operands, self.macro])
        return position

    def open_loop(self, start, stop, step):
        key = ("loop", self.loop_count)
        self.loop_count += 1
        self.run_time_loops.append((key, len(self.instructions)))
        self.instructions.append([LOOP_OPEN, None, self.site(), (key, start, stop, step), None])
        return key

    def close_loop(self):
        self.run_time_loops.pop()
        self.instructions.append([LOOP_CLOSE, None, self.site(), (), None])

    def at_site(self, site):
        """Everything emitted inside carries this site."""
        return _Frozen(self, site)


class _Frozen:
    __slots__ = ("trace", "site", "before")

    def __init__(self, trace, site):
        self.trace, self.site = trace, site

    def __enter__(self):
        self.before = self.trace.frozen_site
        if self.before is None:
            self.trace.frozen_site = self.site

    def __exit__(self, *_):
        self.trace.frozen_site = self.before


class _Active(threading.local):
    """The kernels that each thread traces, the innermost last."""

    def __init__(self):
        self.traces = []


_active = _Active()


def current():
    """The trace of the kernel that runs."""
    try:
        return _active.traces[-1]
    except IndexError:
        raise NkiError("err_nki_api_outside_of_nki_kernel",
                       "this is not inside a kernel: decorate the function with nki.jit and call it") from None


def tracing():
    return bool(_active.traces)


def pending_site():
    """(file, line) of the call that is emitted now, if that happens later than the call; else None."""
    if not _active.traces or _active.traces[-1].frozen_site is None:
        return None
    return _active.traces[-1].sites[_active.traces[-1].frozen_site]


class active:
    """Makes a trace the current one."""

    def __init__(self, trace):
        self.trace = trace

    def __enter__(self):
        _active.traces.append(self.trace)
        return self.trace

    def __exit__(self, *_):
        _active.traces.pop()
