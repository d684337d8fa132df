"""Loop programs: what a primitive computes, as loops over elements. Pure data.

1. A *buffer* is a dense row-major array: an argument, a result, or a local one between two stages.
2. A *stage* writes one buffer. For every point of its parallel axes it runs `body` at every point of its reduced axes,
   combines the values that this gives, runs `finish` once on what came out, and stores that. A stage without reduced
   axes has no reduction, and its `finish` is empty.
3. A *body* is a list of instructions in SSA order; operands are places in the list. In `finish`, place 0 is the
   combined value.
4. An *index* is a sum of axes with factors, quotients and remainders by constants; so transposes, slices, broadcasts
   and reshapes are reads with other indices. A *guard* keeps a read inside its buffer; where it fails the read gives
   `otherwise`: padding.
5. Stages run in order, and each reads only arguments and what earlier stages wrote.
6. A *scan* is a stage whose reduction stores at each point of its one reduced axis, in the order of the axis: a running
   sum, or the places of the values in ascending order. Its `finish` and its store may use that axis.
7. A *scatter* is a stage without a reduction that stores at places which a buffer holds. Its points run in the order of
   its axes, the last one fastest, so that it is clear what comes of two that store at one place.

The families of kernels are shapes of stages: a map has no reduction, a contraction multiplies two reads and adds up, a
row program has several stages that share their outer axes. A sequence of stages has the same meaning under every
schedule; `interpreters/loops.py` runs it on NumPy.

Source: the tensor expressions of TVM (te.compute) and Halide, MLIR's linalg.generic.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from fuse_dialect.loops.functions import Parameter
from fuse_dialect.loops.indices import Atom as Atom
from fuse_dialect.loops.indices import Guard as Guard
from fuse_dialect.loops.indices import Index as Index
from fuse_dialect.loops.indices import Loop as Loop
from fuse_dialect.loops.indices import Quotient as Quotient
from fuse_dialect.loops.indices import Remainder as Remainder
from fuse_dialect.loops.indices import Size as Size
from fuse_dialect.loops.indices import loop


class Role(Enum):
    """Who owns a buffer."""

    ARGUMENT = "argument"
    RESULT = "result"
    LOCAL = "local"
    """It lives from the stage that writes it to the last that reads it."""
    FAULT = "fault"
    """One truth value that says whether the operands are ones that an op rejects. Then results mean nothing, and who
    runs the program asks the ops' own meaning what is wrong."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """A dense row-major array."""

    name: str
    element: str
    """Element type as MLIR writes it: f32, f64, f16, bf16, i1, i8 to i64, ui8 to ui64."""
    shape: tuple[Size, ...]
    role: Role


@dataclass(frozen=True, slots=True)
class Axis:
    """One loop, from 0 to `size`."""

    size: Size
    is_reduced: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """The value of the instruction at a place of the same body, as an index: a read at a computed position."""

    place: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: int | float | bool
    """A float for floating-point types, else an int or bool; integers without a sign lie in the signed range."""
    element: str


@dataclass(frozen=True, slots=True)
class Read:
    """One element of a buffer."""

    buffer: str
    indices: tuple[Index | Value, ...]
    """One for each axis of the buffer."""
    element: str
    """The type that the body sees: that of the buffer, integers without a sign (`ui8` is `i8`)."""
    guards: tuple[Guard, ...] = ()
    """The element is read where all of them hold; nothing may be read elsewhere."""
    otherwise: Literal | None = None
    """The value where a guard fails; given if there are guards."""
    origin: str = field(default="", compare=False, repr=False)
    """The op that it comes from."""


@dataclass(frozen=True, slots=True)
class Position:
    """The value of an index, as an integer of the element type."""

    index: Index
    element: str


@dataclass(frozen=True, slots=True)
class Extent:
    """The value of a size that is known when the kernel is called, as an integer of the element type."""

    size: str
    element: str


@dataclass(frozen=True, slots=True)
class Inside:
    """Whether all guards hold: an i1."""

    guards: tuple[Guard, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """A scalar function of `loops.functions`: an op of `arith` or `math`, or one that a backend makes of several.

    On f16 and bf16 it is computed in f32 and rounded once; a true i1 is -1 where it is read as signed, as in `arith`.
    """

    function: str
    """Its name: `arith.addf`, `math.exp`, `arith.cmpf`."""
    operands: tuple[int, ...]
    """Places in the body."""
    element: str
    """Type of the value, integers without a sign."""
    parameter: Parameter | None = None
    """What else it depends on: `olt` for a comparison. Most functions have none."""
    origin: str = field(default="", compare=False, repr=False)
    """The op that it comes from."""


Instruction: TypeAlias = Read | Literal | Position | Extent | Inside | Apply
Body: TypeAlias = tuple[Instruction, ...]


class Combiner(Enum):
    """How the values along reduced axes are combined, in any order."""

    ADD = "add"
    MULTIPLY = "multiply"
    MAXIMUM = "maximum"
    """nan wins, as in NumPy and `arith.maximumf`."""
    MINIMUM = "minimum"
    AND = "and"
    OR = "or"
    ORDER = "order"
    """Of a scan alone, in i64: the first value is the place on the axis of the least (signed) number, and so on; of
    equal numbers the one with the lower place comes first."""


class Keep(Enum):
    """Which values of a combination are stored."""

    TOTAL = "total"
    """The one that has all values in it."""
    THROUGH = "through"
    """At each point what the values up to it combine to, its own included."""
    BEFORE = "before"
    """At each point what the values before it combine to."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """The combination of the values of `body`."""

    combiner: Combiner
    start: Literal
    """What the combination starts with; its element type is the accumulator's, and keeps the sign: `ui8`."""
    keep: Keep = Keep.TOTAL
    count: Size | None = None
    """At how many points an `ORDER` stores, the first ones; at all if that is left out. A number in kernels."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Where a scatter stores, and how."""

    places: str
    """A buffer of i64."""
    indices: tuple[Index, ...]
    """Which of its elements belongs to a point."""
    depth: int
    """The first axes of the target, which the place counts together in row-major order; the store has 0 for them."""
    combination: Reduction | None
    """How a value is combined with the element that is there; `None` if it takes its place."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One loop nest, which writes one buffer."""

    name: str
    """The ops that it comes from: `conv2d_bias_add_relu`."""
    buffer: str
    """What it writes."""
    axes: tuple[Axis, ...]
    """Parallel axes, then reduced ones."""
    body: Body
    """The value of its last instruction counts."""
    reduction: Reduction | None = None
    finish: Body = ()
    """Runs on the combined value, its place 0, and may read by parallel axes; empty if the value is stored as it is."""
    store: tuple[Index, ...] = ()
    """Where in the buffer the value goes, by parallel axes; empty for the parallel axes themselves.

    A concatenation is several stages, each of which writes its piece of one buffer.
    """

    scatter: Scatter | None = None

    @property
    def stored(self) -> tuple[Index, ...]:
        """`store`, written out where it is empty."""
        return self.store or tuple(loop(place) for place, axis in enumerate(self.axes) if not axis.is_reduced)

    @property
    def is_ordered(self) -> bool:
        """Whether a point may need what others have stored: a scan or a scatter."""
        return self.is_scan or self.scatter is not None

    @property
    def is_scan(self) -> bool:
        """Whether values are stored while they are combined."""
        return self.reduction is not None and self.reduction.keep is not Keep.TOTAL


@dataclass(frozen=True, slots=True)
class LoopProgram:
    """What one primitive function computes."""

    name: str
    buffers: tuple[Buffer, ...]
    """Arguments in the function's order, then results in its order, then local ones.

    Arrays whose sizes differ where a name of a size, or a known size, stands twice are not for this program.
    """
    stages: tuple[Stage, ...]

    @property
    def finds_faults(self) -> bool:
        """Whether it may find that its arguments are wrong."""
        return any(buffer.role is Role.FAULT for buffer in self.buffers)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no loop program, or no kernel; its NumPy meaning is run instead."""

    reason: str
    """Names the op first: `'fuse.sort' op has no loop form`."""
