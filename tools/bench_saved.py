"""What a program costs as a file: to save it, until its first result, and in the memory of many processes.

    python tools/bench_saved.py FOLDER/resnet18.onnx FOLDER/bert.onnx [--repeat 5] [--threads 2] [--processes 20]

Models are files of `make_bench_models.py`, with their inputs beside them as `.0.npz`.

- *save*: seconds of `Program.save` to a new file, the first time and the least of the others. A virtual machine gives
  memory to the file cache when it is used first, which takes longer than all else;
- *file*: its bytes over those of the model;
- *result*: seconds from the start of Python to the first result of the file, the median and the least; *CPU*, user
  and system, of the least of these runs; *NumPy*, the least of a Python that imports NumPy and ends;
- *copies*: proportional set sizes of processes that call the program once, over the bytes of the file. They are
  *forked* from one that has loaded it and called gc.freeze, whose own memory is counted, too; *forked early* from one
  that has only imported the package, or *spawned*, and load it themselves; or *bare*, and do no more than import NumPy.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

_SAVE = """
import json, os, sys, time
import numpy as np
import fuse_dialect as fd
model, path, threads = sys.argv[1:4]
program = fd.compile(model, threads=int(threads), cache=False)
program(dict(np.load(model.replace(".onnx", ".0.npz"))))
seconds = []
for number in range(4):
    start = time.perf_counter()
    program.save(path)
    seconds.append(time.perf_counter() - start)
    if number < 3:
        os.unlink(path)
print(json.dumps(seconds))
"""
_LOAD = """
import sys
import numpy as np
inputs = dict(np.load(sys.argv[2]))
import fuse_dialect as fd
fd.load(sys.argv[1])(inputs)
"""
_FORK = """
import gc, os, sys
import numpy as np
inputs = dict(np.load(sys.argv[2]))
import fuse_dialect as fd
program = fd.load(sys.argv[1]) if sys.argv[4] == "loaded" else None
gc.freeze()
reading, writing = os.pipe()
children = []
for _ in range(int(sys.argv[3])):
    child = os.fork()
    if not child:
        (program or fd.load(sys.argv[1]))(inputs)
        os.write(writing, b".")
        sys.stdin.read()
        os._exit(0)
    children.append(child)
for _ in children:
    os.read(reading, 1)
print(os.getpid(), *children, flush=True)
sys.stdin.read()
"""
_WAIT = """
import os
print(os.getpid(), flush=True)
sys.stdin.read()
"""


def environment(folder: Path) -> dict[str, str]:
    """Variables of a process: a cache of its own, and modules of Python that are compiled once."""
    variables = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return variables | {"FUSE_CACHE_DIR": str(folder / "cache"), "PYTHONPYCACHEPREFIX": str(folder / "python")}


def timed(code: str, arguments: Sequence[str], variables: dict[str, str]) -> tuple[float, float]:
    """Seconds of a process from its start to its end, and of the processor.

    Raises:
        RuntimeError: It fails.
    """
    start = perf_counter()
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", code, *arguments], variables)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"the process ended with {status}")
    return perf_counter() - start, usage.ru_utime + usage.ru_stime


def copies(code: str, arguments: Sequence[str], count: int, unit: int, variables: dict[str, str]) -> float:
    """The proportional set size of processes that print their numbers and wait, in units of bytes."""
    command = [sys.executable, "-c", code, *arguments]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables)
        for _ in range(count)
    ]
    try:
        numbers = [number for each in started if each.stdout for number in each.stdout.readline().split()]
        return 1024 * sum(_proportional(number) for number in numbers) / unit
    finally:
        for each in started:
            each.communicate()


def _proportional(process: str) -> int:
    """KiB."""
    text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))


def row(model: Path, threads: int, repeat: int, processes: int, folder: Path) -> str:
    """A line of Markdown."""
    variables, path = environment(folder), str(folder / f"{model.stem}.fuse")
    inputs = str(model.with_suffix(".0.npz"))
    save = [sys.executable, "-c", _SAVE, str(model), path, str(threads)]
    done = subprocess.run(save, env=variables, capture_output=True, text=True, check=True)
    first, *others = json.loads(done.stdout)
    timed(_LOAD, [path, inputs], variables)
    runs, bare = list[tuple[float, float]](), list[float]()
    for _ in range(repeat):
        runs.append(timed(_LOAD, [path, inputs], variables))
        bare.append(timed("import numpy", [], variables)[0])
    unit = os.path.getsize(path)
    memory = [
        copies(_FORK, [path, inputs, str(processes), "loaded"], 1, unit, variables),
        copies(_FORK, [path, inputs, str(processes), "imported"], 1, unit, variables),
        copies(_LOAD + _WAIT, [path, inputs], processes, unit, variables),
        copies("import sys, numpy\n" + _WAIT, [], processes, unit, variables),
    ]
    cells = [
        model.stem,
        f"{first:.2f} s, {min(others):.2f} s",
        f"{unit / model.stat().st_size:.3f}",
        f"{median(wall for wall, _ in runs):.2f} s, {min(runs)[0]:.2f} s",
        f"{min(runs)[1]:.2f} s",
        f"{min(bare):.2f} s",
        *(f"{each:.2f}" for each in memory),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="runs of a file (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="threads of a call (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=20, metavar="N", help="that share it (default: %(default)s)")
    options = parser.parse_args()
    heads = ("model", "save", "file", "result", "CPU", "NumPy", "copies: forked", "forked early", "spawned", "bare")
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}", flush=True)
    for model in options.models:
        with TemporaryDirectory() as folder:
            print(row(model, options.threads, options.repeat, options.processes, Path(folder)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
