"""`ncemu nki SCRIPT.py`: runs a Python script whose kernels execute on the emulator."""

import argparse
import os
import runpy
import sys
import traceback

import ncemu
from ncemu.nki import session
from ncemu.nki.errors import NkiError, is_ours


def options():
    parser = argparse.ArgumentParser(
        prog="ncemu nki", usage="ncemu nki [options] SCRIPT.py [arguments of the script]",
        description="Runs a Python script; kernels of neuronxcc.nki and of nki that it calls execute on the emulator.",
        allow_abbrev=False)
    parser.add_argument("script", help="the script; what follows it is its own")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.add_argument("--machine", metavar="NAME|FILE.toml", help="runs every kernel on this machine")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="changes one parameter of the machine")
    parser.add_argument("--checks", metavar="LIST", help="which checks to make: all, none, or names ('ncemu run --help')")
    parser.add_argument("--timing-only", action="store_true", help="the clock without data: outputs are zeros")
    parser.add_argument("--profile", metavar="DIR", help="leaves the report of every kernel call in DIR: text, JSON, page, trace")
    parser.add_argument("--save-asm", metavar="DIR", help="leaves every traced program in DIR as a .nca")
    parser.add_argument("--explain", action="store_true", help="prints what was decided for each kernel")
    parser.add_argument("--spill", action="store_true", help="where SBUF is full, tiles leave it and come back")
    parser.add_argument("--strict-python", action="store_true", help="refuses Python in kernels that the vendor's compiler refuses")
    return parser


def main(words):
    given = options().parse_args(words)
    changes = {}
    for change in given.set:
        key, equals, value = change.partition("=")
        if not equals:
            return unusable(f"--set takes KEY=VALUE, found '{change}'")
        changes[key] = value
    try:
        machine = ncemu.Machine(given.machine or "trn1", changes) if given.machine or changes else None
    except ncemu.Error as error:
        return unusable(str(error))
    if not os.path.exists(given.script):
        return unusable(f"{given.script}: cannot be opened")
    session.use(session.Session(machine, given.checks, given.timing_only or None, False, given.profile, given.save_asm,
                                given.explain, given.strict_python, True, os.environ.get("NCEMU_COMMAND"), given.spill or None))
    sys.argv = [given.script, *given.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(given.script)))
    try:
        runpy.run_path(given.script, run_name="__main__")
    except NkiError as error:
        show(error)
        return 1
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def show(error):
    """The message and the frames that led to it, without the interface's own."""
    for frame in traceback.extract_tb(error.__traceback__):
        if not is_ours(frame.filename) and "runpy" not in frame.filename and frame.filename != __file__:
            print(f"  {frame.filename}:{frame.lineno}: {frame.line}", file=sys.stderr)
    print(f"ncemu nki: {error}", file=sys.stderr)


def unusable(message):
    print(f"ncemu nki: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
    except SystemExit as end:  # argparse: 2 for options that cannot be used
        code = end.code
    sys.exit(code)
