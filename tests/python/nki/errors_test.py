"""Mistakes have the names of the vendor's error pages and point at the kernel's line; what is right beside them passes."""

import inspect

import numpy as np
import pytest

from ncemu.nki.errors import NkiError
from neuronxcc import nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

X = np.arange(128 * 64, dtype=np.float32).reshape(128, 64)


def run(body, *arguments):
    """A kernel that stores what `body` makes of its loaded input."""
    @nki.jit
    def kernel(x, *rest):
        y = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(y, nl.load(x))
        body(x, *rest)
        return y
    return kernel(X, *arguments)


def ones(*shape, dtype=np.float32):
    return nisa.memset(shape, 1.0, dtype=dtype)


def case(name, wrong, right):
    return pytest.param(name, wrong, right, id=name)


def bias(dtype):
    return lambda x: nisa.activation(op=nl.exp, data=nl.load(x), bias=ones(128, 1, dtype=dtype))


def scale(make):
    return lambda x: nisa.activation(op=nl.exp, data=nl.load(x), scale=make())


def arange_1d(x):
    i = nl.arange(64)
    return nl.exp(nl.load(x)[i, 0])


def arange_2d(x):
    i = nl.arange(64)[:, None]
    return nl.exp(nl.load(x)[i, 0])


def assign_index(x):
    i = nl.arange(8)[None, :]
    i[0, 5] = 3


def assign_iota(x):
    y = nisa.iota(nl.arange(8)[None, :], dtype=nl.uint32)
    y[0, 5] = 3


def branch_on_index(x):
    if nl.arange(8)[None, :] > 2:
        return 1


def branch_on_loop(x):
    for i in nl.affine_range(2):
        if i > 0:
            nl.load(x)


def branch_on_values(x):
    if nl.load(x)[0:1, 0:1]:
        return 1


def blocks(x):
    a = nl.zeros((4, nl.par_dim(8), 8), dtype=nl.float32, buffer=nl.sbuf)
    return nl.add(a, 32)


def one_block(x):
    a = nl.zeros((4, nl.par_dim(8), 8), dtype=nl.float32, buffer=nl.sbuf)
    return nl.add(a[1], 32)


def beyond(x):
    i, j = nl.arange(128)[:, None], nl.arange(64)[None, :]
    return nl.load(x[i, j + 1])


def beyond_masked(x):
    i, j = nl.arange(128)[:, None], nl.arange(64)[None, :]
    return nl.load(x[i, j + 1], mask=j + 1 < 64)


def smaller_destination(x):
    t = ones(128, 1)
    t[...] = nl.load(x)


def larger_destination(x):
    t = nl.ndarray((nl.par_dim(128), 64), dtype=nl.float32)
    t[...] = ones(128, 1)


def mixed(x):
    return nl.exp(nl.load(x)[nl.arange(4)[:, None], :])


def unmixed(x):
    return nl.exp(nl.load(x)[nl.arange(4)[:, None], nl.arange(64)[None, :]])


def rows(n, columns=1):
    """A tile of row numbers."""
    return nisa.iota(nl.arange(n)[:, None] + nl.arange(columns)[None, :], dtype=nl.uint32)


def gathered(count, columns=1, on_chip=False):
    def body(x):
        taken = nl.load(x) if on_chip else x
        view = taken[rows(count, columns), nl.arange(64)[None, :]]
        return nl.exp(view) if on_chip else nl.load(view)
    return body


def added(chosen):
    def body(x):
        z = nl.ndarray((8, 64), dtype=nl.float32, buffer=nl.hbm)
        nl.store(z, 0.0)
        nl.atomic_rmw(z[rows(8), nl.arange(64)[None, :]] if chosen else z, ones(8, 64), np.add)
    return body


@nki.jit
def inner(x):
    return nl.load(x)


CASES = [
    case("err_1d_arange_not_supported", arange_1d, arange_2d),
    case("err_activation_bias_invalid_type", bias(np.int8), bias(np.float32)),
    case("err_activation_scale_invalid_type", scale(lambda: ones(128, 1, dtype=np.float16)), scale(lambda: ones(128, 1))),
    case("err_activation_scale_scalar_or_vector", scale(lambda: ones(128, 64)), scale(lambda: 1.5)),
    case("err_atomic_rmw_dynamic_index", added(False), added(True)),
    case("err_cannot_assign_to_index", assign_index, assign_iota),
    case("err_control_flow_condition_depending_on_arange", branch_on_index, branch_on_loop),
    case("err_copy_dynamic_indirect_indices_not_natively_supported", gathered(8, on_chip=True), gathered(8)),
    case("err_dynamic_control_flow_not_supported", branch_on_values, branch_on_loop),
    case("err_exceed_max_supported_dimension", lambda x: nl.transpose(ones(64, 32, 2)), lambda x: nl.transpose(ones(64, 64))),
    case("err_failed_to_infer_tile_from_local_tensor", blocks, one_block),
    case("err_num_partition_exceed_arch_limit", lambda x: ones(256, 4), lambda x: ones(128, 4)),
    case("err_num_partition_mismatch", lambda x: nisa.tensor_tensor(nl.load(x), ones(1, 64), op=nl.add),
         lambda x: nisa.tensor_tensor(nl.load(x), ones(1, 64).broadcast_to((128, 64)), op=nl.add)),
    case("err_indirect_indices_free_dim", gathered(8, 2), gathered(8)),
    case("err_nested_kernel_with_spmd_grid", lambda x: inner[4, 4](x), lambda x: inner(x)),
    case("err_size_of_dimension_exceed_arch_limit", lambda x: nl.transpose(ones(128, 512)), lambda x: nl.transpose(ones(128, 128))),
    case("err_store_dst_shape_smaller_than_other_shape", smaller_destination, larger_destination),
    case("err_tensor_access_out_of_bound", beyond, beyond_masked),
    case("err_unsupported_memory", lambda x: nl.exp(x), lambda x: nl.exp(nl.load(x))),
    case("err_unsupported_mixing_basic_advanced_tensor_indexing", mixed, unmixed),
]


@pytest.mark.parametrize("name,wrong,right", CASES)
def test_the_mistake_has_its_name_and_line(name, wrong, right):
    with pytest.raises(NkiError) as caught:
        run(wrong)
    assert caught.value.name == name
    assert caught.value.file == __file__
    lines, first = inspect.getsourcelines(wrong)
    at = caught.value.line
    # The call is in the case itself or in the helper that it uses.
    spans = [(first, lines), inspect.getsourcelines(bias)[::-1], inspect.getsourcelines(scale)[::-1],
             *[inspect.getsourcelines(f)[::-1] for f in (ones, gathered, added)]]
    assert any(start <= at < start + len(span) for start, span in spans)


@pytest.mark.parametrize("name,wrong,right", CASES)
def test_what_is_right_beside_it_runs(name, wrong, right):
    assert np.array_equal(run(right), X)


def test_the_interface_works_in_kernels_only():
    with pytest.raises(NkiError, match="err_nki_api_outside_of_nki_kernel"):
        nl.ndarray((4, 4), dtype=nl.float32)


@pytest.mark.parametrize("name,known", [("trn1", True), ("trn2", True), ("trn9", False)])
def test_a_machine_that_nobody_knows_is_named(name, known, monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", name)
    if known:
        assert np.array_equal(run(lambda x: None), X)
    else:
        with pytest.raises(NkiError, match="err_unsupported_platform.*trn9"):
            run(lambda x: None)


@pytest.mark.parametrize("count,fits", [(32, True), (33, False)])
def test_registers_end(count, fits):
    import nki as new
    import nki.isa as new_nisa

    @new.jit
    def kernel(x):
        for i in range(count):
            new_nisa.register_alloc(i)
        new_nisa.dma_copy(dst=x[0:4], src=x[4:8])
    if fits:
        kernel(X.copy())
    else:
        with pytest.raises(NkiError, match="err_out_of_registers"):
            kernel(X.copy())


@pytest.mark.parametrize("command,works", [(None, True), ("/bin/false", False)])
def test_pages_that_the_command_cannot_write_are_an_error(command, works, tmp_path):
    from ncemu.nki import launch, session
    measured = session.Session(profile=tmp_path, command=command)
    run(lambda x: None)
    kernel = nki.jit(lambda x: nl.store(x, nl.load(x)))
    kernel(X.copy())
    if works:
        measured.finished(kernel, kernel.last)
        assert (tmp_path / f"{kernel.__name__}.json").exists() and isinstance(kernel, launch.Kernel)
    else:
        with pytest.raises(NkiError, match="err_profile"):
            measured.finished(kernel, kernel.last)


def test_every_name_of_the_package_has_a_test():
    import pathlib
    import re

    import ncemu.nki
    package = pathlib.Path(ncemu.nki.__file__).parents[2]
    raised = {name for part in ("ncemu/nki", "neuronxcc", "nki") for path in (package / part).rglob("*.py")
              for name in re.findall(r"\berr_\w+", path.read_text())}
    tests = "".join([path.read_text() for path in pathlib.Path(__file__).parent.glob("*.py")])
    assert sorted(name for name in raised if not re.search(rf"\b{name}\b", tests) and name != "err_") == []


def test_an_output_that_nothing_writes_is_named():
    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for _ in nl.affine_range(3 // 4):
            nl.store(y, nl.load(x))
        return y
    with pytest.raises(NkiError, match="err_tensor_output_not_written_to.*'y'"):
        kernel(X)


def test_out_of_bounds_is_an_index_error_with_range_and_size():
    with pytest.raises(IndexError, match=r"dimension 1: index range \[1, 64\] exceeds the dimension's size of 64"):
        run(beyond)


def test_an_access_pattern_beyond_its_tensor_names_flat_index_and_size():
    import nki as new
    import nki.isa as new_nisa
    import nki.language as new_nl

    @new.jit
    def kernel(x):
        t = new_nl.ndarray((4, 8), new_nl.float32, buffer=new_nl.sbuf)
        new_nisa.dma_copy(dst=t, src=x.ap([[64, 4], [1, 8]], offset=64 * 125))
    with pytest.raises(IndexError, match="flat index 8199 exceeds its flat size of 8192"):
        kernel(X)


def test_memory_that_is_full_names_the_largest_tiles():
    @nki.jit
    def kernel(x):
        big = nl.ndarray((nl.par_dim(128), 40000), dtype=nl.float32)
        huge = nl.ndarray((nl.par_dim(128), 45000), dtype=nl.float32)
        y = nl.ndarray((128, 40000), dtype=nl.float32, buffer=nl.shared_hbm)
        big[...] = 1.0
        huge[...] = 2.0
        nl.store(y, big)
        nl.store(y, huge[:, 0:40000])
        return y
    with pytest.raises(NkiError) as caught:
        kernel(X)
    text = str(caught.value)
    assert caught.value.name == "err_out_of_memory"
    assert "180000 bytes" in text and "160000 of 196608" in text and "'big'" in text


def test_a_rule_of_the_machine_is_reported_at_the_kernels_line():
    @nki.jit
    def kernel(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        t = nl.load(x)
        u = nisa.tensor_copy(t[3:67, :])
        nl.store(y[0:64], u)
        return y
    with pytest.raises(NkiError) as caught:
        kernel(X)
    assert caught.value.file == __file__ and "u = nisa.tensor_copy" in open(__file__).read().splitlines()[caught.value.line - 1]
