"""Real numbers become bytes as NumPy makes them, in fewer instructions."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from native_run import Native
from test_byte_products import TARGETS

import fuse_dialect as fd
from fuse_dialect.backends.assembler.host import AVX2, SSE2
from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.loops.byte_rounding import with_rounding
from fuse_dialect.loops.functions import BYTE, CUT_BYTE, INDEX, TABLE, Parameter
from fuse_dialect.loops.indices import Guard, loop
from fuse_dialect.loops.program import (
    Apply,
    Axis,
    Body,
    Buffer,
    Inside,
    Instruction,
    Literal,
    LoopProgram,
    Read,
    Role,
    Stage,
)
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower

EDGES = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, 254.5, 255.5, 127.5, 1e9, -1e9, 2.0**31, -(2.0**31), 3e38, -3e38, 1e-45]
EDGES += [np.inf, -np.inf, np.nan, 8388607.5, 2.0**24 + 2, -100.5, 155.5, 155.49]


def program(size: int, zero: float | None, *more: Instruction) -> LoopProgram:
    """`fptoui(roundeven(x) + zero)`, and what else is computed from that."""
    body: Body = (Read("x", (loop(0),), "f32"), Apply("math.roundeven", (0,), "f32"))
    if zero is not None:
        body = (*body, Literal(zero, "f32"), Apply("arith.addf", (1, 2), "f32"))
    body = (*body, Apply("arith.fptoui", (len(body) - 1,), "i8"), *more)
    buffers = (Buffer("x", "f32", (size,), Role.ARGUMENT), Buffer("y", "ui8", (size,), Role.RESULT))
    return LoopProgram("f", buffers, (Stage("f", "y", (Axis(size),), body),))


def functions(program: LoopProgram) -> list[tuple[str, Parameter | None]]:
    return [(each.function, each.parameter) for each in program.stages[0].body if isinstance(each, Apply)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("zero", [None, 0.0, 100.0, 255.0])
@pytest.mark.parametrize("size", [1, 7, 8, 333])
def test_they_are_rounded_moved_and_bounded(target: str, zero: float | None, size: int) -> None:
    random = np.random.default_rng(size)
    numbers = [EDGES, random.uniform(-300, 300, 300), random.integers(-300, 300, 300) + 0.5]
    x = np.concatenate(numbers).astype(np.float32)
    wanted = program(size, zero)
    native = Native(wanted, TARGETS[target])
    for start in range(0, len(x) - size + 1, size):
        part = x[start : start + size]
        np.testing.assert_array_equal(native(part)[0], run_loops(wanted, [part])[0])


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_looked_up_is_rounded_as_well(target: str) -> None:
    x = np.array([*EDGES, *np.linspace(-10, 300, 500)], np.float32)
    table = bytes(range(255, -1, -1))
    plain = program(len(x), 100.0)
    looked_up = program(len(x), 100.0, Apply(TABLE, (4,), "i8", table))
    expected = 255 - run_loops(plain, [x])[0]
    np.testing.assert_array_equal(Native(looked_up, TARGETS[target])(x)[0], expected)


def test_three_instructions_are_one() -> None:
    machine = AVX2.machine
    assert functions(with_rounding(program(8, 100.0), machine)) == [(BYTE, 100)]
    assert functions(with_rounding(program(8, None), machine)) == [(BYTE, 0)]
    table = Apply(TABLE, (4,), "i8", bytes(256))
    assert functions(with_rounding(program(8, 100.0, table), machine))[0] == (INDEX, 100)


WIDENED = (Apply("arith.extui", (4,), "i32"), Apply("arith.sitofp", (5,), "f32"))


def test_what_is_computed_with_is_never_a_byte() -> None:
    wide = with_rounding(program(8, 100.0, *WIDENED), AVX2.machine)
    assert functions(wide) == [(INDEX, 100), ("arith.sitofp", None)]
    assert [each.element for each in wide.stages[0].body if isinstance(each, Apply)] == ["i32", "f32"]


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_computed_with_is_the_byte(target: str) -> None:
    x = np.array([*EDGES, *np.linspace(-10, 300, 500)], np.float32)
    bytes = run_loops(program(len(x), 100.0), [x])[0]
    wide = program(len(x), 100.0, *WIDENED)
    buffers = (wide.buffers[0], Buffer("y", "f32", (len(x),), Role.RESULT))
    wide = LoopProgram("f", buffers, wide.stages)
    np.testing.assert_array_equal(Native(wide, TARGETS[target])(x)[0], bytes.astype(np.float32))


def test_what_is_chosen_afterwards_is_cut() -> None:
    chosen = (Literal(9, "i8"), Inside((Guard(loop(0), 4),)), Apply("arith.select", (6, 4, 5), "i8"))
    cut = with_rounding(program(8, 0.5, *chosen), AVX2.machine)
    assert (CUT_BYTE, None) in functions(cut)
    added = with_rounding(program(8, 0.5, *chosen, Apply("arith.addi", (7, 4), "i8")), AVX2.machine)
    assert (CUT_BYTE, None) not in functions(added)


@pytest.mark.parametrize("zero", [0.5, -1.0, 256.0, float("nan")])
def test_what_is_no_zero_point_is_added(zero: float) -> None:
    *others, _ = functions(program(8, zero))
    assert functions(with_rounding(program(8, zero), AVX2.machine)) == [*others, (CUT_BYTE, None)]


def test_processors_without_the_instructions_do_it_step_by_step() -> None:
    assert with_rounding(program(8, 100.0), SSE2.machine) == program(8, 100.0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [1, 31, 64, 100])
@pytest.mark.parametrize("end", ["pad", "where"])
def test_bytes_are_chosen_for_all_vectors_or_for_each(target: str, columns: int, end: str) -> None:
    """Rows of padding beside rows that are rounded: (7); and a choice by another array, which differs in a vector."""
    types = [f"tensor<{size}x{element}>" for size, element in ((f"5x{columns}", "f32"), (f"5x{columns}", "ui8"))]
    padded = f"tensor<7x{columns + 3}xui8>"
    x, y = types
    chosen = {
        "pad": (padded, f"fuse.pad %y, %z, low = [1, 2], high = [1, 1] : ({y}, tensor<ui8>) -> {padded}"),
        "where": (y, f"fuse.where %m, %y, %z : (tensor<5x{columns}xi1>, {y}, tensor<ui8>) -> {y}"),
    }
    result, last = chosen[end]
    text = f"""func.func @main(%x: {x}, %z: tensor<ui8>, %m: tensor<5x{columns}xi1>) -> {result} {{
      %r = fuse.round %x : {x}
      %f = fuse.cast %z : (tensor<ui8>) -> tensor<f32>
      %a = fuse.add %r, %f : ({x}, tensor<f32>) -> {x}
      %c = fuse.clip %a, min = 0.0, max = 255.0 : {x}
      %y = fuse.cast %c : ({x}) -> {y}
      %l = {last}
      return %l : {result}
    }}"""
    module = fd.parse(text)
    program = lower(next(iter(module.ops)))
    assert isinstance(program, LoopProgram)
    random = np.random.default_rng(columns)
    numbers = random.uniform(-300, 300, (5, columns)).astype(np.float32)
    numbers.flat[: len(EDGES) // 2] = np.resize(np.array(EDGES, np.float32)[::2], numbers.size)[: len(EDGES) // 2]
    given = (numbers, np.array(100, np.uint8), random.integers(0, 2, (5, columns)).astype(np.bool_))
    np.testing.assert_array_equal(Native(simplify(program), TARGETS[target])(*given)[0], fd.run(module, *given)[0])
