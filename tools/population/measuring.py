"""A process that measures one model on both engines, and says what it found.

    python -m population.measuring FILE.onnx THREADS ROUNDS GIGABYTES [PEER ...]

Prints a JSON object, the fields of `rows.Row` but the name. Whatever goes wrong is a finding as well: `failure`.
"""

# onnxruntime is no dependency of the checks, and says little about its types.
# pyright: basic, reportMissingImports=false

import contextlib
import json
import math
import os
import resource
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from population.peers import call_of

OPEN_SIZE = 7
"""Of an open size that no inputs beside the model give."""
TICKS = 1e-4
"""Seconds that the clock of a process tells for sure: of less it may say 0."""
LEAST_SECONDS = 0.05
"""How long each engine is called in one turn, at least."""


def measure(path: Path, threads: int, rounds: int, peers: Sequence[str] = ()) -> dict[str, Any]:
    """The engines on one model: outputs first, then times in turns."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    start = perf_counter()
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        inputs = _inputs(path, session)
        expected = session.run(None, inputs)
    except Exception as error:
        # The other engine's failure is none of ours; whatever it raises.
        return {"skipped": f"onnxruntime: {_first_line(error)}"}
    found: dict[str, Any] = {"their_first": perf_counter() - start}

    import fuse_dialect as fd

    start = perf_counter()
    # What writes the cache would be counted as time of the first calls.
    program = fd.compile(path, threads=threads, cache=False)
    ordered = [inputs[each.name] for each in session.get_inputs()]
    outputs = program(*ordered)
    found["first"] = perf_counter() - start
    program(*ordered)  # a program of open sizes is compiled for sizes that come back
    found["difference"] = max(map(difference, expected, outputs), default=0.0)

    def ours() -> object:
        return program(*ordered)

    def theirs() -> object:
        return session.run(None, inputs)

    # On one thread that of this process, whichever thread ran: when others had the processor does not count.
    clock = process_time if threads == 1 else perf_counter
    calls = {"ours": ours, "theirs": theirs}
    for peer in peers:
        if (call := call_of(peer, path, inputs, threads)) is not None:
            calls[peer] = call
    times = [{name: best_seconds(call, clock) for name, call in calls.items()} for _ in range(rounds)]
    found |= {name: min(each[name] for each in times) for name in calls}
    special = program.specialize(*ordered)
    found["kernels"] = len(special.kernels)
    reasons = (kernel.reason for kernel in special.kernels if kernel.family in ("numpy", "python"))
    found["on_numpy"] = list(dict.fromkeys(reasons))
    return found


def difference(expected: Any, got: Any) -> float:
    """The greatest difference of two outputs, over the largest element of the first."""
    one, other = np.asarray(expected), np.asarray(got)
    if one.shape != other.shape or one.dtype != other.dtype:
        return math.inf
    if not one.size:
        return 0.0
    one, other = one.astype(np.float64), other.astype(np.float64)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(one - other))
    if not np.isfinite(apart).all():
        return math.inf
    largest = float(np.abs(one[np.isfinite(one)]).max(initial=0.0))
    return float(apart.max()) / max(largest, 1e-30)


def best_seconds(call: Callable[[], object], clock: Callable[[], float], least: float = LEAST_SECONDS) -> float:
    """The best of calls that take so many seconds together; short ones are timed several at a time."""
    best, spent, count = math.inf, 0.0, 1
    while spent < least:
        start = clock()
        for _ in range(count):
            call()
        taken = clock() - start
        spent += taken
        if taken < TICKS:
            count *= 2
        else:
            best = min(best, taken / count)
    return best


def _inputs(path: Path, session: Any) -> dict[str, Any]:
    beside = path.with_suffix(".0.npz")
    given = dict(np.load(beside)) if beside.exists() else {}
    rng = np.random.default_rng(0)
    made: dict[str, Any] = {}
    for each in session.get_inputs():
        if each.name in given:
            made[each.name] = given[each.name]
            continue
        shape = [size if isinstance(size, int) else OPEN_SIZE for size in each.shape]
        is_float = "float" in each.type
        made[each.name] = rng.uniform(-1, 1, shape).astype(np.float32) if is_float else rng.integers(0, 5, shape)
    return made


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def main() -> int:
    """Measure one model."""
    path, threads, rounds, gigabytes = Path(sys.argv[1]), *map(int, sys.argv[2:5])
    resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, gigabytes << 30))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else prints, prints there
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = measure(path, threads, rounds, sys.argv[5:])
    except Exception as error:
        # Whatever an engine raises is a result of the measurement.
        found = {"failure": f"{type(error).__name__}: {_first_line(error)}"}
    print(json.dumps(found), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
