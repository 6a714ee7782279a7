"""Programs built call by call: what they compute, where they say they come from, what is refused."""

import numpy as np
import pytest

import ncemu

P, N = 128, 512


def scale(machine="trn1"):
    """y = 2 x + 1."""
    b = ncemu.Builder(machine, "scale")
    x = b.tensor("x", "input", (P, N), "f32")
    y = b.tensor("y", "output", (P, N), np.float32)
    t = b.tile("t", (P, N), "f32")
    b.emit("dma_copy", dst=t, src=x, file="kernel.py", line=10)
    b.emit("tensor_scalar", dst=t, src=t, op0="mult", scalar0=2.0, op1="add", scalar1=1, file="kernel.py", line=11)
    b.emit("dma_copy", dst=y, src=t, file="kernel.py", line=12)
    return b.finish()


@pytest.mark.parametrize("machine", ncemu.machines())
def test_a_built_program_computes_what_numpy_computes(machine, random):
    x = random.standard_normal((P, N)).astype(np.float32)
    result = ncemu.run(scale(machine), {"x": x})
    assert np.array_equal(result["y"], np.float32(2) * x + np.float32(1))
    assert result.passed and result.findings == []


def test_the_text_of_a_built_program_assembles_to_the_same_bits_and_ticks(random):
    program = scale()
    again = ncemu.assemble(program.text())
    x = random.standard_normal((P, N)).astype(np.float32)
    first, second = ncemu.run(program, {"x": x}), ncemu.run(again, {"x": x})
    assert first.ticks == second.ticks > 0
    assert first["y"].tobytes() == second["y"].tobytes()
    assert again.text().splitlines()[1:] == program.text().splitlines()[1:]  # the first line is the name


def test_matmul_of_two_views_is_numpys(random):
    k, m, n = 128, 64, 256
    b = ncemu.Builder()
    at, x = b.tensor("at", "input", (k, m), "f32"), b.tensor("x", "input", (k, n), "f32")
    y = b.tensor("y", "output", (m, n), "f32")
    weights, moving = b.tile("weights", (k, m), "f32"), b.tile("moving", (k, n), "f32")
    acc, out = b.tile("acc", (m, n), "f32", "psum"), b.tile("out", (m, n), "f32")
    b.emit("dma_copy", dst=weights, src=at)
    b.emit("dma_copy", dst=moving, src=x)
    b.emit("load_stationary", src=weights)
    b.emit("matmul", dst=acc, moving=moving, accumulate=False)
    b.emit("activation", dst=out, src=acc, func="copy")
    b.emit("dma_copy", dst=y, src=out)
    a = random.integers(-8, 8, (k, m)).astype(np.float32)  # sums of small integers are exact
    v = random.integers(-8, 8, (k, n)).astype(np.float32)
    assert np.array_equal(ncemu.run(b.finish(), {"at": a, "x": v})["y"], a.T @ v)


def test_a_loop_of_the_machine_visits_every_row(random):
    rows = 5
    b = ncemu.Builder()
    x = b.tensor("x", "input", (rows, P, N), "f32")
    y = b.tensor("y", "output", (P, N), "f32")
    total = b.tile("total", (P, N), "f32")
    b.emit("memset", dst=total, value=0.0)
    with b.loop(0, rows) as r:
        t = b.tile("t", (P, N), "f32")
        b.emit("dma_copy", dst=t, src=x.index(0, r))
        b.emit("tensor_tensor", dst=total, src0=total, src1=t, op="add")
    b.emit("dma_copy", dst=y, src=total)
    program = b.finish()
    a = random.integers(-100, 100, (rows, P, N)).astype(np.float32)
    assert np.array_equal(ncemu.run(program, {"x": a})["y"], a.sum(axis=0))
    assert program.instruction_count < 10 * rows


def test_waits_and_signals_by_hand_order_the_engines(random):
    b = ncemu.Builder()
    x, y = b.tensor("x", "input", (P, N), "f32"), b.tensor("y", "output", (P, N), "f32")
    t = b.tile("t", (P, N), "f32")
    loaded, scaled = b.semaphore("loaded"), b.semaphore("scaled")
    with b.block("sync"):
        b.emit("dma_copy", dst=t, src=x, signal=(loaded, "++"))
    with b.block("vector"):
        b.emit("tensor_scalar", dst=t, src=t, op0="mult", scalar0=3.0, wait=(loaded, ">=", 16),
               signal=(scaled, "+=", 1, "complete"))
    with b.block("gpsimd"):
        b.emit("dma_copy", dst=y, src=t, wait=(scaled, ">=", 1))
    result = ncemu.run(b.finish(sync="manual"), {"x": np.ones((P, N), np.float32)})
    assert np.all(result["y"] == 3) and result.passed


def test_without_the_wait_the_same_program_has_a_race_at_its_line():
    b = ncemu.Builder()
    x, y = b.tensor("x", "input", (P, N), "f32"), b.tensor("y", "output", (P, N), "f32")
    t = b.tile("t", (P, N), "f32")
    scaled = b.semaphore("scaled")
    with b.block("sync"):
        b.emit("dma_copy", dst=t, src=x, file="race.py", line=21)
    with b.block("vector"):
        b.emit("tensor_scalar", dst=t, src=t, op0="mult", scalar0=3.0, signal=(scaled, "+=", 1), file="race.py", line=23)
    with b.block("gpsimd"):
        b.emit("dma_copy", dst=y, src=t, wait=(scaled, ">=", 1), file="race.py", line=25)
    result = ncemu.check(b.finish(sync="manual"))
    assert not result.passed
    race = next(f for f in result.findings if f.check == "races")
    assert race.file == "race.py" and race.line in (21, 23) and "t[" in race.message


def test_an_instruction_that_was_emitted_can_be_given_another_destination(random):
    b = ncemu.Builder()
    x, y = b.tensor("x", "input", (P, N), "f32"), b.tensor("y", "output", (P, 2 * N), "f32")
    fresh, wide = b.tile("fresh", (P, N), "f32"), b.tile("wide", (P, 2 * N), "f32")
    first = b.emit("dma_copy", dst=fresh, src=x)
    second = b.emit("tensor_scalar", dst=fresh, src=wide[:, :N], op0="mult", scalar0=2.0)
    b.change(first, dst=wide[:, :N])
    b.change(second, dst=wide[:, N:])
    b.emit("dma_copy", dst=y, src=wide)
    assert [t.used for t in b.lifetimes()] == [False, True]
    a = random.standard_normal((P, N)).astype(np.float32)
    assert np.array_equal(ncemu.run(b.finish(), {"x": a})["y"], np.concatenate([a, 2 * a], axis=1))


def test_constants_are_part_of_the_program(random):
    values = random.standard_normal((P, 4)).astype(np.float32)
    b = ncemu.Builder()
    c, y = b.constant("c", values), b.tensor("y", "output", (P, 4), "f32")
    h = b.constant("h", values.astype(np.float64), dtype="f16")
    t, u = b.tile("t", (P, 4), "f32"), b.tile("u", (P, 4), "f16")
    b.emit("dma_copy", dst=t, src=c)
    b.emit("dma_copy", dst=u, src=h)
    b.emit("tensor_tensor", dst=t, src0=t, src1=u, op="add")
    b.emit("dma_copy", dst=y, src=t)
    assert np.array_equal(ncemu.run(b.finish())["y"], values + values.astype(np.float16).astype(np.float32))


def test_indirect_rows_are_those_of_the_index(random):
    b = ncemu.Builder("trn2")
    table, rows = b.tensor("table", "input", (1000, 64), "f32"), b.tensor("rows", "input", (P, 1), "i32")
    y = b.tensor("y", "output", (P, 64), "f32")
    index, t = b.tile("index", (P, 1), "i32"), b.tile("t", (P, 64), "f32")
    b.emit("dma_copy", dst=index, src=rows)
    b.emit("dma_copy", dst=t, src=table, index=index)
    b.emit("dma_copy", dst=y, src=t)
    a = random.standard_normal((1000, 64)).astype(np.float32)
    chosen = random.integers(0, 1000, (P, 1)).astype(np.int32)
    assert np.array_equal(ncemu.run(b.finish(), {"table": a, "rows": chosen})["y"], a[chosen[:, 0]])


def refused(call):
    with pytest.raises(ncemu.Error) as caught:
        call()
    return caught.value


def test_a_mistake_is_raised_at_the_call_with_file_and_line():
    b = ncemu.Builder()
    t = b.tile("t", (P, N), "f32")
    error = refused(lambda: b.emit("tensor_tensr", dst=t, file="kernel.py", line=33))
    assert "did you mean 'tensor_tensor'" in error.message and (error.file, error.line) == ("kernel.py", 33)
    b.at("kernel.py", 40)
    assert "'op'" in refused(lambda: b.emit("tensor_tensor", dst=t, src0=t, src1=t, op="ad")).message
    assert "'src1' of tensor_tensor is missing" in refused(lambda: b.emit("tensor_tensor", dst=t, src0=t)).message
    error = refused(lambda: b.emit("tensor_copy", dst=t, src=t, scr=t))
    assert error.message == "tensor_copy has no operand 'scr', did you mean 'src'?" and error.line == 40
    assert "runs on" in refused(lambda: b.emit("activation", dst=t, src=t, engine="vector")).message
    assert b.position() == 0  # nothing of them stays


def test_broken_rules_are_all_reported_at_the_end():
    b = ncemu.Builder()
    t, u = b.tile("t", (P, N), "f32"), b.tile("u", (P, N), "f32")
    for line in (5, 6):
        b.emit("tensor_tensor", dst=t, src0=t, src1=u[:, : line * 10], op="add", file="kernel.py", line=line)
    error = refused(b.finish)
    assert [d.line for d in error.diagnostics if d.severity == "error"] == [5, 6]
    assert (error.file, error.line, error.kind) == ("kernel.py", 5, "input")


def test_views_of_another_builder_are_refused():
    a, b = ncemu.Builder(), ncemu.Builder()
    t = a.tile("t", (P, 8), "f32")
    assert "another builder" in refused(lambda: b.emit("memset", dst=t, value=0.0)).message


def test_a_wait_outside_a_block_needs_manual_synchronisation():
    b = ncemu.Builder()
    t = b.tile("t", (P, 8), "f32")
    b.emit("memset", dst=t, value=0.0, signal=(200, "+=", 1), file="kernel.py", line=3)
    assert refused(b.finish).line == 3


def test_a_place_says_from_where_it_was_called():
    b = ncemu.Builder()
    t, u = b.tile("t", (P, N), "f32"), b.tile("u", (P, N), "f32")
    caller = b.at("kernel.py", 50, 4)
    b.at("library.py", 7, parent=caller)
    b.emit("tensor_tensor", dst=t, src0=t, src1=u[:, :5], op="add")
    error = refused(b.finish)
    assert (error.file, error.line) == ("library.py", 7)
    assert [(n.file, n.line, n.column) for n in error.diagnostics[0].notes] == [("kernel.py", 50, 4)]


def test_a_value_is_printed_where_the_program_stands():
    b = ncemu.Builder()
    t = b.tile("t", (P, 4), "f32")
    b.emit("memset", dst=t, value=1.0, engine="vector")
    b.print("before", t[0:1])
    b.emit("memset", dst=t, value=2.0, engine="vector")
    b.print("after", t[0:1])
    printed = ncemu.run(b.finish()).printed
    before, after = printed.index("before"), printed.index("after")
    assert before < after and "1" in printed[before:after] and "2" in printed[after:]


def test_a_loop_can_end_at_a_number_that_was_loaded(random):
    b = ncemu.Builder("trn2")
    n, x = b.tensor("n", "input", (1, 1), "i32"), b.tensor("x", "input", (8, P, 64), "f32")
    y = b.tensor("y", "output", (P, 64), "f32")
    total = b.tile("total", (P, 64), "f32")
    end = b.register(0)
    for engine in ("sync", "vector"):  # the streams that run the loop
        b.emit("register_load", dst=end, src=n, engine=engine)
    b.emit("memset", dst=total, value=0.0, engine="vector")
    with b.loop(0, end) as r:
        t = b.tile("t", (P, 64), "f32")
        b.emit("dma_copy", dst=t, src=x.index(0, r), engine="sync")
        b.emit("tensor_tensor", dst=total, src0=total, src1=t, op="add", engine="vector")
    b.emit("dma_copy", dst=y, src=total)
    program = b.finish()
    a = random.integers(-9, 9, (8, P, 64)).astype(np.float32)
    for count in (1, 5, 8):
        got = ncemu.run(program, {"n": np.full((1, 1), count, np.int32), "x": a})["y"]
        assert np.array_equal(got, a[:count].sum(axis=0))


def test_what_a_failed_block_raises_is_not_hidden():
    b = ncemu.Builder()
    with pytest.raises(ZeroDivisionError):
        with b.loop(0, 4):
            raise ZeroDivisionError
    assert "still open" in refused(b.finish).message
