"""Random chains of reductions of a row, and whether one pass gives what they give: see `loops/cascades.py`."""

import random

import numpy as np
from xdsl.dialects import func

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.cascades import CascadeRunner
from fuse_dialect.interpreters.loops import run_stage
from fuse_dialect.loops.cascades import Cascade, Rule, cascade_of, cascade_text
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.grouping import shared_rows
from fuse_dialect.loops.iteration_space import without_single_points
from fuse_dialect.loops.program import LoopProgram, Refusal, Role, Stage
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower

ROWS, COLUMNS, WIDTH = 5, 24, 3
X, ROW, VALUES = f"tensor<{ROWS}x{COLUMNS}xf64>", f"tensor<{ROWS}x1xf64>", f"tensor<{COLUMNS}x{WIDTH}xf64>"
RESULT = f"tensor<{ROWS}x{WIDTH}xf64>"
ALONG, KEPT = f"({X}) -> {ROW}", "axes = [1], keepdims = true"


def program_of(lines: list[str], *results: tuple[str, str]) -> LoopProgram:
    """A program on rows `%x`, `%u`, a row `%w` of one element each, and values `%v`."""
    names, types = ", ".join(name for name, _ in results), ", ".join(type for _, type in results)
    text = "\n".join(
        [
            f"func.func @main(%x: {X}, %u: {X}, %w: {ROW}, %v: {VALUES}) -> ({types}) {{",
            f"%n = arith.constant dense<{float(COLUMNS)}> : tensor<f64>",
            "%eps = arith.constant dense<1.0e-5> : tensor<f64>",
            *lines,
            f"return {names} : {types}",
            "}",
        ]
    )
    (function,) = [op for op in fd.parse(text).body.block.ops if isinstance(op, func.FuncOp)]
    program = lower(function)
    assert isinstance(program, LoopProgram)
    return simplify(program)


def stages_of(program: LoopProgram) -> tuple[list[Stage], int]:
    stages = [without_single_points(stage) for stage in program.stages]
    return stages, shared_rows(stages)


def found(program: LoopProgram) -> Cascade | Refusal:
    stages, rows = stages_of(program)
    return cascade_of(stages, rows)


def arrays_of(program: LoopProgram, arguments: list[Array]) -> dict[str, Array]:
    """All buffers, those of arguments filled."""
    given = iter(arguments)
    return {
        buffer.name: next(given)
        if buffer.role is Role.ARGUMENT
        else np.zeros([int(size) for size in buffer.shape], dtype_named(buffer.element))
        for buffer in program.buffers
    }


def arguments_of(numbers: np.random.Generator, size: float = 1.0) -> list[Array]:
    shapes = ((ROWS, COLUMNS), (ROWS, COLUMNS), (ROWS, 1), (COLUMNS, WIDTH))
    return [numbers.standard_normal(shape) * size for shape in shapes]


def agrees(program: LoopProgram, cascade: Cascade, arguments: list[Array], blocks: list[int]) -> bool:
    """Whether one pass gives what the stages give one after the other, in both orders of merging."""
    stages, _ = stages_of(program)
    expected = arrays_of(program, arguments)
    for stage in stages:
        run_stage(stage, expected, {})
    names = [split.stage.buffer for split in cascade.splits]
    for in_pairs in (False, True):
        result = CascadeRunner(cascade, arrays_of(program, arguments)).run(blocks, in_pairs=in_pairs)
        for name in names:
            wanted = expected[name]
            with np.errstate(all="ignore"):
                near = np.isclose(
                    result[name], wanted, rtol=1e-9, atol=1e-9 * (1 + np.nanmax(np.abs(wanted), initial=0))
                )
            if not (near | (np.isnan(result[name]) & np.isnan(wanted))).all():
                return False
    return True


UNARY = ("negative", "exp", "abs", "tanh", "relu", "log")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")


def random_chain(draw: random.Random) -> LoopProgram:
    """Two to four reductions, whose bodies are of elements and of what earlier ones gave."""
    lines: list[str] = []
    rows, columns = ["%w"], ["%x", "%u"]
    for number in range(draw.randint(2, 4)):
        for step in range(draw.randint(0, 3)):
            name, source = f"%c{number}_{step}", draw.choice(columns)
            match draw.randint(0, 4):
                case 0:
                    lines.append(f"{name} = fuse.{draw.choice(UNARY)} {source} : {X}")
                case 1:
                    other = draw.choice(columns)
                    lines.append(f"{name} = fuse.{draw.choice(BINARY)} {source}, {other} : {X}")
                case _:
                    op, total = draw.choice(BINARY), draw.choice(rows)
                    lines.append(f"{name} = fuse.{op} {source}, {total} : ({X}, {ROW}) -> {X}")
            columns.append(name)
        kind = draw.choice(("max", "sum", "sum", "mean", "min"))
        # Later bodies are more often of what has just been made: else chains have no links.
        source = draw.choice(columns[-2:])
        lines.append(f"%t{number} = fuse.{kind} {source}, {KEPT} : {ALONG}")
        rows.append(f"%t{number}")
        if draw.random() < 0.2:
            lines.append(f"%f{number} = fuse.{draw.choice(UNARY)} %t{number} : {ROW}")
            rows.append(f"%f{number}")
    return program_of(lines, *((name, ROW) for name in rows if name[1] == "t"))


def is_tame(program: LoopProgram, arguments: list[Array]) -> bool:
    """Whether no value on the way is so large or small that factors of it leave the numbers."""
    stages, _ = stages_of(program)
    arrays = arrays_of(program, arguments)
    for stage in stages:
        run_stage(stage, arrays, {})
    with np.errstate(all="ignore"):
        return all(np.isfinite(array).all() and np.abs(array).max(initial=0) < 1e6 for array in arrays.values())


def checked_chain(seed: int) -> tuple[bool, str] | None:
    """Whether the chain of a seed splits and reads totals, and what one pass gives that stages do not; else nothing.

    `None` if it does not split. Numbers that overflow are left out: they are (7).
    """
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    program = random_chain(draw)
    cascade = found(program)
    if not isinstance(cascade, Cascade):
        return None
    arguments = arguments_of(numbers)
    if not is_tame(program, arguments):
        return None
    cut = sorted(draw.sample(range(1, COLUMNS), draw.randint(1, 5)))
    blocks = [high - low for low, high in zip([0, *cut], [*cut, COLUMNS], strict=True)]
    is_linked = any(split.rule is not Rule.SAME for split in cascade.splits)
    wrong = "" if agrees(program, cascade, arguments, blocks) else "\n".join(cascade_text(cascade))
    return is_linked, wrong
