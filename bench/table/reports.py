"""What the reports of a profile cost beside the run they tell of, and what recording it adds to the run."""

from measure import Bench
from rows import row

# The run with data is the target where its instructions do some work; one element per lane is the other end.
KERNELS = [("an FP8 GEMM", 0, 1), ("one element per lane", 1, None)]
TIMED, TIMING_ONLY = 1, 2  # emu/machine/machine.h


def rows(bench: Bench):
    for name, number, at_most in KERNELS:
        reports, recorded, timed, alone, questions = bench.counters(
            "reports_bench",
            f"all_reports/{number}",
            f"recorded/{number}",
            f"run/{number}/{TIMED}",
            f"run/{number}/{TIMING_ONLY}",
            f"what_if/{number}",
        )
        of = f"{timed['instructions']:,.0f} instructions of {name}"
        seconds = {b["name"]: b["cpu_time"] / 1000 for b in (reports, recorded, timed, alone, questions)}
        text = "text, JSON, Perfetto and HTML"
        yield row(f"{text} of {of}", seconds[reports["name"]], "s", at_most=1)
        yield row("  beside the timed run", seconds[reports["name"]], "s", seconds[timed["name"]], at_most=at_most)
        yield row(
            "  recording, beside the run without data",
            seconds[recorded["name"]],
            "s",
            seconds[alone["name"]],
            at_most=3,
        )
        yield row(
            f"  what if and advice, {questions['runs']:.0f} more runs",
            seconds[questions["name"]],
            "s",
            seconds[alone["name"]],
        )
