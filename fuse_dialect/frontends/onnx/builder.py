"""Building of the function's body: ops are appended, or computed at once when their operands are constants."""

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from fuse_dialect.analysis.known_sizes import KnownSizes
from fuse_dialect.analysis.sizes import Size
from fuse_dialect.budget import Budget
from fuse_dialect.dialect.constants import constant_attribute, shared_bytes
from fuse_dialect.dialect.fields import PropertyValue
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.types import (
    DYNAMIC,
    Tensor,
    byte_count,
    element_count,
    element_dtype,
    element_type_of,
    is_tensor,
    tensor,
)
from fuse_dialect.frontends.onnx.size_values import SizeValues
from fuse_dialect.frontends.onnx.tensors import compress_splat
from fuse_dialect.frontends.onnx.values import Constant, SizeVector, Value
from fuse_dialect.pattern_kind import PatternKind
from fuse_dialect.source_names import unnumbered

STATIC_SHAPES_HINT = "give the model's inputs static shapes"
"""What to do about an op that must know a dynamic dimension."""
SMALL = 1 << 16
"""Elements; ops on constants up to this size are always computed at import."""


class BodyBuilder:
    """Appends ops to a block; constants stay outside of it until an op needs them."""

    def __init__(self, block: Block, budget: Budget, outer: "BodyBuilder | None" = None):
        self.block = block
        self.budget = budget
        """What constants may still be computed and written out."""
        self.location: LocationAttr | None = None if outer is None else outer.location
        """Given to the ops that are appended."""
        self._constants: ChainMap[Constant, SSAValue[Tensor]] = (
            ChainMap() if outer is None else outer._constants.new_child()
        )
        """Those in the IR already; a region sees the ones around it, but not the other way round."""
        self._known = KnownSizes() if outer is None else outer._known
        self._size_values = SizeValues(self, None if outer is None else outer._size_values)

    def region(self, arguments: Sequence[Tensor]) -> "BodyBuilder":
        """The builder of a region inside this body, with a block of its own."""
        return BodyBuilder(Block(arg_types=arguments), self.budget, self)

    def type_of(self, value: Value) -> Tensor:
        """The tensor type of a value."""
        match value:
            case Constant():
                return tensor(value.array.shape, element_type_of(value.array.dtype))
            case SizeVector():
                return tensor(value.elements.shape, element_type_of(value.dtype))
            case SSAValue():
                return value.type

    def sizes_of(self, value: Value) -> tuple[int | Size, ...]:
        """The shape of a value, with a name for each dynamic dimension."""
        if isinstance(value, SSAValue) and DYNAMIC in value.type.get_shape():
            return self._known.sizes_of(value)
        return tuple(self.type_of(value).get_shape())

    def name_sizes(self, value: Value, sizes: Sequence[int | Size | None]) -> None:
        """Give names to the dynamic dimensions of a value; the first name given to each stays."""
        if isinstance(value, SSAValue) and DYNAMIC in value.type.get_shape():
            self._size_values.found(value, self._known.name_nameless(value, sizes))

    def append(self, op: Operation) -> None:
        """Add an op to the end of the body, with the current location."""
        if self.location is not None:
            op.location = self.location
        self.block.add_op(op)

    def materialize(self, value: Value) -> SSAValue[Tensor]:
        """The value in the IR; a constant becomes an `arith.constant` where it is first used.

        Integers that depend on dynamic dimensions are computed there too, from `shape_of` the values that have them.
        """
        match value:
            case SSAValue():
                return value
            case SizeVector():
                return self._size_values.of(value)
            case Constant():
                if (known := self._constants.get(value)) is None:
                    op = arith.ConstantOp(self._attribute(value))
                    op.result.name_hint = hint_of(value.name)
                    self.append(op)
                    known = self._constants[value] = cast(SSAValue[Tensor], op.result)
                return known

    def emit(
        self,
        op_class: type[FuseOp],
        *operands: Value,
        properties: Mapping[str, PropertyValue],
        result_types: Sequence[Attribute] | None = None,
    ) -> tuple[Value, ...]:
        """The results of an op.

        Raises:
            VerifyException: The operands or properties do not fit the op.
        """
        if operands and all(isinstance(operand, Constant) for operand in operands):
            stand_ins = Block(arg_types=[self.type_of(operand) for operand in operands])
            op = _build(op_class, stand_ins.args, properties, result_types)
            constants = [operand for operand in operands if isinstance(operand, Constant)]
            if self._may_fold(op, constants):
                return tuple(_evaluate(op, constants))
            for argument, operand in zip(stand_ins.args, constants, strict=True):
                argument.replace_all_uses_with(self.materialize(operand))
        else:
            values = [self.materialize(operand) for operand in operands]
            op = _build(op_class, values, properties, result_types)
        self.append(op)
        results = tuple(cast(SSAValue[Tensor], result) for result in op.results)
        open_results = [each for each in results if is_tensor(each.type) and DYNAMIC in each.type.get_shape()]
        if open_results:
            self._known.name_results(op)
        for result in open_results:
            self._size_values.found(result, self._known.sizes_of(result))
        return results

    def _may_fold(self, op: FuseOp, operands: Sequence[Constant]) -> bool:
        """Whether to compute an op now: cheap in time and, for untrusted models, in memory."""
        if op.kind > PatternKind.COMM_REDUCE:
            return False
        counts = [element_count(result.type) for result in op.results]
        if any(count is None for count in counts):
            return False
        results = sum(count for count in counts if count is not None)
        largest = max(results, *(operand.array.size for operand in operands))
        if largest <= SMALL:
            return self.budget.take(bytes=sum(byte_count(result.type) or 0 for result in op.results))
        stored = sum(operand.array.nbytes for operand in operands if any(operand.array.strides))
        cost = 2 * sum(operand.array.nbytes for operand in operands)
        if op.kind is not PatternKind.INJECTIVE or not stored or results * 8 > 16 * stored:
            return False
        return self.budget.take(bytes=cost)

    def _attribute(self, value: Constant) -> DenseIntOrFPElementsAttr:
        """The dense attribute; it shares the bytes that the model's tensor was read from, where it can."""
        array = value.array
        if any(array.strides) and shared_bytes(array) is None:
            self.budget.spend(f"the constant '{value.name or 'unnamed'}'", bytes=array.nbytes)
        return constant_attribute(array)


def _build(
    op_class: type[FuseOp],
    operands: Sequence[SSAValue],
    properties: Mapping[str, PropertyValue],
    result_types: Sequence[Attribute] | None,
) -> FuseOp:
    """The op; its shape rule judges result types that were spelled out, others come from it."""
    op = op_class(*operands, result_types=result_types, attributes=None, **properties)
    if result_types is not None:
        op.verify_()
    return op


def _evaluate(op: FuseOp, operands: Sequence[Constant]) -> Iterator[Constant]:
    with np.errstate(all="ignore"):
        arrays = op.evaluate(*(operand.array for operand in operands))
    for result, array in zip(op.results, arrays, strict=True):
        assert is_tensor(result.type)
        yield Constant(compress_splat(np.asarray(array, element_dtype(result.type.element_type))))


def hint_of(name: str | None) -> str | None:
    """A name for the printed IR from an ONNX name, or `None`: letters, digits and `_`, not starting with a digit."""
    if not name:
        return None
    text = "".join(c if c.isascii() and c.isalnum() else "_" for c in name[:80]).strip("_")
    return unnumbered(f"v{text}" if text[:1].isdigit() else text) or None
