"""Loops whose states grow, and rows that the data counts: each model beside NumPy's meaning and onnxruntime.

    python tools/bench_growing.py [NAME ...] [--threads N] [--length N] [--reasons]

Prints the median and the slowest call of both engines over lengths around `--length`, in random order, none of which
came before, and which kernels are left to NumPy. `--reasons` says why. A model whose results differ has no time.

Needs `pip install onnx onnxruntime`. Weights are random.
"""

# onnxruntime is no dependency of the checks, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from networks.counted_rows import COUNTED
from networks.growing_loops import LOOPS

import fuse_dialect as fd

MODELS = {**LOOPS, **COUNTED}
CALLS = 20
"""Of each model, each with a length of its own."""
TOLERANCE = 2e-4
"""Of the largest element: steps follow each other."""


@dataclass(slots=True)
class Found:
    """What was found of one model."""

    ours: list[float] = field(default_factory=list[float])
    """Seconds of each call."""
    theirs: list[float] = field(default_factory=list[float])
    wrong: str = ""
    on_numpy: list[str] = field(default_factory=list[str])
    """Kernels and why."""

    @property
    def ratio(self) -> float:
        """Of the medians."""
        return float(np.median(self.ours) / np.median(self.theirs))


def measure(name: str, threads: int, length: int, strategy: str) -> Found:
    """Compile one model, compare, and time it."""
    import onnxruntime

    file, inputs = MODELS[name]()
    how = onnxruntime.SessionOptions()
    how.intra_op_num_threads = threads
    how.log_severity_level = 3
    session = onnxruntime.InferenceSession(file, how, providers=["CPUExecutionProvider"])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(file)
        module = fd.read(str(path))
        program = fd.compile(str(path), threads=threads, cache=False, strategy=strategy)
    found = Found()
    rng = np.random.default_rng(0)
    names = [each.name for each in session.get_inputs()]

    def theirs(arrays: Sequence[Any]) -> list[Any]:
        return session.run(None, dict(zip(names, arrays, strict=True)))

    for own in (length + 1, 3):
        arrays = inputs(own, rng)
        wanted = theirs(arrays)
        for way, run in (("NumPy", lambda given: fd.run(module, *given)), ("native", lambda given: program(*given))):
            found.wrong = found.wrong or _difference(way, run, arrays, wanted)
    clock = time.process_time if threads == 1 else time.perf_counter
    for own in rng.permutation(np.arange(length - CALLS // 2, length + CALLS // 2)):
        arrays = inputs(int(own), rng)
        for run, seconds in ((program, found.ours), (lambda *given: theirs(given), found.theirs)):
            start = clock()
            run(*arrays)
            seconds.append(clock() - start)
    found.on_numpy = [f"{kernel.name}: {kernel.reason}" for kernel in program.kernels if kernel.family == "numpy"]
    return found


def _difference(way: str, run: Callable[[Any], Any], arrays: Sequence[Any], wanted: Sequence[Any]) -> str:
    try:
        got = run(arrays)
    except fd.FuseError as error:
        return f"{way}: {str(error).splitlines()[0]}"
    for place, (one, other) in enumerate(zip(got, wanted, strict=True)):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"{way}: result {place} is {one.dtype}{one.shape}, not {other.dtype}{other.shape}"
        is_nan = np.isnan(other) if other.dtype.kind == "f" else np.zeros(other.shape, bool)
        one, other = one[~is_nan].astype(np.float64), other[~is_nan]
        if one.size:
            most = np.abs(one - other).max()
            if not most <= TOLERANCE * max(np.abs(other).max(), 1e-30):
                return f"{way}: result {place} differs by {most:.1e}"
    return ""


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--length", type=int, default=48)
    parser.add_argument("--reasons", action="store_true")
    parser.add_argument("--strategy", default="cost", help="of fusion (default: cost)")
    options = parser.parse_args()
    print("| model | ours | slowest | onnxruntime | ratio | on NumPy |\n|---|---|---|---|---|---|")
    ratios: list[float] = []
    failed = 0
    for name in options.names or MODELS:
        found = measure(name, options.threads, options.length, options.strategy)
        if found.wrong:
            failed += 1
            print(f"| {name} | {found.wrong} | | | | |", flush=True)
            continue
        ratios.append(found.ratio)
        micro = [1e6 * each for each in (np.median(found.ours), max(found.ours), np.median(found.theirs))]
        names = ", ".join(each.split(":")[0] for each in found.on_numpy)
        print(
            f"| {name} | {micro[0]:.0f} us | {micro[1]:.0f} us | {micro[2]:.0f} us | {found.ratio:.2f} | {names} |",
            flush=True,
        )
        if options.reasons:
            for each in found.on_numpy:
                print(f"    {each}", file=sys.stderr)
    if ratios:
        mean = float(np.exp(np.mean(np.log(ratios))))
        print(f"\n{len(ratios)} models, geometric mean {mean:.2f}, {sum(ratio > 1.5 for ratio in ratios)} above 1.5")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
