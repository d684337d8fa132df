"""How the loops of nodes look from outside: enough to say whether two nodes can be one kernel, without their loops.

1. A node's *space* is its iteration space: parallel axes, then reduced ones. Axes of one element are left out.
2. Its *rows* are leading parallel axes that all of its loops share. A map has all of its space as rows; a softmax along
   the last axis has all axes but that one.
3. An *access* says how a node reads a value: in what order, in how many leading axes its own row is the row that it
   reads, and how often it reads each element.
4. Accesses compose. If B reads a value of A, and A reads v, then a kernel that computes A where B needs it reads v by
   B's access, `then` by A's. Composing never makes an access look better than it is.

Source: the idea of reuse patterns in "Optimus: An Operator Fusion Framework for Deep Neural Networks", and of the
indexing maps that XLA's fusions compose, xla/hlo/analysis/indexing_analysis.cc.
"""

from dataclasses import dataclass
from enum import Enum, IntEnum, auto
from typing import NamedTuple

from fuse_dialect.counts import Count, Size


class Order(IntEnum):
    """In which order a node reads the elements of a value; greater is harder."""

    SAME = 0
    """Point by point in row-major order, each element once."""
    BROADCAST = 1
    """The value has some of the axes of the space, in order; what it lacks reads the same element again."""
    LINES = 2
    """Other axes change places or are cut, but the last axis of the value stays the last of the space."""
    MOVED = 3
    """At positions that are computed from loop variables alone: a transpose, a slice with steps."""
    GUARDED = 4
    """The same under conditions: padding."""
    ANYHOW = 5
    """At positions that are values, or in a way that is not known."""


class Access(NamedTuple):
    """How a node reads a value (3)."""

    order: Order
    rows: int
    """Leading axes, of those of the space, at which it reads the same index of the value."""
    repeats: float
    """How often it reads an element, about."""

    def then(self, inner: "Access") -> "Access":
        """The access to what the producer of the value reads by `inner` (4)."""
        if self.order is Order.SAME and self.rows >= inner.rows and self.repeats == 1.0:
            return inner
        return Access(max(self.order, inner.order), min(self.rows, inner.rows), self.repeats * inner.repeats)

    def within(self, rows: int) -> "Access":
        """The access of a stage that shares so many rows with others."""
        return self if self.rows <= rows else Access(self.order, rows, self.repeats)

    def with_other(self, other: "Access") -> "Access":
        """Both accesses to one value in one kernel, as one."""
        if self == other:
            return self
        return Access(max(self.order, other.order), min(self.rows, other.rows), max(self.repeats, other.repeats))


UNKNOWN_ACCESS = Access(Order.ANYHOW, 0, float("inf"))
"""What holds of every access."""


class Loops(Enum):
    """What the loops of a node, or of a kernel, are."""

    MAP = auto()
    """Each element of the result is computed by itself."""
    ROWS = auto()
    """Reductions within rows, with maps around them."""
    PRODUCT = auto()
    """A matrix product, batched or not."""
    WINDOWS = auto()
    """A convolution, or a pool."""
    UNKNOWN = auto()
    """There are no loops, or such as share nothing: the node stays alone."""


@dataclass(frozen=True, slots=True)
class LoopForm:
    """The loops of a node."""

    loops: Loops
    space: tuple[Size, ...]
    """See (1); of the largest loop nest."""
    rows: int
    """How many of the leading axes of `space` are rows (2)."""
    reads: tuple[Access, ...]
    """Beside each entry of `GraphFacts.reads`; empty if nothing is known."""
    work: Count | None
    """Operations on elements, in additions: an exponential is 10. Those of a product are left out."""
    dearest: int = 0
    """Additions for one element of a result."""
    is_view: bool = False
    """Whether nothing is computed or moved: a reshape."""
    pieces: int = 1
    """In how many pieces the result is written: a concatenation has several."""
    columns: frozenset[int] = frozenset()
    """Places in `reads` of what a product copies before it multiplies, so that any order is as good."""
    is_of_bytes: bool = False
    """Whether a product multiplies bytes: it takes some neighbours at once, as they lie."""


UNKNOWN_FORM = LoopForm(Loops.UNKNOWN, (), 0, (), None)
"""That of a node without loops."""
