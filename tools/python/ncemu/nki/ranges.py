"""Loops: every iteration runs; the loop variable is an integer that knows its loop."""

from ncemu.nki import trace as tracing
from ncemu.nki.operators import span_of


class Loop:
    __slots__ = ("kind", "count", "at")

    def __init__(self, kind, count):
        self.kind, self.count, self.at = kind, count, 0


class LoopInt(int):
    """A loop variable: a plain integer in arithmetic, which remembers its loop for loop_reduce."""

    loop = None


def loop_range(kind):
    def f(*args, **_):
        span = span_of(kind, args)
        tr = tracing.current()
        loop = Loop(kind, len(span))
        tr.loops.append(loop)
        try:
            for at, i in enumerate(span):
                loop.at = at
                value = LoopInt(i)
                value.loop = loop
                yield value
        finally:
            if loop in tr.loops:
                tr.loops.remove(loop)
    f.__name__ = kind
    return f


affine_range, sequential_range, static_range = (loop_range(k) for k in ("affine_range", "sequential_range", "static_range"))
