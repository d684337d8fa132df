"""`drop-padded-taps`: a convolution loses the outer taps that lie in padding wherever its window stands.

With a dilation as large as the image, as in DeepLab, all taps but those in the middle meet zeros alone. What is left is
a convolution with a smaller kernel, cut from the constant, and with less padding. The sums are the same but for zeros.

1. Zero times infinity is nan, so the kernel is a constant of finite numbers; padding is zero.
2. Sizes are known, and a tap of each axis meets the image.
3. Left alone: ops whose `fuse.pattern_kind` says how they fuse.
"""

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.passes import ModulePass

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.constants import constant, constant_of
from fuse_dialect.dialect.ops.convolution import ConvOp
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.transforms.expansion import Expansion
from fuse_dialect.transforms.unfinished import walk_unfinished


@dataclass(frozen=True)
class DropPaddedTapsPass(ModulePass):
    """Leave out the taps of convolutions that meet padding alone."""

    name = "drop-padded-taps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change those of all functions of the module; linear in the number of ops, axes and taps."""
        for inner in [each for each in walk_unfinished(op) if isinstance(each, ConvOp)]:
            if PATTERN_KIND_ATTRIBUTE not in inner.attributes and not inner.pad_value.value.data:
                _drop(inner)


def _drop(op: ConvOp) -> None:
    (_, _, *sizes), (_, _, *extent) = op.canonical_shapes()
    _, _, *counts = (op.result.type.get_shape()[axis] for axis in op.data_axes)
    known = (*sizes, *extent, *counts)
    if DYNAMIC in known or 0 in known:
        return
    windows = op.windows(tuple(extent))
    kept: list[range] = []
    low, high = list(windows.low), list(windows.high)
    for axis, (size, taps, count) in enumerate(zip(sizes, extent, counts, strict=True)):
        distance, last = windows.dilation[axis], (count - 1) * windows.strides[axis]
        places = [tap * distance - low[axis] for tap in range(taps)]
        met = [tap for tap, place in enumerate(places) if place < size and place + last >= 0]
        if not met:
            return
        kept.append(range(met[0], met[-1] + 1))
        low[axis] -= met[0] * distance
        high[axis] -= (taps - 1 - met[-1]) * distance
    if min(*low, *high) < 0 or all(len(taps) == size for taps, size in zip(kept, extent, strict=True)):
        return
    kernel = constant_of(op.weight)
    if kernel is None or not (kernel.dtype.kind in "iu" or np.isfinite(kernel.astype(np.float64)).all()):
        return
    cut = [slice(None)] * kernel.ndim
    for axis, taps in zip(op.kernel_axes[2:], kept, strict=True):
        cut[axis] = slice(taps.start, taps.stop)
    expansion, smaller = Expansion(op), op.clone()
    smaller.operands[1] = expansion.add(constant(np.ascontiguousarray(kernel[tuple(cut)])))
    smaller.properties["padding"] = DenseArrayBase.from_list(i64, [*low, *high])
    expansion.finish(expansion.add(smaller))
