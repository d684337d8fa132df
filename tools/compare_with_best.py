"""How far the strategy `cost` is from the best plan by its own model, on programs small enough to try everything.

    python tools/compare_with_best.py --random 2000
    python tools/compare_with_best.py MODEL.onnx ... --ops 8 --random 0

The best plan is that of the least predicted time among all that any sequence of changes leads to: those that the
strategy itself tries, whether they save time or not. Programs are random ones of `--ops` operators, and pieces of as
many consecutive operators of the models that are named. A program with more than `--states` plans is left out, and
counted. TVM's rules are the third plan, as far as the model allows its kernels.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

import fuse_dialect as fd
from fuse_dialect.cost.by_cost import best_seconds, predicted_seconds, seconds_of
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.fusion.core.partition import tvm
from fuse_dialect.fusion.core.strategy import FusionOptions
from fuse_dialect.fusion.core.value_graph import ValueGraph
from fuse_dialect.fusion.ir.block_graph import build_graph
from fuse_dialect.transforms.compile_prefix import compile_prefix
from fuse_dialect.transforms.runnable import make_runnable

SIZE = 256


@dataclass(slots=True)
class Result:
    """One program."""

    name: str
    cost: float
    """Seconds."""
    best: float
    separate: float
    tvm: float

    @property
    def loss(self) -> float:
        """How much more time than the best plan takes, as a part of it."""
        return self.cost / self.best - 1 if self.best else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="The strategy cost beside the best plan of its model.")
    parser.add_argument("models", nargs="*", type=Path, help="ONNX or MLIR files whose pieces are tried")
    parser.add_argument("--random", type=int, default=200, help="random programs (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="of the first random program (default: 0)")
    parser.add_argument("--ops", type=int, default=8, help="operators of a program (default: 8)")
    parser.add_argument("--states", type=int, default=4000, help="most plans that are tried (default: 4000)")
    options = parser.parse_args(arguments)
    seeds = range(options.seed, options.seed + options.random)
    programs = [(f"seed {seed}", random_program(seed, options.ops)) for seed in seeds]
    for path in options.models:
        programs += [(f"{path.stem} {number}", part) for number, part in enumerate(pieces(path, options.ops))]
    results: list[Result] = []
    left_out = 0
    for name, module in programs:
        main = next(iter(module.ops))
        assert isinstance(main, func.FuncOp)
        block_graph = build_graph(main.body.block)
        graph, asked = block_graph.value_graph, FusionOptions(forms=block_graph.find_forms)
        best = best_seconds(graph, asked, options.states)
        if best is None:
            left_out += 1
            continue
        by_tvm = seconds_of(graph, asked, tvm(graph, asked))
        results.append(Result(name, predicted_seconds(graph, asked), best, _separate(graph, asked), by_tvm))
    print("\n".join(report(results, left_out)))
    return 0


def _separate(graph: ValueGraph, asked: FusionOptions) -> float:
    return predicted_seconds(graph, replace(asked, most_merges=0))


def report(results: Sequence[Result], left_out: int) -> Iterator[str]:
    """What to print."""
    yield f"{len(results)} programs, {left_out} more with too many plans"
    if not results:
        return
    near, exact = (sum(each.loss <= most for each in results) for most in (0.05, 1e-9))
    yield f"within 5 % of the best: {near} ({near / len(results):.1%}); the best itself: {exact}"
    unfused = fmean(each.separate / each.best - 1 for each in results if each.best)
    by_tvm = fmean(each.tvm / each.best - 1 for each in results if each.best)
    yield f"mean loss {fmean(each.loss for each in results):.2%}; of TVM's rules {by_tvm:.0%}; unfused {unfused:.0%}"
    behind = [each for each in results if each.cost > each.tvm * (1 + 1e-9)]
    yield f"behind TVM's rules: {len(behind)}" + (
        f", by at most {max(each.cost / each.tvm - 1 for each in behind):.1%}" if behind else ""
    )
    worst = sorted(results, key=lambda each: -each.loss)[:5]
    yield "farthest: " + ", ".join(f"{each.name} {each.loss:.0%}" for each in worst)


def random_program(seed: int, count: int) -> ModuleOp:
    """A program of a few operators on matrices and vectors."""
    rng = random.Random(seed)
    square, column = f"tensor<{SIZE}x{SIZE}xf32>", f"tensor<{SIZE}x1xf32>"
    values = [("%x", square), ("%w", square), ("%c", column)]
    lines: list[str] = []
    for number in range(count):
        name, type = f"%v{number}", square
        squares = [value for value, of in values if of == square][-6:]
        one, (other, of) = rng.choice(squares), rng.choice(values[-6:])
        match rng.choice(("map", "map", "map", "binary", "binary", "reduce", "transpose", "product", "reshape")):
            case "map":
                op = rng.choice(("exp", "relu", "tanh", "negative"))
                lines.append(f"{name} = fuse.{op} {one} : {square}")
            case "binary":
                op = rng.choice(("add", "multiply", "subtract"))
                lines.append(f"{name} = fuse.{op} {one}, {other} : ({square}, {of}) -> {square}")
            case "reduce":
                type = column
                op = rng.choice(("sum", "max"))
                lines.append(f"{name} = fuse.{op} {one}, axes = [1], keepdims = true : ({square}) -> {column}")
            case "transpose":
                lines.append(f"{name} = fuse.transpose {one}, permutation = [1, 0] : ({square}) -> {square}")
            case "product":
                lines.append(f"{name} = fuse.matmul {one}, {rng.choice(squares)} : ({square}, {square}) -> {square}")
            case _:
                other = f"tensor<{SIZE // 2}x{SIZE * 2}xf32>"
                lines.append(f"{name}r = fuse.reshape {one} : ({square}) -> {other}")
                lines.append(f"{name} = fuse.reshape {name}r : ({other}) -> {square}")
        values.append((name, type))
    text = "\n".join(f"  {line}" for line in lines)
    read = " ".join(line.split("=", 1)[1] for line in lines) + " "
    results = [(name, type) for name, type in values[3:] if f"{name} " not in read and f"{name}," not in read]
    names, types = ", ".join(name for name, _ in results), ", ".join(type for _, type in results)
    arguments = f"%x: {square}, %w: {square}, %c: {column}"
    return fd.parse(f"func.func @main({arguments}) -> ({types}) {{\n{text}\n  return {names} : {types}\n}}\n")


def pieces(path: Path, count: int) -> Iterator[ModuleOp]:
    """Functions of as many consecutive operators of a model as it is compiled."""
    module = fd.read(path)
    make_runnable(module)
    for each in compile_prefix():
        each.apply(Context(), module)
    main = next(op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main")
    ops = [op for op in main.body.block.ops if isinstance(op, FuseOp) and not op.regions]
    for start in range(0, len(ops), count):
        part = ops[start : start + count]
        values = [value for op in part for value in (*op.operands, *op.results)]
        if all(is_tensor(value.type) for value in values):
            yield _function(part)


def _function(ops: Sequence[Operation]) -> ModuleOp:
    """A module with a function of copies of ops."""
    inside = {result for op in ops for result in op.results}
    read = list(dict.fromkeys(value for op in ops for value in op.operands if value not in inside))
    seen = set(ops)
    given = [value for value in inside if any(use.operation not in seen for use in value.uses)] or list(ops[-1].results)
    block = Block(arg_types=[value.type for value in read])
    mapped: dict[SSAValue, SSAValue] = dict(zip(read, block.args, strict=True))
    for op in ops:
        block.add_op(op.clone(mapped))
    order = [value for op in ops for value in op.results if value in set(given)]
    block.add_op(func.ReturnOp(*(mapped[value] for value in order)))
    type = FunctionType.from_lists([value.type for value in read], [value.type for value in order])
    return ModuleOp([func.FuncOp("main", type, Region(block))])


if __name__ == "__main__":
    sys.exit(main())
