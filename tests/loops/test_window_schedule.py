"""Tiles of a row of windows: together they are the row, and none with a border is of unknown place."""

from hypothesis import given
from hypothesis import strategies as st

from fuse_dialect.loops.window_schedule import row_tiles


@given(st.integers(1, 200), st.integers(0, 40), st.integers(0, 40), st.integers(1, 9))
def test_tiles_are_the_row(size: int, first: int, behind: int, tile: int) -> None:
    first = min(first, size)
    stop = max(first, size - behind)
    tiles = row_tiles(size, (first, stop), tile)
    if tiles is None:
        return
    place = 0
    for each in tiles:
        assert each.first == place
        assert each.stop > each.first
        assert (each.stop - each.first) % each.count == 0
        assert each.count <= tile
        if each.is_fixed:
            assert each.stop - each.first == each.count
        else:
            assert first <= each.first
            assert each.stop <= stop
        place = each.stop
    assert place == size


def test_few_tiles_stand_at_known_places() -> None:
    tiles = row_tiles(56, (1, 55), 7)
    assert tiles is not None
    assert [(each.first, each.stop, each.is_fixed) for each in tiles] == [(0, 7, True), (7, 49, False), (49, 56, True)]


def test_a_border_of_many_tiles_is_left_to_guards() -> None:
    assert row_tiles(200, (80, 120), 7) is None
