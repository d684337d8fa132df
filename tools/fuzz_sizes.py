"""Random models of open sizes, growing loops and counted rows: one program at many sizes, beside NumPy's meaning.

    python tools/fuzz_sizes.py --seed 0 --count 1000 [--cluster local:2]

Each model of `networks/random_sizes.py` is compiled once and called with `SIZES` rows, in an order of its own. A
finding is a wrong result, an error that one of both does not raise, or an error that is no diagnosed one. Exit code: 1
if there is one. Plans are checked before they run; with `FUSE_CHECKED=1` kernels check every access to memory, too.

Needs `pip install onnx`.
"""

# pyright: basic, reportMissingImports=false

import argparse
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import numpy as np
from checking.cluster import add_cluster, spread
from networks.random_sizes import random_sizes

import fuse_dialect as fd
from fuse_dialect import checked
from fuse_dialect.diagnostics import FuseError

SIZES = (0, 1, 2, 3, 5, 7, 13, 24)
TOLERANCE = 2e-4
"""Of the largest element, or of 1: steps follow each other."""
PORTION = 20
"""Models of one process on a cluster."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; 1 when there is a finding."""
    os.environ.setdefault(checked.VARIABLE, checked.PLANS)
    parser = argparse.ArgumentParser(description="Random models of open sizes, each at many sizes, beside NumPy.")
    parser.add_argument("--seed", type=int, default=0, help="of the first model (default: 0)")
    parser.add_argument("--count", type=int, default=1000, help="models (default: 1000)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long (default: no limit)")
    parser.add_argument("--target-cpu", default=None, help="processor to compile for (default: this one)")
    add_cluster(parser)
    given = parser.parse_args(arguments)
    if given.cluster is not None:
        seeds = range(given.seed, given.seed + given.count)
        return spread(given.cluster, __file__, arguments, seeds, PORTION, minutes=given.minutes)
    started, tried, native, findings = monotonic(), 0, 0, 0
    warnings.simplefilter("ignore")
    logging.getLogger("fuse_dialect").setLevel(logging.ERROR)
    np.seterr(all="ignore")
    for seed in range(given.seed, given.seed + given.count):
        if monotonic() - started > given.minutes * 60:
            break
        tried += 1
        try:
            is_native, problem = check(seed, given.target_cpu)
        except Exception as error:  # whatever it is, it is a finding
            is_native, problem = False, f"{type(error).__name__}: {error}"
        native += is_native
        if problem:
            findings += 1
            print(f"seed {seed}: {problem}", flush=True)
    print(f"{tried} models at {len(SIZES)} sizes each, {native} native at every size: {findings} findings")
    return 1 if findings else 0


def check(seed: int, target_cpu: str | None = None) -> tuple[bool, str]:
    """Whether a model ran natively at all sizes, and what is wrong with it, if something is."""
    file, inputs = random_sizes(seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(file)
        module = fd.read(str(path))
        program = fd.compile(str(path), target_cpu=target_cpu)
    rng = np.random.default_rng(seed)
    for size in [*rng.permutation(SIZES), int(rng.choice(SIZES))]:
        arrays = inputs(int(size), rng)
        problem = _difference(_results(partial(fd.run, module, *arrays)), _results(partial(program, *arrays)))
        if problem:
            return False, f"{size} rows: {problem}"
    return all(kernel.family != "numpy" for kernel in program.kernels), ""


def _results(run: Any) -> Any:
    try:
        return list(run())
    except FuseError as error:
        return error


def _difference(wanted: Any, got: Any) -> str:
    if isinstance(wanted, FuseError) or isinstance(got, FuseError):
        if isinstance(wanted, FuseError) and isinstance(got, FuseError):
            return ""
        return f"NumPy: {_told(wanted)}; native: {_told(got)}"
    for number, (one, other) in enumerate(zip(wanted, got, strict=True)):
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            return f"result {number}: {one.shape} {one.dtype}, native {other.shape} {other.dtype}"
        scale = max(1.0, float(np.abs(one[np.isfinite(one)]).max(initial=0)))
        if not np.allclose(one, other, rtol=0, atol=TOLERANCE * scale, equal_nan=True):
            return f"result {number} differs by {np.nanmax(np.abs(one.astype(np.float64) - other)):.3g}"
    return ""


def _told(results: Any) -> str:
    return str(results).splitlines()[0] if isinstance(results, FuseError) else "results"


if __name__ == "__main__":
    sys.exit(main())
