"""How time and memory of fusion grow with the size of the program, for eight families of graphs.

    python tools/bench_scaling.py                                    # about 10 minutes
    python tools/bench_scaling.py --families chain --sizes 1000,10000 --depths 256
    python tools/bench_scaling.py --million                          # 10^6 ops: chain and random_dag
    python tools/bench_scaling.py --strategy cost --depths 256       # another strategy
    python tools/bench_scaling.py --tvm /path/to/python-with-tvm     # TVM's FuseOps in the same run, at 10,000 ops

Every measurement is a process of its own and the best of `--repeat`. Times are CPU seconds of reading the block into a
graph (`reading`), of what `cost` asks about its ops besides (`facts`), of finding the plan (`search`), and of grouping
and outlining (`outlining`), as `fuse-ops` does them; building the program is not counted. Python's garbage collector is
off, because what it costs depends on what else is in memory; C++ has none. For TVM the time is that of its pass
`FuseOps` on the same graph. Memory is what the process grew by, for each op, and the peak of all that it held.

`exponent` is the slope between the last two sizes on logarithmic scales: 1 is linear. Memory is slower than caches, so
that whatever touches a large program shows more than 1; the exponent of a bare loop that looks once at every operand of
the same program (`bare walk`) says how much of it is the machine's.
"""

import argparse
import gc
import json
import math
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from time import process_time

from networks.graph_families import FAMILIES, program
from xdsl.dialects import func
from xdsl.ir import Block

from fuse_dialect.cost.search import machine_of
from fuse_dialect.fusion.core.strategy import FusionOptions, find_strategy
from fuse_dialect.fusion.fuse_ops import BlockFusion, FuseOpsPass
from fuse_dialect.fusion.ir.block_graph import build_graph
from fuse_dialect.fusion.outlining.arrange import arranged
from fuse_dialect.fusion.outlining.outline import outline
from fuse_dialect.fusion.outlining.primitives import Primitives

TVM_SIZE = 10_000
"""Ops at which TVM is measured: much larger graphs crash it."""
PARTS = ("reading", "facts", "search", "outlining")
TIMEOUT = 1200
"""Seconds after which a measurement is given up."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Costs of one run, each for all ops together."""

    ops: int
    reading: float
    """Seconds."""
    facts: float
    """Seconds."""
    search: float
    """Seconds."""
    outlining: float
    """Seconds."""
    kilobytes: int
    """What the process grew by."""
    peak: int
    """Kilobytes of the whole process, the program included."""
    primitives: int
    walk: float
    """Seconds of one look at every operand."""

    @property
    def seconds(self) -> float:
        """Seconds of all parts."""
        return self.reading + self.facts + self.search + self.outlining

    @property
    def microseconds(self) -> float:
        """Microseconds an op."""
        return self.seconds / self.ops * 1e6


def measure(family: str, size: int, depth: int, strategy: str) -> Measurement:
    """Fuse one program in this process."""
    gc.disable()
    # A small program imports what is imported late, and is no part of the costs of another.
    FuseOpsPass(strategy=strategy).plan_functions(program(FAMILIES[family](64))[0])
    module, ops = program(FAMILIES[family](size))
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    walk = min(walk_seconds(function.body.block) for _ in range(3))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = process_time()
    block_graph = build_graph(function.body.block)
    read = process_time()
    if strategy == "cost":
        assert block_graph.value_graph.facts, "found once, when somebody asks"
        assert block_graph.find_forms(machine_of(FusionOptions())), "found once, when somebody asks"
    known = process_time()
    options = FusionOptions(max_depth=depth, forms=block_graph.find_forms)
    plan = find_strategy(strategy)(block_graph.value_graph, options)
    middle = process_time()
    groups = FuseOpsPass().planned_groups(BlockFusion(block_graph, plan))
    if plan.partition is None:
        groups = arranged(function.body.block, groups, count())
    outline(function, groups, Primitives(module.body.block))
    end = process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = (read - start, known - read, middle - known, end - middle)
    return Measurement(ops, *times, peak - memory, peak, len(groups), walk)


def walk_seconds(block: Block) -> float:
    """Seconds of a loop that does what no analysis can do without: it looks where every operand comes from."""
    start = process_time()
    for op in block.ops:
        for operand in op.operands:
            assert operand.owner is not op
    return process_time() - start


def measure_tvm(family: str, size: int, depth: int) -> dict[str, float | str]:
    """Seconds of TVM's `FuseOps` on the graph of one program, and TVM's version."""
    from tvm_oracle import relax_kinds, relax_module, run_fuse_ops, tvm

    module, ops = program(FAMILIES[family](size))
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    graph = FuseOpsPass().plan_block(function.body.block).block_graph.graph
    relaxed = relax_module(graph, relax_kinds(graph), share_functions=True)
    start = process_time()
    run_fuse_ops(relaxed, 2, depth or None)
    return {"ops": ops, "seconds": process_time() - start, "version": tvm.__version__}


def in_process(
    python: str, what: str, family: str, size: int, depth: int, strategy: str = "tvm"
) -> dict[str, float | str] | str:
    """Run one measurement in another process; the text is why there is no result."""
    command = [python, __file__, "--one", what, "--families", family, "--sizes", str(size), "--depths", str(depth)]
    command += ["--strategy", strategy]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"not done after {TIMEOUT} s"
    if done.returncode != 0:
        return f"signal {-done.returncode}" if done.returncode < 0 else done.stderr.strip().splitlines()[-1]
    return json.loads(done.stdout)


def best(family: str, size: int, depth: int, repeat: int, strategy: str = "tvm") -> Measurement | str:
    """The fastest of several runs."""
    found: list[Measurement] = []
    for _ in range(repeat):
        result = in_process(sys.executable, "ours", family, size, depth, strategy)
        if isinstance(result, str):
            return result
        found.append(Measurement(**result))  # pyright: ignore[reportArgumentType]
    return min(found, key=lambda each: each.seconds)


def lines(
    family: str, sizes: Sequence[int], depth: int, repeat: int, tvm_python: str | None, strategy: str
) -> Iterator[str]:
    """One line a size, the growth, and TVM."""
    label = f"{family:16} depth {depth or 'none':>4}"
    results: list[Measurement] = []
    for size in sizes:
        result = best(family, size, depth, repeat, strategy)
        if isinstance(result, str):
            yield f"{label}  {size:>9}  no result: {result}"
            return
        results.append(result)
        parts = " + ".join(f"{getattr(result, part) / result.ops * 1e6:5.1f} {part}" for part in PARTS)
        yield (
            f"{label}  {result.ops:>9} ops  {result.microseconds:6.1f} us/op = {parts}"
            f"  {result.kilobytes / result.ops:5.2f} kB/op  {result.peak // 1024} MB peak  {result.primitives} kernels"
        )
    if len(results) > 1:
        last, one = results[-1], results[-2]
        growth, walk = (
            math.log(ratio, last.ops / one.ops) for ratio in (last.seconds / one.seconds, last.walk / one.walk)
        )
        yield f"{label}  exponent {growth:.2f} from {one.ops} to {last.ops} ops; bare walk {walk:.2f}"
    if tvm_python is not None:
        yield f"{label}  {_against_tvm(family, depth, repeat, tvm_python)}"


def _against_tvm(family: str, depth: int, repeat: int, python: str) -> str:
    """TVM's time at `TVM_SIZE` ops beside ours."""
    ours = best(family, TVM_SIZE, depth, repeat)
    theirs = [in_process(python, "tvm", family, TVM_SIZE, depth) for _ in range(repeat)]
    failed = [each for each in (ours, *theirs) if isinstance(each, str)]
    if failed or isinstance(ours, str):
        return f"no result: {failed[0]}"
    seconds = min(float(each["seconds"]) for each in theirs if not isinstance(each, str))
    version = next(each["version"] for each in theirs if not isinstance(each, str))
    return f"{TVM_SIZE} ops: {ours.seconds:.3f} s, TVM {version} {seconds:.3f} s, ratio {ours.seconds / seconds:.2f}"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Growth of time and memory of fuse-ops.")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--depths", default="256,0", help="0 is no limit (default: %(default)s)")
    parser.add_argument("--strategy", default="tvm", help="how groups are found (default: tvm)")
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs counts (default: %(default)s)")
    parser.add_argument("--tvm", metavar="PYTHON", help="interpreter of an environment with the extra 'oracle'")
    parser.add_argument("--million", action="store_true", help="chain and random_dag of 10^6 ops instead")
    parser.add_argument("--one", choices=("ours", "tvm"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    families, depths = options.families.split(","), [int(depth) for depth in options.depths.split(",")]
    sizes = [int(size) for size in options.sizes.split(",")]
    if options.one == "ours":
        print(json.dumps(asdict(measure(families[0], sizes[0], depths[0], options.strategy))))
        return 0
    if options.one == "tvm":
        print(json.dumps(measure_tvm(families[0], sizes[0], depths[0])))
        return 0
    if options.million:
        families, sizes = ["chain", "random_dag"], [1_000_000]
    for family in families:
        for depth in depths:
            for line in lines(family, sizes, depth, options.repeat, options.tvm, options.strategy):
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
