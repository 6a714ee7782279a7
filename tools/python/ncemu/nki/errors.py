"""What a kernel did wrong, under the names of the vendor's error pages, at the kernel's own line."""

import sys

_PACKAGE_ROOTS = []  # directories whose frames are ours, filled by `own_code`


def own_code(directory):
    """Frames of files below `directory` are the interface's, not the kernel's."""
    if directory not in _PACKAGE_ROOTS:
        _PACKAGE_ROOTS.append(directory)


_OURS = {}  # file name -> bool


def is_ours(filename):
    known = _OURS.get(filename)
    if known is None:
        known = _OURS[filename] = any(filename.startswith(root) for root in _PACKAGE_ROOTS)
    return known


def kernel_frame():
    """The innermost frame of the kernel's code."""
    frame = sys._getframe(1)
    while frame.f_back is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


class NkiError(Exception):
    """`name` is the catalogue's (err_...), `file` and `line` say where the kernel is wrong."""

    def __init__(self, name, message, site=None):
        if site is None:
            from ncemu.nki import trace
            site = trace.pending_site()
        if site is None:
            frame = kernel_frame()
            site = (frame.f_code.co_filename, frame.f_lineno)
        self.name, self.message = name, message
        self.file, self.line = site
        super().__init__(f"{self.file}:{self.line}: {name}: {message}")

    def __reduce__(self):
        """Errors of worker processes come back as they were."""
        return _again, (type(self), self.name, self.message, (self.file, self.line))


def _again(kind, name, message, site):
    error = kind.__new__(kind)
    NkiError.__init__(error, name, message, site)
    return error


class OutOfBoundError(NkiError, IndexError):
    """err_tensor_access_out_of_bound: also an IndexError, as in Python."""

    def __init__(self, message, site=None):
        super().__init__("err_tensor_access_out_of_bound", message, site)


class UnsupportedError(NkiError, NotImplementedError):
    """A part of the interface that is not supported here."""

    def __init__(self, message, site=None):
        super().__init__("err_not_supported", message, site)
