"""Exported models with open axes at sizes that never came before, beside onnxruntime.

    python tools/bench_sizes.py FOLDER [NAME ...] [--sizes N] [--threads N]

reads what `export_torch_models.py` wrote: models, and inputs of two sizes beside each. Every size of an open axis is
drawn between 1 and twice the greater of the two, in multiples of what both are multiples of; elements are those of the
inputs, over and over. Sizes that onnxruntime refuses are left out. Both engines run each size once, in turn; the first
calls, which make plans, are not left out. Prints the median and the slowest call, and what was compiled in calls.

Needs `pip install onnx onnxruntime`.
"""

# onnxruntime is no dependency of the checks, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import fuse_dialect as fd

TOLERANCE = 1e-4
"""Of the largest element."""
Inputs = Mapping[str, Any]


@dataclass(slots=True)
class Found:
    """What was found of one model."""

    ours: list[float] = field(default_factory=list[float])
    """Seconds of each call."""
    theirs: list[float] = field(default_factory=list[float])
    wrong: str = ""
    compiled: int = 0
    """Modules that were compiled in calls."""
    on_numpy: int = 0

    @property
    def ratio(self) -> float:
        """Of the medians."""
        return float(np.median(self.ours) / np.median(self.theirs))


def resized(array: Any, sizes: Sequence[int]) -> Any:
    """An array of other sizes with the elements of the first, over and over."""
    for axis, size in enumerate(sizes):
        array = np.take(array, np.arange(size) % array.shape[axis], axis=axis)
    return np.ascontiguousarray(array)


def drawn(open_axes: Mapping[str, Sequence[int]], rng: np.random.Generator) -> dict[str, int]:
    """A size for each symbol, of the sizes that are known to do."""
    sizes: dict[str, int] = {}
    for symbol, known in open_axes.items():
        unit = math.gcd(*known)
        unit = unit if unit > 4 else 1  # a small one is chance
        sizes[symbol] = unit * int(rng.integers(1, 2 * max(known) // unit + 1))
    return sizes


def measure(path: Path, options: argparse.Namespace) -> Found:
    """Compile one model, and call it at sizes of its own."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.log_severity_level = options.threads, 4
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    forms = {each.name: each.shape for each in session.get_inputs()}
    samples = [dict(np.load(file)) for file in sorted(path.parent.glob(f"{path.stem}.*.npz"))]
    # Results lie beside the inputs, under other names.
    given = [dict(zip(forms, list(each.values())[: len(forms)], strict=True)) for each in samples]
    open_axes: dict[str, list[int]] = {}
    for name, shape in forms.items():
        for axis, size in enumerate(shape):
            if isinstance(size, str):
                open_axes.setdefault(size, []).extend(each[name].shape[axis] for each in given)
    found, rng = Found(), np.random.default_rng(0)
    program = fd.compile(str(path), threads=options.threads, cache=False)
    clock = process_time if options.threads == 1 else perf_counter
    seen: set[tuple[int, ...]] = {tuple(sizes) for sizes in zip(*open_axes.values(), strict=False)}
    for _ in range(20 * options.sizes):
        if len(found.ours) == options.sizes:
            break
        sizes = drawn(open_axes, rng)
        if tuple(sizes.values()) in seen:
            continue
        seen.add(tuple(sizes.values()))
        inputs: Inputs = {
            name: resized(given[0][name], [sizes[size] if isinstance(size, str) else size for size in shape])
            for name, shape in forms.items()
        }
        start = clock()
        try:
            expected = session.run(None, dict(inputs))
        except Exception:  # the exporter has settled something that the model does not say
            continue
        middle = clock()
        try:
            got = program(*inputs.values())
        except fd.FuseError as error:
            found.wrong = f"{sizes}: {str(error).splitlines()[0]}"
            return found
        found.ours.append(clock() - middle)
        found.theirs.append(middle - start)
        worst = max(map(_difference, expected, got), default=0.0)
        if not worst <= TOLERANCE:
            found.wrong = f"{sizes}: differs by {worst:.1e}"
            return found
    found.on_numpy = sum(kernel.family == "numpy" for kernel in program.kernels)
    found.compiled = program.report.compiled_in_calls
    return found


def _difference(expected: Any, got: Any) -> float:
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return math.inf
    if not expected.size:
        return 0.0
    one, other = expected.astype(np.float64), got.astype(np.float64)
    apart = np.abs(one - other)[~((one == other) | (np.isnan(one) & np.isnan(other)))]
    return float(apart.max(initial=0.0) / max(np.abs(one[np.isfinite(one)]).max(initial=0.0), 1e-30))


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="models, without the form behind the dot")
    parser.add_argument("--sizes", type=int, default=20, help="of each model (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_intermixed_args()
    paths = [
        path
        for path in sorted(options.folder.glob("*.onnx"))
        if not options.names or path.stem.rsplit(".", 1)[0] in options.names
    ]
    if not paths:
        parser.error(f"no such models in '{options.folder}'")
    print("| model | sizes | ours | slowest | onnxruntime | ratio | compiled | on NumPy |")
    print("|---|---|---|---|---|---|---|---|")
    ratios: list[float] = []
    failed = compiled = 0
    for path in paths:
        try:
            found = measure(path, options)
        except fd.FuseError as error:
            found = Found(wrong=str(error).splitlines()[0])
        if found.wrong or not found.ours:
            failed += bool(found.wrong)
            print(f"| {path.stem} | {len(found.ours)} | {found.wrong or 'no other sizes'} | | | | | |", flush=True)
            continue
        ratios.append(found.ratio)
        compiled += found.compiled
        micro = [1e6 * each for each in (np.median(found.ours), max(found.ours), np.median(found.theirs))]
        print(
            f"| {path.stem} | {len(found.ours)} | {micro[0]:.0f} us | {micro[1]:.0f} us | {micro[2]:.0f} us"
            f" | {found.ratio:.2f} | {found.compiled} | {found.on_numpy} |",
            flush=True,
        )
    if ratios:
        mean, above = float(np.exp(np.mean(np.log(ratios)))), sum(ratio > 1.2 for ratio in ratios)
        print(f"\n{len(ratios)} models, geometric mean {mean:.2f}, {above} above 1.2; {compiled} compiled in calls")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
