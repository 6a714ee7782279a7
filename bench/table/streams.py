"""Runs without data: assembling a stream of instructions and its timing alone, by the instruction; a GEMM of a
million instructions as a whole; and how soon a small run is over."""

import re

from measure import Bench
from rows import row


def instructions_of_last_run(bench: Bench) -> int:
    log = (bench.directory / "log").read_text()
    return int(re.search(r"to emulate ([\d,]+) instructions", log).group(1).replace(",", ""))


def rows(bench: Bench):
    names = [f"timing/{stream}/{checks}" for stream in ("gemm", "vector") for checks in (0, 1)]
    found = bench.counters("streams_bench", *names, "assembling/gemm", "assembling/vector")
    rate = {of["name"]: of["instructions/s"] / 1e6 for of in found}
    for stream, words, least in (("gemm", "a bf16 GEMM", 4), ("vector", "small vector instructions", 2)):
        plain, checked = rate[f"timing/{stream}/0"], rate[f"timing/{stream}/1"]
        yield row(f"timing only, {words}, no checks", plain, "M instructions/s", at_least=least)
        yield row(
            f"timing only, {words}, default checks", checked, "M instructions/s", plain, at_least=0.5
        )
        yield row(f"assembling {words}", rate[f"assembling/{stream}"], "M instructions/s", at_least=0.5)

    size = 1024 if bench.smoke else 16384
    bench.note(f"bf16 GEMM {size}-cubed, timing only, whole run")
    sizes = {"M": size, "N": size, "K": size}
    command = bench.ncemu("run", "gemm_buffered.nca", sizes, "--mode", "timing-only")
    samples = [bench.run(command) for _ in range(1 if bench.smoke else 3)]
    instructions = instructions_of_last_run(bench)
    small = bench.ncemu("run", "vector_add.nca", {}, "--mode", "timing-only")
    base = bench.run(small).memory
    seconds = sorted(s.processor for s in samples)[len(samples) // 2]
    memory = max(s.memory for s in samples)
    yield row(f"bf16 GEMM {size}-cubed, timing only, processor time", seconds, "s", at_most=5)
    yield row(f"bf16 GEMM {size}-cubed, timing only, memory", memory / 2**30, "GiB", at_most=1)
    yield row(
        "the same with the default checks, memory of each instruction", (memory - base) / instructions, "bytes"
    )
    [unchecked] = [bench.run([*command, "--checks", "none"])]
    yield row(
        "without checks, memory of each instruction", (unchecked.memory - base) / instructions, "bytes", at_most=300
    )

    bench.note("start: --help and a small kernel")
    for words, command in (("ncemu --help", [bench.program("ncemu"), "--help"]), ("a small kernel", small)):
        [series] = bench.in_turns(command)
        yield row(f"{words}, processor time", series.median("processor") * 1000, "ms", at_most=30)
        yield row(f"{words}, wall time", series.median("wall") * 1000, "ms")
