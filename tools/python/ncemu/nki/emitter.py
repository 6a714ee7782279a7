"""A finished trace as a program: every record becomes one call of ncemu.Builder, with the kernel's file and line.

Storages become tiles that live from their first to their last use; the builder gives them addresses.
"""

import ast

import ncemu
from ncemu.nki.errors import NkiError
from ncemu.nki.trace import LOOP_CLOSE, LOOP_OPEN, PRINT

# Mnemonic -> names of the operands that are written without a name (isa/forms.h).
POSITIONAL = {
    "tensor_tensor": ("dst", "src0", "src1"),
    "scalar_tensor_tensor": ("dst", "src0", "src1"),
    "tensor_tensor_scan": ("dst", "src0", "src1"),
    "matmul": ("dst", "moving"),
    "tensor_copy_predicated": ("dst", "predicate"),
    "select_reduce": ("dst", "on_true", "predicate"),
    "n_gather": ("dst", "src", "index"),
    "local_gather": ("dst", "src", "index"),
    "load_stationary": ("src",),
    "match_value_load": ("src",),
    "set_rng_seed": ("src",),
    "dma_compute": ("dst", *[f"src{k}" for k in range(16)]),
}
DEFAULT = ("dst", "src")

_values = {"true": True, "false": False, "inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


def value_of(text):
    """What a word, a number or a list of the records means to the builder."""
    try:
        return _values[text]
    except KeyError:
        pass
    value = ast.literal_eval(text) if text[0] in "[-.0123456789" else text
    _values[text] = value
    return value


def build(tr):
    """The builder's program, and how many instructions it has."""
    b = ncemu.Builder(machine=tr.machine or tr.target.name, name=tr.name)
    views = {}
    latest = {}  # storage -> its last operand and the view that became of it: most tiles are written and read as a whole
    for s in tr.storages:
        if s.space == "hbm" and (s.last >= 0 or s.kind in ("input", "output", "inout")):
            kind = "scratch" if s.kind == "hbm" else s.kind
            try:
                views[s] = b.tensor(s.name, kind, s.shape or (1,), s.dtype)
            except ncemu.Error as error:
                raise rule_broken(error, tr.sites[s.site]) from None
    sites = [b.at(file, line) for file, line in tr.sites]
    emit = b.emit
    registers = {}
    for position, record in enumerate(tr.instructions):
        if record is None:
            continue
        mnemonic, engine, site, operands, _ = record
        if mnemonic is LOOP_OPEN:
            # What was declared before the loop lives through it, even if it is first used inside.
            for s in tr.storages:
                if s.made <= position and s.last >= position and s.space != "hbm" and s not in views:
                    views[s] = declare(b, tr, s, sites)
            key, start, stop, step = operands
            b.at(sites[site])
            registers[key] = b._open_loop(bound(b, registers, start), bound(b, registers, stop), step)
            continue
        if mnemonic is LOOP_CLOSE:
            b._close_loop()
            continue
        names = POSITIONAL.get(mnemonic, DEFAULT)
        arguments, at = {}, 0
        for field, operand in operands:
            if field is None:
                field = names[at]
                at += 1
            if type(operand) is str:
                operand = value_of(operand)
            elif type(operand) is not tuple:
                operand = registers_of(b, registers, operand.key)
            else:
                space, s, dtype, part, count, offset, dims, register = operand
                known = latest.get(s)
                if known is not None and known[0] == operand:
                    arguments[field] = known[1]
                    continue
                base = views.get(s)
                if base is None:
                    base = views[s] = declare(b, tr, s, sites)
                if register is not None:
                    operand = moving_view(b, registers, base, operand)
                else:
                    if space == "hbm":
                        view = base.ap(dims, offset=offset, dtype=dtype)
                    else:
                        view = base.ap(dims, partition=part, partitions=count, offset=offset, dtype=dtype)
                    latest[s] = (operand, view)
                    operand = view
            arguments[field] = operand
        if mnemonic is PRINT:
            (label, view), = arguments.items()
            b.at(sites[site])
            b.print(label, view)
            continue
        try:
            emit(mnemonic, engine=engine, site=sites[site], **arguments)
        except ncemu.Error as error:
            raise rule_broken(error, tr.sites[site]) from None
    return b


def registers_of(b, registers, key):
    """The builder's register of a loop, or one by number."""
    found = registers.get(key)
    if found is None:
        found = registers[key] = b.register(key[1])
    return found


def moving_view(b, registers, base, operand):
    """A view whose offset a register moves."""
    space, _, dtype, part, count, offset, dims, (key, step) = operand
    register = registers_of(b, registers, key)
    if space == "hbm":
        return base.ap(dims, offset=offset, dtype=dtype, register=register, register_step=step)
    return base.ap(dims, partition=part, partitions=count, offset=offset, dtype=dtype, register=register, register_step=step)


def bound(b, registers, value):
    return value if isinstance(value, int) else registers_of(b, registers, value.key)


def declare(b, tr, s, sites):
    b.at(sites[s.site])
    shape = (s.partitions, s.elements)
    if s.fixed is None:
        return b.tile(s.name, shape, s.dtype, s.space)
    return b.tile(s.name, shape, s.dtype, s.space, partition=s.fixed[0], offset=s.fixed[1])


class RuleBroken(NkiError):
    """The machine's rules, not the interface's: what the vendor's compiler or the hardware would refuse."""


def rule_broken(error, site=None):
    """ncemu's error under a name, at the kernel's line."""
    first = next((d for d in error.diagnostics if d.severity == "error"), None)
    lines = []
    for d in error.diagnostics:
        lines.append(f"{d.file}:{d.line}: {d.severity}: {d.message}" + (f" [{d.reference}]" if d.reference else ""))
        lines.extend([f"{n.file}:{n.line}: note: {n.message}" for n in d.notes])
        if d.hint:
            lines.append(f"  hint: {d.hint}")
    text = "\n".join(lines) or error.message
    if site is None:
        file, line = (first.file, first.line) if first is not None else (error.file, error.line)
        site = (file or "<kernel>", line or 0)
    full = "does not fit into" in text or "bytes per partition; " in text or "more than 2^60 elements" in text
    return RuleBroken("err_out_of_memory" if full else "err_rule_of_the_machine", text, site)
