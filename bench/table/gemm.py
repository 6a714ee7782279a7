"""Whole runs of the published GEMM kernels against OpenBLAS on the same files, and the kernel inside them
against the host's fused multiply-add peak."""

import numpy

from measure import Bench
from rows import row

# Kernel, its parameters, and how much longer than cblas_sgemm the whole run may take.
KERNELS = [
    ("fp8", "fp8_gemm.nca", {}, 1.15),
    ("bf16", "bf16_gemm.nca", {}, 1.15),
    ("fp16", "bf16_gemm.nca", {"IN": "f16"}, 1.15),
    ("fp32", "fp32_gemm.nca", {}, 1.3),
]


def matrices(bench: Bench, size: int) -> None:
    random = numpy.random.default_rng(8)
    for name in ("at", "b"):
        numpy.save(bench.directory / f"{name}.npy", random.standard_normal((size, size), dtype=numpy.float32))


def whole_run(bench: Bench, kernel: str, params: dict, size: int, *words: str) -> list[str]:
    sizes = {"M": size, "N": size, "K": size}
    return bench.ncemu(
        "run", kernel, sizes | params, "--in", "at=at.npy", "--in", "b=b.npy", "--out", "c=c.npy", *words
    )


def rows(bench: Bench):
    size = 256 if bench.smoke else 2048
    matrices(bench, size)
    blas = [bench.program("ncemu_blas_gemm"), str(size), "at.npy", "b.npy", "blas.npy"]
    for name, kernel, params, limit in KERNELS:
        bench.note(f"{name} GEMM, whole run in turns with cblas_sgemm")
        ours, theirs = bench.in_turns(whole_run(bench, kernel, params, size), blas)
        for of in ("wall", "processor"):
            yield row(
                f"{name} GEMM {size}-cubed, whole run, {of} time",
                ours.median(of),
                "s",
                theirs.median(of),
                ratio=ours.ratio(theirs, of),
                at_most=limit,
            )
    for of in bench.counters("matmul_bench", "one_tile/best", "one_tile/avx2"):
        target = of["name"].split("/")[1]
        yield row(
            f"matmul 128x128x512, vector target {target}",
            of["GFLOPS"],
            "GFLOP/s",
            of["peak_GFLOPS"],
            ratio=of["of_peak"],
            at_least=0.9 if target == "best" else None,
        )
