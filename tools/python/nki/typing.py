"""nki.typing: annotations; they say nothing at run time."""

from neuronxcc.nki.typing import mutable_tensor, scalar, tensor  # noqa: F401
