"""Reductions over axes: kind `comm_reduce`.

Integers are summed and multiplied in their own type and wrap around, as in ONNX; f16 and bf16 are accumulated in f32.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import flag, optional_integers, tensor_operand, tensor_result
from fuse_dialect.dialect.loops import LoopFormError, Nest
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.broadcast import DivideOp, MultiplyOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.comparison import EqualOp, LogicalOrOp
from fuse_dialect.dialect.ops.conversion import cast_to, scalar, widen
from fuse_dialect.dialect.ops.elementwise import IsnanOp
from fuse_dialect.dialect.ops.layout import ReshapeOp
from fuse_dialect.dialect.ops.opaque import ArangeOp
from fuse_dialect.dialect.places_op import FAR, PlacesOp
from fuse_dialect.dialect.shape_rules import product, require_booleans, require_float, require_numbers
from fuse_dialect.dialect.types import (
    DYNAMIC,
    Shape,
    are_compatible,
    check_tensors,
    element_count,
    is_float,
    is_unsigned,
    normalize_axes,
    shape_text,
    tensor,
    with_element,
    with_shape,
)
from fuse_dialect.loops.indices import Index
from fuse_dialect.loops.program import Combiner
from fuse_dialect.loops.special_functions import truncated_quotient, widened
from fuse_dialect.pattern_kind import PatternKind


class ReductionOp(FuseOp, ABC):
    """One result element from all operand elements along the axes."""

    FLOPS_PER_OPERAND_ELEMENT: ClassVar[int] = 1
    """Arithmetic operations for one operand element."""
    COMBINER: ClassVar[Combiner] = Combiner.ADD
    """How loops combine the elements."""

    input = tensor_operand()
    result = tensor_result()

    axes = optional_integers()
    """The axes that are reduced; all when left out."""
    keepdims = flag()
    """Whether a reduced axis stays, with size 1."""

    def reduced_axes(self) -> tuple[int, ...]:
        """The axes that are reduced, counted from the front, in increasing order."""
        rank = self.input.type.get_num_dims()
        return tuple(range(rank)) if self.axes is None else normalize_axes(self.axes.get_values(), rank)

    def result_shape(self) -> Shape:
        """The operand's shape without the reduced axes, or with size 1 in their place."""
        reduced, shape = self.reduced_axes(), self.input.type.get_shape()
        if self.keepdims.value.data:
            return tuple(1 if axis in reduced else size for axis, size in enumerate(shape))
        return tuple(size for axis, size in enumerate(shape) if axis not in reduced)

    def check_elements(self) -> None:
        """Reject element types that the op is not defined on; i1 unless overridden."""
        require_numbers(self.input.type)

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's element type in the reduced shape."""
        self.check_elements()
        return (with_shape(self.input.type, self.result_shape()),)

    @abstractmethod
    def reduce(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        """The op's meaning on `x`, which holds f32 instead of f16 and bf16."""

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Reduce and round to the operand's type."""
        (x,) = operands
        with np.errstate(all="ignore"):
            reduced = self.reduce(widened(x), self.reduced_axes(), self.keepdims.value.data != 0)
            return (np.asarray(reduced).astype(x.dtype, copy=False),)

    def loops(self, nest: Nest) -> SSAValue:
        """The elements along the reduced axes, combined in f32 where they are shorter floats."""
        element = nest.read(0, self.source(nest))
        total = nest.total(self.COMBINER, scalars.widened(element), unsigned=is_unsigned(self.input.type))
        return scalars.rounded(total, element)

    def source(self, nest: Nest) -> list[Index]:
        """Indices of the operand's elements that belong to the element at `nest.at`."""
        reduced, rest = self.reduced_axes(), iter(nest.at)
        indices: list[Index] = []
        for axis, size in enumerate(nest.shape(0)):
            if axis in reduced:
                indices.append(nest.reduced(size))
            if axis not in reduced or self.keepdims.value.data:
                index = next(rest)
                indices += [index] if axis not in reduced else []
        return indices

    def flops(self) -> int | None:
        """The number of operand elements times the operations for one."""
        count = element_count(self.input.type)
        return None if count is None else count * self.FLOPS_PER_OPERAND_ELEMENT


@irdl_op_definition
class SumOp(ReductionOp):
    """Sum along the axes; of nothing it is 0.

    Shapes: `axes` (all when left out) vanish, or become 1 with `keepdims`.
    Types: all but i1.
    Kind: comm_reduce.
    Cost: one operation an operand element.
    Source: `numpy.sum`, ONNX ReduceSum, Relay `sum`, StableHLO `reduce` with `add`.
    """

    name = "fuse.sum"
    traits = traits_def(OpPatternKind(PatternKind.COMM_REDUCE))

    def reduce(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        """`numpy.sum` in the type of `x`."""
        return np.sum(x, axis=axes, dtype=x.dtype, keepdims=keepdims)


@irdl_op_definition
class MeanOp(ReductionOp):
    """Arithmetic mean along the axes; of no numbers it is nan.

    Integers are summed in 64 bits, and their mean truncates toward zero.

    Shapes: `axes` (all when left out) vanish, or become 1 with `keepdims`.
    Types: all but i1.
    Kind: comm_reduce.
    Cost: one operation an operand element.
    Source: `numpy.mean`, ONNX ReduceMean, Relay `mean`.
    """

    name = "fuse.mean"
    traits = traits_def(OpPatternKind(PatternKind.COMM_REDUCE))

    def reduce(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        """Sum over count; `numpy.mean` warns where there is nothing to average."""
        return _mean(x, axes, keepdims=keepdims)

    def loops(self, nest: Nest) -> SSAValue:
        """Sum over count, both of integers in 64 bits."""
        element = nest.read(0, self.source(nest))
        unsigned = is_unsigned(self.input.type)
        wide = element.type if is_float(self.input.type) else i64
        widest = scalars.widened(scalars.convert(element, wide, unsigned_source=unsigned, unsigned_target=unsigned))
        total = nest.total(Combiner.ADD, widest)
        count = scalars.constant(1, i64)
        for axis in self.reduced_axes():
            count = scalars.multiply(count, nest.extent(nest.shape(0)[axis]))
        count = scalars.convert(count, total.type, unsigned_source=False, unsigned_target=unsigned)
        mean = scalars.divide(total, count, unsigned=unsigned)
        return scalars.convert(mean, element.type, unsigned_source=unsigned, unsigned_target=unsigned)


def _mean(x: Array, axes: tuple[int, ...], *, keepdims: bool, freedom: int = 0) -> Array:
    """The sum along the axes divided by the number of elements less `freedom`."""
    own = x.dtype
    wide = own if own.kind == "f" else np.dtype(f"{own.kind}8")  # a count need not fit into few bits, nor the sum
    total = np.asarray(np.sum(x, axis=axes, dtype=wide, keepdims=keepdims))
    count = np.asarray(max(_count(x, axes) - freedom, 0)).astype(wide)
    return np.divide(total, count) if own.kind == "f" else truncated_quotient(total, count)


def _count(x: Array, axes: tuple[int, ...]) -> int:
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    return count


@irdl_op_definition
class VarianceOp(ReductionOp):
    """Mean squared difference from the mean along the axes; of nothing it is nan.

    Shapes: `axes` (all when left out) vanish, or become 1 with `keepdims`.
    Types: floating point.
    Kind: comm_reduce.
    Cost: four operations an operand element.
    Source: `numpy.var`, Relay `variance`.
    """

    name = "fuse.variance"
    traits = traits_def(OpPatternKind(PatternKind.COMM_REDUCE))
    FLOPS_PER_OPERAND_ELEMENT: ClassVar[int] = 4

    unbiased = flag()
    """Whether to divide by one less than the number of elements: Bessel's correction."""

    def check_elements(self) -> None:
        """Reject integers."""
        require_float(self.input.type)

    def reduce(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        """The definition; `numpy.var` warns where there is nothing to average."""
        centered = x - _mean(x, axes, keepdims=True)
        return _mean(centered * centered, axes, keepdims=keepdims, freedom=int(self.unbiased.value.data != 0))

    def loops(self, nest: Nest) -> SSAValue:
        """None of its own."""
        raise LoopFormError("needs static sizes")

    def decompose(self, *operands: SSAValue) -> SSAValue | None:
        """A mean, and the mean of squares or, with fewer degrees of freedom, their sum over the smaller count."""
        x = widen(operands[0])
        centered = SubtractOp(x, MeanOp(x, axes=self.axes, keepdims=True))
        squares = MultiplyOp(centered, centered)
        if not self.unbiased.value.data:
            return cast_to(MeanOp(squares, axes=self.axes, keepdims=self.keepdims), self.result.type)
        count = product(self.input.type.get_shape()[axis] for axis in self.reduced_axes())
        if count == DYNAMIC:
            return None
        total = SumOp(squares, axes=self.axes, keepdims=self.keepdims)
        return cast_to(DivideOp(total, scalar(max(count - 1, 0), total.result)), self.result.type)


@irdl_op_definition
class MaxOp(ReductionOp):
    """The greatest element along the axes, nan when one is nan; of nothing it is the least value of the type.

    Shapes: `axes` (all when left out) vanish, or become 1 with `keepdims`.
    Types: any; true is greater than false.
    Kind: comm_reduce.
    Cost: one operation an operand element.
    Source: `numpy.max`, ONNX ReduceMax, Relay `max`, StableHLO `reduce` with `maximum`.
    """

    name = "fuse.max"
    traits = traits_def(OpPatternKind(PatternKind.COMM_REDUCE))
    COMBINER: ClassVar[Combiner] = Combiner.MAXIMUM

    def check_elements(self) -> None:
        """All element types are ordered."""

    def reduce(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        """`numpy.max`."""
        return np.max(x, axis=axes, keepdims=keepdims, initial=_limits(x)[0])


@irdl_op_definition
class MinOp(ReductionOp):
    """The smallest element along the axes, nan when one is nan; of nothing it is the greatest value of the type.

    Shapes: `axes` (all when left out) vanish, or become 1 with `keepdims`.
    Types: any; true is greater than false.
    Kind: comm_reduce.
    Cost: one operation an operand element.
    Source: `numpy.min`, ONNX ReduceMin, Relay `min`, StableHLO `reduce` with `minimum`.
    """

    name = "fuse.min"
    traits = traits_def(OpPatternKind(PatternKind.COMM_REDUCE))
    COMBINER: ClassVar[Combiner] = Combiner.MINIMUM

    def check_elements(self) -> None:
        """All element types are ordered."""

    def reduce(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        """`numpy.min`."""
        return np.min(x, axis=axes, keepdims=keepdims, initial=_limits(x)[1])


def _limits(x: Array) -> tuple[float, float]:
    """The least and the greatest value of the element type."""
    match x.dtype.kind:
        case "f":
            return -np.inf, np.inf
        case "b":
            return False, True
        case _:
            limits = np.iinfo(x.dtype.name)
            return limits.min, limits.max


@irdl_op_definition
class ProdOp(ReductionOp):
    """Product along the axes; of nothing it is 1.

    Shapes: `axes` (all when left out) vanish, or become 1 with `keepdims`.
    Types: all but i1.
    Kind: comm_reduce.
    Cost: one operation an operand element.
    Source: `numpy.prod`, ONNX ReduceProd, Relay `prod`, StableHLO `reduce` with `multiply`.
    """

    name = "fuse.prod"
    traits = traits_def(OpPatternKind(PatternKind.COMM_REDUCE))
    COMBINER: ClassVar[Combiner] = Combiner.MULTIPLY

    def reduce(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        """`numpy.prod` in the type of `x`."""
        return np.prod(x, axis=axes, dtype=x.dtype, keepdims=keepdims)


@irdl_op_definition
class AnyOp(ReductionOp):
    """Whether one truth value along the axes holds; of nothing none does.

    Shapes: `axes` (all when left out) vanish, or become 1 with `keepdims`.
    Types: i1.
    Kind: comm_reduce.
    Cost: one operation an operand element.
    Source: `numpy.any`, Relay `any`, StableHLO `reduce` with `or`.
    """

    name = "fuse.any"
    traits = traits_def(OpPatternKind(PatternKind.COMM_REDUCE))
    COMBINER: ClassVar[Combiner] = Combiner.OR

    def check_elements(self) -> None:
        """Reject everything but i1."""
        require_booleans(self.input.type, "input")

    def reduce(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        """`numpy.any`."""
        return np.any(x, axis=axes, keepdims=keepdims)


@irdl_op_definition
class AllOp(ReductionOp):
    """Whether all truth values along the axes hold; of nothing all do.

    Shapes: `axes` (all when left out) vanish, or become 1 with `keepdims`.
    Types: i1.
    Kind: comm_reduce.
    Cost: one operation an operand element.
    Source: `numpy.all`, Relay `all`, StableHLO `reduce` with `and`.
    """

    name = "fuse.all"
    traits = traits_def(OpPatternKind(PatternKind.COMM_REDUCE))
    COMBINER: ClassVar[Combiner] = Combiner.AND

    def check_elements(self) -> None:
        """Reject everything but i1."""
        require_booleans(self.input.type, "input")

    def reduce(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        """`numpy.all`."""
        return np.all(x, axis=axes, keepdims=keepdims)


class ArgReductionOp(ReductionOp, ABC):
    """The position of an extreme element along one axis, or in the flattened operand."""

    select_last_index = flag()
    """Whether the last of several equal elements counts, rather than the first."""

    def infer_types(self) -> Sequence[Attribute]:
        """Indices of i64 in the reduced shape."""
        if self.axes is not None and len(self.axes.get_values()) != 1:
            raise VerifyException(f"expects one axis or none, got axes {list(self.axes.get_values())}")
        for axis in self.reduced_axes():
            if self.input.type.get_shape()[axis] == 0:
                raise VerifyException(f"expects elements to choose from, got dimension {axis} of size 0")
        return (tensor(self.result_shape(), i64),)

    def verify_(self) -> None:
        """Accept i32 in place of i64."""
        if self.result.type.element_type != i32:
            super().verify_()
            return
        check_tensors(self.operand_types)
        inferred = self.infer_types()[0]
        expected = tensor(self.result_shape(), i32)
        if not are_compatible(expected, self.result.type):
            raise VerifyException(f"expects result 0 of type {inferred} or {expected}, got {self.result.type}")

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Reduce; the last index is found by looking from the end."""
        (x,) = operands
        axes = self.reduced_axes()
        if not _count(x, axes):
            raise VerifyException(f"expects elements to choose from, got shape {shape_text(x.shape)}")
        from_end = self.select_last_index.value.data != 0
        index = self.reduce(np.flip(widened(x), axes) if from_end else widened(x), axes, self.keepdims.value.data != 0)
        return (np.asarray(_count(x, axes) - 1 - index if from_end else index),)

    @abstractmethod
    def best(self, x: SSAValue, axis: int) -> SSAValue:
        """The extreme element of each line along the axis, which stays."""

    def loops(self, nest: Nest) -> SSAValue:
        """None of its own."""
        raise LoopFormError("needs static sizes")

    def decompose(self, *operands: SSAValue) -> SSAValue | None:
        """The first or last of the positions that hold the extreme element, or hold nan."""
        (x,), axes, type = operands, self.reduced_axes(), self.input.type
        if len(axes) != 1 and DYNAMIC in type.get_shape():
            return None
        keepdims = len(axes) == 1 and self.keepdims.value.data != 0
        if len(axes) != 1:
            type = with_shape(type, [product(type.get_shape())])
            x, axes = ReshapeOp(x, result_types=[type]).result, (0,)
        length = type.get_shape()[axes[0]]
        found = EqualOp(x, self.best(x, axes[0])).result
        if is_float(type):
            found = LogicalOrOp(found, IsnanOp(x)).result
        last = bool(self.select_last_index.value.data)
        if length == DYNAMIC:
            places, behind = PlacesOp(x, axis=axes[0], result_types=[with_element(type, i64)]).result, FAR
        else:
            line = tensor([length if axis == axes[0] else 1 for axis in range(type.get_num_dims())], i64)
            numbers = ArangeOp(stop=float(length), result_types=[tensor([length], i64)])
            places, behind = ReshapeOp(numbers, result_types=[line]).result, length
        chosen = WhereOp(found, places, scalar(-1 if last else behind, places))
        index: SSAValue = (MaxOp if last else MinOp)(chosen, axes=axes, keepdims=keepdims).result
        if DYNAMIC not in type.get_shape():
            index = ReshapeOp(index, result_types=[with_element(self.result.type, i64)]).result
        return cast_to(index, self.result.type)


def _argument_axis(axes: tuple[int, ...]) -> int | None:
    """The axis as `numpy.argmax` wants it: several stand for the flattened operand."""
    return axes[0] if len(axes) == 1 else None


@irdl_op_definition
class ArgmaxOp(ArgReductionOp):
    """Index of the greatest element along an axis, or in the flattened operand; of the first nan when one is nan.

    Shapes: the one axis in `axes` vanishes, or becomes 1 with `keepdims`; all axes do when `axes` is left out.
    Types: any to i64, or to i32 when the result type says so.
    Kind: comm_reduce.
    Cost: one operation an operand element.
    Source: `numpy.argmax`, ONNX ArgMax, Relay `argmax`.
    """

    name = "fuse.argmax"
    traits = traits_def(OpPatternKind(PatternKind.COMM_REDUCE))

    def reduce(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        """`numpy.argmax`."""
        return np.asarray(np.argmax(x, axis=_argument_axis(axes), keepdims=keepdims))

    def best(self, x: SSAValue, axis: int) -> SSAValue:
        """The greatest element, nan if there is one."""
        return MaxOp(x, axes=[axis], keepdims=True).result


@irdl_op_definition
class ArgminOp(ArgReductionOp):
    """Index of the smallest element along an axis, or in the flattened operand; of the first nan when one is nan.

    Shapes: the one axis in `axes` vanishes, or becomes 1 with `keepdims`; all axes do when `axes` is left out.
    Types: any to i64, or to i32 when the result type says so.
    Kind: comm_reduce.
    Cost: one operation an operand element.
    Source: `numpy.argmin`, ONNX ArgMin, Relay `argmin`.
    """

    name = "fuse.argmin"
    traits = traits_def(OpPatternKind(PatternKind.COMM_REDUCE))

    def reduce(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        """`numpy.argmin`."""
        return np.asarray(np.argmin(x, axis=_argument_axis(axes), keepdims=keepdims))

    def best(self, x: SSAValue, axis: int) -> SSAValue:
        """The smallest element, nan if there is one."""
        return MinOp(x, axes=[axis], keepdims=True).result
