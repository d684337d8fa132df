"""Measure the machine at hand for the strategy `cost`, and write its description.

    python tools/measure_machine.py --name my-cpu -o my-cpu.toml       # under two minutes, with nothing else running
    fuse-opt --fuse-ops="strategy=cost machine=my-cpu.toml" model.onnx
    fuse-run model.onnx --backend llvm --target-cpu my-cpu.toml --fuse-ops="strategy=cost" --random-inputs 0

Each number is the best of several runs of small programs that this package compiles, on one thread; which they are says
`fuse_dialect/machines/measuring.py`. `--target-cpu haswell` measures by the instructions of that processor.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.loops.functions import scalar_function
from fuse_dialect.machines.description import description_of
from fuse_dialect.machines.host import host_caches
from fuse_dialect.machines.machine import Cache, Machine
from fuse_dialect.machines.measuring import best_of, measured
from fuse_dialect.machines.names import find_machine

_MEASURED = {"add": "arith.addf", "exp": "math.exp", "tanh": "math.tanh"}
"""Ops, each a map of one function; their weights are what the cost model takes these for."""
_LEAST_RUNS = 3
"""The first one waits for memory that no program has used."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure this machine for the strategy cost.")
    parser.add_argument("--name", default="this-machine", help="name in the file (default: this-machine)")
    parser.add_argument("--about", default="one core, measured", help="a sentence about it")
    parser.add_argument("-o", "--output", type=Path, help="file to write; by default standard output")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each number (default: 2)")
    parser.add_argument("--caches", default="", help="sizes in KiB, nearest first (default: what the system says)")
    parser.add_argument("--target-cpu", default="", help="measure by the instructions of this machine")
    options = parser.parse_args(arguments)
    try:
        base = find_machine(options.target_cpu)
        caches = tuple(Cache(int(kib) << 10) for kib in options.caches.split(",") if kib) or host_caches()
        described = replace(base, name=options.name, caches=caches, processor=base.processor or base.name, rates=None)
        found = _measured(described, options.target_cpu or None, options.seconds)
        text = description_of(found, options.about)
        if options.output is None:
            print(text, end="")
        else:
            options.output.write_text(text)
    except FuseError as error:
        print(error, file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _measured(machine: Machine, target: str | None, seconds: float) -> Machine:
    def seconds_of(text: str, shapes: Sequence[tuple[int, ...]], *, is_fused: bool = True) -> float:
        program = fd.compile(fd.parse(text), target_cpu=target, strategy="tvm" if is_fused else "separate")
        arrays = [np.full(shape, 0.1, np.float32) for shape in shapes]

        def run() -> float:
            start = perf_counter()
            program(*arrays)
            return perf_counter() - start

        return best_of(run, lambda runs, total: runs >= _LEAST_RUNS and total >= seconds)

    weights = {name: scalar_function(function).cost for name, function in _MEASURED.items()}
    return measured(machine, seconds_of, weights, _progress)


def _progress(what: str) -> None:
    if sys.stderr.isatty():
        print(f"measuring {what} ...", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
