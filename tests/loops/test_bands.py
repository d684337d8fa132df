"""Columns that a mask hides: what is found in programs, and that no result depends on what is left out."""

import random

import numpy as np
import pytest
from xdsl.dialects import func

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.loops.bands import Band, End, band_of
from fuse_dialect.loops.for_machine import for_machine
from fuse_dialect.loops.grouping import shared_rows
from fuse_dialect.loops.iteration_space import without_single_points
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.machines.names import find_machine

ROWS, COLUMNS, SIZE = 20, 24, 4
SCORES = f"tensor<{ROWS}x{COLUMNS}xf32>"
MASK = f"tensor<{ROWS}x{COLUMNS}xi1>"
QUERIES, KEYS = f"tensor<{ROWS}x{SIZE}xf32>", f"tensor<{SIZE}x{COLUMNS}xf32>"
VALUES = f"tensor<{COLUMNS}x{SIZE}xf32>"
BY_NUMBER = f"({SCORES}, tensor<f32>) -> {SCORES}"
CHOOSE = f"({MASK}, {SCORES}, tensor<f32>) -> {SCORES}"
MACHINES = ("cpu-avx512", "cpu-avx2")


def text_of(lines: list[str], result: str = "%y", type: str = QUERIES) -> str:
    """A program of attention whose scores `%s0` are changed by lines."""
    head = [
        f"func.func @main(%q: {QUERIES}, %k: {KEYS}, %v: {VALUES}, %b: {SCORES}, %m: {MASK}) -> {type} {{",
        "%minus = arith.constant dense<0xFF800000> : tensor<f32>",
        "%zero = arith.constant dense<0.0> : tensor<f32>",
        "%large = arith.constant dense<-1.0e9> : tensor<f32>",
        "%half = arith.constant dense<0.5> : tensor<f32>",
        f"%s0 = fuse.matmul %q, %k : ({QUERIES}, {KEYS}) -> {SCORES}",
    ]
    return "\n".join([*head, *lines, f"return {result} : {type}", "}"])


def program_of(text: str) -> LoopProgram:
    """The loops of a function, as they are for one kernel."""
    (function,) = [op for op in fd.parse(text).body.block.ops if isinstance(op, func.FuncOp)]
    program = lower(function)
    assert isinstance(program, LoopProgram)
    return simplify(program)


def found(program: LoopProgram, machine: str = "cpu-avx512") -> Band | None:
    """Its band on a machine."""
    changed = for_machine(program, find_machine(machine))
    stages = [without_single_points(stage) for stage in changed.stages]
    return band_of(changed, stages, shared_rows(stages))


def band(lower: int, upper: int, name: str = "seen") -> str:
    return f"%{name} = fuse.band lower = {lower}, upper = {upper} -> {MASK}"


SOFTMAX = [f"%p = fuse.softmax %s : {SCORES}", f"%y = fuse.matmul %p, %v : ({SCORES}, {VALUES}) -> {QUERIES}"]
CHOSEN = f"%s = fuse.where %seen, %s0, %minus : {CHOOSE}"


def test_a_causal_mask_hides_what_comes_later() -> None:
    result = found(program_of(text_of([band(-99, 0), CHOSEN, *SOFTMAX])))
    assert result is not None
    assert result.columns == COLUMNS
    assert result.stops == (End(1, 1),)
    assert [result.interval(row, row) for row in (0, 7, ROWS - 1)] == [(0, 1), (0, 8), (0, ROWS)]


def test_a_window_is_an_interval_in_whole_units() -> None:
    result = found(program_of(text_of([band(-2, 3), CHOSEN, *SOFTMAX])))
    assert result is not None
    assert result.interval(8, 11) == (6, 15)
    assert result.interval(8, 11, unit=4) == (4, 16)
    assert result.interval(18, 19, unit=16) == (16, 24)


def test_rows_that_see_nothing_need_all_columns() -> None:
    result = found(program_of(text_of([band(30, 40), CHOSEN, *SOFTMAX])))
    assert result is None or result.interval(0, 3) == (0, COLUMNS)


@pytest.mark.parametrize(
    "lines",
    [
        [
            f"%a = fuse.where %seen, %zero, %minus : ({MASK}, tensor<f32>, tensor<f32>) -> {SCORES}",
            f"%s = fuse.add %s0, %a : {SCORES}",
        ],
        [f"%n = fuse.logical_not %seen : {MASK}", f"%s = fuse.where %n, %minus, %s0 : ({MASK}, tensor<f32>, {SCORES})"],
        [
            f"%h = fuse.band lower = -99, upper = 0, inside = 0.0, outside = 1.0 -> {MASK}",
            f"%s = fuse.where %h, %minus, %s0 : ({MASK}, tensor<f32>, {SCORES})",
        ],
        [
            f'%h = fuse.band lower = -99, upper = 0, inside = 0.0, outside = "-inf" -> {SCORES}',
            f"%s = fuse.add %s0, %h : {SCORES}",
        ],
        [f"%both = fuse.logical_and %seen, %m : {MASK}", f"%s = fuse.where %both, %s0, %minus : {CHOOSE}"],
        [f"%c = fuse.tanh %s0 : {SCORES}", f"%s = fuse.where %seen, %c, %minus : {CHOOSE}"],
        [f"%d = fuse.add %s0, %b : {SCORES}", f"%s = fuse.where %seen, %d, %minus : {CHOOSE}"],
        [f"%s = fuse.where %seen, %s0, %large : {CHOOSE}"],
        [
            f"%a = fuse.where %seen, %zero, %large : ({MASK}, tensor<f32>, tensor<f32>) -> {SCORES}",
            f"%s = fuse.add %s0, %a : {SCORES}",
        ],
    ],
    ids=["added", "opposite", "opposite-band", "added-band", "with-data", "soft-cap", "bias", "large", "large-added"],
)
def test_masks_are_found_however_they_are_written(lines: list[str]) -> None:
    assert found(program_of(text_of([band(-99, 0), *lines, *SOFTMAX]))) is not None


@pytest.mark.parametrize(
    ("lines", "result", "type"),
    [
        (["%small = arith.constant dense<-1.0e4> : tensor<f32>", f"%s = fuse.where %seen, %s0, %small : {CHOOSE}",
          *SOFTMAX], "%y", QUERIES),
        ([f"%both = fuse.logical_and %seen, %m : {MASK}", f"%s = fuse.where %both, %s0, %large : {CHOOSE}", *SOFTMAX],
         "%y", QUERIES),
        ([f"%d = fuse.add %s0, %b : {SCORES}", f"%s = fuse.where %seen, %d, %large : {CHOOSE}", *SOFTMAX],
         "%y", QUERIES),
        ([band(-2, 2, "near"), f"%d = fuse.where %near, %s0, %large : {CHOOSE}",
          f"%s = fuse.where %seen, %d, %minus : {CHOOSE}", f"%z = fuse.add %s, %b : {SCORES}",
          f"%p = fuse.softmax %z : {SCORES}", SOFTMAX[1]], "%y", QUERIES),
        ([f"%s = fuse.where %m, %s0, %minus : {CHOOSE}", *SOFTMAX], "%y", QUERIES),
        ([CHOSEN, f"%y = fuse.softmax %s : {SCORES}"], "%y", SCORES),
        ([f"%either = fuse.logical_or %seen, %m : {MASK}", f"%s = fuse.where %either, %s0, %minus : {CHOOSE}", *SOFTMAX]
         , "%y", QUERIES),
        ([CHOSEN, f"%e = fuse.exp %s : {SCORES}", f"%y = fuse.max %e, axes = [1] : ({SCORES}) -> tensor<{ROWS}xf32>"],
         "%y", f"tensor<{ROWS}xf32>"),
    ],
    ids=["small", "large-and-data", "large-and-bias", "large-then-bias", "data", "stored", "either", "maximum-of-0"],
)  # fmt: skip
def test_what_counts_is_not_left_out(lines: list[str], result: str, type: str) -> None:
    assert found(program_of(text_of([band(-99, 0), *lines], result, type))) is None


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_masks_are_found_where_a_softmax_is_wider(element: str) -> None:
    q, k, v, s = (f"tensor<{shape}x{element}>" for shape in ("20x4", "4x24", "24x4", "20x24"))
    text = f"""func.func @main(%q: {q}, %k: {k}, %v: {v}) -> {q} {{
      %a = fuse.band lower = -99, upper = 0, inside = 0.0, outside = "-inf" -> {s}
      %s0 = fuse.matmul %q, %k : ({q}, {k}) -> {s}
      %s = fuse.add %s0, %a : {s}
      %p = fuse.softmax %s : {s}
      %y = fuse.matmul %p, %v : ({s}, {v}) -> {q}
      return %y : {q}
    }}"""
    result = found(program_of(text))
    assert result is not None
    assert result.interval(5, 7) == (0, 8)


def test_a_row_that_sees_nothing_needs_all_where_a_number_hides() -> None:
    for number, expected in (("%minus", (0, 8)), ("%large", (0, COLUMNS))):
        lines = [band(-99, -4), f"%s = fuse.where %seen, %s0, {number} : {CHOOSE}", *SOFTMAX]
        result = found(program_of(text_of(lines)))
        assert result is not None
        assert result.interval(2, 11) == expected
        assert result.interval(4, 11) == (0, 8)


def random_lines(draw: random.Random) -> list[str]:
    """Something like attention: masks of any kind, at any place, some of which hide nothing."""
    lines = [band(draw.randint(-30, 10), draw.randint(-10, 30)), band(draw.randint(-9, 0), draw.randint(0, 9), "near")]
    masks, at = ["%seen", "%near", "%m"], "%s0"
    for number in range(draw.randint(0, 2)):
        op, one, other = draw.choice(("and", "or", "xor")), draw.choice(masks), draw.choice(masks)
        lines.append(f"%mask{number} = fuse.logical_{op} {one}, {other} : {MASK}")
        masks.append(f"%mask{number}")
    for number in range(draw.randint(1, 4)):
        name, mask = f"%t{number}", draw.choice(masks)
        other = draw.choice(("%minus", "%minus", "%minus", "%zero", "%large"))
        lines.append(
            draw.choice(
                (
                    f"{name} = fuse.where {mask}, {at}, {other} : {CHOOSE}",
                    f"{name} = fuse.where {mask}, {at}, {other} : {CHOOSE}",
                    f"{name} = fuse.where {mask}, {other}, {at} : ({MASK}, tensor<f32>, {SCORES}) -> {SCORES}",
                    f"{name} = fuse.add {at}, %b : {SCORES}",
                    f"{name} = fuse.multiply {at}, %half : {BY_NUMBER}",
                    f"{name} = fuse.tanh {at} : {SCORES}",
                )
            )
        )
        at = name
    match draw.choice(("softmax", "softmax", "written out", "linear", "no maximum", "reciprocal")):
        case "softmax":
            lines.append(f"%p = fuse.softmax {at} : {SCORES}")
        case "linear":
            lines.append(f"%p = fuse.where {draw.choice(masks)}, {at}, %zero : {CHOOSE}")
        case "no maximum":
            lines.append(f"%p = fuse.exp {at} : {SCORES}")
        case kind:
            column = f"tensor<{ROWS}x1xf32>"
            by_row = f"({SCORES}, {column}) -> {SCORES}"
            lines += [
                f"%top = fuse.max {at}, axes = [1], keepdims = true : ({SCORES}) -> {column}",
                f"%less = fuse.subtract {at}, %top : {by_row}",
                f"%e = fuse.exp %less : {SCORES}",
                f"%sum = fuse.sum %e, axes = [1], keepdims = true : ({SCORES}) -> {column}",
            ]
            if kind == "reciprocal":
                lines.append(f"%one = fuse.reciprocal %sum : {column}")
                lines.append(f"%p = fuse.multiply %e, %one : {by_row}")
            else:
                lines.append(f"%p = fuse.divide %e, %sum : {by_row}")
    return [*lines, SOFTMAX[1]]


@pytest.mark.parametrize("seed", range(8))
def test_no_row_depends_on_columns_that_are_left_out(seed: int) -> None:
    """Other keys and values there leave every bit of the row: so the unfused program needs none of them."""
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    hidden = 0
    for _ in range(40):
        program = program_of(text_of(random_lines(draw)))
        bands = [each for each in (found(program, machine) for machine in MACHINES) if each is not None]
        if not bands:
            continue
        arrays = [
            *(numbers.standard_normal(shape).astype(np.float32) for shape in ((ROWS, SIZE), (SIZE, COLUMNS))),
            *(numbers.standard_normal(shape).astype(np.float32) for shape in ((COLUMNS, SIZE), (ROWS, COLUMNS))),
            numbers.random((ROWS, COLUMNS)) < draw.choice((0.0, 0.5, 0.9, 1.0)),
        ]
        (expected,) = run_loops(program, arrays)
        for each in bands:
            for row in range(ROWS):
                low, stop = each.interval(row, row)
                outside = np.ones(COLUMNS, bool)
                outside[low:stop] = False
                hidden += int(outside.sum())
                (result,) = run_loops(program, _with_noise(arrays, outside, numbers))
                np.testing.assert_array_equal(result[row], expected[row])
    assert hidden


def _with_noise(arrays: list[Array], outside: Array, numbers: np.random.Generator) -> list[Array]:
    """Other numbers in some columns of keys, values, bias and mask."""
    q, k, v, b, m = (array.copy() for array in arrays)
    count = int(outside.sum())
    k[:, outside] = 100 * numbers.standard_normal((SIZE, count))
    v[outside] = 100 * numbers.standard_normal((count, SIZE))
    b[:, outside] = 100 * numbers.standard_normal((ROWS, count))
    m[:, outside] = numbers.random((ROWS, count)) < 0.5
    return [q, k, v, b, m]
