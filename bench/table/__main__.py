"""The table of speed: python3 bench/table, called by tools/bench. A room of rows is a module with rows(bench)."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import gemm
import instructions
import reports
import streams
from measure import Bench
from rows import table

ROOMS = {"gemm": gemm, "instructions": instructions, "reports": reports, "streams": streams}


def main() -> int:
    options = argparse.ArgumentParser(prog="tools/bench", description=__doc__.splitlines()[0])
    options.add_argument("--build", type=Path, required=True, help=argparse.SUPPRESS)
    options.add_argument("--json", nargs="?", const="-", metavar="FILE", help="the rows, to FILE or standard output")
    options.add_argument("--only", action="append", choices=sorted(ROOMS), help="these rows (may be repeated)")
    options.add_argument("--smoke", action="store_true", help="small sizes, once, without judgement: does it run?")
    given = options.parse_args()

    source = Path(__file__).resolve().parents[2]
    found = []
    with tempfile.TemporaryDirectory(prefix="ncemu-bench-") as directory:
        bench = Bench(given.build.resolve(), source / "kernels", Path(directory), given.smoke)
        for name, room in ROOMS.items():
            if not given.only or name in given.only:
                found.extend(room.rows(bench))

    if given.smoke:
        found = [r._replace(holds=None) for r in found]
    text = json.dumps({"rows": [r._asdict() for r in found]}, indent=2)
    if given.json == "-":
        print(text)
    else:
        print(table(found))
        if given.json:
            Path(given.json).write_text(text + "\n")
    return 1 if any(r.holds is False for r in found) else 0


if __name__ == "__main__":
    sys.exit(main())
