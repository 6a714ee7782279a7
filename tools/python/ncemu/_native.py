"""The extension, which the build makes: build/python in a checkout, beside this package where it is installed."""

try:
    from _ncemu import *  # noqa: F401,F403
except ImportError as error:
    raise ImportError(
        f"{error}; in a checkout the extension is made by 'ninja -C build ncemu_python', and PYTHONPATH is "
        "build/python:tools/python") from error
