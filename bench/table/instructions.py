"""Element-wise instructions and reductions on 128 x 2048 operands against plain loops that the compiler
vectorises, for the same conversion and operation; functions of the scalar engine by themselves."""

from measure import Bench
from rows import row

LOOPS = [
    "copy_f32_bf16", "copy_bf16_f32", "copy_f8_bf16", "copy_i32_f32", "add_f32_f32", "add_bf16_bf16",
    "add_f32_bf16", "mult_bf16_f32", "max_f32_f32", "affine_f32_f32", "affine_bf16_bf16", "relu_bf16_bf16",
    "sum_f32", "max_f32",
]  # fmt: skip
FUNCTIONS = ["exp", "tanh", "gelu", "sigmoid", "rsqrt"]


def rows(bench: Bench):
    names = [f"{of}/{loop}" for loop in LOOPS for of in ("instruction", "plain")]
    found = bench.counters("instructions_bench", *names, *(f"instruction/{f}" for f in FUNCTIONS))
    rate = {of["name"]: of["items_per_second"] / 1e9 for of in found}
    for loop in LOOPS:
        yield row(
            f"128 x 2048, {loop}", rate[f"instruction/{loop}"], "G elements/s", rate[f"plain/{loop}"], at_least=0.6
        )
    for function in FUNCTIONS:
        yield row(f"activation of bf16, {function}", rate[f"instruction/{function}"], "G elements/s")
