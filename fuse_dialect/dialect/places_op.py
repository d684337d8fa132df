"""An op that stands in no program: others are decomposed into it."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import integer, tensor_operand, tensor_result
from fuse_dialect.dialect.loops import Nest
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.types import with_element
from fuse_dialect.pattern_kind import PatternKind

FAR = (1 << 63) - 1
"""Behind all places."""


@irdl_op_definition
class PlacesOp(FuseOp):
    """Where each element stands along an axis: no op of the dialect.

    Shapes: any; result as the operand.
    Types: any; the result is i64.
    """

    name = "fuse.places"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))

    input = tensor_operand()
    result = tensor_result()
    axis = integer(0)

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's shape."""
        return (with_element(self.input.type, i64),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.indices`, of one axis."""
        (x,) = operands
        shape = [size if axis == self.axis.value.data else 1 for axis, size in enumerate(x.shape)]
        return (np.broadcast_to(np.arange(max(shape)).reshape(shape), x.shape),)

    def loops(self, nest: Nest) -> SSAValue:
        """The index."""
        for own, size in zip(nest.extents, nest.shape(0), strict=True):
            nest.equal(own, size)
        axis = self.axis.value.data
        # The size is asked for, so that a kernel is not for an axis without elements: there is none to choose.
        return scalars.minimum(nest.position(nest.at[axis]), nest.count(nest.shape(0)[axis], plus=-1))
