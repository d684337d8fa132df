"""Taps in padding: convolutions without them give the same, and keep those that may meet the image."""

import tracemalloc
from random import Random

import numpy as np
import pytest
from checking.rounding import assert_sums_of
from constant_kernels import with_kernel
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.convolution import Conv2dOp
from fuse_dialect.transforms import drop_padded_taps
from fuse_dialect.transforms.drop_padded_taps import DropPaddedTapsPass
from fuse_dialect.transforms.expand_transposed_convolutions import ExpandTransposedConvolutionsPass


def program(random: Random) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """A convolution whose windows reach far beyond its image, and the shapes of image and kernel."""
    while True:
        last, groups = random.random() < 0.5, random.choice((1, 1, 2))
        inputs, outputs = groups * random.randint(1, 3), groups * random.randint(1, 3)
        sizes = [random.randint(1, 9) for _ in range(2)]
        taps = [random.randint(1, 4) for _ in range(2)]
        strides, dilation = ([random.randint(1, most) for _ in range(2)] for most in (3, 9))
        pads = [random.randint(0, 14) for _ in range(4)]
        reach = [(tap - 1) * each + 1 for tap, each in zip(taps, dilation, strict=True)]
        counts = [(sizes[at] + pads[at] + pads[at + 2] - reach[at]) // strides[at] + 1 for at in range(2)]
        if min(counts) < 1:
            continue
        x = (2, *sizes, inputs) if last else (2, inputs, *sizes)
        w = (*taps, inputs // groups, outputs) if last else (outputs, inputs // groups, *taps)
        y = (2, *counts, outputs) if last else (2, outputs, *counts)
        types = [f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in (x, w, y)]
        layouts = ', data_layout = "NHWC", kernel_layout = "HWIO"' if last else ""
        text = f"""func.func @main(%x: {types[0]}, %w: {types[1]}) -> {types[2]} {{
          %y = fuse.conv2d %x, %w, strides = {strides}, padding = {pads}, dilation = {dilation},
              groups = {groups}{layouts} : ({types[0]}, {types[1]}) -> {types[2]}
          return %y : {types[2]}
        }}"""
        return text, x, w


def taps_of(module: ModuleOp) -> list[tuple[int, ...]]:
    return [op.canonical_shapes()[1][2:] for op in module.walk() if isinstance(op, Conv2dOp)]


def taps_after(seed: int) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The taps of the convolutions before the pass and after it, whose sums are the same."""
    text, *shapes = program(Random(seed))
    arrays = np.random.default_rng(seed)
    x, w = (arrays.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)
    module = with_kernel(text, w)
    before = taps_of(module)
    DropPaddedTapsPass().apply(Context(), module)
    module.verify()
    assert_sums_of(fd.parse(text), [x, w], fd.run(module, x, w))
    return before, taps_of(module)


def test_the_result_is_the_same_and_many_lose_taps() -> None:
    changed = [before != after for before, after in map(taps_after, range(150))]
    assert sum(changed) > 20


def test_taps_of_few_windows_are_computed_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drop_padded_taps, "LEAST_SAVED", 0)
    monkeypatch.setattr(drop_padded_taps, "LEAST_IN_ALL", 0)
    cut = [len(after) > 1 for _, after in map(taps_after, range(200))]
    assert sum(cut) > 20


def atrous(element: str, *, channels: int = 128, groups: int = 1, distance: int = 12) -> str:
    """A convolution of an image of 14x14 whose outer taps are far apart."""
    image = f"tensor<1x{channels}x14x14x{element}>"
    kernel = f"tensor<{channels}x{channels // groups}x3x3x{element}>"
    return f"""func.func @main(%x: {image}, %w: {kernel}) -> {image} {{
      %y = fuse.conv2d %x, %w, padding = {[distance] * 4}, dilation = {[distance] * 2}, groups = {groups}
        : ({image}, {kernel}) -> {image}
      return %y : {image}
    }}"""


def test_outer_taps_of_an_atrous_convolution_are_small_products() -> None:
    module = with_kernel(atrous("f32", channels=256), np.ones((256, 256, 3, 3), np.float32))
    DropPaddedTapsPass().apply(Context(), module)
    convolutions = [op for op in module.walk() if isinstance(op, Conv2dOp)]
    sizes = sorted(op.result.type.get_shape()[2:] for op in convolutions)
    assert sizes == [*[(2, 2)] * 4, *[(2, 14)] * 2, *[(14, 2)] * 2, (14, 14)]
    assert set(taps_of(module)) == {(1, 1)}


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        pytest.param(atrous("f16"), np.ones((128, 128, 3, 3), np.float16), id="sums that would be rounded once more"),
        pytest.param(atrous("f32", groups=4), np.ones((128, 32, 3, 3), np.float32), id="several groups"),
        pytest.param(atrous("f32", channels=16), np.ones((16, 16, 3, 3), np.float32), id="few products"),
        pytest.param(atrous("f32", distance=1), np.ones((128, 128, 3, 3), np.float32), id="tiles of results"),
    ],
)
def test_some_keep_taps_of_few_windows(text: str, kernel: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drop_padded_taps, "FEW", 1.0)
    module = with_kernel(text, kernel)
    DropPaddedTapsPass().apply(Context(), module)
    assert taps_of(module) == [(3, 3)]


@pytest.mark.parametrize(("value", "taps"), [(1.0, (1, 1)), (np.inf, (3, 3)), (np.nan, (3, 3))])
def test_taps_that_are_no_numbers_stay(value: float, taps: tuple[int, int]) -> None:
    text = """func.func @main(%x: tensor<1x1x8x8xf32>, %w: tensor<1x1x3x3xf32>) -> tensor<1x1x8x8xf32> {
      %y = fuse.conv2d %x, %w, padding = [8, 8, 8, 8], dilation = [8, 8] : (tensor<1x1x8x8xf32>, tensor<1x1x3x3xf32>)
      return %y : tensor<1x1x8x8xf32>
    }"""
    kernel = np.ones((1, 1, 3, 3), np.float32)
    kernel[0, 0, 0, 0] = value
    module = with_kernel(text, kernel)
    DropPaddedTapsPass().apply(Context(), module)
    assert taps_of(module) == [taps]


@pytest.mark.parametrize("op", ["conv2d", "conv2d_transpose"])
def test_a_kernel_of_one_number_is_not_written_out(op: str) -> None:
    distance = 8 if op == "conv2d" else 1
    text = f"""func.func @main(%x: tensor<1x4096x8x8xf32>) -> tensor<1x4096x8x8xf32> {{
      %w = arith.constant dense<0.5> : tensor<4096x4096x3x3xf32>
      %y = fuse.{op} %x, %w, padding = {[distance] * 4}, dilation = {[distance] * 2}
        : (tensor<1x4096x8x8xf32>, tensor<4096x4096x3x3xf32>) -> tensor<1x4096x8x8xf32>
      return %y : tensor<1x4096x8x8xf32>
    }}"""
    module = fd.parse(text)
    tracemalloc.start()
    for each in (DropPaddedTapsPass(), ExpandTransposedConvolutionsPass()):
        each.apply(Context(), module)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 24
