"""Tiles of a row of windows: together they are the row, and none with a border is of unknown place."""

import pytest
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
    assert [(each.first, each.stop, each.is_fixed) for each in tiles] == [(0, 3, True), (3, 52, False), (52, 56, True)]


@pytest.mark.parametrize(
    ("size", "whole", "expected"),
    [(112, (1, 111), (4, 8, 4)), (56, (1, 56), (6, 10, 0)), (35, (1, 34), (4, 9, 4)), (112, (0, 111), (0, 9, 4))],
)
def test_tiles_of_a_row_are_little_code(size: int, whole: tuple[int, int], expected: tuple[int, int, int]) -> None:
    tiles = row_tiles(size, whole, 14)
    assert tiles is not None
    borders = {each.first == 0: each.count for each in tiles if each.is_fixed}
    (middle,) = (each.count for each in tiles if not each.is_fixed)
    assert (borders.get(True, 0), middle, borders.get(False, 0)) == expected


def test_a_row_of_two_tiles_is_cut_in_halves() -> None:
    tiles = row_tiles(14, (1, 13), 7)
    assert tiles is not None
    assert [(each.first, each.stop, each.is_fixed) for each in tiles] == [(0, 7, True), (7, 14, True)]


def test_a_border_of_many_tiles_is_left_to_guards() -> None:
    assert row_tiles(200, (80, 120), 7) is None
