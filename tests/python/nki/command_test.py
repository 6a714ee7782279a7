"""`ncemu nki`: a script's kernels on the emulator, with machine, profile, program and explanations."""

import json
import os
import subprocess

import numpy as np
import pytest

SCRIPT = '''
import sys
import numpy as np
from neuronxcc import nki
import neuronxcc.nki.language as nl

@nki.jit
def double(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    nl.store(y, nl.multiply(tile, 2.0))
    return y

@nki.jit
def wrong(x):
    tile = nl.load(x)
    return nl.exp(x)

x = np.arange(1024, dtype=np.float32).reshape(8, 128)
y = double(x)
print("arguments", sys.argv[1:], "sum", float(y.sum()))
if "wrong" in sys.argv:
    wrong(x)
if "comprehension" in sys.argv:
    @nki.jit
    def listed(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = [nl.load(x) for _ in range(2)]
        nl.store(y, tiles[0])
        return y
    listed(x)
'''


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def run(*words):
    return subprocess.run([os.environ["NCEMU"], "nki", *[str(w) for w in words]], capture_output=True, text=True)


def test_a_script_runs_with_its_arguments(script):
    done = run(script, "a", "--machine", "b")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"arguments ['a', '--machine', 'b'] sum {float(np.arange(1024).sum() * 2)}\n"
    assert "double: " in done.stderr and "us modelled on trn1" in done.stderr and "checks clean" in done.stderr


def test_machine_and_parameters_change_the_time(script):
    def us(*options):
        return float(run(*options, script).stderr.split("double: ")[1].split(" us")[0])
    assert us("--machine", "trn2") != us()
    assert us("--set", "dma.l_trig_ns=5000") > us() + 3


def test_a_profile_names_the_scripts_lines(script, tmp_path):
    done = run("--profile", tmp_path / "profile", script)
    assert done.returncode == 0, done.stderr
    files = sorted(f.name for f in (tmp_path / "profile").iterdir())
    assert files == ["double.html", "double.json", "double.nca", "double.ncb", "double.pftrace.gz", "double.txt"]
    assert "script.py:" in (tmp_path / "profile" / "double.txt").read_text()
    assert json.loads((tmp_path / "profile" / "double.json").read_text())


def test_the_saved_program_gives_the_same_bits_and_time(script, tmp_path):
    done = run("--save-asm", tmp_path / "asm", script)
    us = done.stderr.split("double: ")[1].split(" us")[0]
    x = np.arange(1024, dtype=np.float32).reshape(8, 128)
    np.save(tmp_path / "x.npy", x)
    again = subprocess.run([os.environ["NCEMU"], "run", tmp_path / "asm" / "double.nca", "--in", f"x={tmp_path}/x.npy", "--out",
                            f"y={tmp_path}/y.npy"], capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert f"device time    {us} us" in again.stdout
    assert np.array_equal(np.load(tmp_path / "y.npy"), 2 * x)


def test_explanations_name_memory_engines_and_products(script):
    text = run("--explain", script).stderr
    assert "tile f32[8, 128] in sbuf" in text.replace("load f32", "tile f32") and "tensor_scalar" in text


def test_without_data_the_clock_runs_alone(script):
    done = run("--timing-only", script)
    assert done.returncode == 0 and "sum 0.0" in done.stdout
    assert done.stderr.split(" us")[0] == run(script).stderr.split(" us")[0]


def test_a_mistake_ends_with_1_and_shows_the_kernels_line(script):
    done = run(script, "wrong")
    assert done.returncode == 1
    assert f"{script}:17: err_unsupported_memory" in done.stderr
    assert "ncemu/nki" not in done.stderr


def test_what_cannot_be_used_ends_with_2(script):
    assert run("--machine", "trn9", script).returncode == 2
    assert run("missing.py").returncode == 2
    assert run("--no-such-option", script).returncode == 2
    assert run().returncode == 2


def test_strict_python_refuses_what_the_vendors_compiler_refuses(script):
    assert run(script, "comprehension").returncode == 0
    done = run("--strict-python", script, "comprehension")
    assert done.returncode == 1
    assert "err_strict_python" in done.stderr and "refuses a list comprehension" in done.stderr and f"{script}:28" in done.stderr


def test_help_names_every_option():
    done = run("--help")
    assert done.returncode == 0
    for option in ("--machine", "--set", "--checks", "--timing-only", "--profile", "--save-asm", "--explain", "--strict-python"):
        assert option in done.stdout
