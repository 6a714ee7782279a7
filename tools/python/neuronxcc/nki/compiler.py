"""neuronxcc.nki.compiler: direct allocation, and decorators that steer the vendor's compiler and mean nothing here."""

from ncemu.nki.allocators import PsumAllocator, SbufAllocator

sbuf, psum = SbufAllocator(), PsumAllocator()


def _identity(function=None, *args, **kwargs):
    if callable(function):
        return function
    return lambda f: f


skip_middle_end_transformations = enable_stack_allocator = force_auto_alloc = multi_buffer = _identity


class no_reorder:
    """The order of a program is kept here anyway: `with no_reorder():` or a decorator."""

    def __init__(self, function=None):
        self.function = function

    def __call__(self, *args, **kwargs):
        if self.function is None and len(args) == 1 and callable(args[0]):
            return args[0]
        return self.function(*args, **kwargs)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None
