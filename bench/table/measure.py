"""Times whole processes in turns, and reads what Google Benchmark programs count."""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple


class Sample(NamedTuple):
    wall: float  # seconds
    processor: float  # user and system, seconds: what other load on the host disturbs least
    memory: int  # largest resident set, bytes


class Series(NamedTuple):
    """The same command, once per round."""

    samples: list[Sample]

    def median(self, of: str) -> float:
        return statistics.median(getattr(s, of) for s in self.samples)

    def ratio(self, other: "Series", of: str) -> float:
        """Median of the ratios within a round: both sides of one have met the same host."""
        pairs = zip(self.samples, other.samples)
        return statistics.median(getattr(a, of) / getattr(b, of) for a, b in pairs)


class Bench:
    def __init__(self, build: Path, kernels: Path, directory: Path, smoke: bool):
        self.build, self.kernels, self.directory = build, kernels, directory
        self.smoke = smoke  # everything once, at sizes that take no time: does it run?
        self.rounds = 1 if smoke else 9

    def note(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def program(self, name: str) -> str:
        for path in (self.build / name, self.build / "bench" / name):
            if path.exists():
                return str(path)
        raise SystemExit(f"{name} is not in {self.build} (tools/install_packages installs what it needs)")

    def ncemu(self, verb: str, kernel: str, params: dict, *words: str) -> list[str]:
        defines = [word for key, value in params.items() for word in ("-D", f"{key}={value}")]
        return [self.program("ncemu"), verb, str(self.kernels / kernel), *defines, *words]

    def run(self, command: list[str]) -> Sample:
        """One process; ends everything if it fails. OpenBLAS gets one thread."""
        environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
        environment.pop("OPENBLAS_CORETYPE", None)
        log = self.directory / "log"
        with open(log, "wb") as output:
            start = time.monotonic()
            process = subprocess.Popen(
                command, stdout=output, stderr=output, env=environment, cwd=self.directory
            )
            _, status, used = os.wait4(process.pid, 0)
            wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\nended with {process.returncode}:\n{log.read_text()}")
        return Sample(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)

    def in_turns(self, *commands: list[str]) -> list[Series]:
        """Each command once per round, in alternating order, after one round that does not count."""
        series = [Series([]) for _ in commands]
        numbers = range(len(commands))
        for i in () if self.smoke else numbers:
            self.run(commands[i])
        for n in range(self.rounds):
            for i in numbers if n % 2 == 0 else reversed(numbers):
                series[i].samples.append(self.run(commands[i]))
        return series

    def counters(self, program: str, *names: str) -> list[dict]:
        """What a Google Benchmark program reports of each benchmark, counters and times. Those that say that
        this host cannot run them are left out, with a note."""
        options = [
            "--benchmark_format=json",
            f"--benchmark_filter=^({'|'.join(names)})(/manual_time)?$",
            f"--benchmark_min_time={0.001 if self.smoke else 0.5}",
        ]
        self.note(f"{program}: {', '.join(names)}")
        done = subprocess.run([self.program(program), *options], capture_output=True, text=True, check=False)
        if done.returncode != 0 or not done.stdout:
            raise SystemExit(f"{program} ended with {done.returncode}:\n{done.stderr}")
        found = {b["name"].removesuffix("/manual_time"): b for b in json.loads(done.stdout)["benchmarks"]}
        for name in names:
            if name not in found:
                raise SystemExit(f"{program} has no benchmark {name}")
            if found[name].get("error_occurred"):
                self.note(f"{name}: {found[name]['error_message']}")
        return [found[name] for name in names if not found[name].get("error_occurred")]
