"""Every instruction: the example of its reference page, built call by call, is the program that the assembler makes."""

import os
import re
import subprocess

import pytest

import ncemu

COMMAND = os.environ["NCEMU_COMMAND"]


def mnemonics():
    listed = subprocess.run([COMMAND, "isa"], capture_output=True, text=True, check=True).stdout
    # A long name touches the column behind it, so names are taken from the pages' own spelling.
    words = [re.match(r"[a-z_0-9]+", line).group() for line in listed.splitlines()[1:] if re.match(r"[a-z]", line)]
    return [w for w in (re.sub(r"(vector|gpsimd|v2)$", "", w) for w in words) if w]


def example(mnemonic):
    page = subprocess.run([COMMAND, "isa", mnemonic], capture_output=True, text=True, check=True).stdout
    return re.search(r"^example\n(.*?)(?=^\S|\Z)", page, re.M | re.S).group(1)


# The operands that the language writes without a name, where they are not dst, src.
POSITIONAL = {
    "matmul": "dst moving", "tensor_tensor": "dst src0 src1", "scalar_tensor_tensor": "dst src0 src1",
    "tensor_tensor_scan": "dst src0 src1", "load_stationary": "src", "match_value_load": "src", "set_rng_seed": "src",
    "rand_set_state": "src", "select_reduce": "dst on_true predicate", "tensor_copy_predicated": "dst predicate",
    "local_gather": "dst src index", "n_gather": "dst src index", "topk": "dst indices src",
    "dma_compute": "dst src0 src1 src2", "register_alu": "dst src0 src1", "compare_branch": "a b",
}
TYPES = "f32 tf32 bf16 f16 f8e5m2 f8e4m3 f8e3m4 f8e4m3fn i8 i16 i32 u8 u16 u32".split()
KINDS = {".input": "input", ".output": "output", ".inout": "inout", ".hbm": "scratch"}


def split(text):
    """At commas outside brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip()]


class Reader:
    """Reads an example and calls the builder."""

    def __init__(self, text):
        machine = re.search(r"\.machine (\w+)", text)
        self.builder = ncemu.Builder(machine.group(1) if machine else "trn1")
        self.names = {t: t for t in TYPES}
        self.labels, self.block, self.count, self.next = {}, None, 0, {"sbuf": 0, "psum": 0}
        self.manual = ".sync manual" in text
        lines, open_line = [], ""
        for line in text.splitlines():
            open_line += " " + line.strip()
            if open_line.count("[") == open_line.count("]"):
                lines.append(open_line.strip())
                open_line = ""
        for line in filter(None, lines):
            self.line(line)

    def value(self, text):
        if re.fullmatch(r"r\d+", text):
            return self.builder.register(int(text[1:]))
        if text in ("true", "false"):
            return text == "true"
        try:
            return eval(text.replace(".as(", ".astype("), {"__builtins__": {}}, self.names)
        except NameError:
            return self.labels.get(text, text)

    def declare(self, kind, name, dtype, shape):
        shape = [int(n) for n in shape.split(",")]
        if kind in KINDS:
            self.names[name] = self.builder.tensor(name, KINDS[kind], shape, dtype)
            return
        # In the order of the text, as the assembler places what fits without sharing.
        tile = self.builder.tile(name, shape, dtype, kind[1:], partition=0, offset=self.next[kind[1:]])
        elements = 1
        for n in shape[1:]:
            elements *= n
        unit = 32 if kind == ".sbuf" else 2048
        self.next[kind[1:]] += -(-elements * ncemu.dtype(dtype).itemsize // unit) * unit
        self.names[name] = tile

    def line(self, line):
        declaration = re.fullmatch(r"(\.\w+)\s+(\w+)\s*:\s*(\w+)\[(.*)\]", line)
        if declaration:
            return self.declare(*declaration.groups())
        if line.startswith(".engine"):
            self.block, self.count = self.builder.block(line.split()[1]), 0
            return self.block.__enter__()
        if line == ".end":
            return self.block.__exit__(None, None, None)
        if line.endswith(":"):
            self.labels[line[:-1]] = self.count
            return None
        if line.startswith("."):
            return None
        return self.instruction(line)

    def instruction(self, line):
        given = {}
        signal = re.search(r" signal S\[(\d+)\] (\S+)\s*(\d+)? @(\w+)", line)
        if signal:
            number, operator, value, when = signal.groups()
            given["signal"] = (int(number), operator, *([int(value)] if value else []), when)
            line = line[: signal.start()]
        wait = re.search(r" wait S\[(\d+)\] (\S+) (\d+)", line)
        if wait:
            given["wait"] = (int(wait.group(1)), wait.group(2), int(wait.group(3)))
            line = line[: wait.start()]
        mnemonic, _, rest = line.partition(" ")
        positional = iter(POSITIONAL.get(mnemonic, "dst src").split())
        for operand in split(rest):
            named = re.fullmatch(r"(\w+) = (.*)", operand)
            name = named.group(1) if named else next(positional)
            given["engine" if name == "issuer" else name] = self.value(named.group(2) if named else operand)
        self.count += 1
        self.builder.emit(mnemonic, **given)


def streams(program):
    """The text from the first stream on: words of instructions, without names of tiles or files."""
    text = program.text()
    return text[text.index(".engine"):]


@pytest.mark.parametrize("mnemonic", mnemonics())
def test_the_example_of_a_reference_page_builds_to_what_it_assembles_to(mnemonic):
    text = example(mnemonic)
    assert mnemonic in text
    source = "\n".join(line.strip() for line in text.splitlines()) + "\n"
    reader = Reader(text)
    built = reader.builder.finish(sync="manual" if reader.manual else "auto")
    assert streams(built) == streams(ncemu.assemble(source))
