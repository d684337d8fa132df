"""Loop programs on NumPy: what is read outside an array is an error, and a sum of many parts is the sum of all."""

import numpy as np
import pytest
from xdsl.utils.exceptions import InterpretationError

from fuse_dialect.interpreters import loops
from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.loops.indices import loop
from fuse_dialect.loops.program import (
    Axis,
    Buffer,
    Combiner,
    Literal,
    LoopProgram,
    Read,
    Reduction,
    Role,
    Stage,
)

X = np.arange(12, dtype=np.float32)


def copy_from(shift: int) -> LoopProgram:
    """Eight neighbours of a vector of twelve."""
    buffers = (Buffer("x", "f32", (12,), Role.ARGUMENT), Buffer("y", "f32", (8,), Role.RESULT))
    read = Read("x", (loop(0) + shift,), "f32")
    return LoopProgram("copy", buffers, (Stage("y", "y", (Axis(8),), (read,)),))


@pytest.mark.parametrize("shift", [0, 4])
def test_elements_inside_are_read(shift: int) -> None:
    np.testing.assert_array_equal(run_loops(copy_from(shift), [X])[0], X[shift : shift + 8])


@pytest.mark.parametrize("shift", [-1, 5])
def test_an_element_outside_is_an_error(shift: int) -> None:
    with pytest.raises(InterpretationError, match="'x' is read outside its"):
        run_loops(copy_from(shift), [X])


def test_a_sum_that_is_taken_in_parts_is_the_sum_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    buffers = (Buffer("x", "f32", (3, 4), Role.ARGUMENT), Buffer("y", "f32", (3,), Role.RESULT))
    stage = Stage(
        "y",
        "y",
        (Axis(3), Axis(4, is_reduced=True)),
        (Read("x", (loop(0), loop(1)), "f32"),),
        Reduction(Combiner.ADD, Literal(0.0, "f32")),
    )
    program = LoopProgram("sum", buffers, (stage,))
    for points in (1, 3, 1 << 20):
        monkeypatch.setattr(loops, "_POINTS", points)
        np.testing.assert_array_equal(run_loops(program, [X.reshape(3, 4)])[0], X.reshape(3, 4).sum(axis=1))
