"""Windows of many positions: cumulative maxima and the like, as JAX writes them."""

import numpy as np
import pytest
from checking.rounding import assert_sums

import fuse_dialect as fd


def windows(
    shape: tuple[int, ...], size: int, axis: int, pad: tuple[int, int], combine: str, init: str, more: str
) -> str:
    rank = len(shape)
    window, around = [1] * rank, [[0, 0] for _ in shape]
    window[axis], around[axis] = size, list(pad)
    step = [int(part) for part in more.split()] if more else [1, 1]
    strides, dilations = [1] * rank, [1] * rank
    strides[axis], dilations[axis] = step
    length = (shape[axis] + sum(pad) - (size - 1) * step[1] - 1) // step[0] + 1
    source = "x".join([*map(str, shape), "f32"])
    target = "x".join([*(str(length if each == axis else extent) for each, extent in enumerate(shape)), "f32"])
    return f"""func.func @main(%a: tensor<{source}>) -> tensor<{target}> {{
  %c = stablehlo.constant dense<{init}> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %c) <{{padding = dense<{around}> : tensor<{rank}x2xi64>,
    window_dimensions = array<i64: {", ".join(map(str, window))}>,
    window_strides = array<i64: {", ".join(map(str, strides))}>,
    window_dilations = array<i64: {", ".join(map(str, dilations))}>}}> ({{
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %m = stablehlo.{combine} %l, %r : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }}) : (tensor<{source}>, tensor<f32>) -> tensor<{target}>
  return %0 : tensor<{target}>
}}"""


@pytest.mark.parametrize("length", [1, 2, 63, 64, 65, 300, 1025])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_cumulative_maxima_of_any_length(length: int, is_reversed: bool) -> None:
    x = np.random.default_rng(length).standard_normal((2, length)).astype(np.float32)
    pad = (0, length - 1) if is_reversed else (length - 1, 0)
    module = fd.parse(windows((2, length), length, 1, pad, "maximum", "0xFF800000", ""))
    given = x[:, ::-1] if is_reversed else x
    expected = np.maximum.accumulate(given, axis=1)
    expected = expected[:, ::-1] if is_reversed else expected
    np.testing.assert_array_equal(fd.run(module, x)[0], expected)
    np.testing.assert_array_equal(fd.compile(module)(x)[0], expected)


@pytest.mark.parametrize(("size", "more"), [(70, ""), (100, "3 1"), (90, "1 2"), (127, "2 2"), (128, "")])
@pytest.mark.parametrize(("combine", "init"), [("add", "0.0"), ("minimum", "1.0"), ("multiply", "2.0")])
def test_large_windows_with_strides_dilations_and_starts(size: int, more: str, combine: str, init: str) -> None:
    x = (1 + np.random.default_rng(size).standard_normal(400) * 0.01).astype(np.float32)
    module = fd.parse(windows((400,), size, 0, (5, 9), combine, init, more))
    stride, dilation = (int(part) for part in (more or "1 1").split())
    padded = np.pad(x.astype(np.float64), (5, 9), constant_values=float(init))
    function = {"add": np.add, "minimum": np.minimum, "multiply": np.multiply}[combine]
    count = (len(padded) - (size - 1) * dilation - 1) // stride + 1
    rows = [padded[at * stride : at * stride + (size - 1) * dilation + 1 : dilation] for at in range(count)]
    expected = [function(function.reduce(row), float(init)) for row in rows]
    for actual in (fd.run(module, x)[0], fd.compile(module)(x)[0]):
        # All terms are positive, and so are all factors: the result is as large as what it is made of.
        assert_sums(actual, np.array(expected), size + 1, expected)
