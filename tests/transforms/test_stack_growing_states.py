"""States that a loop only appends to: stacks mean the same, and are made where nothing else reads the state."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context

import fuse_dialect as fd
from fuse_dialect.dialect.ops.regions import LoopOp
from fuse_dialect.transforms.refine_shapes import RefineShapesPass
from fuse_dialect.transforms.stack_growing_states import StackGrowingStatesPass


def growing(
    *,
    axis: int = 0,
    start: int = 0,
    parts: int = 1,
    limit: int | None = 5,
    stops: bool = False,
    reads: str = "",
    in_front: bool = False,
) -> str:
    """A loop that appends `parts` rows of its first state, along an axis of the second one, in each iteration.

    Args:
        axis: 0 or 1.
        start: Size on this axis before the loop.
        parts: How often the row is appended.
        limit: Iterations, or `None` if an argument says how many.
        stops: Whether a condition ends the loop after three iterations.
        reads: Ops of the body that read `%acc`.
        in_front: Whether the rows come before the others.
    """

    def sizes(size: str) -> str:
        return f"tensor<{size}x3xf32>" if axis == 0 else f"tensor<3x{size}xf32>"

    before, row, open = sizes(str(start)), sizes("1"), sizes("?")
    rows, types = ", ".join(["%next"] * parts), ", ".join([row] * parts)
    count = (
        "%m = fuse.negative %count : tensor<i64> %n = fuse.negative %m : tensor<i64>"
        if limit is None
        else f"%n = arith.constant dense<{limit}> : tensor<i64>"
    )
    stop = """%three = arith.constant dense<2> : tensor<i64>
        %goes_on = fuse.less %i, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>"""
    joined = f"{rows}, %acc" if in_front else f"%acc, {rows}"
    joined_types = f"{types}, {open}" if in_front else f"{open}, {types}"
    return f"""func.func @main(%count: tensor<i64>, %x: {row}, %a: {before}) -> ({row}, {open}) {{
      {count}
      %y, %all = fuse.loop limit(%n : tensor<i64>) states(%x, %a : {row}, {before}) -> ({row}, {open}) {{
      ^bb0(%i: tensor<i64>, %state: {row}, %acc: {open}):
        {stop if stops else ""}
        {reads}
        %two = arith.constant dense<2.0> : tensor<f32>
        %next = fuse.multiply %state, %two : ({row}, tensor<f32>) -> {row}
        %longer = fuse.concatenate {joined}, axis = {axis} : ({joined_types}) -> {open}
        fuse.yield {"while(%goes_on : tensor<i1>) " if stops else ""}%next, %longer : {row}, {open}
      }}
      return %y, %all : {row}, {open}
    }}"""


def stacked(text: str) -> Any:
    module = fd.parse(text)
    StackGrowingStatesPass().apply(Context(), module)
    module.verify()
    return module


def count_of_states(module: Any) -> int:
    (loop,) = [op for op in module.walk() if isinstance(op, LoopOp)]
    return len(loop.states)


@given(
    axis=st.integers(0, 1),
    start=st.integers(0, 2),
    parts=st.integers(1, 3),
    limit=st.none() | st.integers(-1, 6),
    trips=st.integers(0, 5),
    stops=st.booleans(),
    in_front=st.booleans(),
)
def test_stacks_mean_the_same(
    axis: int, start: int, parts: int, limit: int | None, trips: int, stops: bool, in_front: bool
) -> None:
    text = growing(axis=axis, start=start, parts=parts, limit=limit, stops=stops, in_front=in_front)
    row, before = ((1, 3), (start, 3)) if axis == 0 else ((3, 1), (3, start))
    x, a = np.arange(1, 4, dtype=np.float32).reshape(row), np.full(before, 7, np.float32)
    expected = fd.run(fd.parse(text), np.int64(trips), x, a)
    module = stacked(text)
    assert count_of_states(module) == 1
    RefineShapesPass().apply(Context(), module)
    module.verify()
    for actual, wanted in zip(fd.run(module, np.int64(trips), x, a), expected, strict=True):
        np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_loop_that_appends_is_native(axis: int) -> None:
    text = growing(axis=axis, start=1)
    row, before = ((1, 3), (1, 3)) if axis == 0 else ((3, 1), (3, 1))
    x, a = np.arange(1, 4, dtype=np.float32).reshape(row), np.full(before, 7, np.float32)
    program = fd.compile(fd.parse(text))
    assert not [kernel.reason for kernel in program.kernels if kernel.reason]
    for actual, wanted in zip(program(np.int64(0), x, a), fd.run(fd.parse(text), np.int64(0), x, a), strict=True):
        np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize(
    "text",
    [
        growing(reads="%size = fuse.shape_of %acc : (tensor<?x3xf32>) -> tensor<2xi64>"),
        growing()
        .replace("%acc, %next", "%next, %acc, %next")
        .replace("(tensor<?x3xf32>, tensor<1x3xf32>)", "(tensor<1x3xf32>, tensor<?x3xf32>, tensor<1x3xf32>)"),
        growing()
        .replace("%acc, %next", "%acc, %acc")
        .replace("(tensor<?x3xf32>, tensor<1x3xf32>)", "(tensor<?x3xf32>, tensor<?x3xf32>)"),
    ],
    ids=["read", "in the middle", "twice"],
)
def test_what_else_is_read_stays_a_state(text: str) -> None:
    assert count_of_states(stacked(text)) == 2
