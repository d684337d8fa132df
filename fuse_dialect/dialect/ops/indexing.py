"""Ops that pick elements by position or by index: kind `injective`."""

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import (
    integer,
    integers,
    optional_integer,
    optional_integers,
    string,
    tensor_operand,
    tensor_result,
)
from fuse_dialect.dialect.loops import Nest, Place
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.picked_places import (
    any_outside,
    bounded,
    in_range,
    index_at,
    is_outside,
    repeated,
    unfolded,
)
from fuse_dialect.dialect.shape_rules import (
    integer_list,
    one_of,
    require_integers,
    require_rank_at_least,
    unify_shapes,
)
from fuse_dialect.dialect.spans import span
from fuse_dialect.dialect.types import (
    DYNAMIC,
    Shape,
    Tensor,
    normalize_axis,
    require_rank,
    require_same_element,
    shape_text,
    with_shape,
)
from fuse_dialect.loops.indices import Guard, Index, number
from fuse_dialect.loops.program import Combiner
from fuse_dialect.pattern_kind import PatternKind


class PickOp(FuseOp, ABC):
    """A result whose elements are elements of the first operand."""

    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    if TYPE_CHECKING:  # each op defines its own: xDSL puts the operands of a base class behind those of the op
        input: SSAValue[Tensor]

    @property
    def shape(self) -> Shape:
        """Shape of the first operand."""
        return tuple(self.input.type.get_shape())


@irdl_op_definition
class StridedSliceOp(PickOp):
    """`input[begin:end:strides]` on some axes, as Python slices mean it.

    Shapes: any; one number of `begin`, `end` and `strides` for each of `axes`, which are the first ones when left out.
        Negative numbers count from the end, numbers out of range are brought into it; the greatest and least i64 thus
        leave a side open.
    Types: any.
    Kind: injective.
    Cost: no arithmetic.
    Source: NumPy slices, ONNX Slice, Relay `strided_slice`, StableHLO `slice`.
    """

    name = "fuse.strided_slice"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    PICKED_OPERANDS: ClassVar[tuple[int, ...]] = (0,)

    input = tensor_operand()
    result = tensor_result()

    begin = integers()
    """First index, on each sliced axis."""
    end = integers()
    """The index behind the last one, on each sliced axis."""
    strides = optional_integers()
    """Distance of the indices, on each sliced axis; 1 when left out."""
    axes = optional_integers()
    """The sliced axes; the first ones when left out."""

    @property
    def slices(self) -> tuple[slice, ...]:
        """One slice for each axis of the operand.

        Raises:
            VerifyException: The lists have different lengths, a stride is 0, an axis is wrong or named twice.
        """
        rank, begin = len(self.shape), self.begin.get_values()
        count = len(begin)
        end = integer_list(self.end, count, "end")
        strides = (1,) * count if self.strides is None else integer_list(self.strides, count, "strides")
        if count > rank:
            raise VerifyException(f"expects at most {rank} numbers in begin, got {count} ({list(begin)})")
        axes = range(count) if self.axes is None else integer_list(self.axes, count, "axes")
        result = [slice(None)] * rank
        for axis, start, stop, stride in zip(axes, begin, end, strides, strict=True):
            place = normalize_axis(axis, rank)
            if not stride:
                raise VerifyException(f"expects strides other than 0, got {list(strides)}")
            if result[place] != slice(None):
                raise VerifyException(f"expects distinct axes, axis {place} is named twice")
            result[place] = slice(start, stop, stride)
        return tuple(result)

    def infer_types(self) -> Sequence[Attribute]:
        """The number of positions on each axis."""
        sizes = [
            dim if cut == slice(None) else DYNAMIC if dim == DYNAMIC else span(cut.start, cut.stop, cut.step, dim)[1]
            for dim, cut in zip(self.shape, self.slices, strict=True)
        ]
        return (with_shape(self.input.type, sizes),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """NumPy slices."""
        return (operands[0][self.slices],)

    def loops(self, nest: Nest) -> SSAValue:
        """From the first index on, in strides."""
        indices: list[Place] = []
        for index, cut, size in zip(nest.at, self.slices, nest.shape(0), strict=True):
            count = nest.resolve(size)
            if cut == slice(None):
                indices.append(index)
            elif isinstance(count, int):
                start, _, stride = cut.indices(count)
                indices.append(index * stride + start)
            else:
                begin = bounded(scalars.constant(cut.start, i64), nest.count(count), is_back=cut.step < 0)
                indices.append(scalars.add(begin, nest.position(index * cut.step)))
        return nest.read(0, indices)


@irdl_op_definition
class TakeOp(PickOp):
    """Slices of the operand along `axis`, or elements of the flattened operand, at `indices`.

    Shapes: operand of rank 1 or more, indices of any rank; result: the indices' shape in place of `axis`.
    Types: integer indices; operand and result of any type. Negative indices count from the end. Those out of range are
        brought to the nearest end (`clip`) or wrap around (`wrap`); `fast` promises that there are none.
    Kind: injective.
    Cost: no arithmetic.
    Source: `numpy.take`, ONNX Gather, Relay `take`.
    """

    name = "fuse.take"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    PICKED_OPERANDS: ClassVar[tuple[int, ...]] = (0,)

    input = tensor_operand()
    indices = tensor_operand()
    result = tensor_result()

    axis = optional_integer()
    """The axis that is indexed; without it the operand is flattened."""
    mode = string("clip")
    """What happens to indices out of range: `clip`, `wrap`, or `fast` if there are none."""

    def infer_types(self) -> Sequence[Attribute]:
        """The indices' shape in place of the axis."""
        one_of(self.mode, ("clip", "wrap", "fast"), "mode")
        require_integers(self.indices.type, "indices")
        places = tuple(self.indices.type.get_shape())
        if self.axis is None:
            return (with_shape(self.input.type, places),)
        axis = normalize_axis(self.axis.value.data, len(self.shape))
        return (with_shape(self.input.type, (*self.shape[:axis], *places, *self.shape[axis + 1 :])),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.take` of indices counted from the front."""
        x, indices = operands
        axis = None if self.axis is None else self.axis.value.data
        size = x.size if axis is None else x.shape[axis]
        places = indices.astype(np.int64)
        # NumPy's own mode `wrap` adds the size again and again, which takes hours for an index of 2**62.
        places = places % size if self.mode.data == "wrap" and size else np.where(places < 0, places + size, places)
        return (np.take(x, places, axis=axis, mode="clip"),)

    def loops(self, nest: Nest) -> SSAValue:
        """Read the index, bring it into range, read there."""
        sizes, rank = nest.shape(0), len(nest.shape(1))
        axis = 0 if self.axis is None else normalize_axis(self.axis.value.data, len(sizes))
        wanted = index_at(nest, nest.at[axis : axis + rank])
        if self.axis is not None:
            place = in_range(nest, wanted, sizes[axis], wraps=self.mode.data == "wrap")
            return nest.read(0, [*nest.at[:axis], place, *nest.at[axis + rank :]])
        place = in_range(nest, wanted, *sizes, wraps=self.mode.data == "wrap")
        return nest.read(0, unfolded(nest, place, sizes))


@irdl_op_definition
class GatherOp(PickOp):
    """For each index the element of the operand that has the index on `axis` and its own position on the others.

    Shapes: indices of the operand's rank and, off `axis`, no larger; result as the indices.
    Types: integer indices; operand and result of any type. Negative indices count from the end.
    Kind: injective.
    Cost: no arithmetic.
    Source: ONNX GatherElements, `numpy.take_along_axis`, Relay `gather`.
    """

    name = "fuse.gather"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    PICKED_OPERANDS: ClassVar[tuple[int, ...]] = (0,)

    input = tensor_operand()
    indices = tensor_operand()
    result = tensor_result()

    axis = integer(0)
    """The axis that is indexed."""
    mode = string("raise")
    """An index out of range is an error (`raise`), or there is none (`fast`)."""

    def infer_types(self) -> Sequence[Attribute]:
        """The indices' shape."""
        one_of(self.mode, ("raise", "fast"), "mode")
        require_integers(self.indices.type, "indices")
        places = require_rank(self.indices.type, len(self.shape), "indices")
        axis = normalize_axis(self.axis.value.data, len(self.shape))
        for position, (dim, place) in enumerate(zip(self.shape, places, strict=True)):
            if position != axis and DYNAMIC not in (dim, place) and place > dim:
                raise VerifyException(
                    f"expects indices no larger than the operand off axis {axis}, got {shape_text(places)} "
                    f"and {shape_text(self.shape)} (dimension {position}: {place} vs {dim})"
                )
        return (with_shape(self.input.type, places),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """NumPy's indexing by one array an axis.

        Raises:
            IndexError: An index is out of range.
        """
        x, indices = operands
        grid: list[Array] = [*np.ogrid[tuple(slice(size) for size in indices.shape)]]
        grid[normalize_axis(self.axis.value.data, x.ndim)] = indices
        return (x[tuple(grid)],)

    def loops(self, nest: Nest) -> SSAValue:
        """Read the index, and read there."""
        sizes = nest.shape(0)
        axis = normalize_axis(self.axis.value.data, len(sizes))
        place = in_range(nest, index_at(nest, nest.at), sizes[axis])
        return nest.read(0, [*nest.at[:axis], place, *nest.at[axis + 1 :]])

    def fault(self, nest: Nest) -> SSAValue | None:
        """Whether an index is out of range, where that is an error."""
        if self.mode.data == "fast":
            return None
        at = [nest.reduced(size) for size in nest.shape(1)]
        axis = normalize_axis(self.axis.value.data, len(nest.shape(0)))
        wanted = index_at(nest, at)
        return nest.total(Combiner.OR, is_outside(nest, wanted, nest.shape(0)[axis]))


@irdl_op_definition
class GatherNdOp(PickOp):
    """Elements or slices of the operand at the positions in the last axis of `indices`.

    Shapes: indices [B..., P..., K] with the first `batch_dims` axes B as in the operand and K static; result
        [B..., P..., the operand's dimensions from batch_dims + K on].
    Types: integer indices; operand and result of any type. Negative indices count from the end.
    Kind: injective.
    Cost: no arithmetic.
    Source: ONNX GatherND; Relay `gather_nd` has the positions on the first axis.
    """

    name = "fuse.gather_nd"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    PICKED_OPERANDS: ClassVar[tuple[int, ...]] = (0,)

    input = tensor_operand()
    indices = tensor_operand()
    result = tensor_result()

    batch_dims = integer(0)
    """Number of leading axes that operand and indices share."""
    mode = string("raise")
    """An index out of range is an error (`raise`), or there is none (`fast`)."""

    def infer_types(self) -> Sequence[Attribute]:
        """The indices' shape without its last axis, then what each position leaves of the operand's."""
        one_of(self.mode, ("raise", "fast"), "mode")
        require_integers(self.indices.type, "indices")
        shape, batch = self.shape, self.batch_dims.value.data
        places = require_rank_at_least(self.indices.type, 1, "indices")
        if not 0 <= batch < min(len(shape), len(places)):
            raise VerifyException(f"expects batch_dims in [0, {min(len(shape), len(places))}), got {batch}")
        depth = places[-1]
        if not 1 <= depth <= len(shape) - batch:
            got = "?" if depth == DYNAMIC else depth
            raise VerifyException(f"expects a last axis of 'indices' in [1, {len(shape) - batch}], got {got}")
        shared = unify_shapes(shape[:batch], places[:batch])
        return (with_shape(self.input.type, (*shared, *places[batch:-1], *shape[batch + depth :])),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """NumPy's indexing by one array an axis, with positions counted up for the batch axes.

        Raises:
            IndexError: An index is out of range.
        """
        x, indices = operands
        batch, outer = self.batch_dims.value.data, indices.ndim - 1
        counted: list[Array] = [*np.ogrid[tuple(slice(size) for size in indices.shape[:outer])]][:batch]
        return (x[(*counted, *np.moveaxis(indices, -1, 0))],)

    def loops(self, nest: Nest) -> SSAValue:
        """Read the numbers of a position, and read there."""
        sizes, batch = nest.shape(0), self.batch_dims.value.data
        *outer, last = nest.shape(1)
        (depth,) = nest.static(last)
        at, picked = nest.at[: len(outer)], sizes[batch : batch + depth]
        places = [in_range(nest, index_at(nest, [*at, number(place)]), size) for place, size in enumerate(picked)]
        return nest.read(0, [*nest.at[:batch], *places, *nest.at[len(outer) :]])

    def fault(self, nest: Nest) -> SSAValue | None:
        """Whether a number of a position is out of range, where that is an error."""
        if self.mode.data == "fast":
            return None
        batch, (*outer, last) = self.batch_dims.value.data, nest.shape(1)
        return any_outside(nest, [nest.reduced(size) for size in outer], nest.shape(0)[batch:], last)


@irdl_op_definition
class PadOp(PickOp):
    """The operand with elements around it, or less elements where a width is negative.

    Shapes: any; axis i grows by `low[i]` before and `high[i]` behind. Negative widths crop before anything is added.
    Types: any; `value` has rank 0 and the operand's type, and counts in mode `constant` alone. The other modes
        repeat the outermost element (`edge`), mirror without repeating it (`reflect`) or go round (`wrap`).
    Kind: injective.
    Cost: no arithmetic.
    Source: `numpy.pad`, ONNX Pad, Relay `nn.pad` and `nn.mirror_pad`, StableHLO `pad`.
    """

    name = "fuse.pad"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))

    input = tensor_operand()
    value = tensor_operand()
    result = tensor_result()

    low = integers()
    """What each axis grows by at its beginning; less than 0 to crop."""
    high = integers()
    """What each axis grows by at its end; less than 0 to crop."""
    mode = string("constant")
    """`constant`, `edge`, `reflect` or `wrap`."""

    @property
    def widths(self) -> list[tuple[int, int]]:
        """What each axis grows by, before and behind.

        Raises:
            VerifyException: There is not one number an axis.
        """
        rank = len(self.shape)
        return list(zip(integer_list(self.low, rank, "low"), integer_list(self.high, rank, "high"), strict=True))

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's shape with the widths added."""
        mode = one_of(self.mode, ("constant", "edge", "reflect", "wrap"), "mode")
        require_same_element((self.input.type, self.value.type))
        require_rank(self.value.type, 0, "value")
        sizes: list[int] = []
        for axis, (dim, (low, high)) in enumerate(zip(self.shape, self.widths, strict=True)):
            kept = dim + min(low, 0) + min(high, 0)
            if dim != DYNAMIC and (kept < 0 or (not kept and mode != "constant" and max(low, high) > 0)):
                raise VerifyException(f"expects widths that fit {dim} elements on axis {axis}, got {low} and {high}")
            sizes.append(DYNAMIC if dim == DYNAMIC else dim + low + high)
        return (with_shape(self.input.type, sizes),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Slices, then `numpy.pad`."""
        x, value = operands
        kept = x[
            tuple(
                slice(max(0, -low), size + min(0, high)) for size, (low, high) in zip(x.shape, self.widths, strict=True)
            )
        ]
        added = [(max(0, low), max(0, high)) for low, high in self.widths]
        if not added:
            return (kept,)  # `numpy.pad` takes no empty list
        match self.mode.data:
            case "constant":
                shape = [low + size + high for size, (low, high) in zip(kept.shape, added, strict=True)]
                y = np.full(shape, value, x.dtype)
                y[tuple(slice(low, low + size) for size, (low, _) in zip(kept.shape, added, strict=True))] = kept
                return (y,)
            case "edge":
                return (np.pad(kept, added, mode="edge"),)
            case "reflect":
                return (np.pad(kept, added, mode="reflect"),)
            case _:
                return (np.pad(kept, added, mode="wrap"),)

    def loops(self, nest: Nest) -> SSAValue:
        """The operand's element, found by the mode, or the value."""
        indices: list[Place] = []
        guards: list[Guard] = []
        for index, size, (low, high) in zip(nest.at, nest.shape(0), self.widths, strict=True):
            if not low and not high:
                indices.append(index)
                continue
            (count,) = nest.counted(size)
            inner = index - max(low, 0)
            if self.mode.data == "constant" or max(low, high) <= 0:
                indices.append(inner + max(-low, 0))
                if isinstance(count, int):
                    guards.append(Guard(inner, count + min(low, 0) + min(high, 0)))
                else:
                    # The whole axis does as well: at an end that is cropped, the result ends before what is cut off.
                    guards.append(Guard(index - low, count))
            elif isinstance(count, int):
                indices.append(self._repeated(nest, inner, count + min(low, 0) + min(high, 0), max(-low, 0)))
            else:
                kept = nest.count(count, plus=min(low, 0) + min(high, 0))
                place = repeated(nest.position(inner), kept, self.mode.data)
                indices.append(scalars.add(place, scalars.constant(max(-low, 0), i64)))
        if not guards:
            return nest.read(0, indices)
        return scalars.select(nest.inside(guards), nest.read(0, indices, guards), nest.read(1, ()))

    def _repeated(self, nest: Nest, index: Index, kept: int, start: int) -> Place:
        """Which element modes other than `constant` repeat, of `kept` ones from `start` on."""
        if self.mode.data == "wrap":
            return index % kept + start
        zero = scalars.constant(0, i64)
        if self.mode.data == "edge":
            place = scalars.minimum(scalars.maximum(nest.position(index), zero), scalars.constant(kept - 1, i64))
        else:
            period = max(2 * (kept - 1), 1)
            around = nest.position(index % period)
            place = scalars.minimum(around, scalars.subtract(scalars.constant(period, i64), around))
        return scalars.add(place, scalars.constant(start, i64))
