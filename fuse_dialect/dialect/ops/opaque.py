"""Ops that never fuse: sorting, scans, scatters, and `stop_fusion`, the barrier. Kind `opaque`."""

import math
from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from xdsl.dialects.builtin import f64, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import flag, integer, real, string, tensor_operand, tensor_result
from fuse_dialect.dialect.loops import Nest, Piece, Updates
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.picked_places import any_outside, place_in_order, position_in
from fuse_dialect.dialect.shape_rules import (
    one_of,
    require_float,
    require_integers,
    require_numbers,
    require_positive,
    require_rank_at_least,
    unify_shapes,
)
from fuse_dialect.dialect.types import (
    DYNAMIC,
    element_count,
    element_dtype,
    integer_type,
    is_float,
    normalize_axis,
    require_rank,
    require_same_element,
    tensor,
    with_element,
    with_shape,
)
from fuse_dialect.loops.indices import Guard
from fuse_dialect.loops.program import Combiner
from fuse_dialect.loops.special_functions import as_integers, power, widened
from fuse_dialect.pattern_kind import PatternKind

_COMBINERS = {"add": Combiner.ADD, "mul": Combiner.MULTIPLY, "min": Combiner.MINIMUM, "max": Combiner.MAXIMUM}
"""What modes of a scatter do with an element and its update."""


def _ordered(x: Array) -> Array:
    """`x` in a type that NumPy sorts with nan in the end: it leaves narrow floats unsorted where one of them is nan."""
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def sorted_order(x: Array, axis: int, *, is_ascend: bool) -> Array:
    """Indices that sort `x` along `axis`; of equal elements the one with the lower index comes first."""
    x = _ordered(x)
    if is_ascend:
        return np.argsort(x, axis=axis, kind="stable")
    backwards = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - backwards, axis)


class LineOp(FuseOp, ABC):
    """A function of each line of elements along an axis."""

    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 1

    input = tensor_operand()

    def line_axis(self, axis: int) -> int:
        """The axis counted from the front.

        Raises:
            VerifyException: The axis is out of range or the operand holds booleans.
        """
        require_numbers(self.input.type)
        return normalize_axis(axis, self.input.type.get_num_dims())

    def comparisons(self, axis: int) -> int | None:
        """Comparisons of a merge sort: n * ceil(log2 n) for each line of n elements."""
        count = element_count(self.input.type)
        if count is None:
            return None
        length = self.input.type.get_shape()[self.line_axis(axis)]
        return count * math.ceil(math.log2(max(2, length)))


@irdl_op_definition
class SortOp(LineOp):
    """The elements of each line in order.

    Shapes: any of rank 1 or more, unchanged.
    Types: numbers.
    Kind: opaque.
    Cost: ceil(log2 n) operations an element, for lines of n elements.
    Source: `numpy.sort`, Relay `sort`, StableHLO `sort`.
    """

    name = "fuse.sort"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    result = tensor_result()

    axis = integer(-1)
    """The axis of the lines."""
    is_ascend = flag(True)
    """Whether the smallest element comes first."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        self.line_axis(self.axis.value.data)
        return (self.input.type,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.sort`; zeros of both signs are equal, and keep their order, also where the greatest comes first."""
        x, axis = _ordered(operands[0]), self.axis.value.data
        if self.is_ascend.value.data:
            return (np.sort(x, axis=axis, kind="stable"),)
        return (np.flip(np.sort(np.flip(x, axis), axis=axis, kind="stable"), axis),)

    def loops(self, nest: Nest) -> SSAValue:
        """The places of the elements in order, and what is there."""
        axis = self.line_axis(self.axis.value.data)
        place = place_in_order(nest, axis, is_ascend=bool(self.is_ascend.value.data))
        return nest.read(0, [*nest.at[:axis], place, *nest.at[axis + 1 :]])

    def flops(self) -> int | None:
        """Comparisons of a merge sort."""
        return self.comparisons(self.axis.value.data)


@irdl_op_definition
class ArgsortOp(LineOp):
    """For each line the indices of its elements in order; equal elements keep their order.

    Shapes: any of rank 1 or more, unchanged.
    Types: numbers; the result is i64, or i32 where its type says so.
    Kind: opaque.
    Cost: ceil(log2 n) operations an element, for lines of n elements.
    Source: `numpy.argsort`, Relay `argsort`.
    """

    name = "fuse.argsort"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    result = tensor_result()

    axis = integer(-1)
    """The axis of the lines."""
    is_ascend = flag(True)
    """Whether the smallest element comes first."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's shape, of i64."""
        self.line_axis(self.axis.value.data)
        return (with_element(self.input.type, i64),)

    def verify_(self) -> None:
        """Check the types; i32 is as good as i64."""
        if self.result.type.element_type != i32:
            super().verify_()
        else:
            self.infer_types()
            unify_shapes(self.input.type.get_shape(), self.result.type.get_shape())

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """A stable sort."""
        order = sorted_order(operands[0], self.axis.value.data, is_ascend=bool(self.is_ascend.value.data))
        return (order.astype(np.int32 if self.result.type.element_type == i32 else np.int64, copy=False),)

    def loops(self, nest: Nest) -> SSAValue:
        """The places of the elements in order."""
        axis = self.line_axis(self.axis.value.data)
        place = place_in_order(nest, axis, is_ascend=bool(self.is_ascend.value.data))
        return scalars.convert(place, self.result.type.element_type, unsigned_source=False, unsigned_target=False)

    def flops(self) -> int | None:
        """Comparisons of a merge sort."""
        return self.comparisons(self.axis.value.data)


@irdl_op_definition
class TopkOp(LineOp):
    """The first `k` elements of each sorted line, and their indices; equal elements keep their order.

    Shapes: any of rank 1 or more with at least `k` elements on `axis`; both results have `k`.
    Types: numbers; the indices are i64.
    Kind: opaque.
    Cost: ceil(log2 n) operations an element of the operand, for lines of n elements.
    Source: ONNX TopK, Relay `topk`.
    """

    name = "fuse.topk"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    values = tensor_result()
    indices = tensor_result()

    k = integer()
    """Number of elements to keep, 0 or more."""
    axis = integer(-1)
    """The axis of the lines."""
    is_ascend = flag()
    """Whether the smallest element comes first."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's shape with `k` on the axis, twice."""
        axis, k = self.line_axis(self.axis.value.data), self.k.value.data
        if k < 0:
            raise VerifyException(f"expects k of at least 0, got {k}")
        shape = tuple(self.input.type.get_shape())
        if shape[axis] != DYNAMIC and shape[axis] < k:
            raise VerifyException(f"expects k of at most {shape[axis]}, got {k}")
        values = with_shape(self.input.type, (*shape[:axis], k, *shape[axis + 1 :]))
        return (values, with_element(values, i64))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """The beginning of a stable sort."""
        (x,), axis = operands, self.axis.value.data
        order = sorted_order(x, axis, is_ascend=bool(self.is_ascend.value.data))
        order = order.take(np.arange(self.k.value.data), axis=axis)
        return (np.take_along_axis(x, order, axis=axis), order.astype(np.int64, copy=False))

    def loops(self, nest: Nest) -> SSAValue:
        """The first places of the elements in order, or what is there."""
        axis = self.line_axis(self.axis.value.data)
        place = place_in_order(nest, axis, is_ascend=bool(self.is_ascend.value.data))
        return place if nest.result else nest.read(0, [*nest.at[:axis], place, *nest.at[axis + 1 :]])

    def flops(self) -> int | None:
        """Comparisons of a merge sort."""
        return self.comparisons(self.axis.value.data)


@irdl_op_definition
class LrnOp(LineOp):
    """Each element divided by a power of the squares around it along `axis`: local response normalization.

    Shapes: any of rank 1 or more, unchanged. The window has `size` elements, (size - 1) / 2 of them before, rounded
        down.
    Types: floating point; f16 and bf16 are computed in f32. x / (bias + alpha / size * sum of squares) ^ beta.
    Kind: opaque.
    Cost: 2 * size + 4 operations an element.
    Source: ONNX LRN, Relay `nn.lrn`.
    """

    name = "fuse.lrn"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    result = tensor_result()

    size = integer(5)
    """Number of elements in a window."""
    axis = integer(1)
    """The axis of the lines."""
    bias = real(1.0)
    """Added to the mean square."""
    alpha = real(1e-4)
    """Factor of the mean square."""
    beta = real(0.75)
    """Exponent."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        require_float(self.input.type)
        self.line_axis(self.axis.value.data)
        require_positive(self.size.value.data, "size")
        return (self.input.type,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Sums of squares over sliding windows, zero beyond the ends."""
        x, size = np.moveaxis(widened(operands[0]), self.axis.value.data, -1), self.size.value.data
        if not x.size:
            return (operands[0],)
        before, after = self._around(x.shape[-1])
        squares = np.pad(np.square(x), [(0, 0)] * (x.ndim - 1) + [(before, after)])
        sums = sliding_window_view(squares, before + 1 + after, axis=-1).sum(axis=-1, dtype=x.dtype)
        bias, alpha, beta = (x.dtype.type(p.value.data) for p in (self.bias, self.alpha, self.beta))
        y = x / power(bias + alpha / x.dtype.type(size) * sums, np.asarray(beta))
        return (np.moveaxis(y, -1, self.axis.value.data).astype(operands[0].dtype, copy=False),)

    def _around(self, length: int) -> tuple[int, int]:
        """Elements of a window before and after its own, without those beyond a line of that length for all of them."""
        before = (self.size.value.data - 1) // 2
        after = self.size.value.data - 1 - before
        return min(before, max(length - 1, 0)), min(after, max(length - 1, 0))

    def loops(self, nest: Nest) -> SSAValue:
        """The sum of squares over the window, then the formula."""
        axis, size = self.line_axis(self.axis.value.data), self.size.value.data
        (length,) = nest.static(nest.shape(0)[axis])
        before, after = self._around(length)
        places = list(nest.at)
        places[axis] = places[axis] + nest.reduced(before + 1 + after) - before
        near = scalars.widened(nest.read(0, places, [Guard(places[axis], length)]))
        total = nest.total(Combiner.ADD, scalars.multiply(near, near))
        element = nest.read(0, nest.at)
        bias, alpha, beta = (
            scalars.constant(number.value.data, total.type) for number in (self.bias, self.alpha, self.beta)
        )
        share = scalars.divide(alpha, scalars.constant(size, total.type))
        base = scalars.add(bias, scalars.multiply(share, total))
        return scalars.rounded(scalars.divide(scalars.widened(element), scalars.power(base, beta)), element)

    def flops(self) -> int | None:
        """A square and an addition for each element of the window; scale, add, power, division."""
        count = element_count(self.result.type)
        return None if count is None else count * (2 * self.size.value.data + 4)


class IdentityOp(FuseOp, ABC):
    """The operand itself."""

    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    input = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        return (self.input.type,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """The operand."""
        return (operands[0],)

    def loops(self, nest: Nest) -> SSAValue:
        """The operand's element."""
        return nest.read(0, nest.at)


@irdl_op_definition
class DropoutOp(IdentityOp):
    """Nothing at inference; in training a share `rate` of the elements would be zeroed.

    Shapes: any, unchanged.
    Types: any.
    Kind: opaque.
    Cost: no arithmetic.
    Source: ONNX Dropout with `training_mode = false`, Relay `nn.dropout`.
    """

    name = "fuse.dropout"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    rate = real(0.5)
    """Share of the elements that training zeroes."""


@irdl_op_definition
class StopFusionOp(IdentityOp):
    """A barrier: its operand and its users are never fused across it. `fuse-ops` removes it where it looks for groups.

    Shapes: any, unchanged.
    Types: any.
    Kind: opaque.
    Cost: no arithmetic.
    Source: Relay `annotation.stop_fusion`.
    """

    name = "fuse.stop_fusion"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))


@irdl_op_definition
class ScatterNdOp(FuseOp):
    """The input with `updates` written to, or combined with, the elements or slices that `indices` name.

    Shapes: indices [..., K] with K at most the rank of the input and static; updates
        [..., the input's dimensions from K on]; result as the input. Negative indices count from the end.
    Types: integer indices; input, updates and result of one type.
    Kind: opaque.
    Cost: one operation an element of the updates, none in mode `update`.
    Source: ONNX ScatterND, Relay `scatter_nd`. Updates of one place are applied in order.
    """

    name = "fuse.scatter_nd"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    input = tensor_operand()
    indices = tensor_operand()
    updates = tensor_operand()
    result = tensor_result()

    mode = string("update")
    """`update`, `add`, `mul`, `min` or `max`."""

    def infer_types(self) -> Sequence[Attribute]:
        """The input's type."""
        mode = one_of(self.mode, ("update", "add", "mul", "min", "max"), "mode")
        require_integers(self.indices.type, "indices")
        require_same_element((self.input.type, self.updates.type))
        if mode != "update":
            require_numbers(self.input.type)
        *places, depth = require_rank_at_least(self.indices.type, 1, "indices")
        shape = tuple(self.input.type.get_shape())
        if not 1 <= depth <= len(shape):
            got = "?" if depth == DYNAMIC else depth
            raise VerifyException(f"expects a last axis of 'indices' in [1, {len(shape)}], got {got}")
        expected = (*places, *shape[depth:])
        updates = require_rank(self.updates.type, len(expected), "updates")
        unify_shapes(expected, updates)
        return (self.input.type,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Assignment to, or `numpy.ufunc.at` on, a copy of the input."""
        x, indices, updates = operands
        y = x.copy()
        at = tuple(np.moveaxis(indices, -1, 0))
        if self.mode.data == "update":
            y[at] = updates
        else:
            ufunc = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[self.mode.data]
            ufunc.at(y, at, updates)
        return (y,)

    @property
    def _depth(self) -> int:
        """Numbers of a position."""
        return self.indices.type.get_shape()[-1]

    def result_pieces(self) -> Sequence[Piece | Updates | None]:
        """The input, then what is written to it."""
        combiner = None if self.mode.data == "update" else _COMBINERS[self.mode.data]
        rank = self.indices.type.get_num_dims() - 1
        return (None, Updates(2, rank, self._depth, combiner))

    def loops(self, nest: Nest) -> SSAValue:
        """The input's element."""
        return nest.read(0, nest.at)

    def place_of_update(self, nest: Nest) -> SSAValue:
        """The numbers of a position, brought into range, as one."""
        return position_in(nest, nest.at, nest.shape(0)[: self._depth])

    def fault(self, nest: Nest) -> SSAValue:
        """Whether a number of a position is out of range."""
        *outer, last = nest.shape(1)
        return any_outside(nest, [nest.reduced(size) for size in outer], nest.shape(0), last)

    def flops(self) -> int | None:
        """One operation for each update that is combined."""
        return 0 if self.mode.data == "update" else element_count(self.updates.type)


_EXACT = 2.0**53
"""Up to it, f64 has all integers."""


@irdl_op_definition
class ArangeOp(FuseOp):
    """The numbers from `start` towards `stop`, which is left out, `step` apart.

    Shapes: no operand; the result type gives [ceil((stop - start) / step)], or [0] where that is negative.
    Types: numbers, as the result type says; computed in f64. Integers are truncated toward zero, and lose the bits that
        their type has no room for, as numbers do that are counted in it: -1 in ui8 is 255.
    Kind: opaque.
    Cost: two operations an element.
    Source: `numpy.arange`, ONNX Range, Relay `arange`, StableHLO `iota`.
    """

    name = "fuse.arange"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 2

    result = tensor_result()

    start = real(0.0)
    """The first number."""
    stop = real()
    """Where the numbers end; left out itself."""
    step = real(1.0)
    """Distance of the numbers."""

    @property
    def length(self) -> int:
        """Number of elements.

        Raises:
            VerifyException: The step is zero or a number is not finite.
        """
        start, stop, step = (p.value.data for p in (self.start, self.stop, self.step))
        if not step or not all(math.isfinite(number) for number in (start, stop, step)):
            raise VerifyException(f"expects finite numbers and a step other than 0, got {start}, {stop}, {step}")
        return max(0, math.ceil((stop - start) / step))

    def infer_types(self) -> None:
        """Nothing: the result type says the element type."""

    def refine_types(self) -> Sequence[Attribute]:
        """The number of elements."""
        return (with_shape(self.result.type, [self.length]),)

    def verify_(self) -> None:
        """Check the number of elements."""
        super().verify_()
        require_numbers(self.result.type)
        (size,) = require_rank(self.result.type, 1, "result")
        if size not in (self.length, DYNAMIC):
            raise VerifyException(f"expects a result of {self.length} elements, got {size}")

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Multiples of the step, from the start on."""
        dtype = element_dtype(self.result.type.element_type)
        numbers = self.start.value.data + np.arange(self.length) * self.step.value.data
        if dtype.kind not in "iu":
            return (numbers.astype(dtype),)
        return (as_integers(numbers, np.dtype(np.uint64 if self.is_beyond_i64 else np.int64)).astype(dtype),)

    @property
    def is_beyond_i64(self) -> bool:
        """Whether numbers are counted as ui64: those of that type, unless some are negative."""
        last = self.start.value.data + max(0, self.length - 1) * self.step.value.data
        return (
            self.result.type.element_type == integer_type(64, unsigned=True) and min(self.start.value.data, last) >= 0
        )

    @property
    def _is_whole(self) -> bool:
        """Whether f64 counts without rounding: the numbers are those of integers, which take a tenth of the time."""
        start, step = self.start.value.data, self.step.value.data
        most = abs(start) + self.length * abs(step)
        return start.is_integer() and step.is_integer() and most <= _EXACT

    def loops(self, nest: Nest) -> SSAValue:
        """A multiple of the step, from the start on."""
        nest.equal(nest.extents[0], self.length)
        element = scalars.signless(self.result.type.element_type)
        if self._is_whole and not is_float(self.result.type):
            whole = nest.position(nest.at[0])
            if self.step.value.data != 1:
                whole = scalars.multiply(whole, scalars.constant(int(self.step.value.data), i64))
            if self.start.value.data:
                whole = scalars.add(whole, scalars.constant(int(self.start.value.data), i64))
            return scalars.convert(whole, element, unsigned_source=False, unsigned_target=False)
        place = scalars.convert(nest.position(nest.at[0]), f64, unsigned_source=False, unsigned_target=False)
        distance = scalars.multiply(place, scalars.constant(self.step.value.data, f64))
        number = scalars.add(scalars.constant(self.start.value.data, f64), distance)
        if not is_float(self.result.type):
            # Of i64 the upper bits are cut off; a conversion of floats to a narrow type would stop at its bounds.
            number = scalars.convert(number, i64, unsigned_source=False, unsigned_target=self.is_beyond_i64)
        return scalars.convert(number, element, unsigned_source=False, unsigned_target=False)


@irdl_op_definition
class ArgwhereOp(FuseOp):
    """The indices of the elements that are not zero, in the order of the elements.

    Shapes: any; result [number of such elements, rank], its first size not known.
    Types: any; the result is i64.
    Kind: opaque.
    Cost: one comparison an element.
    Source: `numpy.argwhere`, ONNX NonZero transposed, Relay `argwhere`.
    """

    name = "fuse.argwhere"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    input = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """One row for each element that is not zero."""
        return (tensor((DYNAMIC, self.input.type.get_num_dims()), i64),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.argwhere`."""
        return (np.argwhere(operands[0]),)

    def flops(self) -> int | None:
        """One comparison for each element of the operand."""
        return element_count(self.input.type)
