"""Short rows behind guards as one axis: the same elements, and only where all conditions hold."""

from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from random_moves import random_moves
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.entry import function_named
from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.loops.collapsing import with_collapsed_rows
from fuse_dialect.loops.program import LoopProgram, Refusal, Role
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower


def program_of(function: func.FuncOp) -> LoopProgram:
    program = lower(function)
    assert not isinstance(program, Refusal), program
    return simplify(program)


def results(program: LoopProgram) -> list[Array]:
    """Those for random arguments, each as one line."""
    random, arguments = np.random.default_rng(0), list[Array]()
    for buffer in program.buffers:
        if buffer.role is Role.ARGUMENT:
            shape = [size for size in buffer.shape if isinstance(size, int)]
            numbers = random.standard_normal(prod(shape)) * 3
            dtype = {"i1": np.bool_, "ui8": np.uint8, "i64": np.int64}.get(buffer.element, np.float32)
            arguments.append(numbers.astype(dtype).reshape(shape))
    return [result.reshape(-1) for result in run_loops(program, arguments)]


def assert_same(program: LoopProgram) -> LoopProgram:
    """The collapsed program, which gives the same bits."""
    collapsed = with_collapsed_rows(program)
    for one, other in zip(results(program), results(collapsed), strict=True):
        np.testing.assert_array_equal(one, other)
    return collapsed


def padded(more: str = "", result: str = "%p", arguments: str = "", shape: str = "1x5x6x8xf32") -> str:
    """An image with its channels last, one pixel wider on each side."""
    return f"""func.func @main(%x: tensor<1x3x4x8xf32>, %z: tensor<f32>{arguments}) -> tensor<{shape}> {{
      %p = fuse.pad %x, %z, low = [0, 1, 1, 0], high = [0, 1, 1, 0]
        : (tensor<1x3x4x8xf32>, tensor<f32>) -> tensor<1x5x6x8xf32>
      {more}
      return {result} : tensor<{shape}>
    }}"""


def collapsed_shapes(text: str) -> list[tuple[int | str, ...]]:
    program = program_of(function_named(fd.parse(text), "main"))
    return [buffer.shape for buffer in assert_same(program).buffers]


def test_a_padded_image_has_rows_of_all_its_channels() -> None:
    assert collapsed_shapes(padded()) == [(1, 3, 32), (), (1, 5, 48)]


def test_an_element_that_is_read_there_is_collapsed_with_it() -> None:
    more = "%y = fuse.add %p, %o : tensor<1x5x6x8xf32>"
    shapes = collapsed_shapes(padded(more, "%y", ", %o: tensor<1x5x6x8xf32>"))
    assert shapes[:4] == [(1, 3, 32), (), (1, 5, 48), (1, 5, 48)]


def test_a_number_that_others_read_is_none_of_the_buffers_that_change() -> None:
    text = """func.func @main(%x: tensor<3x4x8xf32>, %z: tensor<f32>) -> (tensor<3x6x8xf32>, tensor<f32>) {
      %p = fuse.pad %x, %z, low = [0, 1, 0], high = [0, 1, 0] : (tensor<3x4x8xf32>, tensor<f32>) -> tensor<3x6x8xf32>
      %n = fuse.negative %z : tensor<f32>
      return %p, %n : tensor<3x6x8xf32>, tensor<f32>
    }"""
    assert collapsed_shapes(text) == [(3, 32), (), (3, 48), ()]


@pytest.mark.parametrize(
    ("more", "result", "arguments", "shape"),
    [
        (  # the value of a channel is asked for
            "%y = fuse.add %p, %b : (tensor<1x5x6x8xf32>, tensor<8xf32>) -> tensor<1x5x6x8xf32>",
            "%y", ", %b: tensor<8xf32>", "1x5x6x8xf32",
        ),
        (  # the result has another order
            "%y = fuse.transpose %p, permutation = [0, 1, 3, 2] : (tensor<1x5x6x8xf32>) -> tensor<1x5x8x6xf32>",
            "%y", "", "1x5x8x6xf32",
        ),
        (  # channels run backwards
            """%q = fuse.reverse %x, axes = [3] : tensor<1x3x4x8xf32>
               %r = fuse.pad %q, %z, low = [0, 1, 1, 0], high = [0, 1, 1, 0]
                 : (tensor<1x3x4x8xf32>, tensor<f32>) -> tensor<1x5x6x8xf32>""",
            "%r", "", "1x5x6x8xf32",
        ),
        (  # channels are guarded as well
            """%q = fuse.pad %p, %z, low = [0, 0, 0, 1], high = [0, 0, 0, 0]
                 : (tensor<1x5x6x8xf32>, tensor<f32>) -> tensor<1x5x6x9xf32>""",
            "%q", "", "1x5x6x9xf32",
        ),
    ],
    ids=["value", "order", "direction", "guard"],
)  # fmt: skip
def test_what_asks_for_an_axis_keeps_it(more: str, result: str, arguments: str, shape: str) -> None:
    program = program_of(function_named(fd.parse(padded(more, result, arguments, shape)), "main"))
    assert assert_same(program) == program


def test_a_buffer_that_others_use_keeps_its_shape() -> None:
    text = """func.func @main(%x: tensor<3x4x8xf32>, %z: tensor<f32>) -> (tensor<3x6x8xf32>, tensor<3x4xf32>) {
      %p = fuse.pad %x, %z, low = [0, 1, 0], high = [0, 1, 0] : (tensor<3x4x8xf32>, tensor<f32>) -> tensor<3x6x8xf32>
      %s = fuse.sum %x, axes = [2] : (tensor<3x4x8xf32>) -> tensor<3x4xf32>
      return %p, %s : tensor<3x6x8xf32>, tensor<3x4xf32>
    }"""
    program = program_of(function_named(fd.parse(text), "main"))
    assert assert_same(program) == program


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=random_moves())
def test_random_programs_give_the_same(program: ModuleOp) -> None:
    FuseOpsPass(opt_level=2).apply(Context(), program)
    for function in program.ops:
        assert isinstance(function, func.FuncOp)
        lowered = lower(function)
        if "primitive" in function.attributes and not isinstance(lowered, Refusal):
            assert_same(simplify(lowered))


@pytest.mark.parametrize("target_cpu", ["haswell", None])
@pytest.mark.parametrize("channels", [1, 3, 8, 33])
def test_padded_images_as_machine_code(target_cpu: str | None, channels: int) -> None:
    x = np.arange(2 * 5 * 7 * channels, dtype=np.uint8).reshape(2, 5, 7, channels)
    before, after = f"tensor<2x5x7x{channels}xui8>", f"tensor<2x6x10x{channels}xui8>"
    module = fd.parse(f"""func.func @main(%x: {before}, %z: tensor<ui8>) -> {after} {{
      %p = fuse.pad %x, %z, low = [0, 1, 1, 0], high = [0, 0, 2, 0] : ({before}, tensor<ui8>) -> {after}
      return %p : {after}
    }}""")
    (found,) = fd.compile(module, target_cpu=target_cpu, cache=False)(x, np.uint8(200))
    np.testing.assert_array_equal(found, np.pad(x, ((0, 0), (1, 0), (1, 2), (0, 0)), constant_values=200))
