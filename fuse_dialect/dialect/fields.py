"""Operands, results and properties of `fuse` ops, as one-line declarations.

A property has one of six forms, each with its spelling in the assembly: an integer, a real number, a flag, a string,
a list of integers, a list of real numbers. `None` as default makes it required.
"""

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f64,
    i1,
    i64,
)
from xdsl.dialects.builtin import Float64Type as F64Type
from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.irdl import (
    AttrConstraint,
    BaseAttr,
    EqAttrConstraint,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from fuse_dialect.dialect.types import AnyTensor, Tensor

Integer: TypeAlias = IntegerAttr
Real: TypeAlias = FloatAttr
Integers: TypeAlias = DenseArrayBase[IntegerType]
Reals: TypeAlias = DenseArrayBase[F64Type]

INTEGER: AttrConstraint[Integer] = IntegerAttr.constr(EqAttrConstraint(i64))
REAL: AttrConstraint[Real] = FloatAttr.constr(EqAttrConstraint(f64))
FLAG: AttrConstraint[Integer] = IntegerAttr.constr(EqAttrConstraint(i1))
STRING: AttrConstraint[StringAttr] = BaseAttr(StringAttr)
INTEGERS: AttrConstraint[Integers] = DenseArrayBase.constr(i64)
REALS: AttrConstraint[Reals] = DenseArrayBase.constr(f64)

PropertyValue: TypeAlias = bool | int | float | str | Sequence[int] | Sequence[float] | Attribute | None
"""What a Python caller may give for a property; `None` leaves it out."""


def property_attribute(value: PropertyValue, constraint: AttrConstraint) -> Attribute:
    """The attribute of a Python value, in the form that the property's constraint asks for."""
    match value:
        case Attribute():
            return value
        case bool():
            return BoolAttr.from_bool(value)
        case int() | float() | "inf" | "-inf" | "nan" if constraint is REAL:
            return FloatAttr(float(value), f64)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case None:
            raise ValueError("None is no property value")
        case _ if constraint is REALS or any(isinstance(item, float) for item in value):
            return DenseArrayBase.from_list(f64, [float(item) for item in value])
        case _:
            return DenseArrayBase.from_list(i64, [int(item) for item in value])


def property_form(constraint: AttrConstraint) -> str:
    """What a property of this constraint holds, in words."""
    forms = (
        (INTEGER, "an integer"),
        (REAL, "a real number"),
        (FLAG, "true or false"),
        (STRING, "a string"),
        (INTEGERS, "a list of integers"),
        (REALS, "a list of real numbers"),
    )
    return next((words for known, words in forms if known is constraint), "another attribute")


def tensor_operand() -> SSAValue[Tensor]:
    """An operand that is a ranked tensor."""
    return cast(SSAValue[Tensor], operand_def(AnyTensor))


def tensor_operands() -> SSAValues[SSAValue[Tensor]]:
    """Any number of operands that are ranked tensors."""
    return cast(SSAValues[SSAValue[Tensor]], var_operand_def(AnyTensor))


def tensor_result() -> OpResult[Tensor]:
    """A result that is a ranked tensor."""
    return result_def(AnyTensor)


def tensor_results() -> SSAValues[OpResult[Tensor]]:
    """Any number of results that are ranked tensors."""
    return var_result_def(AnyTensor)


def integer(default: int | None = None) -> Integer:
    """An integer: `axis = 1`."""
    return prop_def(INTEGER, default_value=None if default is None else IntegerAttr(default, i64))


def optional_integer() -> Integer | None:
    """An integer that may be left out."""
    return opt_prop_def(INTEGER)


def real(default: float | None = None) -> Real:
    """A real number: `alpha = 0.01`."""
    return prop_def(REAL, default_value=None if default is None else FloatAttr(default, f64))


def optional_real() -> Real | None:
    """A real number that may be left out."""
    return opt_prop_def(REAL)


def flag(default: bool = False) -> Integer:
    """A boolean: `keepdims = true`."""
    return prop_def(FLAG, default_value=BoolAttr.from_bool(default))


def string(default: str | None = None) -> StringAttr:
    """A word from a fixed list, which the op's shape rule checks: `data_layout = "NHWC"`."""
    return prop_def(STRING, default_value=None if default is None else StringAttr(default))


def integers(default: Sequence[int] | None = None) -> Integers:
    """A list of integers: `strides = [2, 2]`."""
    return prop_def(INTEGERS, default_value=None if default is None else DenseArrayBase.from_list(i64, default))


def optional_integers() -> Integers | None:
    """A list of integers that may be left out."""
    return opt_prop_def(INTEGERS)


def optional_reals() -> Reals | None:
    """A list of real numbers that may be left out."""
    return opt_prop_def(REALS)
