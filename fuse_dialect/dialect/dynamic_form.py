"""The base of ops whose operands hold numbers that are properties, or part of the result type, in another op."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Attribute, Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.budget import MOST_VALUE_BYTES
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.shape_rules import require_integers
from fuse_dialect.dialect.types import (
    DYNAMIC,
    Shape,
    Tensor,
    check_bytes,
    is_tensor,
    require_rank,
    with_shape,
)

_MOST_AXES = 64
"""Those of an array of NumPy 2. The length of a list of sizes is a number of axes, and a type has memory for each."""


class DynamicOp(FuseOp, ABC):
    """An op some of whose operands say what properties or the result type say in the op without the prefix `dyn_`."""

    SIZED_BY_ELEMENTS: ClassVar[bool] = True
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0
    NUMBERS: ClassVar[tuple[int, ...]]
    """Positions of the operands that hold the numbers."""

    @abstractmethod
    def static_form(self, data: Sequence[SSAValue], numbers: Sequence[Array]) -> FuseOp:
        """The op of the same meaning that has the numbers in properties or in its result type.

        Args:
            data: The operands that are not at `NUMBERS`.
            numbers: Elements of those that are.

        Raises:
            VerifyException: The numbers are not what the op may get.
        """

    def form_for(self, operands: Sequence[Array]) -> tuple[FuseOp, list[Array]]:
        """The static form for operands of these shapes and numbers, and the operands that it has.

        Raises:
            VerifyException: The numbers are not what the op may get.
        """
        places = [place for place in range(len(operands)) if place not in self.NUMBERS]
        types = [with_shape(self._type(place), operands[place].shape) for place in places]
        op = self.static_form(Block(arg_types=types).args, [operands[place] for place in self.NUMBERS])
        op.verify_()
        return op, [operands[place] for place in places]

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """The meaning of the static form; no result takes more than `MOST_VALUE_BYTES`."""
        op, data = self.form_for(operands)
        for result in op.results:
            check_bytes(result.type, MOST_VALUE_BYTES)
        return op.evaluate(*data)

    def native_shapes(self, operands: Sequence[Shape], numbers: Sequence[Array]) -> Sequence[Sequence[int]]:
        """The sizes of the results, by arithmetic that traced sizes know too; of an op that has loops.

        Args:
            operands: Sizes of the operands that are not at `NUMBERS`.
            numbers: Elements of those that are.

        Raises:
            VerifyException: The numbers are not what the op may get.
        """
        raise NotImplementedError(f"'{self.name}' op has no loops")

    def flops(self) -> int | None:
        """Nothing, where that is known before the program runs."""
        return None if any(DYNAMIC in shape_of_type(result.type) for result in self.results) else 0

    def _type(self, place: int) -> Tensor:
        type = self.operands[place].type
        assert is_tensor(type), "the operands of an op on tensors"
        return type

    def count_in(self, operand: SSAValue, name: str) -> int:
        """How many numbers a list of integers holds.

        Raises:
            VerifyException: It is no such list, its length is not known, or no array has so many axes.
        """
        type = operand.type
        assert is_tensor(type), "the operands of an op on tensors"
        (count,) = require_rank(type, 1, name)
        require_integers(type, name)
        if count == DYNAMIC:
            raise VerifyException(f"expects '{name}' of a known number of elements, got {type}")
        if count > _MOST_AXES:
            raise VerifyException(f"expects '{name}' of at most {_MOST_AXES} numbers, one for each axis, got {type}")
        return count


def shape_of_type(type: Attribute) -> Shape:
    """The shape of a tensor type; nothing for another type."""
    return tuple(type.get_shape()) if is_tensor(type) else ()


def sizes_in(numbers: Array, name: str, least: int = 0) -> list[int]:
    """Sizes that an operand holds.

    Raises:
        VerifyException: One is below `least`.
    """
    sizes = [int(number) for number in numbers.reshape(-1)]
    if any(size < least for size in sizes):
        raise VerifyException(f"expects {name} of at least {least}, got {sizes}")
    return sizes
