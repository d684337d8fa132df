"""What ops and transposes take in each layout, by the sizes of their tensors."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.convolution import ConvTransposeOp, WindowedProductOp
from fuse_dialect.dialect.ops.pooling import WindowPoolOp
from fuse_dialect.dialect.types import DYNAMIC, Tensor, element_bytes, is_tensor
from fuse_dialect.loops.layout_costs import WindowedProduct, pool_seconds, transpose_seconds
from fuse_dialect.machines.machine import Machine
from fuse_dialect.transforms.layouts.permutations import Permutation, is_free

_OPEN_SIZE = 64
"""What a size that is not known is taken for, as by the strategy `cost`."""


@dataclass(frozen=True, slots=True)
class LayoutCosts:
    """Seconds on a machine with rates."""

    machine: Machine

    def of_op(self, op: FuseOp, *, channels_last: bool) -> float:
        """What an op with a property for the layout takes where its channels are last, or in front of the pixels.

        0 where both take the same.
        """
        match op:
            case WindowedProductOp():
                arithmetic = _product(op).seconds(self.machine, channels_last=channels_last)
            case WindowPoolOp():
                taps = prod(_sizes(op.result.type.get_shape())) * prod(op.windows.extent)
                arithmetic = pool_seconds(taps, _width(op.result.type), self.machine, channels_last=channels_last)
            case _:
                return 0.0
        # Moving and arithmetic go on at the same time.
        return max(arithmetic, sum(map(self._moving, (*op.operands, *op.results))))

    def of_transpose(self, value: SSAValue, source: Permutation, target: Permutation) -> float:
        """What it takes to get a value that lies in one order of its axes in another one."""
        if source == target or not is_tensor(value.type):
            return 0.0
        shape = value.type.get_shape()
        order = tuple(source.index(axis) for axis in target)
        if is_free([shape[axis] for axis in source], order):
            return 0.0
        return transpose_seconds(_bytes(value.type), self.machine)

    def _moving(self, value: SSAValue) -> float:
        return self.machine.moving(_bytes(value.type)) if is_tensor(value.type) else 0.0


def _product(op: WindowedProductOp) -> WindowedProduct:
    """The sizes of a convolution; a transposed one has as many products for each pixel that it reads."""
    image, kernel = map(_sizes, op.canonical_shapes())
    shape = _sizes(op.result.type.get_shape())
    groups = op.groups.value.data
    is_transposed = isinstance(op, ConvTransposeOp)
    _, _, *read = image
    _, _, *given = (shape[axis] for axis in op.data_axes)
    return WindowedProduct(
        groups,
        image[1] // groups,
        kernel[1] if is_transposed else kernel[0] // groups,
        image[0] * prod(read if is_transposed else given),
        tuple(kernel[2:]),
        any(step > 1 for step in op.strides.get_values()),
        isinstance(op.weight.owner, arith.ConstantOp),
        _width(op.result.type),
        DYNAMIC in op.canonical_shapes()[0][2:],
        _width(op.input.type) == 1,
    )


def _sizes(shape: Sequence[int]) -> list[int]:
    # Many images of an unknown size would all come from memory, where layouts hardly matter.
    is_few = shape[:1] == (DYNAMIC,) and DYNAMIC in shape[1:]
    sizes = [_OPEN_SIZE if size == DYNAMIC else size for size in shape]
    return [1, *sizes[1:]] if is_few else sizes


def _width(type: Tensor) -> int:
    """Bytes of an element; 4 where that is not known."""
    return element_bytes(type) or 4


def _bytes(type: Tensor) -> int:
    return prod(_sizes(type.get_shape())) * _width(type)
