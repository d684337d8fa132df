"""`expand-depthwise` keeps what convolutions compute."""

import numpy as np
import pytest
from checking.rounding import assert_sums_of
from xdsl.context import Context

import fuse_dialect as fd
from fuse_dialect.transforms.expand_depthwise import ExpandDepthwisePass


@pytest.mark.parametrize(
    ("x", "w", "y", "attributes"),
    [
        ("2x3x6x7", "6x1x3x2", "2x6x3x4", "strides = [2, 2], padding = [1, 1, 1, 0], groups = 3"),
        ("2x6x7x3", "3x3x1x12", "2x4x5x12", 'groups = 3, data_layout = "NHWC", kernel_layout = "HWIO"'),
        ("1x5x3x4x4", "10x1x2x2x2", "1x10x2x3x3", "groups = 5"),
    ],
)
def test_results_are_the_same(x: str, w: str, y: str, attributes: str) -> None:
    op = "conv3d" if x.count("x") == 4 else "conv2d"
    module = fd.parse(f"""func.func @main(%x: tensor<{x}xf32>, %w: tensor<{w}xf32>) -> tensor<{y}xf32> {{
  %y = fuse.{op} %x, %w, {attributes} : (tensor<{x}xf32>, tensor<{w}xf32>) -> tensor<{y}xf32>
  return %y : tensor<{y}xf32>
}}""")
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal([int(size) for size in shape.split("x")]).astype(np.float32) for shape in (x, w)]
    expanded = module.clone()
    ExpandDepthwisePass().apply(Context(), expanded)
    assert "fuse.repeat" in str(expanded)
    # The products are the same; BLAS adds those of grouped and of depthwise convolutions in an order of its own.
    assert_sums_of(module, arrays, fd.run(expanded, *arrays))
