"""Ops that compare results with what is expected, as tests of IREE and of StableHLO have them.

    check.expect_eq_const(%0, dense<[1, 2]> : tensor<2xi32>) : tensor<2xi32>                                  IREE
    check.expect_almost_eq(%0, %1, atol 1.0e-2, rtol 1.0e-3) : tensor<5xf32>
    check.expect_eq_const %0, dense<[1, 2]> : tensor<2xi32>                                              StableHLO
    check.expect_close %0, %1, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>

Both projects call the dialect `check`. Each form is read, and printed as it was read. Ops of one name compare alike; a
tolerance is `tolerance` in StableHLO, and `atol` and `rtol` in IREE.

Source: iree/compiler/Modules/Check/IR/CheckOps.td; stablehlo/tests/CheckOps.td.
"""

from typing import Self

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, UnitAttr, f32, f64, i64
from xdsl.ir import Attribute, Dialect, SSAValue, TypedAttribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

_OPERANDS = {
    "expect_true": 1,
    "expect_false": 1,
    "expect_all_true": 1,
    "expect_eq": 2,
    "expect_eq_const": 1,
    "expect_almost_eq": 2,
    "expect_almost_eq_const": 1,
    "expect_close": 2,
}
"""How many values an op of a name compares."""
_TOLERANCES_OF = {
    "expect_almost_eq": ("atol", "rtol", "tolerance"),
    "expect_close": ("max_ulp_difference", "min_ulp_difference"),
}
"""What an op of a name is told of how near is near enough."""
_TOLERANCES = ("atol", "rtol", "tolerance", "max_ulp_difference", "min_ulp_difference")


class CheckOp(IRDLOperation):
    """A comparison without results."""

    operands_ = var_operand_def()
    value = opt_prop_def(Attribute)
    atol = opt_prop_def(Attribute)
    rtol = opt_prop_def(Attribute)
    tolerance = opt_prop_def(Attribute)
    max_ulp_difference = opt_prop_def(Attribute)
    min_ulp_difference = opt_prop_def(Attribute)
    in_brackets = opt_prop_def(UnitAttr)
    """Whether the op is written with round brackets, as IREE has it."""

    def verify_(self) -> None:
        """Check the number of values, and that a constant is there if the name says so."""
        short = self.name.removeprefix("check.")
        if len(self.operands) != _OPERANDS[short]:
            raise VerifyException(f"expects {_OPERANDS[short]} operands, got {len(self.operands)}")
        if short.endswith("_const") != (self.value is not None):
            raise VerifyException("expects a constant in 'value' where the name says so")
        known = _TOLERANCES_OF.get(short.removesuffix("_const"), ())
        unknown = [name for name in _TOLERANCES if name in self.properties and name not in known]
        if unknown:
            raise VerifyException(f"compares without '{unknown[0]}'")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what stands behind the op's name."""
        short = cls.name.removeprefix("check.")
        properties: dict[str, Attribute] = {}
        start = parser.pos
        if parser.parse_optional_punctuation("("):
            properties["in_brackets"] = UnitAttr()
        names = [parser.parse_unresolved_operand()]
        if _OPERANDS[short] == 2:
            parser.parse_punctuation(",")
            names.append(parser.parse_unresolved_operand())
        if short.endswith("_const"):
            parser.parse_punctuation(",")
            properties["value"] = parser.parse_attribute()
        while parser.parse_optional_punctuation(","):
            name = parser.parse_identifier()
            if name not in _TOLERANCES or name in properties:
                parser.raise_error(f"unknown or repeated tolerance '{name}'", start, parser.pos)
            parser.parse_optional_punctuation("=")
            properties[name] = _tolerance(parser, name)
        if "in_brackets" in properties:
            parser.parse_punctuation(")")
        attributes = parser.parse_optional_attr_dict()
        type: Attribute
        if parser.parse_optional_punctuation(":"):
            type = parser.parse_type()
            if parser.parse_optional_punctuation(","):
                parser.parse_type()
        elif isinstance(value := properties.get("value"), TypedAttribute):
            type = value.get_type()
        else:
            parser.raise_error("expected the type of the operands")
        operands: list[SSAValue] = [parser.resolve_operand(name, type) for name in names]
        return cls.create(operands=operands, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print what stands behind the op's name."""
        printer.print_string(" " if self.in_brackets is None else "(")
        printer.print_list(self.operands, printer.print_ssa_value)
        if self.value is not None:
            printer.print_string(", ")
            printer.print_attribute(self.value)
        for name in _TOLERANCES:
            number = self.properties.get(name)
            if isinstance(number, FloatAttr | IntegerAttr):
                printer.print_string(f", {name} " if self.in_brackets is not None else f", {name} = ")
                # Differences are unsigned: the type keeps the greatest of them as -1.
                is_integer = isinstance(number, IntegerAttr)
                text = str(number.value.data % (1 << 64)) if is_integer else f"{number.value.data:e}"
                printer.print_string(text)
        printer.print_string("" if self.in_brackets is None else ")")
        printer.print_op_attributes(self.attributes)
        if self.in_brackets is None and self.value is not None:
            return
        types = self.operand_types if self.name == "check.expect_close" else self.operand_types[:1]
        printer.print_string(" : ")
        printer.print_list(types, printer.print_attribute)


def _tolerance(parser: Parser, name: str) -> Attribute:
    """Parse a number; its type may follow."""
    number = parser.parse_number()
    if name.endswith("_difference"):
        if not isinstance(number, int) or not 0 <= number < 1 << 64:
            parser.raise_error(f"expected an unsigned integer of 64 bits for '{name}'")
        return IntegerAttr(number, i64)
    return FloatAttr(float(number), f64 if name == "tolerance" else f32)


def _op_class(name: str) -> type[CheckOp]:
    return irdl_op_definition(
        type(f"{name.title().replace('_', '')}Op", (CheckOp,), {"name": f"check.{name}", "__doc__": f"`check.{name}`."})
    )


CHECK = Dialect("check", [_op_class(name) for name in _OPERANDS], [])
"""The dialect."""
