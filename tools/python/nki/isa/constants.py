"""Words of the instructions."""

from ncemu.nki.constants import (dge_mode, engine, matmul_perf_mode, nc_version, oob_mode, reduce_cmd)  # noqa: F401
