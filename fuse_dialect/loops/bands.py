"""Which columns of a row change nothing: those that a mask hides, in a program whose stages share rows. Pure data.

A program masks scores where a comparison of positions fails, takes their softmax, and multiplies what comes out. Who
runs some rows at a time need not compute what is hidden from all of them. A *column* is a point of one axis, the
*column axis*, of what passes between stages; it is *hidden* from a row where a guard on both fails.

1. The guard is `0 <= a * row + b * column + c < size` with b of 1 or -1. So the columns that it lets through are one
   interval, whose ends are multiples of the row plus constants.
2. Each stage has the column axis once or not at all, and reads what passes at its own column. What has columns is
   local.
3. A stage that combines columns gets from a hidden one what changes nothing: -inf under a maximum, 0 in a sum. This is
   proved for each guard by itself, from the instructions; (4) to (6) are what is known of values at a hidden column.
4. A score is -inf where the guard chooses that, or where -inf is added to a number.
5. *nothing*: 0, or nan where all columns of the row are. `exp(x - m)` is 0 where x is -inf and m is the row's maximum
   of x; if m is -inf or nan it is nan, and so it is at all columns. It stays 0 in a product, and in a quotient by (6).
6. *total*: the row's sum of those exponentials. The greatest of them is 1, or what all are multiples of; so the sum is
   no 0 and finite, or nan.
7. A row of which nothing is visible is all nan. So who skips computes one column of it, at least.
8. Masks are often a large negative number, -1e9 or less. It counts as -inf for rows that see something, whose maximum
   is greater by far, so that its exponential is 0. A row that sees nothing is the softmax of what was hidden, and needs
   all columns, and so do rows that are taken together with it. It must be known that a visible score is no such number:
   where all these guards hold it is a product, changed by numbers alone, and goes into maximum and difference as it is.

(4) and (5) take for granted that numbers of hidden columns, to which -inf is added, or which are multiplied by 0, are
no nan and no infinity. A program that computes everything does not: there an infinity in a hidden key or value makes
the row nan. Here it does so in rows of which somebody computes that column, and not in others: a stated difference.
(8) takes for granted that products of queries and keys stay between -1e8 and 1e8.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf, isfinite
from typing import TypeAlias

from fuse_dialect.loops.functions import Variant
from fuse_dialect.loops.grouping import reads_of
from fuse_dialect.loops.indices import Guard, Index, Loop
from fuse_dialect.loops.program import (
    Apply,
    Body,
    Combiner,
    Inside,
    Literal,
    LoopProgram,
    Read,
    Role,
    Stage,
)
from fuse_dialect.loops.read_orders import alone

_LARGE = -1e9
"""So negative a number counts as -inf (8)."""


@dataclass(frozen=True, slots=True)
class End:
    """An end of an interval of columns: `factor * row + constant`."""

    factor: int
    constant: int

    def at(self, row: int) -> int:
        """Its value."""
        return self.factor * row + self.constant


@dataclass(frozen=True, slots=True)
class Band:
    """The columns that count."""

    columns: int
    """How many there are."""
    lows: tuple[End, ...]
    """In front of each of them nothing counts."""
    stops: tuple[End, ...]
    """Nothing counts from any of them on."""
    axes: Mapping[int, int]
    """The column axis of each stage that has one, by the stage's number; stages are without axes of one element."""
    must_see: bool = False
    """Whether a row that sees nothing needs all columns, since what hides them is a number (8)."""

    def interval(self, first: int, last: int, unit: int = 1) -> tuple[int, int]:
        """The columns, in whole units, that rows from the first to the last need; all of them if they need none (7)."""
        if self.must_see and not (self._sees(first) and self._sees(last)):
            return 0, self.columns
        low = max(0, *(min(end.at(first), end.at(last)) for end in self.lows)) // unit * unit
        stop = min(self.columns, *(-(-max(end.at(first), end.at(last)) // unit) * unit for end in self.stops))
        return (low, stop) if low < stop else (0, self.columns)

    def _sees(self, row: int) -> bool:
        """Whether some column is visible; rows between two that see something do, because ends are straight lines."""
        low = max(0, *(end.at(row) for end in self.lows))
        return low < min(self.columns, *(end.at(row) for end in self.stops))


def band_of(program: LoopProgram, stages: Sequence[Stage], rows: int) -> Band | None:
    """The columns that count for each row; `None` if no guard hides any.

    Args:
        program: What is computed.
        stages: Its stages without axes of one element.
        rows: How many leading axes they share; the last one counts rows.

    Complexity: linear in the number of instructions, for each guard.
    """
    if not rows:
        return None
    for number, stage in enumerate(stages):
        for guard in _guards(stage):
            axis = _column_axis(stage, guard, rows)
            axes = None if axis is None else _column_axes(program, stages, number, axis)
            if axis is not None and axes is not None:
                return _band(program, stages, rows, number, axes)
    return None


def _band(
    program: LoopProgram, stages: Sequence[Stage], rows: int, number: int, axes: Mapping[int, int]
) -> Band | None:
    """The band of all guards of a stage that hide columns."""
    stage = stages[number]
    lows: list[End] = []
    stops: list[End] = []
    found: dict[Guard, bool] = {}
    must_see = False
    for guard in dict.fromkeys(_guards(stage)):
        if _column_axis(stage, guard, rows) != axes[number] or not isinstance(guard.size, int):
            continue
        proof = _Proof(stages, axes, number, {guard: False})
        if proof.holds():
            must_see = must_see or proof.has_large
            found[guard] = True
            low, stop = _ends(guard, rows - 1, axes[number])
            lows.append(low)
            stops.append(stop)
    if must_see and not _is_visible(stages, axes, number, found):
        return None
    size = stage.axes[axes[number]].size
    is_known = lows and isinstance(size, int)
    return Band(size, tuple(lows), tuple(stops), axes, must_see) if is_known and isinstance(size, int) else None


def _is_visible(stages: Sequence[Stage], axes: Mapping[int, int], number: int, guards: Mapping[Guard, bool]) -> bool:
    """Whether scores are products, changed by numbers alone, where guards hold, and are used as they are (8)."""
    stage = stages[number]
    if stage.reduction is None or any(isinstance(each, Read) for each in stage.finish):
        return False
    for other, each in enumerate(stages):
        used = {place for place, read in enumerate(each.body) if _reads(read, stage.buffer)}
        is_plain = used == {len(each.body) - 1} or all(
            inner.function == "arith.subf" and not used & set(inner.operands[1:])
            for inner in each.body
            if isinstance(inner, Apply) and used & set(inner.operands)
        )
        if not is_plain or (other in axes and any(_reads(read, stage.buffer) for read in each.finish)):
            return False
    return _Proof(stages, axes, number, guards).score() is _Known.HIDDEN


def _guards(stage: Stage) -> list[Guard]:
    return [guard for each in (*stage.body, *stage.finish) if isinstance(each, Inside) for guard in each.guards]


def _column_axis(stage: Stage, guard: Guard, rows: int) -> int | None:
    """The one axis behind the rows that a guard of the form (1) depends on."""
    parallel = sum(not axis.is_reduced for axis in stage.axes)
    found: int | None = None
    for atom, factor in guard.index.terms:
        if not isinstance(atom, Loop) or atom.axis < rows - 1:
            return None
        if atom.axis == rows - 1:
            continue
        if found is not None or abs(factor) != 1 or atom.axis >= parallel:
            return None
        found = atom.axis
    return found


def _ends(guard: Guard, row: int, column: int) -> tuple[End, End]:
    """The first column that a guard lets through, and the one behind the last (1)."""
    assert isinstance(guard.size, int), "sizes of guards are known"
    factors = {atom.axis: factor for atom, factor in guard.index.terms if isinstance(atom, Loop)}
    factor, constant = factors.get(row, 0), guard.index.constant
    # 0 <= column + a * row + c < size, or 0 <= -column + a * row + c < size, solved for the column.
    if factors[column] > 0:
        return End(-factor, -constant), End(-factor, guard.size - constant)
    return End(factor, constant - guard.size + 1), End(factor, constant + 1)


def _column_axes(program: LoopProgram, stages: Sequence[Stage], number: int, axis: int) -> dict[int, int] | None:
    """The column axis of each stage, from that of one (2); `None` if some stage has it otherwise."""
    local = {buffer.name for buffer in program.buffers if buffer.role is Role.LOCAL}
    passed = {stage.buffer for stage in stages}
    axes = {number: axis}
    at: dict[str, int] = {}
    """In which axis of a buffer its columns are."""
    known = 0
    # What one stage says of its buffers, it says of those who read and write them: until nobody says anything new.
    while known < len(axes) + len(at):
        known = len(axes) + len(at)
        for place, stage in enumerate(stages):
            accesses = [(read.buffer, read.indices, read.guards) for read in reads_of(stage) if read.buffer in passed]
            for buffer, indices, guards in (*accesses, (stage.buffer, stage.store, ())):
                if buffer in at:
                    own = alone(indices[at[buffer]])
                    if own is None or guards or axes.setdefault(place, own) != own:
                        return None
                positions = [each for each, index in enumerate(indices) if alone(index) == axes.get(place, -1)]
                if positions and (len(positions) > 1 or at.setdefault(buffer, positions[0]) != positions[0]):
                    return None
    sizes = {stages[place].axes[own].size for place, own in axes.items()}
    return axes if at.keys() <= local and len(sizes) == 1 else None


class _Known(Enum):
    """What is known of a value at a hidden point, where it is no number that is known."""

    NOTHING = "nothing"
    """See (5)."""
    POWER = "power"
    """The same, of an exponential: none is greater than that of the row's maximum."""
    TOTAL = "total"
    """See (6)."""
    HIDDEN = "hidden"
    """Some number that belongs to the hidden column, no nan and no infinity."""
    MINUS = "minus"
    """-inf less the maximum of its row: -inf, or nan as (5) says."""
    LESS = "less"
    """-inf less some number."""
    ANY = "any"


_Value: TypeAlias = _Known | float | bool
"""A number that is known, or what is known of one."""


@dataclass(frozen=True, slots=True)
class _Maximum:
    """The maximum of a row of a buffer."""

    of: str


class _Proof:
    """That what a guard hides changes nothing (3)."""

    def __init__(self, stages: Sequence[Stage], axes: Mapping[int, int], number: int, guards: Mapping[Guard, bool]):
        """What is known where guards of a stage hold, or fail."""
        self.stages, self.axes, self.number = stages, axes, number
        self.column, self.guards = axes[number], guards
        self.passed = {stage.buffer for stage in stages}
        self.at_hidden: dict[str, _Value] = {}
        """What buffers with columns hold at a hidden one."""
        self.rows: dict[str, _Value | _Maximum] = {}
        """What buffers without columns hold."""
        self.has_large = False
        """Whether a large negative number was taken for -inf (8)."""

    def holds(self) -> bool:
        """Whether each stage that combines columns gets nothing from a hidden one, and one of them does."""
        combines = False
        for number, stage in enumerate(self.stages):
            value = self._of_body(number, stage, stage.body, None)
            if number not in self.axes:
                total = None if stage.reduction is None else _Known.ANY
                self.rows[stage.buffer] = value if total is None else total
            elif stage.axes[self.axes[number]].is_reduced:
                if not self._changes_nothing(stage, value):
                    return False
                combines = True
                self.rows[stage.buffer] = self._total(stage, value)
            else:
                # Of a product the sum is any number that belongs to the column.
                total = value if stage.reduction is None else _Known.HIDDEN
                self.at_hidden[stage.buffer] = self._of_body(number, stage, stage.finish, total)
        return combines

    def score(self) -> _Value:
        """What the stage with the guards gives."""
        stage = self.stages[self.number]
        return self._of_body(self.number, stage, stage.finish, _Known.HIDDEN)

    def _held(self, number: int, guards: Sequence[Guard]) -> _Value:
        """Whether guards hold, of a stage whose columns may be another axis."""
        own = self.axes.get(number)
        known = [self.guards.get(self._moved(guard, own)) if own is not None else None for guard in guards]
        if False in known:
            return False
        return _Known.ANY if None in known else True

    def _moved(self, guard: Guard, own: int) -> Guard:
        """A guard as the stage with the guards would write it."""
        if own == self.column:
            return guard
        terms = [(Loop(self.column) if atom == Loop(own) else atom, factor) for atom, factor in guard.index.terms]
        return Guard(Index(tuple(terms), guard.index.constant), guard.size)

    def _changes_nothing(self, stage: Stage, value: _Value) -> bool:
        assert stage.reduction is not None, "it combines columns"
        match stage.reduction.combiner:
            case Combiner.ADD:
                return _is_nothing(value)
            case Combiner.MAXIMUM:
                return _is_number(value, -inf)
            case Combiner.MINIMUM:
                return _is_number(value, inf)
            case _:
                return False

    def _total(self, stage: Stage, value: _Value) -> _Value | _Maximum:
        """What is known of a row's total."""
        assert stage.reduction is not None, "it combines columns"
        match stage.reduction.combiner, stage.body:
            case Combiner.MAXIMUM, (Read() as read,) | (Read() as read, Apply("arith.extf")) if not stage.finish:
                return _Maximum(read.buffer)
            case Combiner.ADD, (Read(),) if value is _Known.POWER:
                # (6) A sum that becomes nan where the maximum is no number is the same.
                return _Known.TOTAL if not stage.finish or _adds_zero(stage.finish) else _Known.ANY
            case _:
                return _Known.ANY

    def _of_body(self, number: int, stage: Stage, body: Body, total: _Value | None) -> _Value:
        """The value of a body at a hidden point; of no instructions what comes before it."""
        values: list[_Value | _Maximum] = [] if total is None else [total]
        for each in body:
            values.append(self._of(number, each, values, body, 0 if total is None else 1))
        last = values[-1]
        return _Known.ANY if isinstance(last, _Maximum) else last

    def _of(
        self, number: int, each: object, values: Sequence["_Value | _Maximum"], body: Body, first: int
    ) -> "_Value | _Maximum":
        match each:
            case Literal(float() as value) if -inf < value <= _LARGE:
                self.has_large = True
                return -inf
            case Literal(value, element):
                return bool(value) if element == "i1" else value
            case Inside(guards):
                return self._held(number, guards)
            case Read(buffer) if buffer in self.at_hidden:
                return self.at_hidden[buffer]
            case Read(buffer) if buffer in self.rows:
                return self.rows[buffer]
            case Read() as read if read.buffer not in self.passed and not read.guards:
                own = self.axes.get(number)
                return _Known.HIDDEN if any(alone(index) == own for index in read.indices) else _Known.ANY
            case Apply():
                operands = [values[place] for place in each.operands]
                sources = [_widened(body, place, first) for place in each.operands]
                return _applied(each, operands, sources)
            case _:
                return _Known.ANY


def _applied(apply: Apply, operands: Sequence["_Value | _Maximum"], sources: Sequence[object]) -> _Value:
    """What is known of a function of values."""
    match apply.function, operands:
        case "arith.select", [bool(condition), one, other]:
            return _plain(one if condition else other)
        case "arith.select", [_, one, other] if (
            _is_nothing(other) and _is_number(one, 0.0) and _asks_nan(apply, sources)
        ):
            return 0.0
        case "arith.select", [_, one, other] if one == other:
            return _plain(one)
        case "arith.andi", [one, other] if one is False or other is False:
            return False
        case "arith.ori", [one, other] if one is True or other is True:
            return True
        case "arith.xori", [bool(one), bool(other)]:
            return one != other
        case (("arith.extf" | "arith.truncf"), [value]):
            return _plain(value)
        case ("arith.addf", [float() as minus, _Known.HIDDEN]) | ("arith.addf", [_Known.HIDDEN, float() as minus]):
            return minus if minus == -inf else _Known.HIDDEN
        case "arith.addf", [float() as one, float() as other]:
            return one if one == other == -inf else _Known.ANY
        case "arith.mulf", [one, other]:
            return _product(one, other)
        case "arith.divf", [one, other] if _is_nothing(one) and (other is _Known.TOTAL or _is_finite(other)):
            return _Known.NOTHING
        case "arith.divf", [one, _Known.TOTAL] if _is_finite(one):
            return _Known.TOTAL  # a finite number, and who multiplies 0 by it gets 0
        case "arith.subf", [float() as one, _Maximum(of)] if one == -inf and _reads(sources[0], of):
            return _Known.MINUS
        case "arith.subf", [float() as one, _] if one == -inf:
            return _Known.LESS
        case "math.exp", [_Known.MINUS]:
            return _Known.POWER
        case "math.exp", [_Known.LESS] if apply.parameter in (Variant.FALLING, Variant.LIFTED):
            return _Known.POWER  # whoever marked it has shown that this is the maximum
        case _ if _Known.HIDDEN in operands and all(_is_of_column(value) for value in operands):
            return _Known.HIDDEN
        case _:
            return _Known.ANY


def _product(one: object, other: object) -> _Value:
    """What is known of a product."""
    for first, second in ((one, other), (other, one)):
        if _is_nothing(first) and (second in (_Known.HIDDEN, _Known.TOTAL) or _is_finite(second)):
            return _Known.NOTHING
        if _is_number(first, -inf) and isinstance(second, float) and isfinite(second) and second > 0:
            return -inf
    return (
        _Known.HIDDEN if _Known.HIDDEN in (one, other) and _is_of_column(one) and _is_of_column(other) else _Known.ANY
    )


def _plain(value: "_Value | _Maximum") -> _Value:
    return _Known.ANY if isinstance(value, _Maximum) else value


def _is_number(value: object, number: float) -> bool:
    return isinstance(value, float) and value == number


def _is_finite(value: object) -> bool:
    return isinstance(value, float) and isfinite(value) and abs(value) > 0


def _is_nothing(value: object) -> bool:
    return value in (_Known.NOTHING, _Known.POWER) or _is_number(value, 0.0)


def _is_of_column(value: object) -> bool:
    return value is _Known.HIDDEN or (isinstance(value, float) and isfinite(value))


def _widened(body: Body, place: int, first: int) -> object:
    """The instruction at a place, or what it makes a wider number of."""
    each = body[place - first] if place >= first else None
    while isinstance(each, Apply) and each.function == "arith.extf" and each.operands[0] >= first:
        each = body[each.operands[0] - first]
    return each


def _reads(source: object, buffer: str) -> bool:
    return isinstance(source, Read) and source.buffer == buffer


def _asks_nan(select: Apply, sources: Sequence[object]) -> bool:
    """Whether a choice takes its last operand unless that is nan."""
    match sources[0]:
        case Apply("arith.cmpf", (one, other), _, "une" | "uno"):
            return one == other == select.operands[2]
        case _:
            return False


def _adds_zero(finish: Body) -> bool:
    """Whether a total becomes nan or stays: a number times 0 is added."""
    match finish:
        case (Read(), Literal(value), Apply("arith.mulf", (1, 2)), Apply("arith.addf", (0, 3))):
            return _is_number(value, 0.0)
        case _:
            return False
