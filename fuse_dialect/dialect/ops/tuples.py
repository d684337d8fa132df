"""Tuples: values that stand for several tensors, on the builtin type `tuple<...>`."""

from collections.abc import Sequence
from typing import ClassVar, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, TupleType
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import BaseAttr, irdl_op_definition, operand_def, result_def, traits_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import integer
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.pattern_kind import PatternKind

Arrays: TypeAlias = tuple[Array, ...]
"""Results of an op; spelled out here because an operand named `tuple` hides the builtin type."""


@irdl_op_definition
class TupleOp(FuseOp):
    """One value that holds all operands.

    Shapes: any.
    Types: any number of tensors or tuples; the result is the tuple of their types.
    Kind: tuple.
    Cost: nothing, no element is moved.
    Source: Relay `Tuple`, StableHLO `tuple`; a Python tuple.
    """

    name = "fuse.tuple"
    traits = traits_def(OpPatternKind(PatternKind.TUPLE))
    TENSOR_OPERANDS: ClassVar[bool] = False

    fields = var_operand_def()
    result = result_def(BaseAttr(TupleType))

    def infer_types(self) -> Sequence[Attribute]:
        """The tuple of the operand types."""
        return (TupleType(ArrayAttr(cast("list[TypeAttribute]", list(self.operand_types)))),)

    def evaluate(self, *operands: Array) -> Arrays:
        """The operands as a Python tuple, which is the only result."""
        return (cast(Array, operands),)

    def flops(self) -> int:
        """Nothing."""
        return 0


@irdl_op_definition
class GetTupleElementOp(FuseOp):
    """The element of a tuple at `index`, counted from 0.

    Shapes: any.
    Types: a tuple of more than `index` elements; the result has the type of that element.
    Kind: injective.
    Cost: nothing, no element is moved.
    Source: Relay `TupleGetItem`, StableHLO `get_tuple_element`.
    """

    name = "fuse.get_tuple_element"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    TENSOR_OPERANDS: ClassVar[bool] = False

    tuple = operand_def(BaseAttr(TupleType))
    result = result_def()

    index = integer()
    """Position in the tuple."""

    def infer_types(self) -> Sequence[Attribute]:
        """The type of the tuple's element."""
        type = self.tuple.type
        if not isinstance(type, TupleType):
            raise VerifyException(f"expects a tuple, got {type}")
        types, index = type.types.data, self.index.value.data
        if not 0 <= index < len(types):
            raise VerifyException(f"expects an index in [0, {len(types)}), got {index}")
        return (types[index],)

    def evaluate(self, *operands: Array) -> Arrays:
        """The element at `index`."""
        return (operands[0][self.index.value.data],)

    def flops(self) -> int:
        """Nothing."""
        return 0
