"""The import names of the interface from the checkout, the command from the build directory."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("NCEMU_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "tools" / "python"))
sys.path.insert(0, str(BUILD / "python"))  # the extension of the package
os.environ.setdefault("NCEMU", str(BUILD / "ncemu"))


@pytest.fixture(params=["trn1", "trn2"])
def machine(request, monkeypatch):
    """The test runs on either generation."""
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", request.param)
    return request.param
