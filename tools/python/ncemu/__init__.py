"""ncemu: kernels for NeuronCore-v2 and -v3, built, run, checked and profiled without the hardware."""

from ._native import Lifetime, Machine, Program, Register, Tensor, View, machines
from .builder import Builder
from .dtypes import (
    bfloat16, dtype, finfo, float8_e3m4, float8_e4m3, float8_e4m3fn, float8_e5m2, tfloat32, type_name)
from .errors import Diagnostic, Error
from .programs import assemble, load
from .running import Finding, Profile, Result, check, profile, run

__all__ = [
    "Builder", "Diagnostic", "Error", "Finding", "Lifetime", "Machine", "Profile", "Program", "Register", "Result",
    "Tensor", "View", "assemble", "bfloat16", "check", "dtype", "finfo", "float8_e3m4", "float8_e4m3",
    "float8_e4m3fn", "float8_e5m2", "load", "machines", "profile", "run", "tfloat32", "type_name",
]
