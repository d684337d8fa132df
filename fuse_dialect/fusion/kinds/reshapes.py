"""Ops that only reshape: the result holds the operand's elements in the same row-major order.

A kernel of nothing but such ops moves no data; a runtime may let its result be a view. An op is one if

1. it carries the discardable attribute `fuse.reshape_only`, for ops of any dialect;
2. or its class says so: `FuseOp.RESHAPE_ONLY`;
3. or its row does: `ForeignOp.reshape_only`.

Source: TVM `TReshapeOp`, include/tvm/relay/op_attr_types.h (v0.18).
"""

from functools import cache

from xdsl.ir import Operation

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.fusion.kinds.foreign import foreign_op
from fuse_dialect.fusion.kinds.kind_of import op_name

RESHAPE_ONLY_ATTRIBUTE = "fuse.reshape_only"
"""Name of the unit attribute that marks such an op, and a primitive function of such ops."""


def only_reshapes(op: Operation) -> bool:
    """Whether the op only reshapes."""
    return (
        _class_only_reshapes(type(op))
        or RESHAPE_ONLY_ATTRIBUTE in op.attributes
        or foreign_op(op_name(op)).reshape_only
    )


@cache
def _class_only_reshapes(op_class: type[Operation]) -> bool:
    """What the class says, found once a class: `issubclass` on xDSL's classes is slow."""
    return issubclass(op_class, FuseOp) and op_class.RESHAPE_ONLY
