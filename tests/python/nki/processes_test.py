"""Kernels in threads and in other processes, kernels and errors that are pickled, and Ctrl-C."""

import multiprocessing
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import ncemu
from ncemu.nki.errors import NkiError, OutOfBoundError, UnsupportedError
from neuronxcc import nki
import neuronxcc.nki.language as nl

X = np.random.default_rng(5).standard_normal((128, 64)).astype(np.float32)


@nki.jit
def doubled(x, times=1):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    for _ in nl.affine_range(times):
        t = t * 2.0
    nl.store(y, t)
    return y


def measured(times):
    y = doubled(X, times)
    return y, doubled.last.us


def out_of_bound(_):
    @nki.jit
    def kernel(x):
        nl.store(x, nl.load(x)[1:129])
    kernel(X.copy())


def test_kernels_in_several_threads_do_not_mix():
    alone = {times: measured(times) for times in (20, 30, 40)}
    seen = []

    def work(times):
        for _ in range(4):
            kernel = nki.jit(doubled.function)  # `last` is of the kernel object
            seen.append((times, kernel(X, times), kernel.last.us))
    threads = [threading.Thread(target=work, args=(times,)) for times in alone]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 12
    for times, y, us in seen:
        assert np.array_equal(y, X * 2.0 ** times) and us == alone[times][1]


def test_a_thread_of_a_kernel_is_outside_of_it():
    caught = []

    def other():
        try:
            nl.ndarray((4, 4), dtype=nl.float32)
        except NkiError as error:
            caught.append(error.name)

    @nki.jit
    def kernel(x):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        nl.store(x, nl.load(x))
    kernel(X.copy())
    assert caught == ["err_nki_api_outside_of_nki_kernel"]


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_other_processes_run_kernels_and_send_their_errors(how):
    measured(3)  # the parent has run one before
    with multiprocessing.get_context(how).Pool(1) as pool:
        for times, (y, us) in zip((1, 2, 3), pool.map_async(measured, (1, 2, 3)).get(120)):
            assert np.array_equal(y, X * 2.0 ** times) and us == measured(times)[1]
        with pytest.raises(NkiError) as caught:
            pool.map_async(out_of_bound, [0]).get(120)
    assert caught.value.name == "err_tensor_access_out_of_bound" and caught.value.line > 0


def test_kernels_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert pickle.loads(pickle.dumps(doubled[2])).grid == (2,)


@pytest.mark.parametrize("error", [NkiError("err_x", "what", ("k.py", 3)), OutOfBoundError("what", ("k.py", 3)),
                                   UnsupportedError("what", ("k.py", 3))], ids=lambda e: e.name)
def test_errors_survive_pickling(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)
    assert (again.name, again.message, again.file, again.line) == (error.name, "what", "k.py", 3)


def test_a_result_survives_pickling_without_its_recording():
    doubled(X)
    result = doubled.last.result
    again = pickle.loads(pickle.dumps(result))
    assert again.ticks == result.ticks and again.summary == result.summary and np.array_equal(again["y"], result["y"])


def test_a_grid_leaves_its_run_at_the_kernel():
    doubled[1](X, 7)
    seven = doubled.last.us
    assert seven == measured(7)[1]


@pytest.mark.parametrize("delay", [0.05, 0.5])
def test_control_c_ends_a_call_and_leaves_no_trace(delay):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            doubled(X, 10 ** 7)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < 20
    assert np.array_equal(doubled(X), 2 * X)


def test_control_c_ends_a_run_of_the_machine():
    # 128 million rounds of a loop of the machine: far longer than anybody waits.
    program = ncemu.assemble(""".sbuf t : f32[1, 1]
.output y : f32[1, 1]
memset t, value = 0.0
.loop r = 0 .. 128000000
  tensor_scalar t, t, op0 = add, scalar0 = 1.0
.end
dma_copy y, t
""")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            ncemu.run(program)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < 20
