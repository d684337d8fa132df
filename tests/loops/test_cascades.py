"""Chains of reductions: which are one pass, and that one pass gives what they give."""

import random

import numpy as np
import pytest
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


SOFTMAX = [
    f"%m = fuse.max %x, {KEPT} : {ALONG}",
    f"%d = fuse.subtract %x, %m : ({X}, {ROW}) -> {X}",
    f"%e = fuse.exp %d : {X}",
    f"%s = fuse.sum %e, {KEPT} : {ALONG}",
    f"%p = fuse.divide %e, %s : ({X}, {ROW}) -> {X}",
]
PRODUCT = f"%y = fuse.matmul %p, %v : ({X}, {VALUES}) -> {RESULT}"
MEAN = [
    f"%mean = fuse.mean %x, {KEPT} : {ALONG}",
    f"%d = fuse.subtract %x, %mean : ({X}, {ROW}) -> {X}",
]
DEVIATION = [*MEAN, f"%q = fuse.multiply %d, %d : {X}", f"%var = fuse.mean %q, {KEPT} : {ALONG}"]
SCALE = [
    f"%shifted = fuse.add %var, %eps : ({ROW}, tensor<f64>) -> {ROW}",
    f"%r = fuse.rsqrt %shifted : {ROW}",
    f"%p = fuse.multiply %d, %r : ({X}, {ROW}) -> {X}",
]
SAME, SCALED, MOVED, SHIFTED, SQUARED = Rule
CHAINS: dict[str, tuple[list[str], tuple[str, str], list[Rule]]] = {
    "softmax": (SOFTMAX, ("%p", X), [SAME, SCALED]),
    "log-sum-exp": ([*SOFTMAX[:4], f"%l = fuse.log %s : {ROW}"], ("%l", ROW), [SAME, SCALED]),
    "attention": ([*SOFTMAX, PRODUCT], ("%y", RESULT), [SAME, SCALED, SCALED]),
    "mean and deviation": (DEVIATION, ("%var", ROW), [SAME, SQUARED]),
    "layer norm": ([*DEVIATION, *SCALE], ("%p", X), [SAME, SQUARED]),
    "norm, then product": ([*DEVIATION, *SCALE, PRODUCT], ("%y", RESULT), [SAME, SQUARED, SHIFTED]),
    "sum of deviations": ([*MEAN, f"%a = fuse.multiply %d, %u : {X}", f"%t = fuse.sum %a, {KEPT} : {ALONG}"],
                          ("%t", ROW), [SAME, SHIFTED]),
    "entropy": ([*SOFTMAX[:3], f"%a = fuse.multiply %e, %d : {X}", f"%t = fuse.sum %a, {KEPT} : {ALONG}"],
                ("%t", ROW), [SAME, SHIFTED]),
    "moved maximum": ([*MEAN, f"%t = fuse.max %d, {KEPT} : {ALONG}"], ("%t", ROW), [SAME, MOVED]),
    "quantised product": (
        [f"%m = fuse.max %x, {KEPT} : {ALONG}", f"%p = fuse.divide %u, %m : ({X}, {ROW}) -> {X}", PRODUCT],
        ("%y", RESULT), [SAME, SAME]),
    "rms norm, then product": (
        [f"%q = fuse.multiply %x, %x : {X}", f"%var = fuse.mean %q, {KEPT} : {ALONG}",
         f"%shifted = fuse.add %var, %eps : ({ROW}, tensor<f64>) -> {ROW}", f"%r = fuse.rsqrt %shifted : {ROW}",
         f"%p = fuse.multiply %x, %r : ({X}, {ROW}) -> {X}", PRODUCT],
        ("%y", RESULT), [SAME, SAME]),
}  # fmt: skip
"""Chains, the value that counts, and why each reduction splits."""


@pytest.mark.parametrize("name", CHAINS)
def test_chains_that_people_write_split(name: str) -> None:
    lines, result, rules = CHAINS[name]
    program = program_of(lines, result)
    cascade = found(program)
    assert isinstance(cascade, Cascade), cascade
    assert [split.rule for split in cascade.splits] == rules
    numbers = np.random.default_rng(0)
    for blocks in ([COLUMNS], [1] * COLUMNS, [5, 1, 10, 8], [20, 4]):
        assert agrees(program, cascade, arguments_of(numbers, 3.0), blocks)


@pytest.mark.parametrize("name", ["softmax", "attention"])
def test_rows_of_infinities_end_as_they_stand(name: str) -> None:
    lines, result, _ = CHAINS[name]
    program = program_of(lines, result)
    cascade = found(program)
    assert isinstance(cascade, Cascade)
    arguments = arguments_of(np.random.default_rng(1))
    x = arguments[0]
    x[0], x[1, :20], x[2, 3], x[3, 7], x[4, 2:] = -np.inf, -np.inf, np.inf, np.nan, -np.inf
    for blocks in ([6, 6, 6, 6], [1] * COLUMNS):
        assert agrees(program, cascade, arguments, blocks)


def test_deviations_keep_their_digits() -> None:
    """A mean of 1e6 and deviations of 1: squares added up as they are would have no digit left in f32."""
    program = program_of(DEVIATION, ("%var", ROW))
    cascade = found(program)
    assert isinstance(cascade, Cascade)
    arguments = arguments_of(np.random.default_rng(2))
    arguments[0] += 1e6
    result = CascadeRunner(cascade, arrays_of(program, arguments)).run([4] * 6)
    name = cascade.splits[1].stage.buffer
    np.testing.assert_allclose(result[name][:, 0], arguments[0].var(axis=1), rtol=1e-8)


@pytest.mark.parametrize(
    ("lines", "result", "reason"),
    [
        ([*MEAN, f"%t0 = fuse.tanh %d : {X}", f"%t = fuse.sum %t0, {KEPT} : {ALONG}"], ("%t", ROW), "math.tanh"),
        ([*MEAN, f"%t0 = fuse.abs %d : {X}", f"%t = fuse.sum %t0, {KEPT} : {ALONG}"], ("%t", ROW), "math.absf"),
        ([*SOFTMAX[:3], f"%t = fuse.prod %e, {KEPT} : {ALONG}"], ("%t", ROW), "multiply does not distribute"),
        ([*MEAN, f"%q = fuse.multiply %d, %u : {X}", f"%t = fuse.max %q, {KEPT} : {ALONG}"], ("%t", ROW), "arith.mulf"),
    ],
    ids=["tanh", "absolute", "product", "scaled-maximum"],
)
def test_what_does_not_split_says_why(lines: list[str], result: tuple[str, str], reason: str) -> None:
    refusal = found(program_of(lines, result))
    assert isinstance(refusal, Refusal)
    assert reason in refusal.reason


def test_the_form_is_told() -> None:
    cascade = found(program_of([*SOFTMAX, PRODUCT], ("%y", RESULT)))
    assert isinstance(cascade, Cascade)
    m, s, y = (split.stage.buffer for split in cascade.splits)
    assert cascade_text(cascade) == [
        f"in one pass over {COLUMNS} columns:",
        f"  {m} is combined",
        f"  {s} becomes {s} * exp({m}.old - {m}.new), and combined",
        f"  {y} becomes {y} * exp({m}.old - {m}.new), and combined",
    ]


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


def check_chains(first: int, count: int) -> tuple[int, int]:
    """How many chains split, and how many of them read totals; each gives what its stages give.

    Numbers that overflow are left out: they are (7).
    """
    splitting = linked = 0
    for seed in range(first, first + count):
        draw, numbers = random.Random(seed), np.random.default_rng(seed)
        program = random_chain(draw)
        cascade = found(program)
        if not isinstance(cascade, Cascade):
            continue
        arguments = arguments_of(numbers)
        if not is_tame(program, arguments):
            continue
        splitting += 1
        linked += any(split.rule is not Rule.SAME for split in cascade.splits)
        cut = sorted(draw.sample(range(1, COLUMNS), draw.randint(1, 5)))
        blocks = [high - low for low, high in zip([0, *cut], [*cut, COLUMNS], strict=True)]
        assert agrees(program, cascade, arguments, blocks), f"seed {seed}: {cascade_text(cascade)}"
    return splitting, linked


def is_tame(program: LoopProgram, arguments: list[Array]) -> bool:
    """Whether no value on the way is so large or small that factors of it leave the numbers."""
    stages, _ = stages_of(program)
    arrays = arrays_of(program, arguments)
    for stage in stages:
        run_stage(stage, arrays, {})
    with np.errstate(all="ignore"):
        return all(np.isfinite(array).all() and np.abs(array).max(initial=0) < 1e6 for array in arrays.values())


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_random_chains_never_split_where_results_differ(first: int) -> None:
    splitting, linked = check_chains(first, 100)
    assert splitting > 20
    assert linked > 2
