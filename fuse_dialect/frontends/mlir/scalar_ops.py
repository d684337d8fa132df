"""Ops of MLIR's arith and math dialects as mlir-opt prints them, of which xDSL 0.74 reads less.

1. Conversions and comparisons take tensors and vectors: `arith.sitofp %x : tensor<4xi32> to tensor<4xf32>`. The result
   has the operand's shape.
2. `arith.select` with a condition for each element has the condition's type first: `: tensor<4xi1>, tensor<4xf32>`.
3. `nneg` and `overflow<nsw>` say what a conversion of integers may take for granted.
4. `arith.remf`, `arith.index_castui`, `math.clampf`, `math.erfc`, `math.isfinite` and its like are missing there.

Classes are those of xDSL with wider types: whoever knows these knows them, too.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Self, TypeVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    UnitAttr,
    VectorType,
    container_of,
    i1,
)
from xdsl.dialects.math import FloatingPointLikeUnaryMathOperation
from xdsl.ir import Attribute, Operation, OpTraits
from xdsl.irdl import (
    AnyAttr,
    IRDLAttrConstraint,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.rewriter import Rewriter
from xdsl.traits import Pure, SameOperandsAndResultType
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.type import get_element_type_or_self, have_compatible_shape

from fuse_dialect.dialect.scalars import RemFOp

_INTEGERS = container_of(IntegerType)
_WITH_INDICES = container_of(IntegerType | IndexType)
_FLOATS = container_of(AnyFloatConstr)
_TRUTHS = container_of(IntegerType(1))
_CAST = "attr-dict `:` type($input) `to` type($result)"


def _like(type: Attribute, element: Attribute) -> Attribute:
    """The type with other elements; that of a number becomes theirs."""
    if isinstance(type, TensorType):
        return TensorType(element, type.get_shape(), type.encoding)
    return VectorType(element, type.get_shape(), type.scalable_dims) if isinstance(type, VectorType) else element


def _check_shapes(op: Operation) -> None:
    """Raise an error unless the result has the operand's shape: condition 1."""
    source, target = op.operands[0].type, op.results[0].type
    if not have_compatible_shape(source, target):
        raise VerifyException(f"expects a result of the operand's shape, got {source} and {target}")


def _check_wider(op: Operation) -> None:
    _check_shapes(op)
    source, target = _elements(op)
    if cast(IntegerType, target).bitwidth <= cast(IntegerType, source).bitwidth:
        raise VerifyException(f"expects a result with more bits than {source}, got {target}")


def _check_narrower(op: Operation) -> None:
    _check_shapes(op)
    source, target = _elements(op)
    if cast(IntegerType, target).bitwidth >= cast(IntegerType, source).bitwidth:
        raise VerifyException(f"expects a result with fewer bits than {source}, got {target}")


def _check_index(op: Operation) -> None:
    _check_shapes(op)
    source, target = _elements(op)
    if isinstance(source, IndexType) == isinstance(target, IndexType):
        raise VerifyException(f"expects to convert from or to an index, got {source} and {target}")


def _elements(op: Operation) -> tuple[Attribute, Attribute]:
    """The types of the operand's elements and of the result's."""
    return get_element_type_or_self(op.operands[0].type), get_element_type_or_self(op.results[0].type)


@irdl_op_definition
class IndexCastUIOp(IRDLOperation):
    """Integers without a sign from indices, or the other way."""

    name = "arith.index_castui"

    input = operand_def(_WITH_INDICES)
    result = result_def(_WITH_INDICES)

    assembly_format = f"$input {_CAST}"
    traits = traits_def(Pure())


_NONNEG = {
    "non_neg": opt_prop_def(UnitAttr, prop_name="nonNeg"),
    "assembly_format": f"$input (`nneg` $nonNeg^)? {_CAST}",
}
_OVERFLOW = {
    "overflow_flags": prop_def(
        arith.IntegerOverflowAttr, default_value=arith.IntegerOverflowAttr("none"), prop_name="overflowFlags"
    ),
    "assembly_format": f"$input (`overflow` `` $overflowFlags^)? {_CAST}",
}
"""What condition 3 adds to a class."""


def _conversion(
    base: type[IRDLOperation],
    source: IRDLAttrConstraint,
    target: IRDLAttrConstraint,
    check: Callable[[Operation], None] = _check_shapes,
    more: Mapping[str, object] | None = None,
) -> type[Operation]:
    """A class of xDSL for operands and results of these types, with a check of its own."""
    members = {
        "__doc__": f"`{base.name}`.",
        "input": operand_def(source),
        "result": result_def(target),
        "traits": traits_def(Pure()),
        "verify_": check,
        # Those of the class were made of its form; from this one they are made again.
        "parse": classmethod(Operation.parse.__func__),
        "print": Operation.print,
        **(more or {}),
    }
    return irdl_op_definition(cast(type[IRDLOperation], type(f"Upstream{base.__name__}", (base,), members)))


@irdl_op_definition
class UpstreamCmpiOp(arith.CmpiOp):
    """A comparison of integers or indices."""

    predicate = prop_def(IntegerAttr)
    lhs = operand_def(_WITH_INDICES)
    rhs = operand_def(_WITH_INDICES)
    result = result_def(_TRUTHS)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse `slt, %a, %b : type`."""
        return _with_truths(super().parse(parser))

    def verify_(self) -> None:
        """Check the comparison and the shape of the result."""
        _check_predicate(self, arith.CMPI_COMPARISON_OPERATIONS)
        _check_shapes(self)


# Patterns of xDSL make one bit of what compares a value with itself.
UpstreamCmpiOp.traits = OpTraits(lambda: (Pure(),))


@irdl_op_definition
class UpstreamCmpfOp(arith.CmpfOp):
    """A comparison of floats."""

    predicate = prop_def(IntegerAttr)
    lhs = operand_def(_FLOATS)
    rhs = operand_def(_FLOATS)
    fastmath = prop_def(arith.FastMathFlagsAttr, default_value=arith.FastMathFlagsAttr("none"))
    result = result_def(_TRUTHS)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse `olt, %a, %b : type`."""
        return _with_truths(super().parse(parser))

    def verify_(self) -> None:
        """Check the comparison and the shape of the result."""
        _check_predicate(self, arith.CMPF_COMPARISON_OPERATIONS)
        _check_shapes(self)


_Comparison = TypeVar("_Comparison", bound=Operation)


def _with_truths(op: _Comparison) -> _Comparison:
    """The op with a result of the operands' shape, where xDSL gives one bit."""
    Rewriter.replace_value_with_new_type(op.results[0], _like(op.operands[0].type, i1))
    return op


def _check_predicate(op: UpstreamCmpiOp | UpstreamCmpfOp, names: Sequence[str]) -> None:
    """Raise an error unless the number is that of a comparison, and both sides have one type."""
    number = op.predicate.value.data
    if not 0 <= number < len(names):
        raise VerifyException(f"has no comparison {number}")
    if op.lhs.type != op.rhs.type:
        raise VerifyException(f"expects operands of one type, got {op.lhs.type} and {op.rhs.type}")


@irdl_op_definition
class UpstreamSelectOp(arith.SelectOp):
    """One of two values, or for each element one of two: condition 2."""

    _T: ClassVar = VarConstraint("_T", AnyAttr())
    cond = operand_def(_TRUTHS)
    lhs = operand_def(_T)
    rhs = operand_def(_T)
    result = result_def(_T)

    assembly_format = None

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse `%c, %a, %b : type`, or `: types of truths, type`."""
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types: list[Attribute] = [i1, parser.parse_type()]
        if parser.parse_optional_punctuation(",") is not None:
            types = [types[1], parser.parse_type()]
        values = parser.resolve_operands(operands, [*types, types[1]], parser.pos)
        return cls.create(operands=values, result_types=[types[1]], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print what stands behind the op's name."""
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        """Check the shape of the condition."""
        if self.cond.type != i1:
            _check_shapes(self)


@irdl_op_definition
class ErfcOp(FloatingPointLikeUnaryMathOperation):
    """One less the error function."""

    name = "math.erfc"

    traits = traits_def(Pure(), SameOperandsAndResultType())


@irdl_op_definition
class ClampFOp(IRDLOperation):
    """Floats brought between two others."""

    name = "math.clampf"

    _T: ClassVar = VarConstraint("_T", _FLOATS)
    value = operand_def(_T)
    min = operand_def(_T)
    max = operand_def(_T)
    fastmath = prop_def(arith.FastMathFlagsAttr, default_value=arith.FastMathFlagsAttr("none"))
    result = result_def(_T)

    assembly_format = "$value `to` `[` $min `,` $max `]` (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"
    traits = traits_def(Pure(), SameOperandsAndResultType())


class _Classification(IRDLOperation):
    """Which floats are of a kind."""

    operand = operand_def(_FLOATS)
    fastmath = prop_def(arith.FastMathFlagsAttr, default_value=arith.FastMathFlagsAttr("none"))
    result = result_def(_TRUTHS)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse `%x fastmath<...> {...} : type`."""
        operand = parser.parse_unresolved_operand()
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("fastmath") is not None:
            properties["fastmath"] = arith.FastMathFlagsAttr(arith.FastMathFlagsAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(operand, parser.parse_type())
        result = _like(value.type, i1)
        return cls.build(operands=[value], result_types=[result], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print what stands behind the op's name."""
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        if self.fastmath != arith.FastMathFlagsAttr("none"):
            printer.print_string(" fastmath")
            self.fastmath.print_parameter(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)

    def verify_(self) -> None:
        """Check the shape of the result."""
        _check_shapes(self)


def _classification(name: str) -> type[Operation]:
    members = {"name": f"math.{name}", "__doc__": f"`math.{name}`."}
    return irdl_op_definition(cast("type[IRDLOperation]", type(f"{name.title()}Op", (_Classification,), members)))


ARITH_OPS: Sequence[type[Operation]] = (
    _conversion(arith.ExtSIOp, _INTEGERS, _INTEGERS, _check_wider),
    _conversion(arith.ExtUIOp, _INTEGERS, _INTEGERS, _check_wider, _NONNEG),
    _conversion(arith.TruncIOp, _INTEGERS, _INTEGERS, _check_narrower, _OVERFLOW),
    _conversion(arith.ExtFOp, _FLOATS, _FLOATS),
    _conversion(arith.TruncFOp, _FLOATS, _FLOATS),
    _conversion(arith.FPToSIOp, _FLOATS, _INTEGERS),
    _conversion(arith.FPToUIOp, _FLOATS, _INTEGERS),
    _conversion(arith.SIToFPOp, _INTEGERS, _FLOATS),
    _conversion(arith.UIToFPOp, _INTEGERS, _FLOATS, more=_NONNEG),
    _conversion(arith.IndexCastOp, _WITH_INDICES, _WITH_INDICES, _check_index),
    _conversion(IndexCastUIOp, _WITH_INDICES, _WITH_INDICES, _check_index, _NONNEG),
    UpstreamCmpiOp,
    UpstreamCmpfOp,
    UpstreamSelectOp,
    RemFOp,
)
"""Ops of arith that take the places of xDSL's, and more."""
MATH_OPS: Sequence[type[Operation]] = (
    ErfcOp,
    ClampFOp,
    *(_classification(name) for name in ("isfinite", "isinf", "isnan", "isnormal")),
)
"""Ops of math that xDSL lacks."""
