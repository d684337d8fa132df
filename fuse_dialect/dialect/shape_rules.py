"""Steps that the shape rules of several op families share: choices, list lengths, arithmetic on dimensions.

Dimensions are `int`s with `DYNAMIC` for `?`. Messages name the property or operand at fault; the op's name and the
place are added by the parser and the verifier.
"""

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType, StringAttr, i1
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.fields import Integers
from fuse_dialect.dialect.types import DYNAMIC, Shape, Tensor, is_float, shape_text


def one_of(value: StringAttr, allowed: Sequence[str], name: str) -> str:
    """The word that a property holds.

    Raises:
        VerifyException: The word is not one of `allowed`.
    """
    if value.data not in allowed:
        words = " or ".join(f"'{word}'" for word in allowed)
        raise VerifyException(f"expects {name} to be {words}, got '{value.data}'")
    return value.data


def integer_list(value: Integers, length: int, name: str, *, least: int | None = None) -> tuple[int, ...]:
    """The numbers of a list property.

    Args:
        value: The property.
        length: How many numbers it must hold.
        name: Its name, for messages.
        least: The smallest number allowed; `None` for no limit.

    Raises:
        VerifyException: There are more or fewer numbers, or one is too small.
    """
    numbers = value.get_values()
    if len(numbers) != length:
        noun = "number" if length == 1 else "numbers"
        raise VerifyException(f"expects {length} {noun} in {name}, got {len(numbers)} ({list(numbers)})")
    if least is not None and any(number < least for number in numbers):
        raise VerifyException(f"expects {name} of at least {least}, got {list(numbers)}")
    return numbers


def unify(one: int, other: int, what: str) -> int:
    """The size that two dimensions agree on; a known size wins over `?`.

    Raises:
        VerifyException: Both are known and differ.
    """
    if one == DYNAMIC:
        return other
    if other not in (one, DYNAMIC):
        raise VerifyException(f"expects equal sizes of {what}, got {one} and {other}")
    return one


def unify_shapes(one: Sequence[int], other: Sequence[int], *, skip: int | None = None) -> Shape:
    """The shape that two shapes of one rank agree on; axis `skip` is taken from `one` unchecked.

    Raises:
        VerifyException: The ranks differ, or two known sizes do.
    """
    if len(one) != len(other):
        raise VerifyException(f"expects operands of one rank, got {shape_text(one)} and {shape_text(other)}")
    merged: list[int] = []
    for axis, (a, b) in enumerate(zip(one, other, strict=True)):
        if axis != skip and a != b and DYNAMIC not in (a, b):
            raise VerifyException(
                f"expects operands that agree, got {shape_text(one)} and {shape_text(other)} "
                f"(dimension {axis}: {a} vs {b})"
            )
        merged.append(b if a == DYNAMIC and axis != skip else a)
    return tuple(merged)


def total(dims: Iterable[int]) -> int:
    """Sum of dimensions; `?` when one is `?`."""
    known = list(dims)
    return DYNAMIC if DYNAMIC in known else sum(known)


def product(dims: Iterable[int]) -> int:
    """Product of dimensions; `?` when one is `?`."""
    result = 1
    for dim in dims:
        if dim == DYNAMIC:
            return DYNAMIC
        result *= dim
    return result


def quotient(dim: int, divisor: int, what: str) -> int:
    """A dimension divided by a known number.

    Raises:
        VerifyException: It does not divide.
    """
    if dim == DYNAMIC:
        return DYNAMIC
    if dim % divisor:
        raise VerifyException(f"expects {what} divisible by {divisor}, got {dim}")
    return dim // divisor


def require_float(type: Tensor) -> None:
    """Reject elements that are no floating-point numbers.

    Raises:
        VerifyException: The element type is an integer type.
    """
    if not is_float(type):
        raise VerifyException(f"expects floating-point elements, got {type.element_type}")


def require_wide_float(type: Tensor) -> None:
    """Reject elements that are not f32 or f64, for which libraries have routines.

    Raises:
        VerifyException: The element type is another one.
    """
    if not isinstance(type.element_type, Float32Type | Float64Type):
        raise VerifyException(f"expects f32 or f64 elements, got {type.element_type}")


def require_numbers(type: Tensor) -> None:
    """Reject booleans.

    Raises:
        VerifyException: The element type is i1.
    """
    match type.element_type:
        case IntegerType() as element if element.width.data == 1:
            raise VerifyException(f"expects numbers, got {element}")
        case _:
            pass


def require_integers(type: Tensor, operand: str) -> None:
    """Reject operands that cannot index.

    Raises:
        VerifyException: The element type is floating point or i1.
    """
    match type.element_type:
        case IntegerType() as element if element.width.data > 1:
            pass
        case element:
            raise VerifyException(f"expects integers in '{operand}', got {element}")


def require_rank_at_least(type: Tensor, rank: int, operand: str) -> Shape:
    """The shape of `type`.

    Raises:
        VerifyException: The rank is below `rank`.
    """
    shape = tuple(type.get_shape())
    if len(shape) < rank:
        raise VerifyException(
            f"expects '{operand}' of rank {rank} or more, got rank {len(shape)} ({shape_text(shape)})"
        )
    return shape


def require_vector(type: Tensor, size: int, operand: str) -> None:
    """Reject an operand that is not one number per channel.

    Raises:
        VerifyException: The rank is not 1, or the size is not `size`.
    """
    shape = tuple(type.get_shape())
    if len(shape) != 1:
        raise VerifyException(f"expects '{operand}' of rank 1, got rank {len(shape)} ({shape_text(shape)})")
    unify(size, shape[0], f"the normalized axis and '{operand}'")


def require_positive(number: int, name: str) -> int:
    """The number.

    Raises:
        VerifyException: It is not positive.
    """
    if number < 1:
        raise VerifyException(f"expects {name} of at least 1, got {number}")
    return number


def require_booleans(type: Tensor, operand: str) -> None:
    """Reject elements that are no truth values.

    Raises:
        VerifyException: The element type is not i1.
    """
    if type.element_type != i1:
        raise VerifyException(f"expects '{operand}' of i1 elements, got {type.element_type}")


def remainder_says(shape: Sequence[int]) -> bool:
    """Whether the number of elements says the only `?` of a shape, so that `reshape` computes it.

    Beside a dimension of 0 it does not: what remains of no elements is anything.
    """
    unknown = list(shape).count(DYNAMIC)
    return not unknown or (unknown == 1 and 0 not in shape)
