"""The table of rules: one function an operator, whose parameters are those of PyTorch's operator.

    @RULES.of("aten.neg.default")
    def neg(want: Want, self: SSAValue) -> SSAValue: ...

A rule returns its value, or all values where the operator has several results. `self` is PyTorch's name of the first
operand. The reader casts results to the element types that PyTorch gives, and refuses other shapes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeGuard, TypeVar

import numpy as np
from xdsl.ir import Attribute, SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.types import element_type_of
from fuse_dialect.frontends.aten.graph import TensorMeta
from fuse_dialect.frontends.fuse_values import NoFuseFormError, cast_to, dtype, result

Rule: TypeAlias = Callable[..., "SSAValue | Sequence[SSAValue]"]
"""From what is wanted and the arguments to the values."""
_OneRule = TypeVar("_OneRule", bound=Rule)


@dataclass(frozen=True, slots=True)
class Want:
    """What PyTorch says of the results."""

    results: tuple[TensorMeta | None, ...]

    @property
    def first(self) -> TensorMeta:
        """The first result.

        Raises:
            NoFuseFormError: Its shape or type is not known.
        """
        if not self.results or self.results[0] is None:
            raise NoFuseFormError("a result that is no tensor of known shape")
        return self.results[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.first.shape

    @property
    def dtype(self) -> "np.dtype[Any]":
        """The element type of the first result."""
        return self.first.dtype

    @property
    def element(self) -> Attribute:
        """The same as a type of the IR."""
        return element_type_of(self.first.dtype)


@dataclass(slots=True)
class RuleTable:
    """Rules by the operator's name."""

    rules: dict[str, Rule] = field(default_factory=dict[str, Rule])

    def of(self, *targets: str) -> "Callable[[_OneRule], _OneRule]":
        """Make a function the rule of operators."""

        def enter(rule: _OneRule) -> _OneRule:
            for target in targets:
                assert target not in self.rules, f"{target} has two rules"
                self.rules[target] = rule
            return rule

        return enter


RULES = RuleTable()


def is_value(value: object) -> TypeGuard[SSAValue]:
    """Whether an argument is a tensor, and not a number."""
    return isinstance(value, SSAValue)


def as_type(value: Any, kind: "np.dtype[Any]") -> SSAValue:
    """A tensor in an element type, or a constant of a number."""
    if is_value(value):
        return cast_to(value, element_type_of(kind))
    return constant(np.array(value).astype(kind)).result


def is_boolean(value: Any) -> bool:
    """Whether a value is a truth value, or a tensor of them."""
    return dtype(value).kind == "b" if is_value(value) else isinstance(value, bool)


def made(op: FuseOp) -> SSAValue:
    """The only result of an op."""
    return result(op)
