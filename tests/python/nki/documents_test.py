"""The pages NKI.md and README.md of tools/python: what they show is run, from their own text."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from conftest import BUILD, ROOT

PYTHON = ROOT / "tools" / "python"
NKI, README = [(PYTHON / name).read_text() for name in ("NKI.md", "README.md")]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{BUILD / 'python'}{os.pathsep}{PYTHON}", "PYTHONDONTWRITEBYTECODE": "1"}


def section(text, title):
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


FIVE, = blocks(section(NKI, "Five minutes"), "sh")
SAID = re.search(r"^scale: .*$", section(NKI, "Five minutes"), re.MULTILINE).group()
SCRIPT = re.search(r"<<'KERNEL'\n(.*?)^KERNEL$", FIVE, re.MULTILINE | re.DOTALL).group(1)


def finished(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def checkout(tmp_path):
    """A directory that looks as the top of the checkout does to the page: the same tools, `build` of its own."""
    (tmp_path / "build").mkdir()
    for name in os.listdir(BUILD):
        if name in ("ncemu", "python"):
            (tmp_path / "build" / name).symlink_to(BUILD / name)
    (tmp_path / "tools").symlink_to(ROOT / "tools")
    (tmp_path / "kernels").symlink_to(ROOT / "kernels")
    return tmp_path


def test_the_five_minutes_give_the_line_and_the_files_of_the_page(checkout):
    commands = [line for line in FIVE.splitlines() if not line.startswith("ninja ")]  # what the build of these tests did
    assert len(commands) == len(FIVE.splitlines()) - 1
    done = finished(subprocess.run(["bash", "-euc", "\n".join(commands)], cwd=checkout, env=ENVIRONMENT, capture_output=True, text=True))
    assert done.stderr.splitlines()[0] == SAID
    assert "modelled on trn2" in done.stderr.splitlines()[1]
    named = set(re.findall(r"`(scale\.[\w.]+)`", section(NKI, "Five minutes")))
    assert {path.name for path in (checkout / "build" / "scale_profile").iterdir()} == named


def test_the_script_runs_without_the_command_as_the_page_says(checkout):
    (checkout / "script.py").write_text(SCRIPT)
    line, = re.findall(r"`(PYTHONPATH=\S+ \S*python3 script\.py)`", NKI)
    done = finished(subprocess.run(["bash", "-euc", line], cwd=checkout, env=os.environ, capture_output=True, text=True))
    assert done.stdout == done.stderr == ""


def test_the_example_for_pytest_passes_and_each_of_its_lines_can_fail(tmp_path):
    example, = blocks(section(NKI, "Tests of a kernel repository"), "python")
    kernel = SCRIPT.split("assert np.allclose")[0]
    assert len(example.strip().splitlines()) == 4  # the name and three lines

    def pytest_says(kernel):
        (tmp_path / "test_scale.py").write_text(kernel + example)
        return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_scale.py"], cwd=tmp_path,
                              env=ENVIRONMENT, capture_output=True, text=True)
    finished(pytest_says(kernel))
    wrong = pytest_says(kernel.replace("tile * 0.5", "tile * 0.25"))
    assert wrong.returncode == 1 and "assert np.allclose(y" in wrong.stdout
    slow = pytest_says(kernel.replace("nl.exp(tile * 0.5)", "nl.exp(tile * 0.5 * 0.5 * 0.5 * 2.0 * 2.0)"))
    assert slow.returncode == 1 and "scale.last.us < 20" in slow.stdout
    unwritten = pytest_says(kernel.replace("tile = nl.load(", "tile = nl.ndarray((128, x.shape[1]), x.dtype); skipped = ("))
    assert unwritten.returncode == 1 and "err_check_failed" in unwritten.stdout


def test_options_of_the_page_are_those_of_the_command():
    told = set(re.findall(r"^\| (`--[^|]*) \|", NKI, re.MULTILINE))
    told = {option for row in told for option in re.findall(r"--[\w-]+", row)}
    shown = finished(subprocess.run([os.environ["NCEMU"], "nki", "--help"], capture_output=True, text=True)).stdout
    assert told == set(re.findall(r"--[\w-]+", shown)) - {"--help"}


def test_names_of_errors_that_the_page_says_are_not_raised_are_not():
    sources = "".join([path.read_text() for path in (PYTHON / "ncemu" / "nki").glob("*.py")])
    absent = section(NKI, "What the compiler decides, and what is decided here").split("Not raised, because")[1]
    names = re.findall(r"`(err_\w+)`", absent)
    assert len(names) >= 5 and not [name for name in names if name in sources]


def test_examples_of_the_package_run(checkout):
    first, building = blocks(README, "python")
    script = first + building.replace('"w", array', '"w", np.zeros((128, 512), np.float32)').replace("site=site", "site=0")
    done = finished(subprocess.run([sys.executable, "-c", script], cwd=checkout, env=ENVIRONMENT, capture_output=True, text=True))
    us, rest = done.stdout.split(maxsplit=1)
    assert float(us) > 0 and rest.startswith("[[3. 3. 3.") and rest.rstrip().endswith("[]")
