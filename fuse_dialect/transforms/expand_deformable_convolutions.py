"""`expand-deformable-convolutions`: a deformable convolution becomes a sampled image and a matrix product.

1. Tap t of the window at p meets the image at `regular[t, p] + offset[t, p]`, in pixels. `grid_sample` takes a pixel q
   of n as the point `(2 * q + 1) / n - 1`, and interpolates in the same way, with zeros beyond the borders.
2. What is sampled is weighted by the mask. It is one column of a matrix for each window, which the kernel multiplies.
3. f16 and bf16 are computed in f32, as the op says: a point of 11 bits would lie pixels away.

Left alone are sizes that are open or 0, and ops whose `fuse.pattern_kind` says how they fuse. Points are rounded, so
that results differ in the last bits. `grid_sample` has loops, and a matrix product is fast; the op alone has neither.

Source: Dai et al., Deformable convolutional networks (arXiv:1703.06211), which samples before it multiplies, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.broadcast import AddOp, MultiplyOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.layout import ReverseOp, TransposeOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp
from fuse_dialect.dialect.ops.sampling import DeformableConv2dOp, GridSampleOp
from fuse_dialect.dialect.types import DYNAMIC, Tensor, element_dtype, with_element
from fuse_dialect.dialect.windows import Windows
from fuse_dialect.transforms.expansion import Expansion
from fuse_dialect.transforms.unfinished import walk_unfinished


@dataclass(frozen=True)
class ExpandDeformableConvolutionsPass(ModulePass):
    """Replace deformable convolutions by sampled images and matrix products, for which kernels are fast."""

    name = "expand-deformable-convolutions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace those of all functions of the module; linear in the number of ops."""
        for inner in [each for each in walk_unfinished(op) if isinstance(each, DeformableConv2dOp)]:
            sizes = [size for value in (*inner.operands, inner.result) for size in cast(Tensor, value.type).get_shape()]
            if PATTERN_KIND_ATTRIBUTE not in inner.attributes and DYNAMIC not in sizes and 0 not in sizes:
                _Expansion(inner).replace()


class _Expansion(Expansion):
    """The sampled image and the product that take the place of one deformable convolution."""

    def __init__(self, op: DeformableConv2dOp):
        super().__init__(op)
        self.op = op

    def replace(self) -> None:
        """Put the new ops in, and take the old one out."""
        old, type = self.op, self.op.result.type
        is_narrow = element_dtype(type.element_type).itemsize < np.dtype(np.float32).itemsize
        # (3)
        operands: list[SSAValue] = [
            self.add(CastOp(value, result_types=[with_element(cast(Tensor, value.type), f32)])) if is_narrow else value
            for value in old.operands
        ]
        image, offset, mask, kernel = operands
        batch, channels, *sizes = old.input.type.get_shape()
        outputs, _, *extent = old.weight.type.get_shape()
        parts, groups = old.deformable_groups.value.data, old.groups.value.data
        taps, places = extent[0] * extent[1], type.get_shape()[2] * type.get_shape()[3]
        # (1)
        image = self.reshaped(image, (batch * parts, channels // parts, *sizes))
        counts = type.get_shape()[2:]
        grid = self.reshaped(offset, (batch * parts, *extent, 2, *counts))
        grid = self.add(TransposeOp(self.add(ReverseOp(grid, axes=[3])), permutation=[0, 1, 2, 4, 5, 3]))
        dtype = np.float64 if element_dtype(type.element_type).itemsize == 8 else np.float32
        grid = self.add(MultiplyOp(grid, self.add(constant((2 / np.array(sizes[::-1])).astype(dtype)))))
        for axis in (0, 1):
            grid = self.add(AddOp(grid, self.add(constant(self.points(axis, sizes, counts).astype(dtype)))))
        grid = self.reshaped(grid, (batch * parts, taps, places, 2))
        value = self.add(GridSampleOp(image, grid))
        # (2)
        value = self.add(MultiplyOp(value, self.reshaped(mask, (batch * parts, 1, taps, places))))
        depth = channels // groups * taps
        value = self.reshaped(value, (batch, groups, depth, places))
        kernel = self.reshaped(kernel, (1, groups, outputs // groups, depth))
        value = self.reshaped(self.add(BatchMatmulOp(kernel, value)), type.get_shape())
        self.finish(self.add(CastOp(value, result_types=[type])) if is_narrow else value)

    def points(self, axis: int, sizes: Sequence[int], counts: Sequence[int]) -> Array:
        """The points without offsets along one axis, and zeros along the other: [KH, 1, H', 1, 2] or [KW, 1, W', 2].

        The last axis has x before y (1).
        """
        op = self.op
        extent = op.weight.type.get_shape()[2:]
        windows = Windows.of(tuple(extent), op.strides, op.padding, op.dilation)
        taps = np.arange(extent[axis]) * windows.dilation[axis] - windows.low[axis]
        pixels = taps[:, None] + np.arange(counts[axis]) * windows.strides[axis]
        points = (2 * pixels + 1) / sizes[axis] - 1
        points = points[:, None, :, None] if axis == 0 else points[:, None, :]
        return np.stack((np.zeros_like(points), points) if axis == 0 else (points, np.zeros_like(points)), axis=-1)
