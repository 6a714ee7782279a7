"""Arrays as the extension takes them."""

import numpy as np

from .dtypes import NUMBER_TYPES
from .dtypes import dtype as numpy_dtype


def array_in(name, array, kind):
    """Name, whether the elements are of the type `kind`, numpy's kind and width, shape, type in words, bytes."""
    array = np.asarray(array)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("="))
    own = kind is not None and array.dtype == numpy_dtype(kind)
    if not own and array.dtype in NUMBER_TYPES:  # the rules of files know numpy's own types
        array = array.astype(np.float32)
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return (name, own, array.dtype.kind, array.dtype.itemsize, list(array.shape), str(array.dtype), data)
