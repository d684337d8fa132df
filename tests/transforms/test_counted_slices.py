"""Slices whose bounds are computed and whose length is known: `refine-shapes` makes a `take` of each."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context

import fuse_dialect as fd
from fuse_dialect.dialect.ops.dynamic import DynStridedSliceOp
from fuse_dialect.dialect.ops.indexing import TakeOp
from fuse_dialect.transforms.refine_shapes import RefineShapesPass


def looped(begin: int, end: int, *, size: int = 8, trips: int = 6, stride: int = 1, scale: int = 1) -> str:
    """A loop that sums `x[scale * i + begin : scale * i + end : stride]` into the first element of its state."""
    return f"""func.func @main(%x: tensor<{size}xf32>, %s: tensor<f32>) -> tensor<f32> {{
      %n = arith.constant dense<{trips}> : tensor<i64>
      %y = fuse.loop limit(%n : tensor<i64>) states(%s : tensor<f32>) -> (tensor<f32>) {{
      ^bb0(%i: tensor<i64>, %state: tensor<f32>):
        %scale = arith.constant dense<{scale}> : tensor<i64>
        %si = fuse.multiply %i, %scale : tensor<i64>
        %a = arith.constant dense<{begin}> : tensor<i64>
        %b = arith.constant dense<{end}> : tensor<i64>
        %ia = fuse.add %si, %a : tensor<i64>
        %ib = fuse.add %b, %si : tensor<i64>
        %begin = fuse.expand_dims %ia, axis = 0 : (tensor<i64>) -> tensor<1xi64>
        %end = fuse.expand_dims %ib, axis = 0 : (tensor<i64>) -> tensor<1xi64>
        %stride = arith.constant dense<{stride}> : tensor<1xi64>
        %part = fuse.dyn_strided_slice %x, %begin, %end, %stride
          : (tensor<{size}xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
        %sum = fuse.sum %part, axes = [0] : (tensor<?xf32>) -> tensor<f32>
        %two = arith.constant dense<2.0> : tensor<f32>
        %twice = fuse.multiply %state, %two : tensor<f32>
        %next = fuse.add %twice, %sum : tensor<f32>
        fuse.yield %next : tensor<f32>
      }}
      return %y : tensor<f32>
    }}"""


def over_all(begin: int, end: int, *, more_trips: int = 0, scale: int = 1, is_in_loop: bool = False) -> str:
    """The same over an axis of open size, in a loop that runs `n + more_trips` times; negative scales add `n`.

    In another loop, if so, whose counter is added to the number of trips: 0, then 1.
    """
    base = "%in" if scale < 0 else "%si"
    inner = f"""%count = fuse.add %n, %more : tensor<i64>
      %trips = {"fuse.subtract %count, %outer" if is_in_loop else "fuse.add %count, %zero"} : tensor<i64>
      %y = fuse.loop limit(%trips : tensor<i64>) states(%s : tensor<f32>) -> (tensor<f32>) {{
      ^bb0(%i: tensor<i64>, %state: tensor<f32>):
        %scale = arith.constant dense<{scale}> : tensor<i64>
        %si = fuse.multiply %i, %scale : tensor<i64>
        %in = fuse.add %si, %n : tensor<i64>
        %a = arith.constant dense<{begin}> : tensor<i64>
        %b = arith.constant dense<{end}> : tensor<i64>
        %ia = fuse.add {base}, %a : tensor<i64>
        %ib = fuse.add %b, {base} : tensor<i64>
        %begin = fuse.expand_dims %ia, axis = 0 : (tensor<i64>) -> tensor<1xi64>
        %end = fuse.expand_dims %ib, axis = 0 : (tensor<i64>) -> tensor<1xi64>
        %stride = arith.constant dense<1> : tensor<1xi64>
        %part = fuse.dyn_strided_slice %x, %begin, %end, %stride
          : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
        %sum = fuse.sum %part, axes = [0] : (tensor<?xf32>) -> tensor<f32>
        %two = arith.constant dense<2.0> : tensor<f32>
        %twice = fuse.multiply %state, %two : tensor<f32>
        %next = fuse.add %twice, %sum : tensor<f32>
        fuse.yield %next : tensor<f32>
      }}"""
    outer = f"""%z = fuse.loop limit(%two_times : tensor<i64>) states(%s0 : tensor<f32>) -> (tensor<f32>) {{
      ^bb0(%outer: tensor<i64>, %s: tensor<f32>):
        {inner}
        fuse.yield %y : tensor<f32>
      }}"""
    return f"""func.func @main(%x: tensor<?xf32> {{fuse.sizes = ["n"]}}, %s0: tensor<f32>) -> tensor<f32> {{
      %sizes = fuse.shape_of %x : (tensor<?xf32>) -> tensor<1xi64>
      %n = fuse.squeeze %sizes, axes = [0] : (tensor<1xi64>) -> tensor<i64>
      %more = arith.constant dense<{more_trips}> : tensor<i64>
      %zero = arith.constant dense<0> : tensor<i64>
      %two_times = arith.constant dense<2> : tensor<i64>
      {outer if is_in_loop else inner.replace("(%s :", "(%s0 :")}
      return {"%z" if is_in_loop else "%y"} : tensor<f32>
    }}"""


def refined(text: str) -> Any:
    module = fd.parse(text)
    RefineShapesPass().apply(Context(), module)
    module.verify()
    return module


def is_taken(module: Any) -> bool:
    kinds: set[Any] = {type(op) for op in module.walk()}
    assert (TakeOp in kinds) != (DynStridedSliceOp in kinds)
    return TakeOp in kinds


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"begin": 0, "end": 1}, True),
        ({"begin": 2, "end": 3}, True),  # 2..8 of 8
        ({"begin": 3, "end": 4}, False),  # the last one is short
        ({"begin": 0, "end": 3}, True),
        ({"begin": 0, "end": 4}, False),
        ({"begin": -8, "end": -7}, True),  # counted from the end
        ({"begin": -6, "end": -5}, False),  # 0 counts from the front
        ({"begin": -1, "end": 1}, False),
        ({"begin": 1, "end": 1}, False),  # nothing
        ({"begin": 2, "end": 1}, False),
        ({"begin": 0, "end": 2, "stride": 2}, False),
        ({"begin": 0, "end": 2, "scale": 2, "trips": 4}, True),
        ({"begin": 0, "end": 2, "scale": 2, "trips": 5}, False),
        ({"begin": 7, "end": 8, "scale": -1, "trips": 8}, True),
        ({"begin": (1 << 63) - 8, "end": (1 << 63) - 7}, False),  # goes round
    ],
)
def test_slices_of_known_length_are_taken(arguments: dict[str, int], expected: bool) -> None:
    assert is_taken(refined(looped(**arguments))) == expected


@given(
    begin=st.integers(-10, 10),
    length=st.integers(-1, 4),
    size=st.integers(1, 9),
    trips=st.integers(0, 9),
    scale=st.integers(-2, 2),
)
def test_they_mean_the_same(begin: int, length: int, size: int, trips: int, scale: int) -> None:
    text = looped(begin, begin + length, size=size, trips=trips, scale=scale)
    x, start = np.arange(1, size + 1, dtype=np.float32), np.float32(0)
    expected = fd.run(fd.parse(text), x, start)
    np.testing.assert_array_equal(fd.run(refined(text), x, start), expected)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"begin": 0, "end": 1}, True),
        ({"begin": 0, "end": 2}, False),  # the last one is short
        ({"begin": 1, "end": 2}, False),
        ({"begin": 0, "end": 2, "more_trips": -1}, True),
        ({"begin": 1, "end": 2, "more_trips": -1}, True),
        ({"begin": 0, "end": 1, "more_trips": 1}, False),
        ({"begin": -1, "end": 0}, False),
        ({"begin": 0, "end": 0}, False),
        ({"begin": 1, "end": 0}, False),
        ({"begin": -1, "end": 0, "scale": -1}, True),  # from the last to the first
        ({"begin": -2, "end": -1, "scale": -1}, False),
        ({"begin": 0, "end": 1, "scale": -1}, False),
        ({"begin": 0, "end": 1, "scale": 2}, False),
        ({"begin": 0, "end": 1, "is_in_loop": True}, True),
        ({"begin": 0, "end": 2, "is_in_loop": True}, False),  # only the first time is it too long
        ({"begin": 0, "end": 2, "is_in_loop": True, "more_trips": -1}, True),
    ],
)
def test_of_an_open_axis_they_are_taken_where_the_loop_ends_in_time(arguments: dict[str, Any], expected: bool) -> None:
    assert is_taken(refined(over_all(**arguments))) == expected


@given(
    begin=st.integers(-3, 3),
    length=st.integers(-1, 3),
    size=st.integers(0, 7),
    more_trips=st.integers(-3, 2),
    scale=st.integers(-2, 2),
    is_in_loop=st.booleans(),
)
def test_of_an_open_axis_they_mean_the_same(
    begin: int, length: int, size: int, more_trips: int, scale: int, is_in_loop: bool
) -> None:
    text = over_all(begin, begin + length, more_trips=more_trips, scale=scale, is_in_loop=is_in_loop)
    x, start = np.arange(1, size + 1, dtype=np.float32), np.float32(0)
    expected = fd.run(fd.parse(text), x, start)
    np.testing.assert_array_equal(fd.run(refined(text), x, start), expected)


def test_sums_of_32_bits_may_go_round() -> None:
    text = over_all(0, 1).replace(
        "%si = fuse.multiply %i, %scale : tensor<i64>",
        """
        %short = fuse.cast %i : (tensor<i64>) -> tensor<i32>
        %si = fuse.cast %short : (tensor<i32>) -> tensor<i64>""",
    )
    assert not is_taken(refined(text))


def test_bounds_go_with_the_axes_in_their_order() -> None:
    text = looped(0, 1, size=6).replace("tensor<6xf32>", "tensor<6x4xf32>").replace("tensor<?xf32>", "tensor<?x?xf32>")
    text = text.replace("axes = [0]", "axes = [0, 1]").replace(
        "%part = fuse.dyn_strided_slice %x, %begin, %end, %stride",
        """%one = arith.constant dense<1> : tensor<1xi64>
        %three = arith.constant dense<3> : tensor<1xi64>
        %begins = fuse.concatenate %one, %begin, axis = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
        %ends = fuse.concatenate %three, %end, axis = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
        %strides = fuse.concatenate %one, %stride, axis = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
        %part = fuse.dyn_strided_slice %x, %begins, %ends, %strides, axes = [1, 0]""",
    )
    text = text.replace(
        "tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) ->", "tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) ->"
    )
    x, start = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32), np.float32(0)
    assert is_taken(refined(text))
    np.testing.assert_allclose(fd.run(refined(text), x, start), fd.run(fd.parse(text), x, start), rtol=1e-6)


def test_some_axes_have_constant_bounds_and_a_concatenation_holds_them() -> None:
    text = """func.func @main(%x: tensor<4x6x5xf32>, %s: tensor<2x1x5xf32>) -> tensor<2x1x5xf32> {
      %n = arith.constant dense<6> : tensor<i64>
      %y = fuse.loop limit(%n : tensor<i64>) states(%s : tensor<2x1x5xf32>) -> (tensor<2x1x5xf32>) {
      ^bb0(%i: tensor<i64>, %state: tensor<2x1x5xf32>):
        %one = arith.constant dense<1> : tensor<i64>
        %j = fuse.add %i, %one : tensor<i64>
        %il = fuse.expand_dims %i, axis = 0 : (tensor<i64>) -> tensor<1xi64>
        %jl = fuse.expand_dims %j, axis = 0 : (tensor<i64>) -> tensor<1xi64>
        %first = arith.constant dense<1> : tensor<1xi64>
        %last = arith.constant dense<3> : tensor<1xi64>
        %begin = fuse.concatenate %first, %il, axis = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
        %end = fuse.concatenate %last, %jl, axis = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
        %strides = arith.constant dense<1> : tensor<2xi64>
        %part = fuse.dyn_strided_slice %x, %begin, %end, %strides
          : (tensor<4x6x5xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?x5xf32>
        %next = fuse.add %state, %part : (tensor<2x1x5xf32>, tensor<?x?x5xf32>) -> tensor<2x1x5xf32>
        fuse.yield %next : tensor<2x1x5xf32>
      }
      return %y : tensor<2x1x5xf32>
    }"""
    rng = np.random.default_rng(0)
    x, s = (rng.standard_normal(shape).astype(np.float32) for shape in ((4, 6, 5), (2, 1, 5)))
    module = refined(text)
    assert is_taken(module)
    np.testing.assert_array_equal(fd.run(module, x, s), fd.run(fd.parse(text), x, s))
    program = fd.compile(fd.parse(text))
    np.testing.assert_allclose(program(x, s), fd.run(fd.parse(text), x, s), rtol=1e-6)
    assert not [kernel.reason for kernel in program.kernels if kernel.reason]


@pytest.mark.parametrize("one", ["%n", "%last"])
def test_sizes_that_double_or_form_long_chains_take_no_long_time(one: str) -> None:
    lines: list[str] = []
    last = "%n"
    for step in range(1500):
        lines.append(f"%q{step} = fuse.add {last}, {last if one == '%last' else one} : tensor<i64>")
        last = f"%q{step}"
        if one == "%last" and step == 55:
            break  # 2 to the power of 56 paths
    text = over_all(0, 1).replace(
        "%count = fuse.add %n, %more", "\n".join(lines) + f"\n%count = fuse.add {last}, %more"
    )
    assert not is_taken(refined(text))


def test_lists_that_double_take_no_long_time() -> None:
    lines = ["%l0 = fuse.concatenate %none, %none, axis = 0 : (tensor<0xi64>, tensor<0xi64>) -> tensor<0xi64>"]
    for step in range(1, 60):
        lines.append(
            f"%l{step} = fuse.concatenate %l{step - 1}, %l{step - 1}, axis = 0 "
            ": (tensor<0xi64>, tensor<0xi64>) -> tensor<0xi64>"
        )
    lines.append("%list = fuse.concatenate %begin, %l59, axis = 0 : (tensor<1xi64>, tensor<0xi64>) -> tensor<1xi64>")
    text = (
        over_all(0, 1)
        .replace("%stride = arith", "\n".join(lines) + "\n%stride = arith")
        .replace("dyn_strided_slice %x, %begin,", "dyn_strided_slice %x, %list,")
    )
    text = text.replace("(%x: tensor<?xf32>", "(%none: tensor<0xi64>, %x: tensor<?xf32>")
    assert not is_taken(refined(text))
