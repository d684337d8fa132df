"""What a model costs until its first result: seconds and peak memory, cold, from the cache, and with onnxruntime.

    python tools/bench_startup.py FOLDER/resnet18.onnx FOLDER/bert.onnx [--repeat 3] [--threads 1] [--python PYTHON]

Models are files of `make_bench_models.py`, with their inputs beside them as `.0.npz`. Each run is a process of its own,
which imports NumPy and the engine, reads the model, and calls it once:

- *cold*: with an empty cache; what is kept for the next time is written while the program runs already, not counted;
- *cached*: what the cold run has kept is there;
- *onnxruntime*: a session on one provider, in the Python that `--python` names, by default this one.

Seconds are those from the start of the process to the first result (*result*), of the call that compiles or makes the
session (*compile*), and of the processor up to the first result, user and system (*CPU*): the medians. Memory is the
greatest resident set of the runs. Compiled modules of Python are used, as they are where packages are installed.
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
from time import time

_OURS = """
import sys, time
import numpy as np
inputs = dict(np.load(sys.argv[2]))
import fuse_dialect as fd
start = time.perf_counter()
program = fd.compile(sys.argv[1], threads=int(sys.argv[3]))
compiled = time.perf_counter() - start
program(inputs)
"""
_THEIRS = """
import sys, time
import numpy as np
inputs = dict(np.load(sys.argv[2]))
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[3])
start = time.perf_counter()
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
compiled = time.perf_counter() - start
session.run(None, {each.name: inputs[each.name] for each in session.get_inputs()})
"""
_REPORT = """
import json, resource
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([time.time(), compiled, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]), flush=True)
"""
Run = tuple[float, float, float, float]
"""Seconds to the first result, of compiling and of the processor; MiB."""


def measured(python: str, script: str, model: Path, threads: int, cache: Path) -> Run:
    """One run in a process of its own.

    Raises:
        subprocess.CalledProcessError: It fails.
    """
    variables = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables |= {"FUSE_CACHE_DIR": str(cache / "code"), "PYTHONPYCACHEPREFIX": str(cache / "python")}
    command = [python, "-c", script + _REPORT, str(model), str(model.with_suffix(".0.npz")), str(threads)]
    start = time()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    end, compiled, processor, memory = json.loads(done.stdout)
    return end - start, compiled, processor, memory


def rows(model: Path, python: str, threads: int, repeat: int, folder: Path) -> list[tuple[str, Run]]:
    """The runs of a model, as medians: cold, cached, onnxruntime."""
    runs: dict[str, list[Run]] = {"cold": [], "cached": [], "onnxruntime": []}
    for number in range(repeat):
        # They take turns, so that what else the machine does meets all of them.
        cache = folder / f"{model.stem}-{number}"
        cache.mkdir()
        (cache / "python").symlink_to(folder / "python")
        runs["cold"].append(measured(sys.executable, _OURS, model, threads, cache))
        runs["cached"].append(measured(sys.executable, _OURS, model, threads, cache))
        runs["onnxruntime"].append(measured(python, _THEIRS, model, threads, cache))
    return [(name, _middle(each)) for name, each in runs.items()]


def _middle(runs: Sequence[Run]) -> Run:
    result, compiled, processor, memory = zip(*runs, strict=True)
    return median(result), median(compiled), median(processor), max(memory)


def table(model: Path, measurements: Sequence[tuple[str, Run]]) -> str:
    """Rows of Markdown."""
    return "\n".join(
        f"| {model.stem} | {name} | {result:.2f} s | {compiled:.2f} s | {processor:.2f} s | {memory:.0f} MiB |"
        for name, (result, compiled, processor, memory) in measurements
    )


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each kind (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of a call (default: %(default)s)")
    parser.add_argument("--python", default=sys.executable, metavar="FILE", help="the Python that has onnxruntime")
    options = parser.parse_args()
    print("| model | | result | compile | CPU | memory |\n| --- | --- | --- | --- | --- | --- |", flush=True)
    with TemporaryDirectory() as folder:
        (Path(folder) / "python").mkdir()
        warm = Path(folder) / "warm"
        warm.mkdir()
        (warm / "python").symlink_to(Path(folder) / "python")
        for model in options.models:
            # Modules of Python are compiled by the first run of all, which does not count.
            measured(sys.executable, _OURS, model, options.threads, warm)
            found = rows(model, options.python, options.threads, options.repeat, Path(folder))
            print(table(model, found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
