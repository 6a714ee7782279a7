"""The choices the interface leaves to its compiler, one function each (tools/python/NKI.md has the page).

Engines: fixed tables, no load balancing. None: the assembler's default, the first engine of the instruction's row.
"""


def memset_engine(tr, dst):
    """GpSimd for SBUF, so that the vector engine is free; only vector sees PSUM (datasheet 6.3.3)."""
    return "gpsimd" if dst.storage.space == "sbuf" else "vector"


def copy_engine(tr, dst, src):
    return "vector"


def pair_engine(tr, op, a, b, c):
    """GpSimd for power and for exact 32-bit integers unless an operand is in PSUM (the interface documents both)."""
    if op == "pow":
        return "gpsimd"
    if op in ("add", "subtract", "mult"):
        tensors = (a, b, c)
        if all(t.isa in ("i32", "u32") for t in tensors) and not any(t.storage.space == "psum" for t in tensors):
            return "gpsimd"
    return None


def scalar_engine(tr, op0, op1):
    """Vector does all operators but pow, which is gpsimd's together with rsqrt (datasheet 6.5.1)."""
    return None
