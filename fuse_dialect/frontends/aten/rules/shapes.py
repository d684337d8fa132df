"""Moves of elements, and tensors that are made of numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import indexing as i
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, StackOp
from fuse_dialect.dialect.ops.layout import ReverseOp
from fuse_dialect.dialect.ops.opaque import ArangeOp
from fuse_dialect.dialect.ops.replication import TileOp
from fuse_dialect.dialect.types import element_type_of
from fuse_dialect.frontends.aten.rules.table import RULES, Want, as_type, made
from fuse_dialect.frontends.fuse_values import broadcast, reshape, scalar, shape, transpose


@RULES.of(
    "aten.view.default",
    "aten.view_copy.default",
    "aten._unsafe_view.default",
    "aten.reshape.default",
    "aten.squeeze.dim",
    "aten.squeeze.dims",
    "aten.squeeze.default",
    "aten.squeeze_copy.dim",
    "aten.squeeze_copy.dims",
    "aten.squeeze_copy.default",
    "aten.unsqueeze.default",
    "aten.unsqueeze_copy.default",
)
def reshaped(want: Want, self: SSAValue, *sizes: Any) -> SSAValue:
    """The shape that is wanted."""
    return reshape(self, want.shape)


@RULES.of("aten.permute.default", "aten.permute_copy.default")
def permute(want: Want, self: SSAValue, dims: Sequence[int]) -> SSAValue:
    """`transpose`."""
    return transpose(self, [dim % len(dims) for dim in dims])


@RULES.of("aten.transpose.int", "aten.transpose_copy.int")
def swap(want: Want, self: SSAValue, dim0: int, dim1: int) -> SSAValue:
    """`transpose` of two axes."""
    axes = list(range(len(shape(self))))
    if axes:
        axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
    return transpose(self, axes)


@RULES.of("aten.t.default", "aten.t_copy.default")
def matrix_transpose(want: Want, self: SSAValue) -> SSAValue:
    """`transpose` of a matrix."""
    return transpose(self, list(reversed(range(len(shape(self))))))


@RULES.of("aten.expand.default", "aten.expand_copy.default")
def expand(want: Want, self: SSAValue, size: Sequence[int], *, implicit: bool = False) -> SSAValue:
    """`broadcast_to`."""
    return broadcast(self, want.shape)


@RULES.of("aten.repeat.default")
def repeat(want: Want, self: SSAValue, repeats: Sequence[int]) -> SSAValue:
    """`tile`."""
    value = reshape(self, [1] * (len(repeats) - len(shape(self))) + list(shape(self)))
    return value if all(count == 1 for count in repeats) else made(TileOp(value, reps=list(repeats)))


@RULES.of("aten.flip.default")
def flip(want: Want, self: SSAValue, dims: Sequence[int]) -> SSAValue:
    """`reverse`."""
    return made(ReverseOp(self, axes=[dim % len(want.shape) for dim in dims])) if dims else self


@RULES.of("aten.cat.default")
def concatenate(want: Want, tensors: Sequence[SSAValue], dim: int = 0) -> SSAValue:
    """`concatenate`; PyTorch leaves out lists of nothing."""
    kept = [as_type(each, want.dtype) for each in tensors if shape(each) != (0,) or len(want.shape) == 1]
    return made(ConcatenateOp(*kept, axis=dim % len(want.shape)))


@RULES.of("aten.stack.default")
def stack(want: Want, tensors: Sequence[SSAValue], dim: int = 0) -> SSAValue:
    """`stack`."""
    return made(StackOp(*(as_type(each, want.dtype) for each in tensors), axis=dim % len(want.shape)))


def bounds(start: int | None, end: int | None, size: int) -> tuple[int, int]:
    """Where a slice begins and ends, from 0 to the size."""
    begin, stop, _ = slice(start, end).indices(size)
    return begin, max(begin, stop)


def sliced(value: SSAValue, axis: int, begin: int, end: int, step: int = 1) -> SSAValue:
    """A slice along one axis."""
    if (begin, end, step) == (0, shape(value)[axis], 1):
        return value
    return made(i.StridedSliceOp(value, begin=[begin], end=[end], strides=[step], axes=[axis]))


@RULES.of("aten.slice.Tensor", "aten.slice_copy.Tensor")
def take_slice(
    want: Want, self: SSAValue, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> SSAValue:
    """`strided_slice`."""
    axis = dim % len(want.shape)
    return sliced(self, axis, *bounds(start, end, shape(self)[axis]), step)


@RULES.of("aten.select.int", "aten.select_copy.int")
def select(want: Want, self: SSAValue, dim: int, index: int) -> SSAValue:
    """One place of an axis."""
    axis = dim % len(shape(self))
    place = index % shape(self)[axis]
    return reshape(sliced(self, axis, place, place + 1), want.shape)


@RULES.of("aten.split_with_sizes.default", "aten.split_with_sizes_copy.default")
def split(want: Want, self: SSAValue, split_sizes: Sequence[int], dim: int = 0) -> list[SSAValue]:
    """Slices, one behind the other."""
    axis, parts, begin = dim % len(shape(self)), list[SSAValue](), 0
    for size in split_sizes:
        parts.append(sliced(self, axis, begin, begin + size))
        begin += size
    return parts


@RULES.of("aten.split.Tensor", "aten.split_copy.Tensor")
def split_evenly(want: Want, self: SSAValue, split_size: int, dim: int = 0) -> list[SSAValue]:
    """Slices of one size, of which the last may be shorter."""
    size = shape(self)[dim]
    # PyTorch takes parts of size 0 of nothing.
    begins = range(0, size, max(split_size, 1)) or [0]
    return split(want, self, [min(split_size, size - begin) for begin in begins], dim)


@RULES.of("aten.unfold.default", "aten.unfold_copy.default")
def unfold(want: Want, self: SSAValue, dimension: int, size: int, step: int) -> SSAValue:
    """All windows along an axis, which become a last axis."""
    rank = len(shape(self))
    if not rank:
        return reshape(self, want.shape)
    axis = dimension % rank
    count = (shape(self)[axis] - size) // step + 1
    places = np.arange(count)[:, None] * step + np.arange(size)
    windows = made(i.TakeOp(self, constant(places).result, axis=axis))
    return transpose(windows, [*range(axis + 1), *range(axis + 2, rank + 1), axis + 1])


@RULES.of("aten.slice_scatter.default")
def slice_scatter(
    want: Want,
    self: SSAValue,
    src: SSAValue,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> SSAValue:
    """What is before, the new elements, what is behind."""
    axis = dim % len(want.shape)
    size = want.shape[axis]
    begin, stop = bounds(start, end, size)
    if step != 1:
        # Each place takes its nearest new element, and keeps its own where there is none.
        places = np.arange(size)
        is_new = (places >= begin) & (places < stop) & ((places - begin) % step == 0)
        source = np.clip((places - begin) // step, 0, max(shape(src)[axis] - 1, 0))
        if not is_new.any():
            return self
        taken = made(i.TakeOp(as_type(src, want.dtype), constant(source).result, axis=axis))
        mask = constant(is_new.reshape([-1] + [1] * (len(want.shape) - axis - 1))).result
        return made(b.WhereOp(mask, taken, self))
    parts = [sliced(self, axis, 0, begin), as_type(src, want.dtype), sliced(self, axis, stop, size)]
    parts = [part for part in parts if shape(part)[axis]]
    return parts[0] if len(parts) == 1 else made(ConcatenateOp(*parts, axis=axis))


@RULES.of("aten.select_scatter.default")
def select_scatter(want: Want, self: SSAValue, src: SSAValue, dim: int, index: int) -> SSAValue:
    """One place of an axis replaced."""
    axis = dim % len(want.shape)
    place = index % want.shape[axis]
    sizes = [*want.shape[:axis], 1, *want.shape[axis + 1 :]]
    return slice_scatter(want, self, reshape(src, sizes), axis, place, place + 1)


@RULES.of("aten.constant_pad_nd.default")
def pad(want: Want, self: SSAValue, pad: Sequence[int], value: float = 0) -> SSAValue:
    """`pad`."""
    return _pad_by("constant", want, self, pad, value)


def _pad_by(mode: str, want: Want, value: SSAValue, widths: Sequence[int], fill: float = 0) -> SSAValue:
    """`pad`; widths come in pairs from the last axis on."""
    rank = len(want.shape)
    low, high = [0] * rank, [0] * rank
    for place, (before, behind) in enumerate(zip(widths[::2], widths[1::2], strict=True)):
        low[rank - 1 - place], high[rank - 1 - place] = before, behind
    return made(i.PadOp(value, scalar(value, fill), low=low, high=high, mode=mode))


@RULES.of("aten.reflection_pad1d.default", "aten.reflection_pad2d.default", "aten.reflection_pad3d.default")
def reflection_pad(want: Want, self: SSAValue, padding: Sequence[int]) -> SSAValue:
    """`pad` in mode `reflect`."""
    return _pad_by("reflect", want, self, padding)


@RULES.of("aten.replication_pad1d.default", "aten.replication_pad2d.default", "aten.replication_pad3d.default")
def replication_pad(want: Want, self: SSAValue, padding: Sequence[int]) -> SSAValue:
    """`pad` in mode `edge`."""
    return _pad_by("edge", want, self, padding)


def filled(want: Want, value: Any) -> SSAValue:
    """One number everywhere."""
    return broadcast(as_type(value, want.dtype), want.shape)


@RULES.of("aten.full.default", "aten.new_full.default", "aten.full_like.default")
def full(want: Want, *arguments: Any, **options: Any) -> SSAValue:
    """`full`."""
    return filled(want, arguments[-1])


@RULES.of("aten.scalar_tensor.default")
def scalar_tensor(want: Want, s: float, **options: Any) -> SSAValue:
    """A number."""
    return filled(want, s)


@RULES.of(
    "aten.zeros.default",
    "aten.zeros_like.default",
    "aten.new_zeros.default",
    "aten.empty.memory_format",
    "aten.empty_like.default",
    "aten.new_empty.default",
    "aten.empty_strided.default",
    "aten.new_empty_strided.default",
    "aten.empty_permuted.default",
)
def zeros(want: Want, *arguments: Any, **options: Any) -> SSAValue:
    """Zeros; elements that PyTorch leaves open are zeros as well."""
    return filled(want, 0)


@RULES.of("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def ones(want: Want, *arguments: Any, **options: Any) -> SSAValue:
    """Ones."""
    return filled(want, 1)


@RULES.of("aten.fill.Scalar", "aten.fill.Tensor")
def fill(want: Want, self: SSAValue, value: Any) -> SSAValue:
    """One number in place of all elements."""
    return filled(want, value)


@RULES.of("aten.arange.start_step")
def arange(want: Want, start: float, end: float, step: float = 1, **options: Any) -> SSAValue:
    """`arange`, by its length: its end may be what rounding makes of it."""
    return _counting(want, start, step)


@RULES.of("aten.arange.start")
def arange_start(want: Want, start: float, end: float, **options: Any) -> SSAValue:
    """`arange` by ones."""
    return _counting(want, start, 1)


@RULES.of("aten.arange.default")
def arange_end(want: Want, end: float, **options: Any) -> SSAValue:
    """`arange` from 0."""
    return _counting(want, 0, 1)


@RULES.of("prims.iota.default")
def iota(want: Want, length: int, *, start: int, step: int, **options: Any) -> SSAValue:
    """`arange` of a length."""
    return _counting(want, start, step)


def _counting(want: Want, start: float, step: float) -> SSAValue:
    count = want.shape[0]
    if want.dtype.kind in "iu":
        # Both are integers before PyTorch counts (`arange_out` in RangeFactories.cpp); its length is that of floats.
        start, step = int(start), int(step)
    if want.dtype.kind in "iu" and step > 0:
        end = float(start + count * step)
        kind = TensorType(element_type_of(want.dtype), [count])
        return made(ArangeOp(start=float(start), stop=end, step=float(step), result_types=[kind]))
    return constant((start + np.arange(count) * step).astype(want.dtype)).result


@RULES.of("aten.diagonal.default", "aten.diagonal_copy.default")
def diagonal(want: Want, self: SSAValue, offset: int = 0, dim1: int = 0, dim2: int = 1) -> SSAValue:
    """Elements whose places on two axes differ by the offset."""
    rank = len(shape(self))
    first, second = dim1 % rank, dim2 % rank
    others = [axis for axis in range(rank) if axis not in (first, second)]
    moved = transpose(self, [first, second, *others])
    places = np.arange(want.shape[-1])
    indices = np.stack([places + max(-offset, 0), places + max(offset, 0)], -1)
    found = made(i.GatherNdOp(moved, constant(indices.astype(np.int64)).result))
    return transpose(found, [*range(1, len(others) + 1), 0])


@RULES.of("aten.unbind.int", "aten.unbind_copy.int")
def unbind(want: Want, self: SSAValue, dim: int = 0) -> list[SSAValue]:
    """Every place of an axis."""
    axis = dim % len(shape(self))
    rest = [size for place, size in enumerate(shape(self)) if place != axis]
    return [reshape(sliced(self, axis, place, place + 1), rest) for place in range(shape(self)[axis])]


@RULES.of("aten.tril_indices.default")
def places_below(want: Want, row: int, col: int, offset: int = 0, **options: Any) -> SSAValue:
    """Rows and columns of the places below a diagonal."""
    return as_type(np.stack(np.tril_indices(row, offset, col)), want.dtype)


@RULES.of("aten.triu_indices.default")
def places_above(want: Want, row: int, col: int, offset: int = 0, **options: Any) -> SSAValue:
    """Rows and columns of the places above a diagonal."""
    return as_type(np.stack(np.triu_indices(row, offset, col)), want.dtype)
