"""Chains from byte to byte are looked up, and give what the interpreter gives, to the bit."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from native_run import Native
from test_byte_products import TARGETS

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.loops.byte_tables import with_tables
from fuse_dialect.loops.functions import TABLE
from fuse_dialect.loops.indices import loop
from fuse_dialect.loops.program import Apply, Axis, Body, Buffer, Literal, LoopProgram, Read, Role, Stage

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


def every_byte(size: int) -> Array:
    return np.random.default_rng(0).permutation(np.arange(size) % 256).astype(np.uint8)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("size", [1, 7, 256, 1000])
def test_a_map_of_bytes_is_that_of_the_interpreter(target: str, function: str, size: int) -> None:
    wanted = program(function, size)
    x = every_byte(size)
    np.testing.assert_array_equal(Native(wanted, TARGETS[target])(x)[0], run_loops(wanted, [x])[0])


def test_a_table_is_all_that_is_left_of_a_chain() -> None:
    read, table = with_tables(program("math.exp", 9)).stages[0].body
    assert read == X
    assert isinstance(table, Apply)
    assert table.function == TABLE
    assert table.operands == (0,)
