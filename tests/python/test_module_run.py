"""Runs: inputs and outputs, modes, findings, errors with their places, profiles, threads."""

import json
import os
import pathlib
import signal
import subprocess
import threading
import time

import numpy as np
import pytest

import ncemu

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCALE = """
.param N = 512
.param factor = 2.0
.input  x : f32[128, N]
.output y : f32[128, N]
.sbuf   t : f32[128, N]
dma_copy t, x
tensor_scalar t, t, op0 = mult, scalar0 = factor
.print t[0:1, 0:2]
dma_copy y, t
"""


def endless(rounds=2_000_000):
    """A loop whose end is seconds away."""
    b = ncemu.Builder()
    t = b.tile("t", (128, 8), "f32")
    b.emit("memset", dst=t, value=0.0, engine="vector")
    with b.loop(0, rounds):
        b.emit("tensor_scalar", dst=t, src=t, op0="add", scalar0=1.0, engine="vector")
    return b.finish()


def test_defines_set_the_parameters_of_a_source():
    program = ncemu.assemble(SCALE, defines={"N": 16, "factor": 0.5}, machine="trn2", name="scale.nca")
    assert program.machine.name == "trn2" and program.name == "scale.nca"
    assert [(t.name, t.kind, t.shape, t.type) for t in program.tensors] == [
        ("x", "input", (128, 16), "f32"), ("y", "output", (128, 16), "f32")]
    x = np.arange(128 * 16, dtype=np.float32).reshape(128, 16)
    result = ncemu.run(program, {"x": x})
    assert np.array_equal(result["y"], x / 2)
    assert "0" in result.printed and "0.5" in result.printed


def test_a_run_says_what_the_command_says(tmp_path):
    source = tmp_path / "scale.nca"
    source.write_text(SCALE)
    x = np.ones((128, 512), np.float32)
    np.save(tmp_path / "x.npy", x)
    out = subprocess.run([os.environ["NCEMU_COMMAND"], "run", source, "--in", f"x={tmp_path}/x.npy", "--json"],
                         capture_output=True, text=True, check=True)
    said = json.loads(out.stdout)
    result = ncemu.run(ncemu.assemble(source), {"x": x})
    volatile = {"command_line", "host_time_s", "inputs", "commit"}
    assert {k: v for k, v in result.summary.items() if k not in volatile} == {
        k: v for k, v in said.items() if k not in volatile}
    assert result.summary["inputs"][0]["checksum_xxh3"] == said["inputs"][0]["checksum_xxh3"]
    assert result.us == said["device_time_us"] and result.core_cycles == said["core_cycles"]


def test_the_container_keeps_the_program(tmp_path):
    program = ncemu.assemble(SCALE)
    program.save(tmp_path / "scale.ncb")
    again = ncemu.load(tmp_path / "scale.ncb")
    x = np.ones((128, 512), np.float32)
    assert again.text().splitlines()[1:] == program.text().splitlines()[1:]
    assert ncemu.run(again, {"x": x}).ticks == ncemu.run(program, {"x": x}).ticks


def test_modes_agree_where_they_say_the_same():
    program, x = ncemu.assemble(SCALE), np.ones((128, 512), np.float32)
    timed = ncemu.run(program, {"x": x})
    functional = ncemu.run(program, {"x": x}, timing=False)
    timing_only = ncemu.run(program, data=False)
    assert functional["y"].tobytes() == timed["y"].tobytes() and functional.us == 0
    assert timing_only.ticks == timed.ticks > 0 and timing_only.outputs == {}
    assert [r.summary["mode"] for r in (timed, functional, timing_only)] == ["timed", "functional", "timing-only"]


def test_another_machine_takes_another_time_and_parameters_can_be_set():
    program = ncemu.assemble(SCALE)
    base = ncemu.run(program, data=False)
    slower = ncemu.run(program, data=False, machine=ncemu.Machine("trn1", set={"dma.l_trig_ns": 5000}))
    assert slower.us > base.us + 3
    assert ncemu.run(program, data=False, machine="trn1").ticks == base.ticks
    assert ncemu.Machine("trn1").parameters()["dma.l_trig_ns"]["unit"] == "ns"
    assert ncemu.Machine("trn1").hash != ncemu.Machine("trn1", set={"dma.l_trig_ns": 5000}).hash
    with pytest.raises(ncemu.Error, match="dma.l_trig"):
        ncemu.Machine("trn1", set={"dma.l_trig": 1})
    with pytest.raises(ncemu.Error, match="trn1"):
        ncemu.Machine("trn9")


def test_outputs_belong_to_the_caller():
    program, x = ncemu.assemble(SCALE), np.ones((128, 512), np.float32)
    first = ncemu.run(program, {"x": x})["y"]
    first[:] = 7
    second = ncemu.run(program, {"x": x})["y"]
    assert np.all(second == 2) and np.all(first == 7) and second.flags.writeable and second.flags.c_contiguous


def test_an_inout_tensor_is_returned_changed_and_the_array_given_is_not():
    program = ncemu.assemble("""
.inout x : f32[128, 4]
.sbuf t : f32[128, 4]
dma_copy t, x
tensor_scalar t, t, op0 = add, scalar0 = 1.0
dma_copy x, t
""")
    x = np.zeros((128, 4), np.float32)
    assert np.all(ncemu.run(program, {"x": x})["x"] == 1) and not x.any()


@pytest.mark.parametrize("inputs, words", [
    ({}, "needs data for x : f32[128, 512]"),
    ({"x": np.zeros((128, 511), np.float32)}, "x : f32[128, 512], found float32[128, 511]"),
    ({"x": np.zeros((128, 512), np.float32), "z": 0}, "'z'"),
    ({"y": np.zeros((128, 512), np.float32)}, "no input"),
    ({"x": np.full((128, 512), 2**24 + 1)}, "exact"),
])
def test_inputs_that_do_not_fit_are_refused_before_the_run(inputs, words):
    with pytest.raises(ncemu.Error) as caught:
        ncemu.run(ncemu.assemble(SCALE), inputs)
    assert words in str(caught.value) and caught.value.kind == "input"


def test_mistakes_of_a_source_are_all_listed_with_their_places():
    with pytest.raises(ncemu.Error) as caught:
        ncemu.assemble(".sbuf t : f32[128, 4]\nmemset t, valeu = 1.0\ntensor_copy t, u\n", name="bad.nca")
    error = caught.value
    assert [(d.file, d.line) for d in error.diagnostics] == [("bad.nca", 2), ("bad.nca", 3)]
    assert (error.file, error.line) == ("bad.nca", 2) and error.column > 0 and "valeu" in error.message


def test_findings_are_objects_with_places_and_make_a_run_not_pass():
    path = ROOT / "tests/faulty/race_vector_scalar_raw.nca"
    result = ncemu.check(ncemu.assemble(path))
    assert not result.passed
    found = result.findings[0]
    assert (found.check, found.severity, found.line) == ("races", "error", 16) and found.file == str(path)
    assert "must wait for" in found.fix and found.notes[0][0]["line"] == 10
    assert ncemu.check(ncemu.assemble(path, defines={"FIXED": True})).passed
    assert ncemu.check(ncemu.assemble(path), checks="init").findings == []


def test_a_deadlock_raises_with_the_partial_result():
    b = ncemu.Builder()
    t = b.tile("t", (128, 4), "f32")
    never = b.semaphore("never")
    with b.block("vector"):
        b.emit("memset", dst=t, value=0.0, wait=(never, ">=", 1))
    program = b.finish(sync="manual")
    with pytest.raises(ncemu.Error) as caught:
        ncemu.run(program)
    assert caught.value.kind == "program" and caught.value.result.status == "deadlock"
    result = ncemu.run(program, raises=False)
    assert result.status == "deadlock" and not result.passed and result.message


def test_limits_end_a_run():
    program = endless()
    began = time.monotonic()
    for limit in ({"max_instructions": 1000}, {"max_time": 0.2}):
        with pytest.raises(ncemu.Error) as caught:
            ncemu.run(program, checks="none", **limit)
        assert caught.value.result.instructions > 0
    assert time.monotonic() - began < 5


def test_poison_fills_what_nothing_wrote():
    program = ncemu.assemble("""
.output y : u8[128, 4]
.sbuf t : u8[128, 4]
dma_copy y, t
""")
    assert np.all(ncemu.run(program, poison=0x5A)["y"] == 0x5A) and np.all(ncemu.run(program)["y"] == 0xFF)


def test_the_interpreter_goes_on_while_a_run_lasts():
    program = endless(300_000)
    done, counted = threading.Event(), 0

    def work():
        ncemu.run(program, checks="none")
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.wait(0.002):
        counted += 1
    thread.join()
    assert counted >= 5


def test_runs_in_several_threads_give_what_single_ones_give():
    program, results = ncemu.assemble(SCALE), [None] * 4

    def work(i):
        results[i] = ncemu.run(program, {"x": np.full((128, 512), i, np.float32)})

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.all(r["y"] == 2 * i) and r.ticks == results[0].ticks for i, r in enumerate(results))


def test_ctrl_c_ends_a_run_with_keyboard_interrupt():
    program = endless(50_000_000)
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ncemu.run(program, checks="none", max_time=30)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_profile_is_the_commands_and_follows_its_schema(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    path = ROOT / "kernels/softmax.nca"
    defines = {"R": 256, "C": 128}
    made = ncemu.profile(ncemu.assemble(path, defines=defines))
    schema = subprocess.run([os.environ["NCEMU_COMMAND"], "profile", path, "--schema"], capture_output=True, text=True,
                            check=True)
    rules = json.loads(schema.stdout)
    del rules["$id"]  # no address, which references would be looked up at
    jsonschema.validate(dict(made), rules)
    to = tmp_path / "profile.json"
    subprocess.run([os.environ["NCEMU_COMMAND"], "profile", path, "-D", "R=256", "-D", "C=128", f"--json={to}"],
                   capture_output=True, check=True)
    said = json.loads(to.read_text())
    volatile = {"command_line", "host_time_s", "commit"}
    assert {k: v for k, v in made.items() if k not in volatile} == {k: v for k, v in said.items() if k not in volatile}
    assert made.result.ticks == said["total_ticks"]
    assert made["verdict"]["sentence"] in made.text


def test_a_profile_is_written_as_a_page_and_as_a_trace(tmp_path):
    source = tmp_path / "scale.nca"
    source.write_text(SCALE)
    made = ncemu.profile(ncemu.assemble(source))
    made.write_html(tmp_path / "scale.html")
    made.write_perfetto(tmp_path / "scale.pftrace")
    page = (tmp_path / "scale.html").read_text()
    assert page.lstrip().startswith("<!") and "scale.nca" in page and made["verdict"]["sentence"][:20] in page
    subprocess.run([os.environ["NCEMU_COMMAND"], "profile", source, "--perfetto", tmp_path / "command.pftrace"],
                   capture_output=True, check=True)
    assert (tmp_path / "scale.pftrace").read_bytes() == (tmp_path / "command.pftrace").read_bytes() != b""


def test_several_threads_give_the_same_bits(random):
    path = ROOT / "kernels/fp8_gemm.nca"
    program = ncemu.assemble(path, defines={"M": 512, "K": 512, "N": 512})
    inputs = {t.name: random.standard_normal(t.shape).astype(t.dtype) for t in program.tensors if t.kind == "input"}
    one, two = ncemu.run(program, inputs), ncemu.run(program, inputs, threads=2)
    assert one["c"].tobytes() == two["c"].tobytes() and one.ticks == two.ticks
    with pytest.raises(ncemu.Error, match="at least 1"):
        ncemu.run(program, inputs, threads=0)


def test_a_profile_speaks_of_the_lines_that_the_builder_was_told(tmp_path):
    source = tmp_path / "kernel.py"
    source.write_text("first line\nload x\nscale\nstore y\n")
    b = ncemu.Builder()
    x, y = b.tensor("x", "input", (128, 512), "f32"), b.tensor("y", "output", (128, 512), "f32")
    t = b.tile("t", (128, 512), "f32")
    b.emit("dma_copy", dst=t, src=x, file=str(source), line=2)
    b.emit("tensor_scalar", dst=t, src=t, op0="mult", scalar0=2.0, file=str(source), line=3)
    b.emit("dma_copy", dst=y, src=t, file=str(source), line=4)
    made = ncemu.profile(b.finish())
    texts = {(entry["first_line"], entry["text"]) for entry in made["source"] if entry["file"] == str(source)}
    assert texts == {(2, "load x"), (3, "scale"), (4, "store y")}
    assert "kernel.py:" in made.text
