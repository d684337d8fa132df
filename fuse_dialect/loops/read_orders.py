"""In which order a stage reads the elements of a buffer. Pure functions."""

from collections.abc import Sequence
from math import prod

from fuse_dialect.counts import Size
from fuse_dialect.loops.forms import Order
from fuse_dialect.loops.indices import Index, Loop, axes_of, linear, loop, simplified
from fuse_dialect.loops.program import Read, Value


def order_of(read: Read, sizes: Sequence[Size], shape: Sequence[Size]) -> Order:
    """The order of a read.

    Args:
        read: Of a stage without axes of one element.
        sizes: Of the axes of the stage.
        shape: Of the buffer.
    """
    if any(isinstance(index, Value) for index in read.indices):
        return Order.ANYHOW
    if read.guards:
        return Order.GUARDED
    indices, shape = indices_of_sizes(read, sizes, shape)
    axes = [alone(index) for index in indices]
    is_whole = all(axis is not None and sizes[axis] == size for axis, size in zip(axes, shape, strict=True))
    if is_whole and axes == list(range(len(sizes))):
        return Order.SAME
    if is_whole and axes == sorted({axis for axis in axes if axis is not None}):
        return Order.BROADCAST
    position = linear(indices, shape)
    plain = linear([loop(axis) for axis in range(len(sizes))], list(sizes))
    if position is not None and plain is not None and simplified(position, sizes) == simplified(plain, sizes):
        return Order.SAME if number_of(shape) == number_of(sizes) is not None else Order.MOVED
    last = len(sizes) - 1
    others = [index for index in indices[:-1] if last in axes_of(index)]
    # The last loop runs along the last axis, and nothing else depends on it.
    return Order.LINES if indices and _is_along(indices[-1], last, sizes) and not others else Order.MOVED


def indices_of_sizes(read: Read, sizes: Sequence[Size], shape: Sequence[Size]) -> tuple[list[Index], list[Size]]:
    """The indices of a read, none of which is computed, and the sizes of its buffer, but for axes of one element."""
    indices = [
        simplified(index, sizes)
        for index, size in zip(read.indices, shape, strict=True)
        if size != 1 and isinstance(index, Index)
    ]
    return indices, [size for size in shape if size != 1]


def alone(index: Index | Value) -> int | None:
    """The axis whose loop variable an index is."""
    match index:
        case Index(((Loop(axis), 1),), 0):
            return axis
        case _:
            return None


def number_of(sizes: Sequence[Size]) -> int | None:
    """How many points or elements there are; `None` if a size is open."""
    known = [size for size in sizes if isinstance(size, int)]
    return prod(known) if len(known) == len(sizes) else None


def _is_along(index: Index, axis: int, sizes: Sequence[Size]) -> bool:
    """Whether an index moves by one with a loop, and that is all or what another loop adds is whole runs of it."""
    terms = dict(index.terms)
    if terms.pop(Loop(axis), 0) != 1:
        return False
    size = sizes[axis]
    return isinstance(size, int) and all(size and factor % size == 0 for factor in terms.values())
