"""Where programs come from."""

import os

import numpy as np

from . import _native
from .dtypes import type_name


def _expression(value):
    """A value of Python as the language writes it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, str):
        return value
    return type_name(value)


def assemble(source, *, defines=None, machine=None, name=None):
    """A program from the path of a .nca file, or from its text (anything with a line break)."""
    params = {key: _expression(value) for key, value in (defines or {}).items()}
    if isinstance(source, str) and "\n" in source:
        return _native.assemble("", source, name or "", params, machine)
    return _native.assemble(os.fspath(source), "", name or "", params, machine)


def load(path, *, machine=None):
    """A program from a .ncb container."""
    return _native.load(os.fspath(path), machine)
