"""Windows of images with channels last: the elements that each of their taps reads."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.meaning import Surroundings


def padded(op: Operation, image: Array, pad: Sequence[int], value: float, around: Surroundings) -> Array:
    """The image with more pixels on each side.

    Args:
        op: For errors.
        image: `[N, spatial axes..., C]`.
        pad: Widths before and behind each spatial axis, in turns.
        value: Of the pixels that are added.
        around: Says how large a value may be.

    Raises:
        ValueError: There are too few widths, or one is negative.
    """
    widths = list(zip(pad[::2], pad[1::2], strict=True))
    if len(widths) != image.ndim - 2 or min(pad, default=0) < 0:
        raise ValueError(f"expects two widths of at least 0 for each of {image.ndim - 2} axes, got {list(pad)}")
    middle = [low + size + high for size, (low, high) in zip(image.shape[1:-1], widths, strict=True)]
    around.check_room(op, [image.shape[0], *middle, image.shape[-1]], image.dtype)
    result = np.full([image.shape[0], *middle, image.shape[-1]], value, image.dtype)
    inner = tuple(slice(low, low + size) for size, (low, _) in zip(image.shape[1:-1], widths, strict=True))
    result[(slice(None), *inner)] = image
    return result


def taps(
    image: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], out: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], Array]]:
    """For each tap of the kernel what it reads for all pixels of the result: `[N, out..., C]`.

    Raises:
        ValueError: A stride or dilation is less than 1, or a window reaches out of the image.
    """
    if min((*stride, *dilation), default=1) < 1:
        raise ValueError(f"expects strides and dilations of at least 1, got {list(stride)} and {list(dilation)}")
    for size, window, step, apart, pixels in zip(image.shape[1:-1], kernel, stride, dilation, out, strict=True):
        if pixels and (pixels - 1) * step + (window - 1) * apart >= size:
            raise ValueError(f"expects windows inside of {size} pixels, got {pixels} of {window}")
    for tap in product(*map(range, kernel)):
        place = [
            slice(own * apart, own * apart + (pixels - 1) * step + 1 if pixels else own * apart, step)
            for own, apart, step, pixels in zip(tap, dilation, stride, out, strict=True)
        ]
        yield tap, image[(slice(None), *place)]


def pixels_of(size: int, window: int, stride: int, dilation: int, low: int, high: int) -> int:
    """How many windows fit along an axis."""
    return (size + low + high - (window - 1) * dilation - 1) // stride + 1
