"""Values at run time: what a type asks of them, and the error that names the op they come from."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, Union, cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat, IndexType, IntAttr, IntegerType, StringAttr, TupleType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from fuse_dialect.budget import MOST_VALUE_BYTES, spelled
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import DYNAMIC, element_dtype, is_tensor, shape_text
from fuse_dialect.fusion.kinds.kind_of import op_name

Value: TypeAlias = Union[Array, "tuple[Value, ...]"]
Leaf = TypeVar("Leaf")
Nested: TypeAlias = Union[Leaf, "tuple[Nested[Leaf], ...]"]
"""What an SSA value is at run time: an array, or a tuple of values."""


_SIZES_TYPE = "tosa.shape"
"""A list of sizes, whose class is a wing's."""


class EvaluationError(OpError, InterpretationError):
    """An op that cannot be run on the values it got, and why."""

    def __init__(self, op: Operation, reason: str, hint: str | None = None):
        super().__init__(op, f"'{op_name(op)}' op {_target(op)}{reason}", hint)


def _target(op: Operation) -> str:
    """What a call into a library names: many programs differ in nothing else."""
    target = op.properties.get("call_target_name") or op.attributes.get("call_target_name")
    return f"of '{target.data}' " if isinstance(target, StringAttr) else ""


def flatten(values: "Iterable[Nested[Leaf]]") -> list[Leaf]:
    """What the values hold, arrays or whatever stands for them: a tuple gives its fields, in order."""
    leaves: list[Leaf] = []
    stack = list(values)[::-1]
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            stack.extend(reversed(cast("tuple[Nested[Leaf], ...]", value)))
        else:
            leaves.append(value)
    return leaves


def separate(results: Sequence[Array], inputs: Sequence[Array], most_bytes: int = MOST_VALUE_BYTES) -> list[Array]:
    """The results, copied where they are read-only, as constants are, or may show memory of an input or another one.

    Raises:
        InterpretationError: A copy would take more bytes than a value may: a constant that repeats one element.

    Complexity: O(results * (results + inputs)).
    """
    own: list[Array] = []
    for place, result in enumerate(results):
        is_shared = any(np.may_share_memory(result, other) for other in (*inputs, *own))
        if not is_shared and result.flags.writeable:
            own.append(result)
            continue
        if result.nbytes > most_bytes and result.base is not None and 0 in result.strides:
            size = f"{spelled(result.nbytes)} bytes, more than the {most_bytes} that one value may take"
            raise InterpretationError(f"result {place} of shape {shape_text(result.shape)} takes {size}")
        own.append(result.copy())
    return own


def mismatch(value: Any, type: Attribute) -> str | None:
    """Why a value does not have the type, as the end of a sentence; `None` if it has."""
    if isinstance(type, TupleType):
        if not isinstance(value, tuple) or len(cast("tuple[Any, ...]", value)) != len(type.types):
            return f"expects a value of type {type}"
        pairs = zip(cast("tuple[Any, ...]", value), type.types, strict=True)
        return next((problem for item, field in pairs if (problem := mismatch(item, field)) is not None), None)
    layout = layout_of(type)
    if layout is None:
        return f"has type {type}, which the NumPy interpreter does not know"
    if not isinstance(value, np.ndarray):
        return f"expects a value of type {type}, got a {value.__class__.__name__}"
    array = cast(Array, value)
    shape, dtype = layout
    fits = len(shape) == array.ndim and all(
        dim in (size, DYNAMIC) for dim, size in zip(shape, array.shape, strict=True)
    )
    if array.dtype == dtype and fits:
        return None
    return f"expects a value of type {type}, got {array.dtype} of shape {shape_text(array.shape)}"


@lru_cache(4096)
def layout_of(type: Attribute) -> "tuple[tuple[int, ...], np.dtype[np.generic]] | None":
    """Sizes and dtype of a value: of a tensor, a number (of rank 0), or a shape of TOSA; `None` for other types.

    Raises:
        VerifyException: The elements are of a type that the dialect does not know.
    """
    if is_tensor(type):
        return tuple(type.get_shape()), value_dtype(type.element_type)
    if isinstance(type, AnyFloat) or isa(type, IntegerType) or isinstance(type, IndexType):
        return (), value_dtype(type)
    if type.name == _SIZES_TYPE:
        rank: object = getattr(type, "rank", None)
        size = cast(int, rank.data) if isinstance(rank, IntAttr) else DYNAMIC
        return (size,), np.dtype(np.int64)
    return None


def value_dtype(element_type: Attribute) -> "np.dtype[np.generic]":
    """The dtype of elements or of a number; an index has 64 bits.

    Raises:
        VerifyException: The dialect has no such element type.
    """
    return np.dtype(np.int64) if isinstance(element_type, IndexType) else element_dtype(element_type)
