"""A deformable convolution, and the sampled image and product that take its place, give the same."""

from random import Random

import numpy as np
import pytest
from checking.rounding import assert_near, roundings_of
from xdsl.context import Context
from xdsl.dialects.builtin import bf16, f16, f32, f64

import fuse_dialect as fd
from fuse_dialect.dialect.types import element_dtype
from fuse_dialect.transforms.expand_deformable_convolutions import ExpandDeformableConvolutionsPass

ELEMENTS = ("f64", "f32", "f16", "bf16")


def random_program(rng: Random, element: str) -> tuple[str, list[tuple[int, ...]]]:
    """A function of one deformable convolution, and the shapes of its arguments."""
    groups, parts = rng.choice([1, 2]), rng.choice([1, 2])
    batch, channels, outputs = rng.choice([1, 2]), 4, rng.choice([2, 6])
    sizes = [rng.choice([1, 4, 7]), rng.choice([3, 5])]
    extent, strides = [rng.choice([1, 2, 3]) for _ in sizes], [rng.choice([1, 2]) for _ in sizes]
    dilation, pads = [rng.choice([1, 2]) for _ in sizes], [2, 2, rng.choice([2, 3]), 2]
    counts = [
        (size + pads[axis] + pads[axis + 2] - dilation[axis] * (extent[axis] - 1) - 1) // strides[axis] + 1
        for axis, size in enumerate(sizes)
    ]
    taps = parts * extent[0] * extent[1]
    shapes = [
        (batch, channels, *sizes), (batch, 2 * taps, *counts), (batch, taps, *counts),
        (outputs, channels // groups, *extent), (batch, outputs, *counts),
    ]  # fmt: skip
    types = [f"tensor<{'x'.join(map(str, shape))}x{element}>" for shape in shapes]
    names = ("x", "offset", "mask", "w")
    given = ", ".join(f"%{name}: {type}" for name, type in zip(names, types, strict=False))
    text = f"""func.func @main({given}) -> {types[-1]} {{
  %y = fuse.deformable_conv2d %x, %offset, %mask, %w, strides = {strides}, padding = {pads}, dilation = {dilation},
      groups = {groups}, deformable_groups = {parts} : ({", ".join(types[:-1])}) -> {types[-1]}
  return %y : {types[-1]}
}}"""
    return text, shapes[:-1]


def expanded(text: str):
    module = fd.parse(text)
    ExpandDeformableConvolutionsPass().apply(Context(), module)
    module.verify()
    return module


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("seed", range(15))
def test_the_result_is_the_same(seed: int, element: str) -> None:
    text, shapes = random_program(Random(seed), element)
    rng = np.random.default_rng(seed)
    dtype = element_dtype({"f64": f64, "f32": f32, "f16": f16, "bf16": bf16}[element])
    inputs = [rng.uniform(-2, 2, shape).astype(dtype) for shape in shapes]
    inputs[1].reshape(-1)[::7] = 0  # on a pixel
    inputs[1].reshape(-1)[::11] = 50  # far outside
    expected = fd.run(fd.parse(text), *inputs)[0]
    module = expanded(text)
    assert "deformable" not in str(module)
    for results in (fd.run(module, *inputs), fd.compile(fd.parse(text), cache=False)(*inputs)):
        assert_near(results[0], expected, roundings_of(module))


def test_it_is_compiled_without_numpy() -> None:
    text, _ = random_program(Random(0), "f32")
    program = fd.compile(fd.parse(text), cache=False)
    assert "contraction" in [kernel.family for kernel in program.kernels]
    assert not any(kernel.family == "numpy" for kernel in program.kernels)


def test_open_sizes_and_ops_with_a_kind_of_their_own_are_left_alone() -> None:
    text, _ = random_program(Random(1), "f32")
    kind = text.replace(" : (", " {fuse.pattern_kind = #fuse.pattern_kind<opaque>} : (", 1)
    batch = text.split("tensor<")[1].split("x")[0]
    for changed in (kind, text.replace(f"tensor<{batch}x4x", "tensor<?x4x")):
        assert changed != text
        assert "deformable_conv2d" in str(expanded(changed))
