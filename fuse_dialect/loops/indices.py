"""Indices: sums of loop variables with factors, quotients and remainders by constants. Their algebra is exact.

`+`, `-`, `*`, `//` and `%` build indices in normal form: every atom once, factors other than 0, atoms in a fixed order,
and `b * (x // b) + x % b` written as `x`. `simplified` uses the sizes of the axes, too: where `x` stays below `b`,
`x // b` is 0. That makes the indices of two reshapes which undo each other vanish.

Quotients round down and remainders are not negative, for negative numbers too: as in Python.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import gcd
from typing import TypeAlias

from fuse_dialect.counts import Size


@dataclass(frozen=True, slots=True)
class Loop:
    """The value of the stage's axis with this number."""

    axis: int


@dataclass(frozen=True, slots=True)
class Quotient:
    """`of` divided by a positive constant, rounded down."""

    of: "Index"
    by: int


@dataclass(frozen=True, slots=True)
class Remainder:
    """What is left of `of` after dividing by a positive constant, not negative."""

    of: "Index"
    by: int


Atom: TypeAlias = Loop | Quotient | Remainder


@dataclass(frozen=True, slots=True)
class Index:
    """A sum of atoms with factors, plus a constant."""

    terms: tuple[tuple[Atom, int], ...] = ()
    """Atoms, each once, with factors other than 0."""
    constant: int = 0

    def __add__(self, other: "Index | int") -> "Index":
        """The sum."""
        if isinstance(other, int):
            return Index(self.terms, self.constant + other)
        return _sum((*self.terms, *other.terms), self.constant + other.constant)

    def __sub__(self, other: "Index | int") -> "Index":
        """The difference."""
        return self + other * -1

    def __mul__(self, factor: int) -> "Index":
        """The product with a constant."""
        if not factor:
            return Index()
        return Index(tuple((atom, own * factor) for atom, own in self.terms), self.constant * factor)

    def __floordiv__(self, by: int) -> "Index":
        """The quotient by a positive constant, rounded down."""
        whole, rest = _divided(self, by)
        return whole + _quotient(rest, by)

    def __mod__(self, by: int) -> "Index":
        """The remainder of dividing by a positive constant."""
        return _remainder(_divided(self, by)[1], by)


@cache
def loop(axis: int) -> Index:
    """The loop variable of an axis; made once, since programs have few axes and many indices."""
    return Index(((Loop(axis), 1),))


def number(value: int) -> Index:
    """A constant."""
    return Index((), value)


@dataclass(frozen=True, slots=True)
class Guard:
    """Holds where 0 <= `index` < `size`."""

    index: Index
    size: Size


def _order(term: tuple[Atom, int]) -> tuple[int, int, str]:
    atom = term[0]
    return (0, atom.axis, "") if isinstance(atom, Loop) else (1, 0, repr(atom))


def _sum(terms: Iterable[tuple[Atom, int]], constant: int) -> Index:
    """The index of terms that may repeat an atom, or hold both parts of a division."""
    factors: dict[Atom, int] = {}
    for atom, factor in terms:
        factors[atom] = factors.get(atom, 0) + factor
    for atom in list(factors):
        # `x // b * b + x % b` is `x`, whatever x is; so splits that are merged again leave no trace.
        whole = _whole_of(atom, factors) if isinstance(atom, Remainder) and factors[atom] else None
        if whole is not None:
            joined = whole.of * factors[atom]
            del factors[atom], factors[whole]
            return _sum((*factors.items(), *joined.terms), constant + joined.constant)
    kept = [(atom, factor) for atom, factor in factors.items() if factor]
    return Index(tuple(sorted(kept, key=_order)), constant)


def _whole_of(rest: Remainder, factors: Mapping[Atom, int]) -> Quotient | None:
    """The quotient of the same division that stands beside a remainder, with a factor that fits."""
    for atom, factor in factors.items():
        if isinstance(atom, Quotient) and atom.by == rest.by and factor == factors[rest] * atom.by:
            if atom.of == rest.of:
                return atom
            # x % b is (x % c) % b for each multiple c of b, and is written that way, without multiples of b in x.
            match atom.of:
                case Index(((Remainder(of, by), 1),), 0) if by % rest.by == 0 and of % rest.by == Index(((rest, 1),)):
                    return atom
                case _:
                    pass
    return None


def _divided(index: Index, by: int) -> tuple[Index, Index]:
    """Two indices `whole` and `rest` with `index == whole * by + rest`, as little as possible in `rest`."""
    # Multiples of `by` leave the division unchanged, for it rounds down: (k * by + r) // by == k + r // by.
    whole = Index(tuple((atom, f // by) for atom, f in index.terms if f % by == 0), index.constant // by)
    return whole, Index(tuple(term for term in index.terms if term[1] % by), index.constant % by)


def _quotient(rest: Index, by: int) -> Index:
    """The quotient of what `_divided` left."""
    if not rest.terms:
        return Index()
    common = gcd(by, *(factor for _, factor in rest.terms))
    if common > 1:  # floor((g * r + c) / (g * b)) == floor((r + floor(c / g)) / b)
        terms = tuple((atom, factor // common) for atom, factor in rest.terms)
        return Index(terms, rest.constant // common) // (by // common)
    match rest:
        # Floors nest: (x // a) // b == x // (a * b) for positive a and b.
        case Index(((Quotient(of, inner), 1),), 0):
            return of // (inner * by)
        case _:
            return Index(((Quotient(rest, by), 1),))


def _remainder(rest: Index, by: int) -> Index:
    """The remainder of what `_divided` left."""
    if not rest.terms:
        return rest
    match rest:
        # A remainder by a multiple of `by` has lost only multiples of `by`.
        case Index(((Remainder(of, inner), 1),), 0) if inner % by == 0:
            return of % by
        case _:
            return Index(((Remainder(rest, by), 1),))


Range: TypeAlias = tuple[int, int | None]
"""The least value and the greatest; `None` where a size is not known."""


def range_of(index: Index, sizes: Sequence[Size]) -> tuple[int | None, int | None]:
    """Bounds of an index over axes of these sizes, both included; `None` where there is none."""
    low: int | None = index.constant
    high: int | None = index.constant
    for atom, factor in index.terms:
        least, greatest = _atom_range(atom, sizes)
        # A negative factor turns the bounds round; `None` turns with them.
        if factor < 0:
            least, greatest = greatest, least
        low = None if low is None or least is None else low + factor * least
        high = None if high is None or greatest is None else high + factor * greatest
    return low, high


def _atom_range(atom: Atom, sizes: Sequence[Size]) -> tuple[int | None, int | None]:
    match atom:
        case Loop(axis):
            size = sizes[axis]
            return 0, max(size - 1, 0) if isinstance(size, int) else None
        case Quotient(of, by):
            low, high = range_of(of, sizes)
            return None if low is None else low // by, None if high is None else high // by
        case Remainder(_, by):
            return 0, by - 1


def simplified(index: Index, sizes: Sequence[Size]) -> Index:
    """The index with the same value at every point of axes of these sizes, with fewer quotients and remainders."""
    # Most indices are sums of loop variables, and have been written in order when they were made.
    if all(type(atom) is Loop and sizes[atom.axis] != 1 for atom, _ in index.terms):
        return index
    return substituted(index, [number(0) if size == 1 else loop(axis) for axis, size in enumerate(sizes)], sizes)


def substituted(index: Index, values: Sequence[Index], sizes: Sequence[Size]) -> Index:
    """The index with `values` in place of the loop variables, simplified.

    Args:
        index: The index.
        values: What stands for each axis; an index over other axes.
        sizes: Sizes of these other axes.
    """
    terms = index.terms
    if not terms:
        return index
    if len(terms) == 1 and type(terms[0][0]) is Loop and terms[0][1] == 1:
        value = values[terms[0][0].axis]
        return value + index.constant if index.constant else value
    result = number(index.constant)
    for atom, factor in terms:
        match atom:
            case Loop(axis):
                part = values[axis]
            case Quotient(of, by):
                part = quotient(substituted(of, values, sizes), by, sizes)
            case Remainder(of, by):
                part = remainder(substituted(of, values, sizes), by, sizes)
        result = result + part * factor
    return result


def quotient(index: Index, by: int, sizes: Sequence[Size]) -> Index:
    """`index // by`, simplified with the sizes of the axes."""
    whole, rest = _divided(index, by)
    # The rest has one quotient over all its range, so that is a number.
    low, high = range_of(rest, sizes)
    if low is not None and high is not None and low // by == high // by:
        return whole + low // by
    step, coarse, _ = _stepped(rest, by, sizes)
    return whole + (_quotient(rest, by) if step == 1 else quotient(coarse, by // step, sizes))


def remainder(index: Index, by: int, sizes: Sequence[Size]) -> Index:
    """`index % by`, simplified with the sizes of the axes."""
    rest = _divided(index, by)[1]
    low, high = range_of(rest, sizes)
    if low is not None and high is not None and low // by == high // by:
        return rest - low // by * by
    step, coarse, fine = _stepped(rest, by, sizes)
    return _remainder(rest, by) if step == 1 else remainder(coarse, by // step, sizes) * step + fine


def _stepped(index: Index, by: int, sizes: Sequence[Size]) -> tuple[int, Index, Index]:
    """A divisor of `by` with `index == step * coarse + fine` and 0 <= fine < step, coarse and fine; 1 if there is none.

    Then `index // by == coarse // (by // step)`, and `index % by == step * (coarse % (by // step)) + fine`.
    """
    # Larger steps first: they leave the smaller divisor. Only factors' own divisors can leave a small rest.
    for step in sorted({gcd(factor, by) for _, factor in index.terms} - {1}, reverse=True):
        coarse, fine = _divided(index, step)
        low, high = range_of(fine, sizes)
        if low is not None and low >= 0 and high is not None and high < step:
            return step, coarse, fine
    return 1, index, number(0)


def holds(guard: Guard, sizes: Sequence[Size]) -> bool | None:
    """Whether a guard holds at every point of axes of these sizes (true) or at none (false), if that is known."""
    low, high = range_of(guard.index, sizes)
    if (high is not None and high < 0) or (isinstance(guard.size, int) and low is not None and low >= guard.size):
        return False
    if low is None or low < 0:
        return None
    if isinstance(guard.size, int):
        return True if high is not None and high < guard.size else None
    match guard.index:
        case Index(((Loop(axis), 1),), 0) if sizes[axis] == guard.size:
            return True
        case _:
            return None


def linear(indices: Sequence[Index], shape: Sequence[Size]) -> Index | None:
    """The row-major position of indices in a shape; `None` where another size than the first is not known."""
    result = number(0)
    for index, size in zip(indices, shape, strict=True):
        if result == number(0):
            result = index
        elif isinstance(size, int):
            result = result * size + index
        else:
            return None
    return result


def delinear(position: Index, shape: Sequence[Size], sizes: Sequence[Size]) -> tuple[Index, ...] | None:
    """Indices in a shape of a row-major position; `None` where another size than the first is not known."""
    indices: list[Index] = []
    for axis, size in reversed(list(enumerate(shape))):
        if not axis:
            indices.append(position)
        elif isinstance(size, int):
            indices.append(remainder(position, max(size, 1), sizes))
            position = quotient(position, max(size, 1), sizes)
        else:
            return None
    return tuple(indices[::-1])


def axes_of(index: Index) -> set[int]:
    """The axes that an index depends on."""
    found: set[int] = set()
    pending = [index]
    while pending:
        for atom, _ in pending.pop().terms:
            if isinstance(atom, Loop):
                found.add(atom.axis)
            else:
                pending.append(atom.of)
    return found
