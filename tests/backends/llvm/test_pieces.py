"""Buffers that several stages write piece by piece, and that somebody reads at a place that is computed."""

import numpy as np
import pytest
from checking.rounding import assert_sums
from native_run import Native
from programs import COLUMN, ROW, apply, buffer, read, result, total

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array
from fuse_dialect.loops.indices import number
from fuse_dialect.loops.program import Axis, LoopProgram, Role, Stage

SIZES = [(1, 1), (1, 1, 1, 1), (3, 2), (1, 2), (2, 1), (1, 3, 1), (1, 20, 1)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("element", ["f32", "i64"])
@pytest.mark.parametrize("shape", ["", "1x", "2x"])
def test_one_element_of_a_concatenation(sizes: tuple[int, ...], element: str, shape: str) -> None:
    total, names = sum(sizes), ", ".join(f"%a{place}" for place in range(len(sizes)))
    types = [f"tensor<{size}x{element}>" for size in sizes]
    arguments = ", ".join(f"%a{place}: {type}" for place, type in enumerate(types))
    index, result = f"tensor<{shape}i64>", f"tensor<{shape}{element}>"
    module = fd.parse(f"""func.func @main({arguments}, %i: {index}) -> {result} {{
  %c = fuse.concatenate {names}, axis = 0 : ({", ".join(types)}) -> tensor<{total}x{element}>
  %r = fuse.take %c, %i, axis = 0 : (tensor<{total}x{element}>, {index}) -> {result}
  return %r : {result}
}}""")
    program = fd.compile(module)
    assert [kernel.family for kernel in program.kernels] == ["map"]
    dtype = np.float32 if element == "f32" else np.int64
    whole = np.arange(total).astype(dtype) + 10
    pieces: list[Array] = np.split(whole, np.cumsum(sizes)[:-1])
    for place in range(-total, total):
        indices = np.full([int(size) for size in shape.split("x")[:-1]], place)
        (actual,) = program(*pieces, indices)
        np.testing.assert_array_equal(actual, whole[indices])


def test_sums_that_are_pieces_of_one_buffer() -> None:
    module = fd.parse("""func.func @main(%x: tensor<5xf32>, %i: tensor<1xi64>) -> tensor<1xf32> {
  %s = fuse.sum %x, axes = [0], keepdims = true : (tensor<5xf32>) -> tensor<1xf32>
  %m = fuse.max %x, axes = [0], keepdims = true : (tensor<5xf32>) -> tensor<1xf32>
  %c = fuse.concatenate %s, %m, axis = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %r = fuse.take %c, %i, axis = 0 : (tensor<2xf32>, tensor<1xi64>) -> tensor<1xf32>
  return %r : tensor<1xf32>
}""")
    x = np.array([1, 2, 3, 4, 5], np.float32)
    program = fd.compile(module)
    for place, expected in ((0, 15), (1, 5)):
        assert program(x, np.array([place]))[0].tolist() == [expected]


@pytest.mark.parametrize("piece", [0, 1])
def test_a_piece_that_is_read_in_its_row_is_no_row(piece: int) -> None:
    """Squares and exponentials of each row are read twice; the exponentials are one half of a buffer."""
    space, reduced = (Axis(3), Axis(40)), (Axis(3), Axis(40, True))
    half = (ROW, number(piece), COLUMN)
    local = {"role": Role.LOCAL}
    stages = (
        Stage("square", "u", space, (read("x", ROW, COLUMN), apply("arith.mulf", 0, 0))),
        Stage("exp", "t", space, (read("x", ROW, COLUMN), apply("math.exp", 0)), store=half),
        Stage("total", "s", reduced, (read("t", *half),), total()),
        Stage("squares", "v", reduced, (read("u", ROW, COLUMN),), total()),
        Stage(
            "share",
            "y",
            space,
            (
                *(read("t", *half), read("s", ROW), apply("arith.divf", 0, 1)),
                *(read("u", ROW, COLUMN), read("v", ROW), apply("arith.divf", 3, 4), apply("arith.addf", 2, 5)),
            ),
        ),
    )
    buffers = (
        *(buffer("x", 3, 40), result(3, 40), buffer("t", 3, 2, 40, **local), buffer("u", 3, 40, **local)),
        *(buffer("s", 3, **local), buffer("v", 3, **local)),
    )
    x = np.linspace(-1, 1, 120, dtype=np.float32).reshape(3, 40)
    wide = x.astype(np.float64)
    exponentials, squares = np.exp(wide), wide * wide
    expected = exponentials / exponentials.sum(1, keepdims=True) + squares / squares.sum(1, keepdims=True)
    native = Native(LoopProgram("pieces", buffers, stages))
    assert native.kernel.workspace_bytes >= 3 * 2 * 40 * 4
    # All terms are positive: two sums of 40, and a few roundings of what they are made of.
    assert_sums(native(x)[0], expected, 2 * 40 + 8, expected)
