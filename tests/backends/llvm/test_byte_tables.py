"""Chains from byte to byte are looked up, and give what the interpreter gives, to the bit."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from native_run import Native
from test_byte_products import TARGETS

from fuse_dialect.backends.llvm.processors import named
from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.loops.bounds import CHAINS
from fuse_dialect.loops.byte_tables import with_tables
from fuse_dialect.loops.for_machine import for_machine
from fuse_dialect.loops.functions import TABLE
from fuse_dialect.loops.indices import loop, number
from fuse_dialect.loops.program import Apply, Axis, Body, Buffer, Literal, LoopProgram, Read, Role, Stage
from fuse_dialect.loops.scheduling import schedule

X = Read("x", (loop(0),), "i8")
DEQUANTIZED: Body = (
    Apply("arith.extui", (0,), "i32"),
    Literal(100, "i32"),
    Apply("arith.subi", (1, 2), "i32"),
    Apply("arith.sitofp", (3,), "f32"),
    Literal(0.05, "f32"),
    Apply("arith.mulf", (4, 5), "f32"),
)
FUNCTIONS = ("math.exp", "math.erf", "math.tanh", "math.log", "math.sqrt")
"""Of negative numbers too: what is nan becomes 0."""


def program(function: str, size: int) -> LoopProgram:
    """`quantize(f(dequantize(x)) / 0.013)`."""
    body = (
        X,
        *DEQUANTIZED,
        Apply(function, (6,), "f32"),
        Literal(0.013, "f32"),
        Apply("arith.divf", (7, 8), "f32"),
        Apply("math.roundeven", (9,), "f32"),
        Apply("arith.fptoui", (10,), "i8"),
    )
    buffers = (Buffer("x", "ui8", (size,), Role.ARGUMENT), Buffer("y", "ui8", (size,), Role.RESULT))
    return LoopProgram("f", buffers, (Stage("f", "y", (Axis(size),), body),))


def rows_apart(rows: int, size: int) -> LoopProgram:
    """The exponential of quantized numbers times a number, quantized: of rows that lie apart, each a loop by itself."""
    chain = program("math.exp", 1).stages[0].body[1:]
    last = len(chain)
    body = (
        Read("x", (loop(0), number(2), loop(1)), "i8"),
        *chain,
        Apply("arith.uitofp", (last,), "f32"),
        Read("z", (loop(0), number(1), loop(1)), "f32"),
        Apply("arith.mulf", (last + 1, last + 2), "f32"),
        Apply("math.roundeven", (last + 3,), "f32"),
        Apply("arith.fptoui", (last + 4,), "i8"),
    )
    buffers = (
        Buffer("x", "ui8", (rows, 5, size), Role.ARGUMENT),
        Buffer("z", "f32", (rows, 3, size), Role.ARGUMENT),
        Buffer("y", "ui8", (rows, size), Role.RESULT),
    )
    return LoopProgram("f", buffers, (Stage("f", "y", (Axis(rows), Axis(size)), body),))


def every_byte(size: int) -> Array:
    return np.random.default_rng(0).permutation(np.arange(size) % 256).astype(np.uint8)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("size", [1, 7, 256, 1000])
def test_a_map_of_bytes_is_that_of_the_interpreter(target: str, function: str, size: int) -> None:
    wanted = program(function, size)
    x = every_byte(size)
    np.testing.assert_array_equal(Native(wanted, TARGETS[target])(x)[0], run_loops(wanted, [x])[0])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", [8, 16, 24, 32, 20])
@pytest.mark.parametrize("rows", [3, 4, 12, 300])
def test_short_rows_side_by_side_are_those_of_the_interpreter(target: str, size: int, rows: int) -> None:
    wanted = rows_apart(rows, size)
    x = every_byte(rows * 5 * size).reshape(rows, 5, size)
    z = np.random.default_rng(1).uniform(0, 3, (rows, 3, size)).astype(np.float32)
    np.testing.assert_array_equal(Native(wanted, TARGETS[target])(x, z)[0], run_loops(wanted, [x, z])[0])


@pytest.mark.parametrize(
    ("rows", "size", "tiles"), [(8, 16, (CHAINS,)), (8, 24, (CHAINS,)), (8, 32, ()), (7, 16, ()), (8, 20, ())]
)
def test_rows_run_side_by_side_where_each_has_few_vectors(rows: int, size: int, tiles: tuple[int, ...]) -> None:
    machine = named("haswell").machine
    (phase,) = schedule(for_machine(rows_apart(rows, size), machine), machine).phases
    assert phase.nests[0].tiles == tiles


def test_a_table_is_all_that_is_left_of_a_chain() -> None:
    read, table = with_tables(program("math.exp", 9)).stages[0].body
    assert read == X
    assert isinstance(table, Apply)
    assert table.function == TABLE
    assert table.operands == (0,)


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_computed_of_constants_may_stand_in_front_of_the_byte(target: str) -> None:
    body = (
        Literal(4, "i32"),
        Apply("arith.sitofp", (0,), "f32"),
        X,
        Apply("arith.uitofp", (2,), "f32"),
        Apply("math.exp", (3,), "f32"),
        Apply("arith.divf", (1, 4), "f32"),
        Apply("math.roundeven", (5,), "f32"),
        Apply("arith.fptoui", (6,), "i8"),
    )
    buffers = (Buffer("x", "ui8", (256,), Role.ARGUMENT), Buffer("y", "ui8", (256,), Role.RESULT))
    chain = LoopProgram("f", buffers, (Stage("f", "y", (Axis(256),), body),))
    assert any(isinstance(each, Apply) and each.function == TABLE for each in with_tables(chain).stages[0].body)
    x = np.arange(256, dtype=np.uint8)
    (found,), (right,) = Native(chain, TARGETS[target])(x), run_loops(chain, [x])
    np.testing.assert_array_equal(found, right)
