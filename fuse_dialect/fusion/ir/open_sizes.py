"""Open sizes of the values of a block as symbols, and what ops move and compute in terms of them.

1. Sizes of arguments have the names that `fuse.sizes` gives them. The result of an elementwise op that has the type of
   an operand has that operand's sizes. Every other open size is a symbol of its own.
2. Of an operand that an op picks elements of, it reads what it picks.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from xdsl.dialects import func
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from fuse_dialect.counts import Count, Size, product
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp
from fuse_dialect.dialect.size_names import size_names
from fuse_dialect.dialect.types import DYNAMIC, element_bytes, is_tensor
from fuse_dialect.fusion.kinds.kind_of import kind_of
from fuse_dialect.pattern_kind import PatternKind


@cache
def picks_elements(op_class: type[Operation]) -> bool:
    """Whether ops of a class may read a part of what they read."""
    return issubclass(op_class, GetTupleElementOp) or (issubclass(op_class, FuseOp) and bool(op_class.PICKED_OPERANDS))


class OpenSizes:
    """Open sizes of the values of a block as symbols."""

    def __init__(self, block: Block | None):
        """Sizes of the values of a block; `None` for an op that stands nowhere."""
        self._names: Mapping[int, Sequence[str]] = {}
        function = None if block is None else block.parent_op()
        if isinstance(function, func.FuncOp) and block is function.body.first_block:
            self._names = dict(enumerate(size_names(function)))
        self._block = block
        self._shapes: dict[int, tuple[Size, ...] | None] = {}
        self._products: dict[tuple[tuple[Size, ...], int], Count] = {}
        self._static: dict[int, tuple[Attribute, tuple[Size, ...] | None, Count | None]] = {}
        """For each type, by identity, its sizes, if none is open, and the bytes of its values."""
        self._numbers = 0

    def bytes_of(self, value: SSAValue) -> Count | None:
        """Bytes of the value; producers are asked for first."""
        known, shape, bytes = self._of_type(value.type)
        if shape is not None:
            return bytes
        size = element_bytes(known)
        shape = self.shape_of(value)
        return None if size is None or shape is None else self._times(shape, size)

    def _of_type(self, type: Attribute) -> tuple[Attribute, tuple[Size, ...] | None, Count | None]:
        """What is known of all values of a type: a program has few types."""
        known = self._static.get(id(type))
        if known is None:
            is_open = is_tensor(type) and DYNAMIC in type.get_shape()
            shape = None if is_open else tuple(type.get_shape()) if is_tensor(type) else ()
            size = element_bytes(type)
            bytes = None if shape is None or size is None else self._times(shape, size)
            # The type is kept along: another one must not get its identity.
            known = self._static[id(type)] = type, shape, bytes
        return known

    def _times(self, shape: tuple[Size, ...], size: int) -> Count:
        """The product of sizes, so many times; a program has few shapes, and asks for them again and again."""
        known = self._products.get((shape, size))
        if known is None:
            known = self._products[shape, size] = product(shape).times(size)
        return known

    def touched_by(self, op: Operation, values: Sequence[SSAValue]) -> Iterator[Count | None]:
        """Bytes that the op reads of each value."""
        picks = op.PICKED_OPERANDS if isinstance(op, FuseOp) else ()
        for place, value in enumerate(values):
            # Of a tuple the field alone is read.
            whole = self.bytes_of(op.results[0] if isinstance(op, GetTupleElementOp) else value)
            if place not in picks or whole is None:
                yield whole
                continue
            shape, size = self.shape_of(op.results[0]), element_bytes(value.type)
            picked = whole if shape is None or size is None else self._times(shape, size)
            # It may pick an element many times, but nobody has to load it more than once.
            yield whole if (picked.number or 0) > (whole.number or picked.number or 0) else picked

    def flops_of(self, op: Operation | None) -> Count | None:
        """Arithmetic of the op, whose results have been asked for."""
        if not isinstance(op, FuseOp) or op.regions:
            return None
        known = op.flops()
        if known is not None:
            return Count.of(known)
        shape = self.shape_of(op.results[0])
        # What an op says of itself alone has no symbols: a product of open sizes has no count.
        is_plain = type(op).flops is FuseOp.flops
        return self._times(shape, op.FLOPS_PER_RESULT_ELEMENT) if is_plain and shape is not None else None

    def shape_of(self, value: SSAValue) -> tuple[Size, ...] | None:
        """Sizes of a tensor; those of its producer's operands are asked for first."""
        shape = self._of_type(value.type)[1]
        if shape is not None:
            return shape
        if id(value) not in self._shapes:
            self._shapes[id(value)] = self._found(value)
        return self._shapes[id(value)]

    def _found(self, value: SSAValue) -> tuple[Size, ...] | None:
        type = value.type
        assert is_tensor(type), "what is no tensor has no open sizes"
        shape = type.get_shape()
        if isinstance(value, OpResult) and kind_of(value.op) is PatternKind.ELEMWISE:
            for operand in value.op.operands:
                if operand.type == type and (known := self._shapes.get(id(operand))) is not None:
                    return known
        names: Sequence[str] = ()
        if isinstance(value, BlockArgument) and value.block is self._block:
            names = self._names.get(value.index, ())
        return tuple(
            size if size != DYNAMIC else (names[axis] if axis < len(names) and names[axis] else self._fresh())
            for axis, size in enumerate(shape)
        )

    def _fresh(self) -> str:
        self._numbers += 1
        return f"?{self._numbers}"
