"""A finished trace as a program in the assembly language: operands are raw patterns at the addresses chosen."""

from ncemu.nki.types import SIZE


def shown(tr):
    """The instructions that stay: without memsets of PSUM zeros that nothing reads."""
    return [i for i in tr.instructions if i is not None]


def text(tr, comments=True):
    """(source, sites): the site of each line of the source, or None."""
    lines = [f"# traced from {tr.name}", f".machine {tr.target.name}"]
    sites = [None] * len(lines)
    for s in tr.storages:
        if s.space == "hbm" and (s.last >= 0 or s.kind in ("input", "output", "inout")):
            shape = ", ".join(str(n) for n in s.shape) or "1"
            lines.append(f".{s.kind} {s.name} : {s.dtype}[{shape}]")
            sites.append(None)
    for mnemonic, engine, site, operands, _ in shown(tr):
        parts = []
        for field, operand in operands:
            if type(operand) is not str:
                operand = _operand(operand)
            parts.append(operand if field is None else f"{field} = {operand}")
        line = f"{mnemonic} " + ", ".join(parts)
        if engine is not None:
            line += f", {'issuer' if mnemonic.startswith('dma_') else 'engine'} = {engine}"
        lines.append(line)
        sites.append(site)
    return "\n".join(lines) + "\n", sites


def _operand(operand):
    space, s, dtype, part, count, offset, dims, register = operand
    kind = dtype or s.dtype
    extra = f", r{register[0].register_number}, {register[1]}" if register else ""
    if space == "hbm":
        return f".hbm({s.name}, {kind}, {offset}, {dims}{extra})"
    return f".ap({space}, {kind}, {s.start + part}, {count}, {s.address + offset * SIZE[kind]}, {dims}{extra})"
