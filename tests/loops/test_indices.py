"""The algebra of indices, compared with arithmetic at every point."""

from collections.abc import Callable, Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuse_dialect.counts import Size
from fuse_dialect.loops.indices import (
    Guard,
    Index,
    Loop,
    Quotient,
    axes_of,
    delinear,
    holds,
    linear,
    loop,
    number,
    range_of,
    simplified,
    substituted,
)

SIZES = (3, 4, 1, 5)
POINTS = list(product(*map(range, SIZES)))


def value(index: Index, point: Sequence[int]) -> int:
    """The index at a point, by the definition."""
    total = index.constant
    for atom, factor in index.terms:
        match atom:
            case Loop(axis):
                part = point[axis]
            case Quotient(of, by):
                part = value(of, point) // by
            case _:
                part = value(atom.of, point) % atom.by
        total += part * factor
    return total


@st.composite
def indices(draw: Callable[[st.SearchStrategy[int]], int], depth: int = 3) -> tuple[Index, list[int]]:
    """An index built by operators, and its values at all points computed beside it."""
    axis = draw(st.integers(0, len(SIZES) - 1))
    index, values = loop(axis), [point[axis] for point in POINTS]
    for _ in range(draw(st.integers(0, 6))):
        by = draw(st.integers(1, 12))
        match draw(st.integers(0, 5)):
            case 0:
                index, values = index // by, [own // by for own in values]
            case 1:
                index, values = index % by, [own % by for own in values]
            case 2:
                index, values = index * (by - 6), [own * (by - 6) for own in values]
            case 3:
                index, values = index - by, [own - by for own in values]
            case _ if depth:
                other, others = draw(indices(depth - 1))  # pyright: ignore[reportArgumentType, reportGeneralTypeIssues, reportUnknownVariableType]
                index = index + other
                values = [one + two for one, two in zip(values, others, strict=True)]
            case _:
                index = index + by
                values = [own + by for own in values]
    return index, values


@given(indices())
def test_operators_and_simplification_are_exact(drawn: tuple[Index, list[int]]) -> None:
    index, values = drawn
    assert [value(index, point) for point in POINTS] == values
    assert [value(simplified(index, SIZES), point) for point in POINTS] == values


@given(indices())
def test_range_holds_every_value(drawn: tuple[Index, list[int]]) -> None:
    index, values = drawn
    low, high = range_of(index, SIZES)
    assert low is not None
    assert high is not None
    assert low <= min(values)
    assert max(values) <= high


@given(indices(), st.integers(1, 8))
def test_verdict_on_a_guard_is_right(drawn: tuple[Index, list[int]], size: int) -> None:
    index, values = drawn
    verdict = holds(Guard(index, size), SIZES)
    inside = [0 <= own < size for own in values]
    assert verdict is None or all(held is verdict for held in inside)


@given(indices(), indices(), indices())
def test_substitution_is_exact(
    outer: tuple[Index, list[int]], one: tuple[Index, list[int]], other: tuple[Index, list[int]]
) -> None:
    found = substituted(outer[0], [one[0], other[0], number(2), one[0] + other[0]], SIZES)
    for place, point in enumerate(POINTS):
        inner = (one[1][place], other[1][place], 2, one[1][place] + other[1][place])
        assert value(found, point) == value(outer[0], inner)


@pytest.mark.parametrize(
    ("shape", "through"),
    [
        ((4, 6, 8), [(24, 8)]),
        ((4, 6, 8), [(24, 8), (2, 96)]),
        ((12, 5), [(3, 4, 5), (3, 20)]),
        ((7, 1, 3), [(21,)]),
        ((6, 4, 8), [(8, 24)]),
        ((1, 5, 19, 2, 1), [(1, 19, 10, 1)]),
    ],
)
def test_reshapes_that_undo_each_other_leave_the_loops(shape: tuple[int, ...], through: list[tuple[int, ...]]) -> None:
    plain = tuple(simplified(loop(axis), shape) for axis in range(len(shape)))
    at: tuple[Index, ...] | None = plain
    own: tuple[int, ...] = shape
    for target in [*through, shape]:
        position = linear(at, own)
        assert position is not None
        at, own = delinear(position, target, shape), target
        assert at is not None
    assert at == plain


def test_leading_size_may_be_unknown() -> None:
    sizes: tuple[Size, ...] = ("n", 8)
    position = linear([loop(0), loop(1)], sizes)
    assert position is not None
    assert delinear(position, ("n", 2, 4), sizes) == (loop(0), loop(1) // 4, loop(1) % 4)
    assert linear([loop(1), loop(0)], (8, "n")) is None


def test_axes_within_quotients_count() -> None:
    assert axes_of((loop(3) * 2 + loop(1)) // 5 + loop(0)) == {0, 1, 3}
