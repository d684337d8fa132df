"""Rows of kernels in sections."""

from hypothesis import given
from hypothesis import strategies as st

from fuse_dialect.pictures.sections import MOST_FLAT, MOST_IN_SECTION, Box, Section, cut, passing


@st.composite
def rows(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """A row, and edges that lead forwards in it."""
    count = draw(st.integers(1, 4 * MOST_IN_SECTION * MOST_IN_SECTION))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    return count, sorted({(min(pair), max(pair)) for pair in draw(st.lists(pairs, max_size=60)) if len({*pair}) == 2})


def sections(count: int, edges: list[tuple[int, int]]) -> tuple[Box, ...]:
    return tuple(cut(range(count), passing(count, edges), lambda section: section.named(f"from {section.first}")))


def _leaves(boxes: tuple[Box, ...]) -> list[int]:
    found: list[int] = []
    for box in boxes:
        found += _leaves(box.boxes) if isinstance(box, Section) else [box]
    return found


def _inner(boxes: tuple[Box, ...]) -> list[Section]:
    own = [box for box in boxes if isinstance(box, Section)]
    return own + [inner for box in own for inner in _inner(box.boxes)]


@given(rows())
def test_sections_hold_the_row_in_order_and_are_small(row):
    count, edges = row
    found = sections(count, edges)
    assert _leaves(found) == list(range(count))
    assert len(found) <= (MOST_FLAT if count <= MOST_FLAT else MOST_IN_SECTION)
    for section in _inner(found):
        assert 1 <= len(section.boxes) <= MOST_IN_SECTION
        assert section.name == f"from {section.first}"
        assert (section.first, section.last) == (_leaves(section.boxes)[0], _leaves(section.boxes)[-1])


def test_sections_end_where_the_fewest_values_pass():
    count = MOST_FLAT + 1
    cut = MOST_IN_SECTION - 7
    # Everything is read two and three places on, but nothing passes the cut except one value.
    edges = [(place, min(place + far, count - 1)) for place in range(count - 1) for far in (2, 3)]
    edges = [(source, reader) for source, reader in edges if not source < cut <= reader] + [(cut - 1, cut)]
    first = sections(count, edges)[0]
    assert isinstance(first, Section)
    assert first.last == cut - 1
