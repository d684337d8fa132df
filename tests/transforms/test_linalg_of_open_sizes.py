"""Ops on sizes that are known when they run mean the same in linalg, for several sizes each."""

from collections.abc import Sequence

import numpy as np
import pytest
from linalg_meaning import run_linalg
from op_examples import assert_close
from test_convert_fuse_to_linalg import converted

from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import element_dtype, tensor_type
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.interpreters.numpy import run_module

Shapes = Sequence[Sequence[int]]
X = "tensor<?x?xf32>"
IMAGE = "tensor<?x?x?x?xf32>"
INDICES = "tensor<?x?xi64>"


def conv(shape: str, more: str, name: str = "conv2d") -> str:
    return f"fuse.{name} %0, %1, {more} : ({IMAGE}, tensor<{shape}xf32>) -> {IMAGE}"


def pad(low: str, high: str, mode: str) -> str:
    return f'fuse.pad %0, %1, low = [{low}], high = [{high}], mode = "{mode}" : ({X}, tensor<f32>) -> {X}'


def picked(text: str) -> str:
    return f"fuse.{text} : ({X}, {INDICES}) -> "


CASES: Sequence[tuple[str, Sequence[Shapes]]] = [
    (f"fuse.cumsum %0, axis = 0 : {X}", [[(3, 4)], [(1, 2)]]),
    (f"fuse.cumsum %0, axis = 0, reverse = true : {X}", [[(3, 4)], [(1, 2)]]),
    (f"fuse.cumprod %0, axis = 1, reverse = true, exclusive = true : {X}", [[(3, 4)], [(2, 1)]]),
    (f"fuse.sort %0, axis = 0 : {X}", [[(5, 2)], [(1, 3)]]),
    (f"fuse.argsort %0, axis = 0, is_ascend = false : ({X}) -> {INDICES}", [[(5, 2)], [(1, 3)]]),
    (picked("gather %0, %1, axis = 1") + X, [[(3, 4), (3, 2)], [(2, 3), (2, 5)]]),
    (picked("take %0, %1") + X, [[(3, 4), (3, 2)], [(1, 1), (2, 2)]]),
    (picked('take %0, %1, axis = 1, mode = "wrap"') + "tensor<?x?x?xf32>", [[(3, 4), (3, 2)]]),
    (conv("4x2x3x3", "padding = [1, 1, 1, 1], groups = 2"), [[(2, 4, 5, 3), ()], [(1, 4, 1, 7), ()]]),
    (conv("?x?x3x2", "strides = [2, 1], dilation = [1, 2]"), [[(2, 3, 5, 6), (4, 3, 3, 2)]]),
    (conv("4x2x3x2", "strides = [2, 1], groups = 2", "conv2d_transpose"), [[(2, 4, 5, 3), ()], [(1, 4, 1, 1), ()]]),
    (conv("?x?x2x2", "padding = [1, 0, 0, 1]", "conv2d_transpose"), [[(2, 3, 4, 3), (3, 2, 2, 2)]]),
    (
        f"fuse.max_pool2d %0, pool_size = [3, 2], strides = [2, 2], padding = [1, 0, 1, 0] : ({IMAGE}) -> {IMAGE}",
        [[(1, 2, 5, 4)], [(2, 1, 3, 7)]],
    ),
    (
        "fuse.avg_pool2d %0, pool_size = [2, 3], strides = [3, 2], padding = [1, 1, 0, 1], ceil_mode = true"
        f" : ({IMAGE}) -> {IMAGE}",
        [[(1, 2, 5, 4)], [(2, 1, 4, 7)]],
    ),
    *(
        (
            f'fuse.depth_to_space %0, block_size = 2, mode = "{mode}" : (tensor<?x8x?x?xf32>) -> tensor<?x2x?x?xf32>',
            [[(1, 8, 3, 2)], [(2, 8, 1, 5)]],
        )
        for mode in ("DCR", "CRD")
    ),
    *((pad("1, 2", "2, 1", mode), [[(4, 3), ()], [(5, 4), ()]]) for mode in ("constant", "edge", "reflect", "wrap")),
    (pad("-1, 1", "2, -2", "constant"), [[(4, 3), ()], [(2, 5), ()]]),
    (pad("-1, 2", "1, -1", "edge"), [[(4, 3), ()], [(3, 5), ()]]),
    (
        f"fuse.strided_slice %0, begin = [-2, 1], end = [-9, 7], strides = [-1, 2] : ({X}) -> {X}",
        [[(5, 4)], [(1, 9)], [(3, 1)]],
    ),
    *(
        (
            f'fuse.grid_sample %0, %1, mode = "linear", padding_mode = "{padding}", align_corners = {aligned}'
            f" : ({IMAGE}, tensor<?x?x?x2xf32>) -> {IMAGE}",
            [[(2, 3, 4, 5), (2, 3, 2, 2)], [(1, 2, 1, 3), (1, 2, 2, 2)]],
        )
        for padding in ("zeros", "border", "reflection")
        for aligned in ("true", "false")
    ),
]


@pytest.mark.parametrize(("text", "sizes"), CASES, ids=[text.split(" :")[0] for text, _ in CASES])
def test_an_op_on_open_sizes_means_the_same(text: str, sizes: Sequence[Shapes]) -> None:
    types, result = text.split(" : ", 1)[1], text.rsplit("-> ", 1)[-1].rsplit(" : ", 1)[-1]
    operands = types.split(" -> ")[0].strip("()").split(", ")
    arguments = ", ".join(f"%{number}: {type}" for number, type in enumerate(operands))
    module = parse_mlir(f"func.func @main({arguments}) -> {result} {{\n  %y = {text}\n  return %y : {result}\n}}\n")
    linalg, random = converted(module), np.random.default_rng(0)
    (main,) = module.ops
    for shapes in sizes:
        arrays: list[Array] = []
        for argument, shape in zip(main.regions[0].block.args, shapes, strict=True):
            type = tensor_type(argument)
            dtype, shape = element_dtype(type.element_type), shape or type.get_shape()
            arrays.append(
                random.integers(-1, 2, shape) if dtype.kind == "i" else random.standard_normal(shape).astype(dtype)
            )
        for run in (run_linalg, run_module):
            for actual, expected in zip(run(linalg, arrays), run_module(module, arrays), strict=True):
                assert_close(actual, expected, text)


def test_scattered_updates_mean_the_same_on_open_sizes() -> None:
    random = np.random.default_rng(0)
    for mode in ("update", "add", "mul", "min", "max"):
        module = parse_mlir(f"""
func.func @main(%x: {X}, %i: tensor<?x1xi64>, %u: {X}) -> {X} {{
  %y = fuse.scatter_nd %x, %i, %u, mode = "{mode}" : ({X}, tensor<?x1xi64>, {X}) -> {X}
  return %y : {X}
}}
""")
        linalg = converted(module)
        for rows, updates in ((4, 6), (1, 2)):
            arrays = [random.standard_normal((rows, 3)).astype(np.float32), random.integers(-rows, rows, (updates, 1))]
            arrays.append(random.standard_normal((updates, 3)).astype(np.float32))
            (actual,), (expected,) = run_linalg(linalg, arrays), run_module(module, arrays)
            assert_close(actual, expected, mode)
