"""Ops that copy elements along axes, old or new: kind `broadcast`."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import integer, integers, tensor_operand, tensor_result
from fuse_dialect.dialect.loops import Nest, reshaped
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.shape_rules import product, require_positive
from fuse_dialect.dialect.types import (
    DYNAMIC,
    Shape,
    broadcast_shapes,
    normalize_axis,
    require_same_element,
    shape_text,
    with_shape,
)
from fuse_dialect.loops.indices import number
from fuse_dialect.pattern_kind import PatternKind


@irdl_op_definition
class BroadcastToOp(FuseOp):
    """The operand, repeated along its axes of size 1 and along new axes in front.

    Shapes: to that of the result type, which must be spelled out; a `?` there is the size of the operand.
    Types: any, unchanged.
    Kind: broadcast.
    Cost: no operations.
    Source: `numpy.broadcast_to`, ONNX Expand, Relay `broadcast_to`, StableHLO `broadcast_in_dim`.
    """

    name = "fuse.broadcast_to"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    input = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute] | None:
        """Nothing: the result type says what to broadcast to."""
        return None

    def verify_(self) -> None:
        """Check that the operand broadcasts to the result, whose `?` all stand for sizes of the operand."""
        super().verify_()
        require_same_element((self.input.type, self.result.type))
        source, target = self.input.type.get_shape(), self.result.type.get_shape()
        added = len(target) - len(source)
        if added < 0 or len(broadcast_shapes(source, target)) != len(target):
            raise VerifyException(f"expects a result of rank {len(source)} or more, got {shape_text(target)}")
        for axis, size in enumerate(target):
            own = 1 if axis < added else source[axis - added]
            if own not in (1, size, DYNAMIC) and size != DYNAMIC:
                raise VerifyException(
                    f"expects a shape that {shape_text(source)} broadcasts to, got {shape_text(target)} "
                    f"(dimension {axis}: {own} vs {size})"
                )
            if size == DYNAMIC and own == 1:
                raise VerifyException(f"expects a known size in dimension {axis} of the result, got '?'")

    def refine_types(self) -> Sequence[Attribute]:
        """`?` that the operand knows."""
        return (with_shape(self.input.type, self.target(tuple(self.input.type.get_shape()))),)

    def target(self, shape: Shape) -> Shape:
        """The shape of the result for an operand of shape `shape`."""
        target = self.result.type.get_shape()
        added = len(target) - len(shape)
        return tuple(shape[axis - added] if size == DYNAMIC else size for axis, size in enumerate(target))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.broadcast_to`."""
        (x,) = operands
        return (np.broadcast_to(x, self.target(x.shape)),)

    def loops(self, nest: Nest) -> SSAValue:
        """The only element along an axis of size 1."""
        sizes = nest.shape(0)
        at = nest.at[len(nest.at) - len(sizes) :]
        return nest.read(0, [number(0) if size == 1 else index for index, size in zip(at, sizes, strict=True)])


MOST_NEW_AXES = 64
"""As many axes as an array of NumPy can have."""


@irdl_op_definition
class ExpandDimsOp(FuseOp):
    """The operand with new axes of size 1.

    Shapes: `num_newaxis` ones are put in front of axis `axis`; a negative `axis` counts from the end of the result.
    Types: any, unchanged.
    Kind: broadcast.
    Cost: no operations.
    Source: `numpy.expand_dims`, ONNX Unsqueeze, Relay `expand_dims`.
    """

    name = "fuse.expand_dims"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))

    RESHAPE_ONLY: ClassVar[bool] = True
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    input = tensor_operand()
    result = tensor_result()

    axis = integer()
    """Where the new axes go."""
    num_newaxis = integer(1)
    """How many there are."""

    def expanded(self, shape: Shape) -> Shape:
        """The shape of the result for an operand of shape `shape`."""
        axis = normalize_axis(self.axis.value.data, len(shape) + 1)
        return (*shape[:axis], *(1,) * self.num_newaxis.value.data, *shape[axis:])

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type with the new axes."""
        count = self.num_newaxis.value.data
        require_positive(count, "num_newaxis")
        if count > MOST_NEW_AXES:
            raise VerifyException(f"expects num_newaxis of at most {MOST_NEW_AXES}, got {count}")
        return (with_shape(self.input.type, self.expanded(self.input.type.get_shape())),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.reshape`."""
        (x,) = operands
        return (x.reshape(self.expanded(x.shape)),)

    def loops(self, nest: Nest) -> SSAValue:
        """The element at the indices on the old axes."""
        return nest.read(0, reshaped(nest))


@irdl_op_definition
class RepeatOp(FuseOp):
    """The operand with each slice along an axis repeated: `[a, b]` becomes `[a, a, b, b]`.

    Shapes: the size of `axis` is multiplied by `repeats`.
    Types: any, unchanged.
    Kind: broadcast.
    Cost: no operations.
    Source: `numpy.repeat`, Relay `repeat`.
    """

    name = "fuse.repeat"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    input = tensor_operand()
    result = tensor_result()

    repeats = integer()
    """How often each slice stands in the result."""
    axis = integer(0)
    """Along which axis."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type with one size multiplied."""
        repeats = require_positive(self.repeats.value.data, "repeats")
        shape = list(self.input.type.get_shape())
        axis = normalize_axis(self.axis.value.data, len(shape))
        shape[axis] = product((shape[axis], repeats))
        return (with_shape(self.input.type, shape),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.repeat`."""
        return (np.repeat(operands[0], self.repeats.value.data, self.axis.value.data),)

    def loops(self, nest: Nest) -> SSAValue:
        """The index divided by the number of repetitions."""
        axis, indices = normalize_axis(self.axis.value.data, len(nest.at)), list(nest.at)
        indices[axis] = indices[axis] // self.repeats.value.data
        return nest.read(0, indices)


@irdl_op_definition
class TileOp(FuseOp):
    """The operand as a whole repeated along its axes: `[a, b]` becomes `[a, b, a, b]`.

    Shapes: sizes are multiplied by `reps`; the shorter of shape and `reps` is filled up with ones in front.
    Types: any, unchanged.
    Kind: broadcast.
    Cost: no operations.
    Source: `numpy.tile`, ONNX Tile, Relay `tile`.
    """

    name = "fuse.tile"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    input = tensor_operand()
    result = tensor_result()

    reps = integers()
    """How often the operand stands along each axis of the result."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type with multiplied sizes."""
        reps, shape = self.reps.get_values(), self.input.type.get_shape()
        if any(count < 0 for count in reps):
            raise VerifyException(f"expects reps of at least 0, got {list(reps)}")
        rank = max(len(reps), len(shape))
        counts = (1,) * (rank - len(reps)) + reps
        sizes = (1,) * (rank - len(shape)) + tuple(shape)
        return (with_shape(self.input.type, [product(pair) for pair in zip(sizes, counts, strict=True)]),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.tile`."""
        return (np.tile(operands[0], self.reps.get_values()),)

    def loops(self, nest: Nest) -> SSAValue:
        """What is left of the indices after whole operands."""
        sizes, rank = nest.shape(0), len(nest.at)
        reps = (1,) * rank + tuple(self.reps.get_values())
        # Counted from the front: the last 0 of a list, for an operand of rank 0, are not `[-0:]`.
        counts = reps[len(reps) - len(sizes) :]
        at = nest.at[rank - len(sizes) :]
        return nest.read(
            0,
            [
                index if count == 1 else index % max(nest.static(size)[0], 1)
                for index, size, count in zip(at, sizes, counts, strict=True)
            ],
        )
