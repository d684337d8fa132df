"""What a machine can do, as data: what schedules and plans are made for, and which instructions are used.

A schedule is a function of a loop program and a machine, and a plan by `cost` one of a graph and a machine: no
processor is asked. `names` finds the machine of a processor, of the processor at hand, and those that others describe.

1. A vector, and each of the vector registers, has `vector_bytes`; as many elements are computed at once.
2. What code does more often than once from memory lies in a cache meanwhile, with room left for what passes by.
3. `units` are instructions that code may use besides those that every processor with vectors has. Those of `emulated`
   are functions that do the same, slowly: with them code for tiles runs, and is compared, where there are none.
4. A value that fits into half of a cache is read and written at that cache's speed. The other half is for the rest.
"""

import math
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
    BYTE_TILES = auto()
    """Products of tiles of 8 bits: 16 rows of 64 bytes, with or without sign, times as many columns, in 32 bits."""
    PAIR_TILES = auto()
    """Products of tiles of bf16: 16 rows of 32 numbers times as many columns, added up in f32."""


TILES = Unit.BYTE_TILES | Unit.PAIR_TILES
"""Units that work on tiles: registers of 16 rows of 64 bytes."""

_TILE_ROWS = 16
_TILE_SHARE = 0.4
"""Of what tiles could do that kernels reach: 1,150 G multiply-adds of bytes a second on a Xeon of 3.75 GHz that does 90
of f32, and 500 of bf16 (`tools/bench_tiles.py`)."""
MOST_CACHED = 1 << 36
"""Bytes of the largest cache that is believed: kernels ask for memory that fills a part of one."""


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache, as one core uses it.

    Raises:
        ValueError: It is not made of whole ways, or holds more than `MOST_CACHED`.
    """

    bytes: int
    ways: int = 8
    """Lines that it holds of those whose addresses differ by a multiple of `bytes / ways`."""

    def __post_init__(self) -> None:
        if not 0 < self.ways <= self.bytes or self.bytes % self.ways:
            raise ValueError(f"expected a cache of whole ways, got {self.bytes} bytes in {self.ways} ways")
        if self.bytes > MOST_CACHED:
            raise ValueError(f"expected a cache of at most {MOST_CACHED} bytes, got {self.bytes}")


@dataclass(frozen=True, slots=True)
class Rates:
    """How fast one core computes and moves data.

    Raises:
        ValueError: A number is one that no machine has.
    """

    call: float
    """Seconds that a kernel costs besides its loops."""
    products: float
    """Operations a second in matrix products and convolutions; a multiply-add is two."""
    vectors: float
    """Additions a second in other loops."""
    speeds: tuple[float, ...]
    """Bytes a second of each cache, nearest first, and of the memory."""
    streams: int = 32
    """Most arrays that a kernel should read and write."""

    def __post_init__(self) -> None:
        for what, number in (("call", self.call), ("products", self.products), ("vectors", self.vectors)):
            if not 0 < number < math.inf:
                raise ValueError(f"expected {what} to be a number above 0, got {number}")
        if not self.speeds or not all(0 < speed < math.inf for speed in self.speeds):
            raise ValueError(f"expected speeds above 0 of caches and memory, got {self.speeds}")
        if self.streams < 4:
            raise ValueError(f"expected streams to be 4 or more, got {self.streams}")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that runs kernels: one core of it, where nothing else is said.

    Raises:
        ValueError: A number is one that no machine has.
    """

    name: str
    """How command lines call it."""
    vector_bytes: int = 16
    """Bytes of a vector: a power of two, 16 or more."""
    registers: int = 16
    """Number of vector registers, 8 or more."""
    units: Unit = Unit.NONE
    caches: tuple[Cache, ...] = (Cache(32 << 10, 8), Cache(1 << 20, 16), Cache(32 << 20, 16))
    """One or more, nearest first."""
    line_bytes: int = 64
    """Bytes that memory and caches move at once; a power of two."""
    ahead_bytes: int = 4096
    """Bytes that are on their way from memory to a core at once, so that none of them is waited for."""
    cores: int = 2
    """Cores that schedules leave work for; kernels run on any number."""
    processor: str = ""
    """Processor whose instructions these are, as the backend names it; by default one of the machine's own name."""
    rates: Rates | None = None
    """How fast it is; by default like that of its class which comes with the package (`description.with_rates`)."""
    emulated: Unit = Unit.NONE
    """Units of `TILES` whose instructions are functions (3)."""

    def __post_init__(self) -> None:
        for what, number, least in (("vector_bytes", self.vector_bytes, 16), ("line_bytes", self.line_bytes, 16)):
            if number < least or number & (number - 1):
                raise ValueError(
                    f"machine '{self.name}': expected {what} to be a power of two from {least}, got {number}"
                )
        for what, number, least in (
            ("registers", self.registers, 8),
            ("ahead_bytes", self.ahead_bytes, 1),
            ("cores", self.cores, 1),
        ):
            if number < least:
                raise ValueError(f"machine '{self.name}': expected {what} to be {least} or more, got {number}")
        if not self.caches:
            raise ValueError(f"machine '{self.name}': expected one cache or more")
        if self.emulated & ~TILES:
            raise ValueError(f"machine '{self.name}': expected emulated to be units of tiles")
        if self.rates is not None and len(self.rates.speeds) != len(self.caches) + 1:
            count = len(self.rates.speeds)
            raise ValueError(f"machine '{self.name}': expected a speed for each cache and for memory, got {count}")

    @property
    def first_cache(self) -> Cache:
        """What a core reaches at once."""
        return self.caches[0]

    @property
    def second_cache(self) -> Cache:
        """What a core has to itself besides; the first where there is no other."""
        return self.caches[min(1, len(self.caches) - 1)]

    @property
    def last_cache(self) -> Cache:
        """What all cores share, where they do."""
        return self.caches[-1]

    def lanes(self, element_bytes: int) -> int:
        """Elements of a vector (1)."""
        return self.vector_bytes // element_bytes

    def speed_of(self, unit: Unit) -> float:
        """How many times as many operations a second a unit of tiles does in products as vectors of f32 do.

        A tile of columns takes a row of 16 numbers of 32 bits each cycle, and vectors two multiply-adds. Loads, stores
        and what follows a product take more than half of the time of kernels with tiles, and little of others'.
        """
        parts = {Unit.BYTE_TILES: 4, Unit.PAIR_TILES: 2}.get(unit)
        return 1.0 if parts is None else _TILE_SHARE * _TILE_ROWS * _TILE_ROWS * parts / (2 * self.lanes(4))

    def moving(self, bytes: float, resident: float | None = None) -> float:
        """Seconds of reading or writing once; the machine has rates.

        Args:
            bytes: How many are moved.
            resident: Bytes of what they are a part of, which decides where that lies (4); by default the same.
        """
        assert self.rates is not None, "description.with_rates gives a machine its rates"
        size = bytes if resident is None else resident
        level = next((at for at, cache in enumerate(self.caches) if size <= cache.bytes / 2), len(self.caches))
        return bytes / self.rates.speeds[level]
