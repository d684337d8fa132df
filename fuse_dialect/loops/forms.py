"""How loops look from outside: enough to say whether two kernels can be one, without their loops.

1. A node's *space* is its iteration space: parallel axes, then reduced ones. Axes of one element are left out.
2. Its *rows* are leading parallel axes that all of its loops share. A map has all of its space as rows; a softmax along
   the last axis has all axes but that one. A product has those in front of its columns, the last of which only one
   operand has: at each point of the others, all its rows meet the same columns. Without such an axis it has none.
3. An *access* says how a node reads a value: in what order, in how many leading axes its own row is the row that it
   reads, and how often it reads each element.
4. Accesses compose. If B reads a value of A, and A reads v, then a kernel that computes A where B needs it reads v by
   B's access, `then` by A's. Composing never makes an access look better than it is.

Source: the idea of reuse patterns in "Optimus: An Operator Fusion Framework for Deep Neural Networks", and of the
indexing maps that XLA's fusions compose, xla/hlo/analysis/indexing_analysis.cc.
"""

from collections.abc import Iterable, Mapping, Sequence
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
    STRIPS = auto()
    """Products and what lies between them, some rows at a time."""
    UNKNOWN = auto()
    """There are no loops, or such as share nothing: the node stays alone."""


ANCHORS = (Loops.PRODUCT, Loops.WINDOWS)
"""Loops of which a kernel has one, with maps around it; only products stand side by side."""


class Form(NamedTuple):
    """How an operator, or a kernel of several, looks from outside. Values are numbers.

    A search makes several for each operator, so it is a tuple: a frozen dataclass sets its fields one by one.
    """

    loops: Loops
    space: tuple[Size, ...]
    """See (1); of the largest loop nest."""
    rows: int
    """How many of the leading axes of `space` are rows (2): all stages share them."""
    reads: Mapping[int, Access]
    """Values from outside, and how they are read (3)."""
    gives: frozenset[int] = frozenset()
    """Values that it stores."""
    dearest: int = 0
    """Additions for one element of a result."""
    is_view: bool = False
    """Whether nothing is computed or moved: a reshape; or what is follows from positions alone: a band."""
    pieces: int = 1
    """In how many pieces the result is written: a concatenation has several."""
    factors: frozenset[int] = frozenset()
    """Values that a product in it multiplies."""
    columns: frozenset[int] = frozenset()
    """Those of them that it copies before it multiplies, so that any order is as good."""
    has_few_rows: bool = False
    """Whether a product in it has so few rows that it copies no columns which lie along the sums, but sums them."""
    is_of_bytes: bool = False
    """Whether a product in it multiplies bytes: it takes some neighbours at once, as they lie."""
    reduces: bool = False
    """Whether some stage combines values."""
    siblings: int = 1
    """How many products stand side by side."""
    is_gate: bool = False
    """Whether one of its products ends with what another one gives."""
    is_apart: bool = False
    """Whether some of its loops run before the others, or after them."""
    finds_faults: bool = False
    """Whether operands may be rejected, which is found out beside the results."""
    splits: bool = False
    """Whether it may pass columns of open length block by block: rows whose product with them needs no more than one
    pass, or strips that have such rows (`one_pass`)."""
    scales: bool = False
    """Whether it multiplies a value by a number, which moves behind any sum."""
    speed: float = 1.0
    """How many times as fast as one of f32 a product in it is: more than 1 on tiles (`Machine.speed_of`)."""

    @property
    def family(self) -> str:
        """The family of kernels that it promises where sizes are known: it becomes that, or one that is tried before.

        Empty if it promises none. See `families.FAMILIES`.
        """
        if self.is_view or self.loops is Loops.UNKNOWN:
            return ""
        if self.loops in ANCHORS:
            return "contraction"
        if self.loops is Loops.STRIPS:
            return "strips"
        return "rows" if self.reduces else "map"

    def of(self, values: Sequence[int | None], gives: Iterable[int]) -> "Form":
        """The form of an operator with numbers of values in place of those of its operands.

        Args:
            values: The value of each operand; `None` for what stands in the kernel itself.
            gives: What it stores.
        """
        reads: dict[int, Access] = {}
        for place, value in enumerate(values):
            if value is not None:
                access = self.reads.get(place, UNKNOWN_ACCESS)
                reads[value] = access.with_other(reads[value]) if value in reads else access
        columns = frozenset(value for place in self.columns if (value := values[place]) is not None)
        factors = frozenset(reads) if self.loops in ANCHORS else frozenset[int]()
        return self._replace(reads=reads, gives=frozenset(gives), factors=factors, columns=columns)


UNKNOWN_FORM = Form(Loops.UNKNOWN, (), 0, {})
"""That of a node without loops."""


class OperatorForm(NamedTuple):
    """The form of an operator, whose values are the numbers of its operands, and what it computes."""

    form: Form
    work: Count | None
    """Operations on elements, in additions: an exponential is 10. Those of a product are left out."""


UNKNOWN_OPERATOR = OperatorForm(UNKNOWN_FORM, None)
