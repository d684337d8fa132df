"""One op that is replaced by others: what passes that expand ops share."""

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.layout import ReshapeOp
from fuse_dialect.dialect.types import Tensor, with_shape


class Expansion:
    """The ops that take the place of one op with one result; they stand before it, at its location."""

    def __init__(self, old: FuseOp):
        self.old = old

    def add(self, op: Operation) -> SSAValue:
        """Put an op before the old one; its only result."""
        op.location = self.old.location
        Rewriter.insert_op(op, InsertPoint.before(self.old))
        return op.results[0]

    def reshaped(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The elements of a value in another shape; the value if it has that shape."""
        type = cast(Tensor, value.type)
        if tuple(type.get_shape()) == tuple(shape):
            return value
        return self.add(ReshapeOp(value, result_types=[with_shape(type, shape)]))

    def finish(self, value: SSAValue) -> None:
        """Let a value that an added op gives stand for the old result, with its name and attributes."""
        owner = value.owner
        assert isinstance(owner, Operation), "what replaces an op is made by ops"
        owner.attributes.update(self.old.attributes)
        value.name_hint = self.old.results[0].name_hint
        self.old.results[0].replace_all_uses_with(value)
        Rewriter.erase_op(self.old)
