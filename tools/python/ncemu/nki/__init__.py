"""The tracing core behind the import names `neuronxcc.nki` and `nki`: kernels run as Python, each call emits instructions."""

import pathlib

from ncemu.nki import errors

errors.own_code(str(pathlib.Path(__file__).resolve().parent))
