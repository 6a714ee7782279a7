"""Ways to run a kernel: calls, simulation, benchmarks, grids, kernels in kernels."""

import numpy as np
import pytest

from neuronxcc import nki
import neuronxcc.nki.language as nl

rng = np.random.default_rng(20240905)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def doubled(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(y, nl.multiply(nl.load(x), 2.0))
    return y


@pytest.mark.parametrize("launch", [
    lambda x: nki.jit(doubled)(x),
    lambda x: nki.jit(mode="simulation")(doubled)(x),
    lambda x: nki.simulate_kernel(nki.jit(doubled), x),
    lambda x: nki.simulate_kernel(doubled, x),
    lambda x: nki.baremetal(doubled)(x),
    lambda x: nki.baremetal(save_neff_name="file.neff")(doubled)(x),
    lambda x: nki.benchmark(warmup=2, iters=5)(doubled)(x),
    lambda x: nki.profile(doubled)(x),
], ids=["jit", "simulation", "simulate_kernel", "simulate function", "baremetal", "baremetal options", "benchmark", "profile"])
def test_every_way_to_run_gives_the_result(launch):
    x = normal(32, 16)
    assert np.array_equal(launch(x), 2 * x)


def test_a_benchmark_gives_the_modelled_time_of_the_device(monkeypatch):
    times = {}
    for machine in ("trn1", "trn2"):
        monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", machine)
        kernel = nki.benchmark(warmup=1, iters=3)(doubled)
        kernel(normal(128, 2048))
        latency = kernel.benchmark_result.nc_latency
        times[machine] = latency.get_latency_percentile(99)
        assert latency.get_latency_percentile(50) == times[machine]
    assert 1 < times["trn1"] < 100 and 1 < times["trn2"] < 100
    assert times["trn1"] != times["trn2"]


def test_files_of_a_benchmark_are_left_under_their_names(tmp_path):
    program, trace = tmp_path / "file.neff", tmp_path / "profile.ntff"
    nki.benchmark(doubled, save_neff_name=str(program), save_trace_name=str(trace))(normal(8, 8))
    assert ".machine trn1" in program.read_text() and '"device_time_us"' in trace.read_text()


@nki.jit
def sum_by_blocks(a, b):
    c = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    p = nl.program_id(0) * 128 + nl.arange(128)[:, None]
    f = nl.program_id(1) * 64 + nl.arange(64)[None, :]
    nl.store(c[p, f], nl.load(a[p, f]) + nl.load(b[p, f]))
    return c


def test_the_programs_of_a_grid_write_one_result():
    a, b = normal(256, 192), normal(256, 192)
    assert np.array_equal(sum_by_blocks[2, 3](a, b), a + b)


def test_a_grid_of_cores_runs_on_one_core():
    a, b = normal(256, 64), normal(256, 64)
    assert np.array_equal(sum_by_blocks[nl.nc(2), 1](a, b), a + b)


def test_a_program_knows_its_grid():
    seen = []

    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        seen.append((nl.program_ndim(), nl.num_programs(0), nl.num_programs(), nl.program_id(0)))
        nl.store(y, nl.load(x))
        return y
    kernel[2, 2](normal(4, 4))
    assert seen == [(2, 2, 4, 0), (2, 2, 4, 0), (2, 2, 4, 1), (2, 2, 4, 1)]


def test_a_kernel_called_by_a_kernel_runs_inline():
    @nki.jit
    def squared(tile):
        return nl.multiply(tile, tile)

    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(y, squared(nl.load(x)))
        return y
    x = normal(8, 8)
    assert np.array_equal(kernel(x), x * x)


def test_several_results_come_back_as_they_were_returned():
    @nki.jit
    def kernel(x):
        y, z = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(2))
        tile = nl.load(x)
        nl.store(y, tile + 1.0)
        nl.store(z, tile - 1.0)
        return y, [z]
    x = rng.integers(-99, 99, (8, 8)).astype(np.float32)
    y, (z,) = kernel(x)
    assert np.array_equal(y, x + 1) and np.array_equal(z, x - 1)


def test_an_output_parameter_is_updated_in_place():
    @nki.jit
    def kernel(x, y):
        nl.store(y, nl.load(x))
    x, y = normal(8, 8), np.zeros((8, 8), np.float32)
    kernel(x, y)
    assert np.array_equal(x, y)


def test_two_runs_of_a_kernel_are_one_program():
    kernel = nki.jit(doubled)
    texts = []
    for _ in range(2):
        kernel(normal(128, 100))
        texts.append((kernel.last.source, kernel.last.report["device_time_us"]))
    assert texts[0] == texts[1]


def test_the_saved_text_is_the_program():
    """The text assembles and runs to the same bits and the same time."""
    import os
    import subprocess
    import tempfile
    import json
    kernel = nki.jit(doubled)
    x = normal(128, 100)
    y = kernel(x)
    with tempfile.TemporaryDirectory() as d:
        np.save(d + "/x.npy", x)
        open(d + "/k.nca", "w").write(kernel.last.source)
        subprocess.run([os.environ["NCEMU"], "run", d + "/k.nca", "--in", f"x={d}/x.npy", "--out", f"y={d}/y.npy",
                        f"--json={d}/r.json"], check=True, capture_output=True)
        assert np.array_equal(np.load(d + "/y.npy"), y)
        assert json.load(open(d + "/r.json"))["device_time_us"] == kernel.last.report["device_time_us"]


def test_tracing_takes_microseconds_per_instruction_and_grows_linearly():
    """15 us per instruction is the aim on a quiet host; the bound leaves room for a busy one."""
    import time
    from ncemu.nki import emitter, launch

    @nki.jit
    def kernel(at, b):
        y = nl.ndarray((at.shape[1], b.shape[1]), dtype=at.dtype, buffer=nl.shared_hbm)
        for m in nl.affine_range(at.shape[1] // 128):
            for n in nl.affine_range(b.shape[1] // 512):
                acc = nl.zeros((nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.psum)
                for k in nl.affine_range(at.shape[0] // 128):
                    left = nl.load(at[k * 128:(k + 1) * 128, m * 128:(m + 1) * 128])
                    right = nl.load(b[k * 128:(k + 1) * 128, n * 512:(n + 1) * 512])
                    acc += nl.matmul(left, right, transpose_x=True)
                nl.store(y[m * 128:(m + 1) * 128, n * 512:(n + 1) * 512], nl.copy(acc))
        return y

    def cost(n):
        at, b = np.zeros((4096, 128 * n), np.float32), np.zeros((4096, 2048), np.float32)
        start = time.process_time()
        trace = launch.trace_kernel(kernel.function, (at, b), {}, "neuronxcc").trace
        emitter.build(trace).finish()
        return (time.process_time() - start) / len(trace.instructions) * 1e6
    small, large = min(cost(2) for _ in range(3)), cost(16)
    print(f"{small:.1f} us per instruction of 1,000, {large:.1f} of 8,000")
    assert small < 60 and large < 2 * small + 10
