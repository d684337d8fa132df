"""Element types and shapes: the words in which shape rules are written.

A dimension is an `int`; `DYNAMIC` stands for `?`. Shape rules raise `VerifyException` with the two shapes in the
message; the parser and the verifier add the place.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias, TypeGuard, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BFloat16Type,
    FixedBitwidthType,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E3M4Type,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E4M3Type,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntAttr,
    IntegerType,
    Signedness,
    TensorType,
    TupleType,
    f16,
    f32,
    f64,
    i1,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrConstraint, BaseAttr
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.budget import LARGEST_SIZE, spelled
from fuse_dialect.loops.elements import dtype_named, is_known

DYNAMIC = DYNAMIC_INDEX
"""The dimension that the IR prints as `?`."""

Shape: TypeAlias = tuple[int, ...]
Tensor: TypeAlias = TensorType[Attribute]
ElementType: TypeAlias = AnyFloat | IntegerType

_NARROW_DTYPES: dict[Attribute, str] = {
    Float8E3M4Type(): "float8_e3m4",
    Float8E4M3Type(): "float8_e4m3",
    Float8E4M3B11FNUZType(): "float8_e4m3b11fnuz",
    Float8E4M3FNType(): "float8_e4m3fn",
    Float8E4M3FNUZType(): "float8_e4m3fnuz",
    Float8E5M2Type(): "float8_e5m2",
    Float8E5M2FNUZType(): "float8_e5m2fnuz",
    Float8E8M0FNUType(): "float8_e8m0fnu",
    Float6E2M3FNType(): "float6_e2m3fn",
    Float6E3M2FNType(): "float6_e3m2fn",
    Float4E2M1FNType(): "float4_e2m1fn",
    IntegerType(4): "int4",
    IntegerType(4, Signedness.UNSIGNED): "uint4",
    IntegerType(2): "int2",
    IntegerType(2, Signedness.UNSIGNED): "uint2",
}
"""Name in `ml_dtypes` of the types in which numbers are stored, one byte each, but not computed with."""
_COMPUTED_FLOATS = frozenset((BFloat16Type, Float16Type, Float32Type, Float64Type))
_NARROW_TYPES = {name: type for type, name in _NARROW_DTYPES.items()}

AnyTensor: AttrConstraint[Tensor] = BaseAttr(TensorType)
"""Operand constraint: a ranked tensor of any element type that the dialect knows (`element_dtype` decides)."""


def is_tensor(type: Attribute) -> TypeGuard[Tensor]:
    """Whether the type is a ranked tensor."""
    return isinstance(type, TensorType)


def tensor_type(value: SSAValue) -> Tensor:
    """The type of a value that is known to be a ranked tensor."""
    assert is_tensor(value.type), "the value of an op on tensors"
    return value.type


def element_dtype(element_type: Attribute) -> np.dtype[np.generic]:
    """NumPy dtype of an element type: floats of 4 to 64 bits, i1, signless (signed) and `ui` integers of 2 to 64 bits.

    Raises:
        VerifyException: The dialect has no such element type.
    """
    match element_type:
        case Float16Type() | Float32Type() | Float64Type():
            return dtype_named(f"f{element_type.bitwidth}")
        case BFloat16Type():
            return _ml_dtype("bfloat16", element_type)
        case _ if element_type in _NARROW_DTYPES:
            return _ml_dtype(_NARROW_DTYPES[element_type], element_type)
        case IntegerType() if element_type.signedness.data is not Signedness.SIGNED:
            sign = "u" if element_type.signedness.data is Signedness.UNSIGNED else ""
            if is_known(name := f"{sign}i{element_type.width.data}"):
                return dtype_named(name)
        case _:
            pass
    raise VerifyException(f"unsupported element type {element_type}")


def check_element_type(element_type: Attribute) -> None:
    """Reject an element type that `element_dtype` does not know, without importing `ml_dtypes` for any.

    Raises:
        VerifyException: The dialect has no such element type.
    """
    if type(element_type) not in _COMPUTED_FLOATS and not is_narrow(element_type):
        element_dtype(element_type)


def is_narrow(element_type: Attribute) -> bool:
    """Whether numbers of the type are stored only: floats of 8 bits and less, integers of 4 bits and less."""
    return element_type in _NARROW_DTYPES


def _ml_dtype(name: str, element_type: Attribute) -> np.dtype[np.generic]:
    try:
        import ml_dtypes
    except ModuleNotFoundError as error:
        raise VerifyException(
            f"running {element_type} needs the package 'ml_dtypes' (pip install ml_dtypes)"
        ) from error
    return np.dtype(getattr(ml_dtypes, name))


def element_type_of(dtype: np.dtype[np.generic]) -> ElementType:
    """Element type of a NumPy dtype; the inverse of `element_dtype`.

    Raises:
        ValueError: The dialect has no such element type.
    """
    if dtype.name == "bfloat16":
        return BFloat16Type()
    if dtype.name in _NARROW_TYPES:
        return cast(ElementType, _NARROW_TYPES[dtype.name])
    if dtype.kind == "f" and dtype.itemsize in (2, 4, 8):
        return {2: f16, 4: f32, 8: f64}[dtype.itemsize]
    if dtype.kind == "b":
        return i1
    if dtype.kind in "iu":
        return integer_type(dtype.itemsize * 8, unsigned=dtype.kind == "u")
    raise ValueError(f"no element type for NumPy dtype '{dtype}'")


def integer_type(width: int, *, unsigned: bool = False) -> IntegerType:
    """`i32`, or `ui8` when `unsigned`; signless integers are read as signed, as in StableHLO."""
    return IntegerType(width, Signedness.UNSIGNED if unsigned else Signedness.SIGNLESS)


def is_float(type: Tensor) -> bool:
    """Whether the elements are floating point."""
    return isinstance(type.element_type, AnyFloat)


def is_unsigned(type: Tensor) -> bool:
    """Whether the elements are unsigned integers or booleans."""
    match type.element_type:
        case IntegerType() as element:
            return element.width.data == 1 or element.signedness.data is Signedness.UNSIGNED
        case _:
            return False


def tensor(shape: Iterable[int], element_type: Attribute) -> Tensor:
    """The ranked tensor type of a shape.

    Raises:
        VerifyException: A size does not fit the 64 bits that MLIR has for it.
    """
    return TensorType(element_type, _sizes(shape))


def with_shape(type: Tensor, shape: Iterable[int]) -> Tensor:
    """The type with another shape.

    Raises:
        VerifyException: A size does not fit the 64 bits that MLIR has for it.
    """
    return TensorType(type.element_type, _sizes(shape))


def _sizes(shape: Iterable[int]) -> list[IntAttr]:
    # What traces sizes has something like an integer in their place: xDSL takes attributes of it, not the thing itself.
    # It notes each comparison, so sizes are not compared with each other.
    sizes = [IntAttr(size) for size in shape]
    for size in sizes:
        if size.data > LARGEST_SIZE:
            raise VerifyException(f"expects sizes of at most 2**63 - 1, got {size.data}")
    return sizes


def with_element(type: Tensor, element_type: Attribute) -> Tensor:
    """The type with another element type."""
    return TensorType(element_type, type.shape)


def shape_text(shape: Sequence[int]) -> str:
    """A shape as the IR writes it: `4x?x8`, and `scalar` for rank 0."""
    return "x".join("?" if dim == DYNAMIC else str(dim) for dim in shape) or "scalar"


def are_compatible(one: Attribute, other: Attribute) -> bool:
    """Whether two types can describe one value: equal, tensors that differ only where one has `?`, or tuples of these.

    Python's stack grows with the depth of tuples.
    """
    if one == other:
        return True
    if isinstance(one, TupleType) and isinstance(other, TupleType):
        return len(one.types) == len(other.types) and all(map(are_compatible, one.types, other.types))
    if not is_tensor(one) or not is_tensor(other):
        return False
    if one.element_type != other.element_type or one.get_num_dims() != other.get_num_dims():
        return False
    return all(a == b or DYNAMIC in (a, b) for a, b in zip(one.get_shape(), other.get_shape(), strict=True))


def element_count(type: Attribute) -> int | None:
    """Number of elements of a tensor type, or `None` when a dimension is dynamic."""
    if not is_tensor(type):
        return 1
    count = 1
    for dim in type.get_shape():
        if dim == DYNAMIC:
            return None
        count *= dim
    return count


def byte_count(type: Attribute) -> int | None:
    """Bytes of a value of the type, `None` when they are not known; a boolean takes one byte, as in NumPy."""
    if isinstance(type, TupleType):
        sizes = [byte_count(field) for field in type.types]
        return None if None in sizes else sum(size for size in sizes if size is not None)
    count, size = element_count(type), element_bytes(type)
    return None if count is None or size is None else count * size


def check_bytes(type: Attribute, most: int) -> None:
    """Reject a value that no run should try to make.

    Raises:
        VerifyException: It takes more bytes than `most`.
    """
    count = byte_count(type)
    if count is not None and count > most:
        raise VerifyException(f"expects a result of at most {most} bytes, got {type} of {spelled(count)} bytes")


def element_bytes(type: Attribute) -> int | None:
    """Bytes of one element of a tensor type, or of a scalar; `None` where nobody knows them."""
    match type.element_type if is_tensor(type) else type:
        case FixedBitwidthType() as element:
            return element.size
        case IndexType():
            return 8
        case _:
            return None


def check_tensors(types: Iterable[Attribute]) -> None:
    """Reject types that are no ranked tensors of a supported element type.

    Raises:
        VerifyException: One of the types is not.
    """
    for type in types:
        if not is_tensor(type):
            raise VerifyException(f"expects ranked tensors, got {type}")
        check_element_type(type.element_type)


def broadcast_shapes(lhs: Sequence[int], rhs: Sequence[int]) -> Shape:
    """Shape of an elementwise operation on two shapes; `?` against a size above 1 is that size.

    Raises:
        VerifyException: Two sizes differ and neither is 1.
    Source: NumPy broadcasting; TVM `BroadcastRel`, src/relay/op/type_relations.cc.
    """
    rank = max(len(lhs), len(rhs))
    left = (1,) * (rank - len(lhs)) + tuple(lhs)
    right = (1,) * (rank - len(rhs)) + tuple(rhs)
    shape: list[int] = []
    for position, (a, b) in enumerate(zip(left, right, strict=True)):
        if a == b or b == 1:
            shape.append(a)
        elif a == 1 or a == DYNAMIC:
            shape.append(b)
        elif b == DYNAMIC:
            shape.append(a)
        else:
            raise VerifyException(
                f"expects broadcast-compatible shapes, got {shape_text(lhs)} and {shape_text(rhs)} "
                f"(dimension {position}: {a} vs {b})"
            )
    return tuple(shape)


def normalize_axis(axis: int, rank: int) -> int:
    """An axis counted from the front; negative axes count from the back, as in NumPy.

    Raises:
        VerifyException: The axis is out of range.
    """
    if not -rank <= axis < rank:
        raise VerifyException(f"expects axes in [{-rank}, {rank}) for rank {rank}, got {axis}")
    return axis + rank if axis < 0 else axis


def normalize_axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in increasing order.

    Raises:
        VerifyException: An axis is out of range or named twice.
    """
    result = sorted(normalize_axis(axis, rank) for axis in axes)
    for one, other in pairwise(result):
        if one == other:
            raise VerifyException(f"expects distinct axes, axis {one} is named twice")
    return tuple(result)


def require_rank(type: Tensor, rank: int, operand: str) -> Shape:
    """The shape of `type`.

    Raises:
        VerifyException: The rank is not `rank`.
    """
    shape = tuple(type.get_shape())
    if len(shape) != rank:
        raise VerifyException(f"expects '{operand}' of rank {rank}, got rank {len(shape)} ({shape_text(shape)})")
    return shape


def require_same_element(types: Sequence[Tensor]) -> Attribute:
    """The element type that all `types` share.

    Raises:
        VerifyException: They differ.
    """
    for type in types[1:]:
        if type.element_type != types[0].element_type:
            raise VerifyException(
                f"expects operands of one element type, got {types[0].element_type} and {type.element_type}"
            )
    return types[0].element_type
