"""What goes wrong, with its place in the source."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Diagnostic:
    """One mistake among several, or a note to one."""

    severity: str  # "error", "warning", "note"
    message: str
    file: str = ""
    line: int = 0  # 0: unknown
    column: int = 0
    hint: str = ""
    reference: str = ""  # "datasheet 1.5"
    notes: tuple = field(default=())


class Error(Exception):
    """A kernel or an input that cannot be used, or a run that ended early.

    kind is "input" (what was given cannot be used), "program" (the kernel failed) or "internal" (a mistake of
    ncemu's own). diagnostics lists all mistakes where several were found; result is the partial run.
    """

    def __init__(self, text, message=None, file="", line=0, column=0, kind="input", diagnostics=(), result=None):
        super().__init__(text)
        self.message = text if message is None else message
        self.file = file
        self.line = line
        self.column = column
        self.kind = kind
        self.diagnostics = tuple(diagnostics)
        self.result = result
