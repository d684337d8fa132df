"""How the time of `fuse-ops-hw` grows with the size of the program, for the families of `bench_scaling.py`.

    python tools/bench_hardware.py
    python tools/bench_hardware.py --families residual_blocks --sizes 10000,100000

The accelerator runs every operator of the families: products, then norms, sums and activations, of which a trip may go
back from an activation to a sum. Times are CPU seconds, the best of `--repeat`, of planning the groups (`plan`) and of
the whole pass (`pass`), with Python's garbage collector off. `exponent` is the slope between the last two sizes on
logarithmic scales: 1 is linear.
"""

import argparse
import gc
import math
import sys
from collections.abc import Iterator, Sequence
from time import process_time

from networks.graph_families import FAMILIES, program
from xdsl.context import Context
from xdsl.dialects import func

from fuse_dialect.dialect.hardware_templates import hardware_op
from fuse_dialect.hardware.block_graph import build_hardware_graph
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.templates.plan import plan_hardware
from fuse_dialect.templates.template import HardwareTemplate, HardwareUnit, links, mapped

ACCELERATOR = HardwareTemplate(
    name="bench",
    source="load",
    units=(
        HardwareUnit("load", "load"),
        HardwareUnit("mac", "mac"),
        HardwareUnit("norm", "norm"),
        HardwareUnit("sum", "sum", 2),
        HardwareUnit("act", "act", 2),
    ),
    links=links(("load", "mac"), ("mac", "norm"), ("norm", "sum"), ("sum", "act"), ("act", "sum")),
    mappings=(
        *mapped("mac", ["fuse.dense"]),
        *mapped("norm", ["fuse.batch_norm"]),
        *mapped("sum", ["fuse.add", "test.op"]),
        *mapped("act", ["fuse.relu", "fuse.exp"]),
    ),
)


def measure(family: str, size: int) -> tuple[int, int, float, float]:
    """Ops, groups, and seconds of the plan and of the pass."""
    module, ops = program(FAMILIES[family](size))
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    module.body.block.add_op(hardware_op(ACCELERATOR))
    graph = build_hardware_graph(function.body.block, ACCELERATOR).graph
    gc.collect()
    gc.disable()
    start = process_time()
    groups = plan_hardware(graph, ACCELERATOR).groups
    middle = process_time()
    FuseOpsHwPass(ACCELERATOR.name).apply(Context(), module)
    end = process_time()
    gc.enable()
    return ops, len(groups), middle - start, end - middle


def lines(family: str, sizes: Sequence[int], repeat: int) -> Iterator[str]:
    """One line a size, and the growth."""
    results: list[tuple[int, float]] = []
    for size in sizes:
        runs = [measure(family, size) for _ in range(repeat)]
        (ops, groups), plan, whole = runs[0][:2], min(run[2] for run in runs), min(run[3] for run in runs)
        results.append((ops, whole))
        yield (
            f"{family:16} {ops:>8} ops  {plan / ops * 1e6:6.1f} us/op plan  {whole / ops * 1e6:6.1f} us/op pass"
            f"  {groups} groups"
        )
    if len(results) > 1:
        (one, before), (last, after) = results[-2:]
        yield f"{family:16} exponent {math.log(after / before) / math.log(last / one):.2f} from {one} to {last} ops"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Growth of the time of fuse-ops-hw.")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--repeat", type=int, default=2, help="the best of so many runs counts (default: %(default)s)")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    for family in options.families.split(","):
        for line in lines(family, sizes, options.repeat):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
