"""What a machine can do, as data: what schedules are made for, and what decides which instructions a backend writes.

A schedule is a function of a loop program and a machine, and nothing else: no processor is asked. A backend makes the
machine of the processor at hand; other packages describe machines of their own.

1. A vector, and each of the vector registers, has `vector_bytes`; as many elements are computed at once.
2. What code does more often than once from memory lies in a cache meanwhile, with room left for what passes by.
3. `units` are instructions that code may use besides those that every processor with vectors has.
"""

from dataclasses import dataclass
from enum import Flag, auto


class Unit(Flag):
    """Instructions that not every machine has."""

    NONE = 0
    FMA = auto()
    """A multiplication with an addition, rounded once."""
    MASKS = auto()
    """Any load and store may leave out lanes at no cost."""
    NARROWING_STORES = auto()
    """A store may cut off the upper bits of integers."""
    HALVES = auto()
    """f16 to f32 and back."""
    ROUNDING = auto()
    """Rounding to the nearest integer."""
    SCALING = auto()
    """Multiplication of floats by powers of two."""
    STREAMS = auto()
    """Stores past the caches, and a fence that orders them."""
    BYTE_DOTS = auto()
    """Four products of bytes, one without sign and one with, added to a sum of 32 bits."""
    PAIR_DOTS = auto()
    """Two products of integers of 16 bits, added up in 32 bits."""
    BYTE_SHUFFLES = auto()
    """Bytes looked up in a register of 16."""
    BYTE_TABLES = auto()
    """Bytes looked up in two registers of 64."""
    GATHERS = auto()
    """Numbers of 32 bits from computed places, eight at a time."""


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache of one core."""

    bytes: int
    ways: int
    """Lines that it holds of those whose addresses differ by a multiple of `bytes / ways`."""

    def __post_init__(self) -> None:
        if not 0 < self.ways <= self.bytes or self.bytes % self.ways:
            raise ValueError(f"expected a cache of whole ways, got {self.bytes} bytes in {self.ways} ways")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that runs kernels.

    Raises:
        ValueError: A number is one that no machine has.
    """

    name: str
    """How command lines call it."""
    vector_bytes: int
    """Bytes of a vector: a power of two, 16 or more."""
    registers: int
    """Number of vector registers, 8 or more."""
    units: Unit = Unit.NONE
    first_cache: Cache = Cache(32 << 10, 8)
    """What a core reaches at once."""
    second_cache: Cache = Cache(1 << 20, 16)
    """What a core has to itself besides."""
    line_bytes: int = 64
    """Bytes that memory and caches move at once; a power of two."""
    cores: int = 2
    """Cores that schedules leave work for; kernels run on any number."""
    processor: str = ""
    """Processor whose instructions these are, as the backend names it; by default one of the machine's own name."""

    def __post_init__(self) -> None:
        for what, number, least in (("vector_bytes", self.vector_bytes, 16), ("line_bytes", self.line_bytes, 16)):
            if number < least or number & (number - 1):
                raise ValueError(
                    f"machine '{self.name}': expected {what} to be a power of two from {least}, got {number}"
                )
        for what, number, least in (("registers", self.registers, 8), ("cores", self.cores, 1)):
            if number < least:
                raise ValueError(f"machine {self.name}: expected {what} to be {least} or more, got {number}")

    def lanes(self, element_bytes: int) -> int:
        """Elements of a vector (1)."""
        return self.vector_bytes // element_bytes
