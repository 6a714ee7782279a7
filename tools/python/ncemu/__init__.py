"""ncemu: kernels for NeuronCore-v2 and -v3, built, run, checked and profiled without the hardware."""

from ._native import Lifetime, Machine, Program, Register, Tensor, View, machines
from .builder import Builder
from .dtypes import dtype, type_name
from .errors import Diagnostic, Error
from .programs import assemble, load
from .running import Finding, Profile, Result, check, profile, run

__all__ = [
    "Builder", "Diagnostic", "Error", "Finding", "Lifetime", "Machine", "Profile", "Program", "Register", "Result",
    "Tensor", "View", "assemble", "check", "dtype", "load", "machines", "profile", "run", "type_name",
]
