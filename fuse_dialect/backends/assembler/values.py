"""Types and values of LLVM IR, as text with a type. Pure data.

The 16-bit floats are types of their own here, but i16 in the text: only a conversion reads them as floats. Where a
processor has no instructions for them, LLVM would call functions that no process has to pass one as `half` or `bfloat`.
"""

import struct
from dataclasses import dataclass
from functools import lru_cache

_FLOAT_BITS = {"f16": 16, "bf16": 16, "half": 16, "float": 32, "double": 64}
_MANGLED = {"f16": "i16", "bf16": "i16", "half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}
_SPELLED = {"f16": "i16", "bf16": "i16"}


@dataclass(frozen=True, slots=True)
class Type:
    """A scalar type of LLVM, or a vector of it."""

    element: str
    """As LLVM writes it: `float`, `i64`, `ptr`; but `f16` and `bf16` for 16-bit floats, of which LLVM sees the bits."""
    lanes: int = 0
    """Number of elements of a vector; 0 for a scalar."""

    def __str__(self) -> str:
        return _type_text(self.element, self.lanes)

    @property
    def is_float(self) -> bool:
        """Whether elements are floats."""
        return self.element in _FLOAT_BITS

    @property
    def bits(self) -> int:
        """Bits of an element."""
        if self.element == "ptr":
            return 64
        return _FLOAT_BITS[self.element] if self.is_float else int(self.element[1:])

    @property
    def scalar(self) -> "Type":
        """The type of an element."""
        return _type(self.element, 0)

    @property
    def mangled(self) -> str:
        """As names of intrinsics spell it: `v16f32`."""
        element = _MANGLED.get(self.element, self.element)
        return f"v{self.lanes}{element}" if self.lanes else element

    def of(self, element: str) -> "Type":
        """As many lanes of another element type."""
        return _type(element, self.lanes)

    def wide(self, lanes: int) -> "Type":
        """The element type, with as many lanes."""
        return _type(self.element, lanes)


@lru_cache(maxsize=1 << 10)
def _type(element: str, lanes: int) -> Type:
    """The type: most of a text is of a few."""
    return Type(element, lanes)


@lru_cache(maxsize=1 << 10)
def _type_text(element: str, lanes: int) -> str:
    spelled = _SPELLED.get(element, element)
    return f"<{lanes} x {spelled}>" if lanes else spelled


I1, I8, I16, I32, I64 = (_type(element, 0) for element in ("i1", "i8", "i16", "i32", "i64"))
F16, BF16, F32, F64 = (_type(element, 0) for element in ("f16", "bf16", "float", "double"))
PTR, VOID = _type("ptr", 0), _type("void", 0)


@dataclass(frozen=True, slots=True)
class Value:
    """An operand: a name or a constant, with its type."""

    text: str
    type: Type
    number: int | None = None
    """What an integer constant is, so that index arithmetic on constants leaves no code."""

    def __str__(self) -> str:
        """`float %x`, as operands of calls, stores and the like are written."""
        type = self.type
        return f"{_type_text(type.element, type.lanes)} {self.text}"


def constant(type: Type, number: float) -> Value:
    """A number of the type, in every lane. Integers wrap around; floats are rounded to nearest."""
    if type.is_float:
        return _splat(type, _float_text(type, number), None)
    return _integer(type, int(number))


@lru_cache(maxsize=1 << 14)
def _integer(type: Type, number: int) -> Value:
    """An integer in every lane. Most of a text are addresses, and most of these are numbers that came before."""
    bits = type.bits
    wrapped = number & ((1 << bits) - 1)
    # LLVM prints integers with a sign, so equal numbers have one text.
    if bits > 1 and wrapped >> (bits - 1):
        wrapped -= 1 << bits
    text = ("false", "true")[wrapped] if bits == 1 else str(wrapped)
    return _splat(type, text, wrapped)


@lru_cache(maxsize=1 << 14)
def index_constant(number: int) -> Value:
    """A constant for addresses and counters."""
    return constant(I64, number)


def lanes(type: Type, numbers: list[int]) -> Value:
    """A vector of integer constants, one for each lane."""
    return _lanes(type, tuple(numbers))


@lru_cache(maxsize=1 << 10)
def _lanes(type: Type, numbers: tuple[int, ...]) -> Value:
    return Value("<" + ", ".join(f"{type.element} {number}" for number in numbers) + ">", type)


def poison(type: Type) -> Value:
    """No value: what a vector holds before its elements are inserted."""
    return Value("poison", type)


def _splat(type: Type, text: str, number: int | None) -> Value:
    return Value(f"splat ({type.scalar} {text})" if type.lanes else text, type, number)


def _float_text(type: Type, number: float) -> str:
    """LLVM writes f32 as the f64 of the same value; of 16-bit floats these are the bits."""
    match type.element:
        case "double":
            return f"0x{_bits('>d', number):016X}"
        case "float":
            return f"0x{_bits('>d', _as_float32(number)):016X}"
        case "f16":
            return _signed16(_half_bits(number))
        case _:
            return _signed16(_bfloat_bits(number))


def _signed16(bits: int) -> str:
    return str(bits - (1 << 16) if bits >> 15 else bits)


def _bits(layout: str, number: float) -> int:
    return int.from_bytes(struct.pack(layout, number), "big")


def _as_float32(number: float) -> float:
    try:
        return struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _half_bits(number: float) -> int:
    try:
        return _bits(">e", number)
    except OverflowError:
        return 0x7C00 if number > 0 else 0xFC00


def _bfloat_bits(number: float) -> int:
    bits = _bits(">f", _as_float32(number))
    if number != number:
        return (bits >> 16) | 0x40
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
