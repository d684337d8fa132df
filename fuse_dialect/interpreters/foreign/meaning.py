"""What a meaning of an op is given, and gives.

A value is an array: of rank 0 for a scalar, whose index type is `int64`; of sizes for a shape of TOSA.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, Region, SSAValue

from fuse_dialect.budget import SIZE_HINT, spelled
from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.values import EvaluationError, Value


class RunRegion(Protocol):
    """Runs a region, and gives what its last op is given."""

    def __call__(
        self,
        region: Region,
        arguments: Sequence[Value] = (),
        *,
        indices: Sequence[Array] | None = None,
        is_repeated: bool = False,
    ) -> Sequence[Value]:
        """Run it.

        Args:
            region: A region of the op that asks.
            arguments: Of its block.
            indices: What `linalg.index` gives in it, by loop.
            is_repeated: Whether it has run before for the same op: then it counts against the limit on ops.
        """
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is around an op while it runs."""

    values: Mapping[SSAValue, Value]
    """The values that regions of the op may read."""
    indices: Sequence[Array]
    """The numbers of the iterations of the structured op around it, by loop."""
    run: RunRegion
    most_bytes: int
    """Of one value."""

    def check_room(self, op: Operation, shape: Sequence[int], dtype: "np.dtype[Any]") -> None:
        """Refuse a value whose sizes are known only now, before it is made.

        Raises:
            EvaluationError: It is too large, or a size is negative.
        """
        if min(shape, default=0) < 0:
            raise EvaluationError(op, f"cannot be run: expects sizes of at least 0, got {list(shape)}")
        count = dtype.itemsize
        for size in shape:
            count *= size
        if count > self.most_bytes:
            reason = f"cannot be run: its result takes {spelled(count)} bytes, more than the {self.most_bytes} allowed"
            raise EvaluationError(op, reason, SIZE_HINT)


Meaning: TypeAlias = Callable[[Operation, Sequence[Array], Surroundings], Sequence[Any]]
"""The results of an op on its operands, by NumPy; what they are in the types of the results is seen to elsewhere.

It may raise `ValueError`, `IndexError`, `TypeError` and `ArithmeticError` for operands that the op rejects.
"""
Rows: TypeAlias = Mapping[str, Meaning]
"""Meanings by the names of ops."""


def attribute_of(op: Operation, name: str) -> Attribute | None:
    """A property or attribute of an op."""
    return op.properties.get(name, op.attributes.get(name))


def integers_of(op: Operation, name: str) -> list[int]:
    """The numbers of an attribute: `array<i64: 1, 2>`, `dense<[1, 2]>`, or one number.

    Raises:
        ValueError: The op has no such attribute.
    """
    match attribute_of(op, name):
        case DenseArrayBase() as numbers:
            return [int(number) for number in cast("DenseArrayBase[IntegerType]", numbers).get_values()]
        case DenseIntOrFPElementsAttr() as numbers:
            return [int(number) for number in constant_array(numbers).reshape(-1)]
        case IntegerAttr() as number:
            return [int(number.value.data)]
        case _:
            raise ValueError(f"expects integers in the attribute '{name}'")


def number_of(op: Operation, name: str) -> float | int | None:
    """A number in an attribute, `None` if it has none."""
    match attribute_of(op, name):
        case IntegerAttr() | FloatAttr() as number:
            return number.value.data
        case _:
            return None


def is_set(op: Operation, name: str) -> bool:
    """Whether an attribute of one bit is there, and true."""
    attribute = attribute_of(op, name)
    return attribute is not None and (not isinstance(attribute, IntegerAttr) or bool(attribute.value.data))
