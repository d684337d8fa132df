"""Types and constants of MLIR text as arrays, read by nothing that the package reads them with.

What a test expects must not go through the parser that is tested: a mistake there would be on both sides.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

DTYPES: Mapping[str, npt.DTypeLike] = {
    "i1": np.bool_,
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    **{f"{sign}i{bits}": getattr(ml_dtypes, f"{'u' * bool(sign)}int{bits}") for sign in ("", "u") for bits in (2, 4)},
    **{
        name: getattr(ml_dtypes, name.replace("f", "float", 1).lower().replace("e", "_e", 1))
        for name in (
            *("f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU"),
            *("f6E2M3FN", "f6E3M2FN", "f4E2M1FN"),
        )
    },
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
}
"""Element types that NumPy has, by their names in MLIR."""

_TOKEN = re.compile(r"[\[\](),]|[^\s\[\](),]+")


class UnreadableError(Exception):
    """Text that is no type or constant that is known here."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor of known sizes, whose elements NumPy may lack."""

    shape: tuple[int, ...]
    element: str
    """As MLIR names it: `bf16`, `complex<f32>`."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type.

        Raises:
            UnreadableError: NumPy has no such type.
        """
        if self.element not in DTYPES:
            raise UnreadableError(f"elements of type {self.element}")
        return np.dtype(DTYPES[self.element])


def read_type(text: str) -> TensorType:
    """The type that `tensor<2x3xf32>` says.

    Raises:
        UnreadableError: It is another type, a size is open, or there is an encoding.
    """
    inner = re.fullmatch(r"tensor<((?:\d+x)*)([^,?]+)>", text.strip())
    if inner is None:
        raise UnreadableError(f"type {text.strip()}")
    sizes = tuple(int(size) for size in inner[1].split("x") if size)
    return TensorType(sizes, inner[2].strip())


def read_dense(text: str, of: TensorType) -> Array:
    """The elements that `dense<[[1.0, 2.0], [0x7F800000, -0.0]]>` says.

    Args:
        text: The attribute, without the type behind it.
        of: That type.

    Returns:
        An array of its shape and element type.

    Raises:
        UnreadableError: It is no such constant, or its brackets do not nest as its shape says.
    """
    if not (text.startswith("dense<") and text.endswith(">")):
        raise UnreadableError(f"constant {text[:40]}")
    inner = text[len("dense<") : -1].strip()
    if inner.startswith('"'):
        return _of_bytes(bytes.fromhex(inner.strip('"').removeprefix("0x")), of)
    if not inner:
        return np.zeros(of.shape, of.dtype)
    tokens = _TOKEN.finditer(inner)
    shape, values = _nested(tokens, of)
    if shape not in ((), of.shape) or len(values) != math.prod(shape):
        raise UnreadableError(f"brackets that nest as {shape} in a constant of shape {of.shape}")
    flat = np.array(values, of.dtype)
    return np.full(of.shape, flat[0], of.dtype) if shape == () else flat.reshape(of.shape)


def _of_bytes(data: bytes, of: TensorType) -> Array:
    """Elements as they lie in memory, lowest byte first; those of one element stand for all."""
    count = int(np.prod(of.shape, dtype=np.int64))
    if of.element == "i1" and len(data) != count:  # eight to a byte, or one byte for all
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        return (
            (np.full(count, bits[0]) if len(data) == 1 and count > 8 else bits[:count]).astype(bool).reshape(of.shape)
        )
    found = np.frombuffer(data, of.dtype.newbyteorder("<") if of.dtype.isbuiltin == 1 else of.dtype)
    if found.size not in (1, count):
        raise UnreadableError(f"{len(data)} bytes in a constant of {count} elements")
    return np.broadcast_to(found.reshape(of.shape if found.size == count else ()), of.shape).astype(of.dtype)


def _nested(tokens: Iterator[re.Match[str]], of: TensorType) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested brackets, and their elements in order.

    A closing bracket adds the length of its list to those of its depth, which must all be alike.
    """
    values: list[Any] = []
    lengths: dict[int, int] = {}
    open_lists: list[int] = []
    for token in tokens:
        match token[0]:
            case "[":
                open_lists.append(0)
            case "]":
                length, depth = open_lists.pop(), len(open_lists)
                if lengths.setdefault(depth, length) != length:
                    raise UnreadableError("lists of unequal lengths")
                if open_lists:
                    open_lists[-1] += 1
            case ",":
                pass
            case other:
                values.append(_complex(tokens, of) if other == "(" else _element(other, of))
                if open_lists:
                    open_lists[-1] += 1
    return tuple(lengths[depth] for depth in range(len(lengths))), values


def _complex(tokens: Iterator[re.Match[str]], of: TensorType) -> complex:
    """The number of `(real, imaginary)`, behind its opening bracket."""
    part = TensorType((), of.element.removeprefix("complex<").removesuffix(">"))
    real, _, imaginary, closing = (next(tokens)[0] for _ in range(4))
    if closing != ")":
        raise UnreadableError("a complex number of more than two parts")
    found = np.empty((), of.dtype)
    found.real, found.imag = _element(real, part), _element(imaginary, part)
    return cast(complex, found[()])


def _element(text: str, of: TensorType) -> Any:
    """One number: decimal, `true` or `false`, or in hexadecimal the bits of a float."""
    dtype = of.dtype
    if text in ("true", "false"):
        return text == "true"
    if text.startswith("0x") and of.element.startswith(("f", "bf")):
        return np.array(int(text, 16), f"uint{dtype.itemsize * 8}").view(dtype)[()]
    try:
        return dtype.type(float(text)) if of.element.startswith(("f", "bf")) else int(text, 0)
    except ValueError as error:
        raise UnreadableError(f"number {text[:40]}") from error
