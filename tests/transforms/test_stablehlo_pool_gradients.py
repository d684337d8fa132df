"""`select_and_scatter` beside its definition, window by window: whole numbers, minima, any start, padding that ties."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import fuse_dialect as fd

WINDOW, STRIDES, PADDING = (2, 3), (1, 2), ((1, 0), (2, 1))
SIZES, COUNTS = (4, 6), (4, 4)


def scattered(x: npt.NDArray[Any], source: npt.NDArray[Any], start: float, *, is_maximum: bool) -> npt.NDArray[Any]:
    """For each window, the first extreme element of the operand gets what the source has for the window."""
    found = np.full(x.shape, start, x.dtype)
    for place in np.ndindex(*source.shape):
        best: tuple[int, ...] | None = None
        for step in np.ndindex(*WINDOW):
            at = tuple(p * s + w - low[0] for p, s, w, low in zip(place, STRIDES, step, PADDING, strict=True))
            if not all(0 <= index < size for index, size in zip(at, x.shape, strict=True)):
                continue
            if best is None or (x[at] > x[best] if is_maximum else x[at] < x[best]):
                best = at
        if best is not None:
            found[best] += source[place]
    return found


def program(element: str, direction: str) -> str:
    x, source = (f"tensor<{'x'.join(map(str, sizes))}x{element}>" for sizes in (SIZES, COUNTS))
    one = f"tensor<{element}>"
    kind = "FLOAT" if element.startswith("f") else "SIGNED"
    return f"""func.func @main(%x: {x}, %s: {source}, %i: {one}) -> {x} {{
  %y = "stablehlo.select_and_scatter"(%x, %s, %i) <{{
    window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>,
    padding = dense<[[1, 0], [2, 1]]> : tensor<2x2xi64>
  }}> ({{
  ^bb0(%a: {one}, %b: {one}):
    %c = stablehlo.compare {direction}, %a, %b, {kind} : ({one}, {one}) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }}, {{
  ^bb0(%a: {one}, %b: {one}):
    %c = stablehlo.add %a, %b : {one}
    stablehlo.return %c : {one}
  }}) : ({x}, {source}, {one}) -> {x}
  return %y : {x}
}}"""


@pytest.mark.parametrize("direction", ["GE", "LE"])
@pytest.mark.parametrize("start", [0, 3])
@pytest.mark.parametrize(("element", "dtype"), [("f32", np.float32), ("i8", np.int8), ("i32", np.int32)])
def test_each_window_gives_to_its_first_extreme(element: str, dtype: npt.DTypeLike, start: int, direction: str) -> None:
    random = np.random.default_rng(0)
    # The least and greatest numbers, which are those of the padding, and few others, so that elements are equal.
    ends = [-np.inf, np.inf] if dtype == np.float32 else [np.iinfo(dtype).min, np.iinfo(dtype).max]
    x = random.choice(np.array([*ends, 0, 1], dtype), SIZES)
    source = random.integers(1, 5, COUNTS).astype(dtype)
    wanted = scattered(x, source, start, is_maximum=direction == "GE")
    module = fd.parse(program(element, direction))
    operands = (x, source, np.array(start, dtype))
    np.testing.assert_array_equal(fd.run(module, *operands)[0], wanted)
    np.testing.assert_array_equal(fd.compile(module, cache=False)(*operands)[0], wanted)
