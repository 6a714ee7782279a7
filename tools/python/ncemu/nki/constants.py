"""Words of the interface that both generations share: engines, modes, versions."""

from enum import Enum


class engine(Enum):
    """Where an instruction runs; `unknown` leaves it to the policy."""

    tensor = "tensor"
    vector = "vector"
    scalar = "scalar"
    gpsimd = "gpsimd"
    sync = "sync"
    dma = "dma"
    unknown = None
    # Other spellings.
    pe = "tensor"
    act = "scalar"
    pool = "gpsimd"
    dve = "vector"


class nc_version(Enum):
    """Generations, in order."""

    gen2, gen3, gen4 = 2, 3, 4

    def __lt__(self, other):
        return self.value < other.value

    def __le__(self, other):
        return self.value <= other.value

    def __gt__(self, other):
        return self.value > other.value

    def __ge__(self, other):
        return self.value >= other.value


class reduce_cmd(Enum):
    idle, reset, reduce, reset_reduce, load_reduce = "idle", "reset", "reduce", "reset_reduce", "load_reduce"


class dge_mode(Enum):
    unknown, none, swdge, hwdge = None, "static", "software", "hardware"


class oob_mode(Enum):
    error, skip = "error", "skip"


class matmul_perf_mode(Enum):
    none = "none"
    double_row = "double_row"
    double_column = "double_column"
    double_pixel = "double_pixel"
    double_row_sw_interleave = "double_row_sw_interleave"


def word(value):
    """The instruction set's word of an enumerator; None where it leaves the choice open."""
    return value._value_ if isinstance(value, Enum) else value  # the property `value` takes ten times as long
