"""Time of `fuse-ops-hw` against the size of the block, for shapes of networks that strain it in different ways.

python tools/bench_hardware.py [--sizes 1000 10000 100000]
"""

import argparse
import gc
import sys
from collections.abc import Callable, Mapping
from time import perf_counter

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from fuse_dialect.analysis.hardware_plan import plan_hardware
from fuse_dialect.dialect.activation import ReluOp
from fuse_dialect.dialect.broadcast import AddOp
from fuse_dialect.dialect.matmul import DenseOp
from fuse_dialect.dialect.types import tensor
from fuse_dialect.hardware.opu import OPU
from fuse_dialect.transforms.build_hardware_graph import build_hardware_graph
from fuse_dialect.transforms.fuse_ops_hw import FuseOpsHwPass

Grow = Callable[[list[Operation], list[SSAValue], SSAValue], None]
"""Appends some ops, and their last value, to a program with a weight."""


def _chain(ops: list[Operation], values: list[SSAValue], weight: SSAValue) -> None:
    dense = DenseOp(values[-1], weight)
    relu = ReluOp(dense)
    ops.extend((dense, relu))
    values.append(relu.results[0])


def _residual(ops: list[Operation], values: list[SSAValue], weight: SSAValue) -> None:
    skip = values[-1]
    _chain(ops, values, weight)
    dense = DenseOp(values[-1], weight)
    add = AddOp(dense, skip)
    relu = ReluOp(add)
    ops.extend((dense, add, relu))
    values.append(relu.results[0])


def _long_skip(ops: list[Operation], values: list[SSAValue], weight: SSAValue) -> None:
    """Adds a value from half way back, as deep U-Nets do, behind a unit that makes the nearest group refuse."""
    _chain(ops, values, weight)
    add = AddOp(values[-1], values[len(values) // 2])
    again = AddOp(add, values[len(values) // 3])
    ops.extend((add, again))
    values.append(again.results[0])


SHAPES: Mapping[str, Grow] = {"chain": _chain, "residual": _residual, "long-skip": _long_skip}
"""How each program grows."""


def program(grow: Grow, size: int) -> ModuleOp:
    """A program of at least `size` ops."""
    function = FuncOp("main", ([tensor([2, 4], f32), tensor([4, 4], f32)], []))
    x, weight = function.body.block.args
    ops: list[Operation] = []
    values: list[SSAValue] = [x]
    while len(ops) < size:
        grow(ops, values, weight)
    function.body.block.add_ops([*ops, ReturnOp(values[-1])])
    function.update_function_type()
    return ModuleOp([function])


def main() -> int:
    """Print a table of times."""
    parser = argparse.ArgumentParser(description="Time of fuse-ops-hw against size.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000], help="ops")
    sizes: list[int] = parser.parse_args().sizes
    print(f"{'shape':<10} {'ops':>8} {'plan s':>8} {'us/op':>7} {'pass s':>8} {'us/op':>7}")
    for shape, grow in SHAPES.items():
        for size in sizes:
            module = program(grow, size)
            gc.collect()
            gc.disable()
            function = module.body.block.first_op
            assert isinstance(function, FuncOp)
            graph = build_hardware_graph(function.body.block, OPU).graph
            start = perf_counter()
            plan_hardware(graph, OPU)
            plan = perf_counter() - start
            start = perf_counter()
            FuseOpsHwPass().apply(Context(), module)
            whole = perf_counter() - start
            gc.enable()
            figures = f"{plan:>8.2f} {plan / size * 1e6:>7.1f} {whole:>8.2f} {whole / size * 1e6:>7.1f}"
            print(f"{shape:<10} {size:>8} {figures}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
