"""Meanings of `linalg.pack` and `unpack`: axes cut in tiles, which become the last axes."""

from collections.abc import Iterator, Sequence

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.meaning import Surroundings, attribute_of, integers_of


def _tiles(op: Operation, dynamic: Iterator[Array]) -> list[int]:
    static = integers_of(op, "static_inner_tiles")
    sizes = [int(next(dynamic)) if size == DYNAMIC_INDEX else size for size in static]
    if min(sizes, default=1) < 1:
        raise ValueError(f"expects tiles of at least 1, got {sizes}")
    return sizes


def _outer_order(op: Operation, rank: int) -> list[int]:
    return (
        integers_of(op, "outer_dims_perm") or list(range(rank))
        if attribute_of(op, "outer_dims_perm")
        else list(range(rank))
    )


def pack(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """The source in tiles; what is missing in the last ones is the padding value.

    Source: MLIR, `linalg.pack`; without a padding value elements that are missing may be anything, here 0.
    """
    source, dest, *rest = operands
    has_padding = integers_of(op, "operandSegmentSizes")[2] == 1
    padding = rest.pop(0) if has_padding else np.zeros((), source.dtype)
    axes, tiles = integers_of(op, "inner_dims_pos"), _tiles(op, iter(rest))
    order = _outer_order(op, source.ndim)
    # Outer sizes of the destination count: it may be larger than the source needs.
    outer = dict(zip(order, dest.shape[: source.ndim], strict=True))
    sizes = dict(zip(axes, tiles, strict=True))
    whole = [outer[axis] * sizes.get(axis, 1) for axis in range(source.ndim)]
    if any(size > own for size, own in zip(source.shape, whole, strict=True)):
        raise ValueError(f"expects a destination that holds {list(source.shape)}, got {list(dest.shape)}")
    around.check_room(op, whole, source.dtype)
    padded = np.full(whole, padding, source.dtype)
    padded[tuple(slice(size) for size in source.shape)] = source
    shape: list[int] = []
    outer_axes, inner_axes = dict[int, int](), dict[int, int]()
    for axis in range(source.ndim):
        outer_axes[axis] = len(shape)
        shape.append(outer[axis])
        if axis in sizes:
            inner_axes[axis] = len(shape)
            shape.append(sizes[axis])
    places = [*(outer_axes[axis] for axis in order), *(inner_axes[axis] for axis in axes)]
    return (padded.reshape(shape).transpose(places),)


def unpack(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """The tiles put together, as much of them as the destination holds."""
    source, dest, *rest = operands
    axes, tiles = integers_of(op, "inner_dims_pos"), _tiles(op, iter(rest))
    order = _outer_order(op, dest.ndim)
    if source.shape[dest.ndim :] != tuple(tiles):
        raise ValueError(f"expects tiles of {tiles}, got {list(source.shape[dest.ndim :])}")
    places: list[int] = []
    shape: list[int] = []
    for axis in range(dest.ndim):
        places.append(order.index(axis))
        size = source.shape[order.index(axis)]
        if axis in axes:
            places.append(dest.ndim + axes.index(axis))
            size *= tiles[axes.index(axis)]
        shape.append(size)
    whole = source.transpose(places).reshape(shape)
    if any(size < own for size, own in zip(shape, dest.shape, strict=True)):
        raise ValueError(f"expects tiles for {list(dest.shape)}, got {shape}")
    return (whole[tuple(slice(size) for size in dest.shape)],)
