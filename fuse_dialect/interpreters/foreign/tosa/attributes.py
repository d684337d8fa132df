"""What ops of TOSA are told: zero points, paddings, windows, as operands or as properties."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.meaning import attribute_of, integers_of, number_of


def keyword(op: Operation, name: str) -> str:
    """The word of an attribute, `PROPAGATE`; empty if there is none."""
    data: object = getattr(attribute_of(op, name), "data", "")
    return data if isinstance(data, str) else ""


def given_integers(op: Operation, operands: Sequence[Array], place: int, name: str) -> list[int]:
    """Integers that are an operand at a place, or an attribute of a name.

    Raises:
        ValueError: They are neither.
    """
    if len(operands) > place:
        return [int(number) for number in operands[place].reshape(-1)]
    return integers_of(op, name)


def zero_point(op: Operation, operands: Sequence[Array], place: int, *names: str) -> int | float:
    """A zero point that is an operand at a place, or an attribute; 0 if it is neither."""
    if len(operands) > place:
        return operands[place].reshape(-1)[0].item()
    found = [number for name in names if (number := number_of(op, name)) is not None]
    return found[0] if found else 0


def is_integer(array: Array) -> bool:
    """Whether the elements are integers, those of 4 bits as well."""
    return array.dtype.kind in "iu" or array.dtype.name in ("int4", "uint4")


def widened(array: Array) -> Array:
    """The array in the type in which TOSA adds up its elements: i64 here for integers, f32 for narrow floats."""
    if is_integer(array):
        return array.astype(np.int64)
    return array.astype(np.float32) if array.dtype.itemsize < 4 else array


def clipped(array: Array, dtype: "np.dtype[Any]") -> Array:
    """Integers in the range of a type."""
    return np.clip(array, *integer_range(dtype))


def integer_range(dtype: "np.dtype[Any]") -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    if dtype.name in ("int4", "uint4"):
        return (-8, 7) if dtype.name == "int4" else (0, 15)
    info = np.iinfo(dtype.name)
    return int(info.min), int(info.max)
