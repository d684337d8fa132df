"""What `fuse-ops` and `fuse-opt` cost, each beside what it is compared with, in one run.

    python tools/bench_pass.py

1. Analysis and outlining of chains and residual blocks, in CPU microseconds an op.
2. Start-up: wall time of `fuse-opt` and of stock `xdsl-opt` on an empty module.
3. `fuse-opt --fuse-ops` on a file of 10,000 ops, against stock `xdsl-opt` that parses, verifies and prints it.
4. What `--fuse-ops=dedup=false` adds to reading, verifying and printing a file in generic form: thousands of functions
   are made, verified and printed. At two sizes, with the exponent of growth.
5. 100,000 ops with 2,000 constants, in both forms of the ops: reading alone beside xDSL's parser, and
   `fuse-opt --fuse-ops` beside `xdsl-opt`. One run each, for a run takes a minute.

The best of `--repeat` runs counts; both tools of a comparison take turns, so that other load meets both.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from math import log
from pathlib import Path
from time import perf_counter, process_time

from bench_scaling import lines
from networks.graph_families import FAMILIES, program
from xdsl.context import Context
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.universe import Universe

from fuse_dialect.frontends.mlir.reader import parse_mlir

SCRIPTS = Path(sys.executable).parent
FILE_SIZE = 10_000
"""Ops of the file that both tools read."""
WHOLE_SIZES = (3_000, 12_000)
"""Ops of the files for the cost of the whole process."""
LARGE_SIZE, CONSTANTS = 100_000, 2_000
"""Ops and constants of the large file."""


def wall_seconds(command: Sequence[str]) -> float:
    """Wall time of a command, whose output is thrown away."""
    start = perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return perf_counter() - start


def compare(what: str, ours: Sequence[str], theirs: Sequence[str], repeat: int) -> str:
    """A line with the best wall times of two commands."""
    pairs = [(wall_seconds(ours), wall_seconds(theirs)) for _ in range(repeat)]
    our_best, their_best = (min(times) for times in zip(*pairs, strict=True))
    peer = f"xdsl-opt {version('xdsl')}"
    return (
        f"{what:<34} fuse-opt {our_best:6.3f} s, {peer} {their_best:6.3f} s,"
        f" difference {our_best - their_best:+.3f} s, ratio {our_best / their_best:.2f}"
    )


def whole_process(family: str, folder: Path, repeat: int) -> str:
    """A line with what fusing without sharing adds to reading and printing, at both sizes, and how the total grows."""
    fuse_opt = str(SCRIPTS / "fuse-opt")
    ratios: list[float] = []
    totals: list[float] = []
    for size in WHOLE_SIZES:
        module, _ = program(FAMILIES[family](size))
        file = folder / f"{family}-{size}.mlir"
        with file.open("w") as stream:
            Printer(stream=stream, print_generic_format=True).print_op(module)
        alone, fused = [fuse_opt, str(file)], [fuse_opt, str(file), "--fuse-ops=dedup=false"]
        pairs = [(wall_seconds(alone), wall_seconds(fused)) for _ in range(repeat)]
        without, total = (min(times) for times in zip(*pairs, strict=True))
        ratios.append((total - without) / without)
        totals.append(total)
    exponent = log(totals[1] / totals[0]) / log(WHOLE_SIZES[1] / WHOLE_SIZES[0])
    small, large = WHOLE_SIZES
    return (
        f"{family:<18} fusing adds {ratios[0]:.2f} at {small} ops and {ratios[1]:.2f} at {large} ops of reading and"
        f" printing; {totals[1]:.2f} s, exponent {exponent:.2f}"
    )


def with_constants(*, generic: bool) -> str:
    """A chain of additions on tensors, in each 50th place with a new constant."""
    type = "tensor<4xf32>"
    lines = [f"func.func @main(%v0: {type}) -> {type} {{"]
    for place in range(LARGE_SIZE):
        number = place * CONSTANTS // LARGE_SIZE
        if place % (LARGE_SIZE // CONSTANTS) == 0:
            lines.append(f"  %c{number} = arith.constant dense<[{number}.5, 1.0, 2.0, 3.0]> : {type}")
        operands = f"%v{place}, %c{number}"
        written = f'"arith.addf"({operands}) : ({type}, {type})' if generic else f"arith.addf {operands} : {type}"
        lines.append(f"  %v{place + 1} = {written}{f' -> {type}' if generic else ''}")
    return "\n".join([*lines, f"  func.return %v{LARGE_SIZE} : {type}", "}\n"])


def reading(what: str, text: str) -> str:
    """A line with the CPU seconds that reading takes here and with xDSL's own parser."""
    start = process_time()
    parse_mlir(text)
    middle = process_time()
    context = Context()
    for name, dialect in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, dialect)
    Parser(context, text).parse_module()
    ours, theirs = middle - start, process_time() - middle
    return f"{what:<34} reading {ours:6.2f} s, xDSL {theirs:6.2f} s, ratio {ours / theirs:.2f}"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Costs of fuse-ops and fuse-opt.")
    parser.add_argument("--repeat", type=int, default=5, help="the best of so many runs counts (default: %(default)s)")
    parser.add_argument("--sizes", default="1000,10000,100000")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    for family in ("chain", "residual_blocks"):
        for line in lines(family, sizes, 256, options.repeat, tvm_python=None, strategy="tvm"):
            print(line, flush=True)
    fuse_opt, xdsl_opt = str(SCRIPTS / "fuse-opt"), str(SCRIPTS / "xdsl-opt")
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.mlir"
        empty.write_text("builtin.module {\n}\n")
        print(compare("start-up, empty module", [fuse_opt, str(empty)], [xdsl_opt, str(empty)], options.repeat))
        for family in ("chain", "residual_blocks", "nested_skips"):
            module, ops = program(FAMILIES[family](FILE_SIZE))
            file = Path(folder) / f"{family}.mlir"
            file.write_text(str(module) + "\n")
            commands = [fuse_opt, str(file), "--fuse-ops"], [xdsl_opt, str(file)]
            print(compare(f"{family}, {ops} ops, fuse and print", *commands, options.repeat), flush=True)
        for family in ("chain", "residual_blocks", "nested_skips"):
            print(whole_process(family, Path(folder), options.repeat), flush=True)
        for form in ("own form", "generic form"):
            file, text = Path(folder) / "constants.mlir", with_constants(generic=form == "generic form")
            file.write_text(text)
            what = f"{LARGE_SIZE} ops, {CONSTANTS} constants, {form}"
            print(reading(what, text), flush=True)
            print(compare(what, [fuse_opt, str(file), "--fuse-ops"], [xdsl_opt, str(file)], 1), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
