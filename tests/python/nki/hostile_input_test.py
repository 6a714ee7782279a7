"""What a kernel may get wrong without meaning to: each mistake is a named error at the kernel's line, whatever it is."""

import inspect

import numpy as np
import pytest

from ncemu.nki.errors import NkiError
import nki as new
import nki.isa as new_isa
import nki.language as new_nl
from neuronxcc import nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

X = np.arange(128 * 64, dtype=np.float32).reshape(128, 64)


def copy_of(body):
    """A kernel of the old generation that stores what `body` makes of the loaded input."""
    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        made = body(nl.load(x))
        nl.store(y, made)
        return y
    return kernel


def in_place(body):
    """A kernel of the new generation that stores its input after `body` has worked on it."""
    @new.jit
    def kernel(x):
        y = new_nl.ndarray(x.shape, x.dtype, buffer=new_nl.shared_hbm)
        tile = new_nl.ndarray(x.shape, x.dtype, buffer=new_nl.sbuf)
        new_isa.dma_copy(dst=tile, src=x)
        body(tile)
        new_isa.dma_copy(dst=y, src=tile)
        return y
    return kernel


def sbuf(shape, dtype=np.float32, **place):
    return new_nl.ndarray(shape, dtype, buffer=new_nl.sbuf, **place)


def repeated(bound):
    def body(t):
        for i in new_nl.dynamic_range(bound):
            new_isa.tensor_copy(dst=t[:, i] if isinstance(bound, int) else t, src=t[:, 0])
    return body


def mixed_product(t):
    narrow, product = sbuf((128, 64), new_nl.bfloat16), new_nl.ndarray((64, 64), np.float32, buffer=new_nl.psum)
    new_isa.tensor_copy(dst=narrow, src=t)
    new_isa.nc_matmul(product, t, narrow)


OLD = [
    ("err_unsupported_index", lambda t: t[1.5]),
    ("err_unsupported_index", lambda t: t["a"]),
    ("err_unsupported_index", lambda t: t[True]),
    ("err_unsupported_index", lambda t: t[[1, 2, 3]]),
    ("err_unsupported_index", lambda t: t[np.arange(128)[:, None], 0]),
    ("err_unsupported_index", lambda t: t[0.0:64.0]),
    ("err_unsupported_index", lambda t: t[nl.arange(8)[:, None], nl.arange(8)[:, None] * nl.arange(8)[None, :]]),
    ("err_unsupported_index", lambda t: t[nl.arange(8)[:, None], nl.arange(8)[None, :] // 3]),
    ("err_index_rank", lambda t: t[0, 0, 0]),
    ("err_empty_slice", lambda t: t[:, 3:3]),
    ("err_empty_slice", lambda t: t[nl.arange(0)[:, None], 0]),
    ("err_tensor_access_out_of_bound", lambda t: t[64:192]),
    ("err_shape_mismatch", lambda t: t[:, 0:32] + t[:, 0:48]),
    ("err_shape_mismatch", lambda t: t.reshape((3, 3))),
    ("err_shape_mismatch", lambda t: nl.matmul(t, t)),
    ("err_unsupported_operand", lambda t: t * "2"),
    ("err_unsupported_operand", lambda t: t * 2j),
    ("err_unsupported_operand", lambda t: t * 10 ** 400),
    ("err_unsupported_operand", lambda t: t + X),
    ("err_unsupported_operand", lambda t: nl.zeros((128, 0), dtype=nl.float32)),
    ("err_unsupported_operand", lambda t: nl.zeros((128, -4), dtype=nl.float32)),
    ("err_unsupported_operand", lambda t: nl.zeros((128, 4.0), dtype=nl.float32)),
    ("err_unsupported_operand", lambda t: nl.zeros("ab", dtype=nl.float32)),
    ("err_unsupported_operand", lambda t: list(nl.affine_range(2.5))),
    ("err_unsupported_operand", lambda t: list(nl.affine_range(t))),
    ("err_unsupported_operand", lambda t: list(nl.affine_range(0, 4, 0))),
    ("err_unsupported_dtype", lambda t: nl.zeros((4, 4), dtype="float31")),
    ("err_unsupported_dtype", lambda t: nl.zeros((4, 4), dtype=object)),
    ("err_unsupported_memory", lambda t: nl.ndarray((4, 4), dtype=nl.float32, buffer="sbuf3")),
    ("err_unsupported_memory", lambda t: nl.ndarray((4, 4), dtype=nl.float32, buffer=7)),
    ("err_unsupported_mask", lambda t: nl.exp(t, mask=5)),
    ("err_unsupported_mask", lambda t: nl.exp(t, mask=[True])),
    ("err_unsupported_axis", lambda t: nl.sum(t, axis=7)),
    ("err_unsupported_operator", lambda t: nisa.tensor_tensor(t, t, op=np.fft)),
    ("err_dynamic_control_flow_not_supported", lambda t: float(t[0:1, 0:1])),
    ("err_dynamic_control_flow_not_supported", lambda t: int(t[0:1, 0:1])),
    ("err_dynamic_control_flow_not_supported", lambda t: np.asarray(t)),
    ("err_out_of_memory", lambda t: nl.zeros((128, 10 ** 9), dtype=nl.float32)[:, 0:64]),
    ("err_out_of_memory", lambda t: nl.copy(nl.zeros((128, 5000), dtype=nl.float32, buffer=nl.psum)[:, 0:64])),
]

NEW = [
    ("err_unsupported_operand", lambda t: new_isa.dma_copy(dst=t, src=X)),
    ("err_unsupported_operand", lambda t: new_isa.tensor_copy(dst=4, src=t)),
    ("err_unsupported_operand", lambda t: new_isa.tensor_tensor(t, t, 3, op=new_nl.add)),
    ("err_unsupported_operand", lambda t: new_isa.memset(dst=t, value="0")),
    ("err_unsupported_operand", lambda t: new_isa.register_alloc("x")),
    ("err_unsupported_operand", repeated("a")),
    ("err_unsupported_operator", lambda t: new_isa.tensor_scalar(t, t, op0=None, operand0=1.0)),
    ("err_unsupported_access_pattern", lambda t: new_isa.tensor_copy(dst=t, src=t.ap("x"))),
    ("err_unsupported_access_pattern", lambda t: new_isa.tensor_copy(dst=t, src=t.ap([[64, 128], [1, 0]]))),
    ("err_unsupported_access_pattern", lambda t: new_isa.iota(dst=t, pattern="abc")),
    ("err_allocation", lambda t: sbuf((4, 4), address="a")),
    ("err_allocation", lambda t: sbuf((4, 4), address=(0, -4))),
    ("err_unsupported_dtype", mixed_product),
    ("err_shape_mismatch", lambda t: new_isa.dma_copy(dst=t[:, 0:32], src=t)),
    ("err_num_partition_mismatch", lambda t: new_isa.tensor_scalar(t, t, op0=new_nl.add, operand0=t[0:64, 0:1])),
    ("err_rule_of_the_machine", lambda t: new_isa.tensor_copy(dst=t, src=t, engine="warp")),
    ("err_kernel_failed", repeated(400)),
]


def at_its_line(name, body, kernel):
    with pytest.raises(NkiError) as caught:
        kernel(X)
    assert caught.value.name == name
    assert caught.value.file == __file__
    helpers = [body, repeated, sbuf]
    if name == "err_shape_mismatch" or "out_of_bound" in name:  # where the view is used
        helpers += [copy_of]
    spans = [(first, first + len(lines)) for lines, first in map(inspect.getsourcelines, helpers)]
    assert any(first <= caught.value.line < end for first, end in spans), str(caught.value)


@pytest.mark.parametrize("name,body", OLD)
def test_a_mistake_where_results_are_returned_has_a_name_and_a_line(name, body):
    at_its_line(name, body, copy_of(body))


@pytest.mark.parametrize("name,body", NEW)
def test_a_mistake_where_destinations_come_first_has_a_name_and_a_line(name, body):
    at_its_line(name, body, in_place(body))


def test_a_kernel_without_output_is_shown_where_it_begins():
    def nothing(x):
        nl.load(x)
    with pytest.raises(NkiError, match="err_tensor_output_not_written_to") as caught:
        nki.jit(nothing)(X)
    assert (caught.value.file, caught.value.line) == (__file__, inspect.getsourcelines(nothing)[1])


def test_an_output_written_in_part_is_shown_where_it_is_declared():
    def part(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(y[0:4], nl.load(x[0:4]))
        return y
    with pytest.raises(NkiError, match="err_check_failed.*'y': 7936 of 8192 elements") as caught:
        nki.jit(part)(X)
    assert (caught.value.file, caught.value.line) == (__file__, inspect.getsourcelines(part)[1] + 1)


@pytest.mark.parametrize("shape", [(10 ** 7, 10 ** 7), (10 ** 12, 10 ** 12)])
def test_a_tensor_that_no_host_holds_is_named(shape):
    def vast(x):
        y = nl.ndarray(shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(y[0:128, 0:64], nl.load(x))
        return y
    with pytest.raises(NkiError, match="err_out_of_memory") as caught:
        nki.jit(vast)(X)
    assert (caught.value.file, caught.value.line) == (__file__, inspect.getsourcelines(vast)[1] + 1)


def test_what_the_kernel_raises_itself_arrives_as_it_is():
    class Own(Exception):
        pass

    def fails(t):
        raise Own("mine")
    for kernel in (copy_of(fails), in_place(fails)):
        with pytest.raises(Own, match="mine"):
            kernel(X)
        assert np.array_equal(copy_of(lambda t: t)(X), X)  # nothing of the broken trace is left


def test_recursion_without_end_is_pythons_error():
    def again(t):
        return again(t)
    with pytest.raises(RecursionError):
        copy_of(again)(X)
    assert np.array_equal(copy_of(lambda t: t)(X), X)


def test_recursion_with_an_end_and_closures_run():
    count = 0

    def halves(t, n):
        nonlocal count
        count += 1
        return t if n == 0 else halves(t * 0.5, n - 1)
    assert np.array_equal(copy_of(lambda t: halves(t, 5))(X), X / 32)
    assert count == 6


def test_missing_arguments_name_the_kernel():
    with pytest.raises(TypeError, match=r"kernel\(\): missing a required argument: 'x'"):
        copy_of(lambda t: t)()
    with pytest.raises(TypeError, match=r"kernel\(\): too many positional arguments"):
        copy_of(lambda t: t)(X, X)


@pytest.mark.parametrize("grid", [0, -1, "a", (2, 0), 1.5])
def test_a_grid_has_positive_integers(grid):
    with pytest.raises(NkiError, match="err_unsupported_operand: a grid has positive integers"):
        copy_of(lambda t: t)[grid]


@pytest.mark.parametrize("array", [np.ones((2, 2), complex), np.array([["a"]]), np.array([[None]])])
def test_arrays_of_types_without_a_counterpart_are_refused(array):
    with pytest.raises(NkiError, match="err_unsupported_dtype"):
        copy_of(lambda t: t)(array)


@pytest.mark.parametrize("array", [X.astype(np.float64), np.asfortranarray(X), X[:, ::-1], X.astype(">f4"), X.astype(np.int64),
                                   np.broadcast_to(X[0:1], X.shape)], ids=str)
def test_arrays_of_any_layout_are_taken(array):
    assert np.array_equal(copy_of(lambda t: t)(array), array)


def test_wide_integers_that_do_not_fit_are_refused():
    fits = np.array([[2 ** 31 - 1, -2 ** 31]])
    assert np.array_equal(copy_of(lambda t: t)(fits), fits)
    with pytest.raises(NkiError, match="err_unsupported_dtype: 'x' is int64 and has values from 1 to 2147483648"):
        copy_of(lambda t: t)(np.array([[1, 2 ** 31]]))
