"""What inputs that mean harm cost: time and memory of each trap at two sizes, and the exponent between them.

A trap is a small file that once took time or memory out of proportion. Each runs as a process of its own, whose
time on the processor and peak memory the kernel reports. It is compared with what an input of size 1 takes.

    python tools/bench_traps.py                 all traps; exit code 1 when a bar is not met
    python tools/bench_traps.py --only nested   those whose names begin with `nested`

Bars: every run takes at most 5 s and 500 MB, and time grows with an exponent of at most 1.3.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep

from fuzzing.hostile_inputs import TRAPS, Trap

MOST_SECONDS, MOST_MEGABYTES, GREATEST_EXPONENT = 5.0, 500.0, 1.3
_TOO_SHORT = 0.15
"""Seconds over an empty input below which a ratio says nothing but noise."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run took."""

    seconds: float
    """Of the processor: other work on the machine does not count."""
    megabytes: float
    """Peak resident memory."""
    exit_code: int
    message: str
    """First line on stderr."""


def main() -> int:
    """Print a line for each trap; 1 when a bar is not met."""
    parser = argparse.ArgumentParser(description="Time and memory of hostile inputs.")
    parser.add_argument("--only", default="", metavar="PREFIX", help="run the traps whose names begin so")
    parser.add_argument("--repeat", type=int, default=1, help="runs of which the fastest counts (default: 1)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for each run (default: 60)")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        empty: dict[tuple[str, ...], float] = {}
        for trap in TRAPS:
            if not trap.name.startswith(options.only):
                continue
            base = empty.get(trap.command)
            if base is None:
                base = empty[trap.command] = _least(trap, trap.make(trap.smallest), Path(folder), options).seconds
            costs = [_least(trap, trap.make(size), Path(folder), options) for size in trap.sizes]
            line, is_met = _report(trap, costs, base)
            print(line, flush=True)
            failed += not is_met
    print(f"{failed} of the bars are not met" if failed else "all bars are met")
    return 1 if failed else 0


def _least(trap: Trap, data: bytes, folder: Path, options: argparse.Namespace) -> Cost:
    path = folder / f"trap.{trap.extension}"
    path.write_bytes(data)
    costs = [run([*trap.command, str(path)], options.timeout) for _ in range(options.repeat)]
    return min(costs, key=lambda cost: cost.seconds)


def run(command: Sequence[str], timeout: float) -> Cost:
    """The cost of `python -m fuse_dialect.tools.<command>`; a run that takes too long is ended."""
    with tempfile.TemporaryFile() as errors:
        start = perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", f"fuse_dialect.tools.{command[0]}", *command[1:]],
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            seconds = perf_counter() - start
            if done:
                break
            if seconds > timeout:
                process.kill()
                _, status, usage = os.wait4(process.pid, 0)
                break
            # Poll: `wait4` alone knows the memory of this process and of no other.
            sleep(0.005)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read(2000).decode(errors="replace").splitlines()
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode, text[0] if text else "")


def _report(trap: Trap, costs: Sequence[Cost], base: float) -> tuple[str, bool]:
    first, last = costs
    over = [max(cost.seconds - base, _TOO_SHORT) for cost in costs]
    exponent = math.log(over[1] / over[0]) / math.log(trap.sizes[1] / trap.sizes[0])
    is_met = (
        all(cost.seconds <= MOST_SECONDS and cost.megabytes <= MOST_MEGABYTES for cost in costs)
        and exponent <= GREATEST_EXPONENT
        and last.exit_code in (0, 1)
        and "internal error" not in last.message
    )
    times = " ".join(f"{cost.seconds:6.2f} s {cost.megabytes:5.0f} MB" for cost in (first, last))
    sizes = "/".join(map(str, trap.sizes))
    verdict = "ok  " if is_met else "FAIL"
    return f"{verdict} {trap.name:28} {sizes:>22} {times}  exponent {exponent:5.2f}  {last.message[:160]}", is_met


if __name__ == "__main__":
    sys.exit(main())
