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

The families of kernels are shapes of stages: a map has no reduction, a contraction multiplies two reads and adds up, a
row program has several stages that share their outer axes. A sequence of stages has the same meaning under every
schedule; `interpreters/loops.py` runs it on NumPy.

Source: the tensor expressions of TVM (te.compute) and Halide, MLIR's linalg.generic.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from fuse_dialect.kernels.indices import Atom as Atom
from fuse_dialect.kernels.indices import Guard as Guard
from fuse_dialect.kernels.indices import Index as Index
from fuse_dialect.kernels.indices import Loop as Loop
from fuse_dialect.kernels.indices import Quotient as Quotient
from fuse_dialect.kernels.indices import Remainder as Remainder
from fuse_dialect.kernels.indices import Size as Size


class Role(Enum):
    """Who owns a buffer."""

    ARGUMENT = "argument"
    RESULT = "result"
    LOCAL = "local"
    """It lives from the stage that writes it to the last that reads it."""


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
    """A scalar function: an op of `arith` or `math` by name.

    On f16 and bf16 it is computed in f32 and rounded once; a true i1 is -1 where it is read as signed, as in `arith`.
    """

    function: str
    """`arith.addf`, `math.exp`, `arith.select`; comparisons with their predicate: `arith.cmpf olt`."""
    operands: tuple[int, ...]
    """Places in the body."""
    element: str
    """Type of the value, integers without a sign."""
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


@dataclass(frozen=True, slots=True)
class Reduction:
    """The combination of the values of `body`."""

    combiner: Combiner
    start: Literal
    """What the combination starts with; its element type is the accumulator's, and keeps the sign: `ui8`."""


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


@dataclass(frozen=True, slots=True)
class LoopProgram:
    """What one primitive function computes."""

    name: str
    buffers: tuple[Buffer, ...]
    """Arguments in the function's order, then results in its order, then local ones.

    Arrays whose sizes differ where a name of a size, or a known size, stands twice are not for this program.
    """
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no loop program, or no kernel; its NumPy meaning is run instead."""

    reason: str
    """Names the op first: `'fuse.sort' op has no loop form`."""
