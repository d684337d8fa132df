"""A transposed convolution and the convolutions that take its place give the same, also where values are special."""

import re
from collections.abc import Sequence
from math import prod
from random import Random

import numpy as np
import pytest
from checking.rounding import assert_sums_of
from constant_kernels import with_kernel
from xdsl.context import Context

import fuse_dialect as fd
from fuse_dialect.dialect.ops.convolution import Conv2dOp
from fuse_dialect.transforms.expand_transposed_convolutions import ExpandTransposedConvolutionsPass


def random_program(rng: Random) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """A function of one transposed convolution, and the shapes of its arguments."""
    while True:
        rank, groups = rng.choice([2, 2, 3]), rng.choice([1, 1, 1, 2, 3])
        inputs, outputs = groups * rng.randint(1, 3), rng.randint(1, 3)
        sizes = [rng.randint(1, 5) for _ in range(rank)]
        strides = [rng.randint(1, 3)] * rank if rng.random() < 0.5 else [rng.randint(1, 3) for _ in range(rank)]
        taps = [rng.randint(max(1, stride - (rng.random() < 0.1)), 5) for stride in strides]
        dilated = rng.random() < 0.2
        dilation = [rng.randint(1, 2) if dilated else 1 for _ in range(rank)]
        pads, extra = [rng.randint(0, 3) for _ in range(2 * rank)], [rng.randint(0, 1) for _ in range(rank)]
        last = rng.random() < 0.3
        layout = {(2, False): "NCHW", (2, True): "NHWC", (3, False): "NCDHW", (3, True): "NDHWC"}[rank, last]
        batch = rng.randint(1, 2)
        x = (batch, *sizes, inputs) if last else (batch, inputs, *sizes)
        w = (inputs, outputs, *taps)
        types = ", ".join(f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in (x, w))
        first, second = types.split(", ")
        text = (
            f"func.func @main(%x: {first}, %w: {second}) -> (RESULT) {{\n"
            f"  %y = fuse.conv{rank}d_transpose %x, %w, strides = {strides}, padding = {pads}, "
            f"output_padding = {extra}, dilation = {dilation}, groups = {groups}, "
            f'data_layout = "{layout}" : ({types})\n'
            f"  return %y : RESULT\n}}"
        )
        spread = zip(sizes, strides, taps, dilation, extra, pads[:rank], pads[rank:], strict=True)
        grown = [(n - 1) * s + (k - 1) * d + 1 + e - low - high for n, s, k, d, e, low, high in spread]
        if min(grown) > 0:
            result = (batch, *grown, outputs * groups) if last else (batch, outputs * groups, *grown)
            return text.replace("RESULT", f"tensor<{'x'.join(map(str, result))}xf32>"), x, w


@pytest.mark.parametrize("seed", range(120))
def test_the_result_is_the_same(seed: int) -> None:
    text, *shapes = random_program(Random(seed))
    rng = np.random.default_rng(seed)
    inputs = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    if seed % 4 == 0:
        inputs[0].flat[rng.integers(0, inputs[0].size)] = np.inf
    if seed % 4 == 2:
        inputs[1].flat[rng.integers(0, inputs[1].size)] = np.inf
    module = fd.parse(text) if seed % 8 == 6 else with_kernel(text, inputs[1])
    ExpandTransposedConvolutionsPass().apply(Context(), module)
    module.verify()
    assert_sums_of(fd.parse(text), inputs, fd.run(module, *inputs))


def test_kernels_that_may_have_infinities_become_convolutions_where_nothing_is_padded() -> None:
    text, replaced = "", []
    for taps, stride in ((2, 2), (3, 2)):
        size = 9 * stride + taps - stride
        shapes = ["1x1x9x9", f"1x8x{taps}x{taps}", f"1x8x{size}x{size}"]
        x, w, y = (f"tensor<{shape}xf32>" for shape in shapes)
        text = f"""func.func @main(%x: {x}, %w: {w}) -> {y} {{
          %y = fuse.conv2d_transpose %x, %w, strides = [{stride}, {stride}] : ({x}, {w})
          return %y : {y}
        }}"""
        kernel = np.ones((1, 8, taps, taps), np.float32)
        for module in (fd.parse(text), with_kernel(text, kernel * np.float32(np.nan)), with_kernel(text, kernel)):
            ExpandTransposedConvolutionsPass().apply(Context(), module)
            assert "d_transpose" not in str(module)
            replaced.append("col2im" not in str(module))
    assert replaced == [True, True, True, False, False, True]


@pytest.mark.parametrize(("size", "count"), [(8, 4), (32, 1)])
def test_small_images_have_a_convolution_for_each_phase(size: int, count: int) -> None:
    x, w, y = f"tensor<1x3x{size}x{size}xf32>", "tensor<3x8x4x4xf32>", f"tensor<1x8x{2 * size}x{2 * size}xf32>"
    text = f"""func.func @main(%x: {x}, %w: {w}) -> {y} {{
      %y = fuse.conv2d_transpose %x, %w, strides = [2, 2], padding = [1, 1, 1, 1] : ({x}, {w})
      return %y : {y}
    }}"""
    random = np.random.default_rng(0)
    image, kernel = (random.uniform(-1, 1, shape).astype(np.float32) for shape in ((1, 3, size, size), (3, 8, 4, 4)))
    module = with_kernel(text, kernel)
    ExpandTransposedConvolutionsPass().apply(Context(), module)
    convolutions = [op for op in module.walk() if isinstance(op, Conv2dOp)]
    assert len(convolutions) == count
    computed = sum(prod(op.result.type.get_shape()) for op in convolutions)
    assert computed == (8 * 4 * size**2 if count == 4 else 8 * 4 * (size + 1) ** 2)
    assert_sums_of(fd.parse(text), [image, kernel], fd.run(module, image, kernel))


def test_an_image_of_one_element_is_a_product() -> None:
    text = """func.func @main(%x: tensor<1x3x1x1xf32>, %w: tensor<3x5x4x4xf32>) -> tensor<1x5x4x4xf32> {
      %y = fuse.conv2d_transpose %x, %w : (tensor<1x3x1x1xf32>, tensor<3x5x4x4xf32>)
      return %y : tensor<1x5x4x4xf32>
    }"""
    module = with_kernel(text, np.ones((3, 5, 4, 4), np.float32))
    ExpandTransposedConvolutionsPass().apply(Context(), module)
    assert "fuse.col2im" in str(module)


def test_most_are_replaced() -> None:
    replaced = 0
    for seed in range(120):
        text, _, shape = random_program(Random(seed))
        module = with_kernel(text, np.ones(shape, np.float32))
        ExpandTransposedConvolutionsPass().apply(Context(), module)
        replaced += "d_transpose" not in str(module)
    assert replaced > 80


@pytest.mark.parametrize("seed", range(12))
def test_native_code_is_the_same(seed: int) -> None:
    text, *shapes = random_program(Random(1000 + seed))
    rng = np.random.default_rng(seed)
    inputs = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    module = with_kernel(text, inputs[1])
    assert_sums_of(fd.parse(text), inputs, fd.compile(module, cache=False)(*inputs))


def with_open_sizes(text: str, rank: int, is_open: Sequence[bool], *, batch: bool, channels_last: bool) -> str:
    """The program with `?` for the sizes of the image and of the result that are open."""
    spatial = range(1, rank + 1) if channels_last else range(2, rank + 2)
    axes = [axis for axis, own in zip(spatial, is_open, strict=True) if own] + [0] * batch

    def opened(match: re.Match[str]) -> str:
        sizes = match[1].split("x")
        for axis in axes:
            sizes[axis] = "?"
        return f"tensor<{'x'.join(sizes)}xf32>"

    *images, kernel = re.findall(r"tensor<[^>]*>", text)[:2]
    kept = text.replace(kernel, "KERNEL") if kernel not in images else text
    return re.sub(r"tensor<([\dx]*)xf32>", opened, kept).replace("KERNEL", kernel)


@pytest.mark.parametrize("seed", range(60))
def test_sizes_that_are_open(seed: int) -> None:
    random = Random(seed)
    text, shape, kernel = random_program(random)
    rank = len(shape) - 2
    is_open, batch, last = [random.random() < 0.7 for _ in range(rank)], random.random() < 0.5, 'C"' in text
    if shape == kernel:
        pytest.skip("the kernel cannot be told from the image")
    rng = np.random.default_rng(seed)
    w = rng.uniform(-1, 1, kernel).astype(np.float32)
    text = with_open_sizes(text, rank, is_open, batch=batch, channels_last=last)
    module = with_kernel(text, w)
    ExpandTransposedConvolutionsPass().apply(Context(), module)
    module.verify()
    program = fd.compile(module, cache=False) if seed % 4 == 0 else None
    for size in (0, 1, 2, 3, 7):
        sizes = [batch, *is_open] if last else [batch, False, *is_open]
        given = [size if own else known for own, known in zip([*sizes, *[False] * last], shape, strict=True)]
        inputs = [rng.uniform(-1, 1, given).astype(np.float32), w]
        try:
            fd.run(fd.parse(text), *inputs)
        except fd.FuseError:
            with pytest.raises(fd.FuseError):
                fd.run(module, *inputs)
            continue
        assert_sums_of(fd.parse(text), inputs, fd.run(module, *inputs))
        if program is not None:
            assert_sums_of(fd.parse(text), inputs, program(*inputs))


def test_an_image_of_any_size_is_a_convolution() -> None:
    for taps, padding in ((2, 0), (4, 1)):
        x, y = "tensor<?x3x?x?xf32>", "tensor<?x8x?x?xf32>"
        w = f"tensor<3x8x{taps}x{taps}xf32>"
        text = f"""func.func @main(%x: {x}, %w: {w}) -> {y} {{
          %y = fuse.conv2d_transpose %x, %w, strides = [2, 2], padding = {[padding] * 4} : ({x}, {w})
          return %y : {y}
        }}"""
        module = with_kernel(text, np.ones((3, 8, taps, taps), np.float32))
        ExpandTransposedConvolutionsPass().apply(Context(), module)
        assert "fuse.depth_to_space" in str(module)
