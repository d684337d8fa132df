"""How contractions are cut up for a machine."""

from typing import Any

import pytest

from fuse_dialect.loops.convolution_schedule import Grid, grid_of
from fuse_dialect.loops.tiling import (
    block_bytes,
    collides,
    depth_block,
    even_part,
    many_tasks,
    most_rows,
    panel_bytes,
    pitch,
    rows_in_step,
    tile_size,
)
from fuse_dialect.machines.machine import Cache, Machine, Rates, Unit

AVX2 = Machine("avx2", 32, 16, Unit.FMA)
AVX512 = Machine("avx512", 64, 32, Unit.FMA | Unit.MASKS)
TOY = Machine("toy", 16, 8, caches=(Cache(4096, 2), Cache(16384, 4)), line_bytes=32, cores=1)
machines = pytest.mark.parametrize("machine", [AVX2, AVX512, TOY], ids=lambda machine: machine.name)


@machines
@pytest.mark.parametrize("rows", [1, 2, 5, 14, 49, 1000, None])
@pytest.mark.parametrize("columns", [1, 16, 24, 40, 1000, None])
def test_a_tile_fits_the_registers(machine: Machine, rows: int | None, columns: int | None) -> None:
    tile = tile_size(machine, machine.lanes(4), rows, columns)
    assert tile.rows * tile.vectors + tile.vectors < machine.registers
    assert rows is None or tile.rows <= rows
    assert tile.rows > 0


def test_large_matrices_use_most_of_the_registers() -> None:
    assert most_rows(AVX512, 2) == 14
    assert tile_size(AVX512, 16, 3136, 64).rows == 14
    assert tile_size(AVX2, 8, 3000, 64).rows == 6


def test_parts_are_as_equal_as_possible() -> None:
    assert [even_part(total, 14) for total in (1, 14, 15, 56, 128)] == [1, 14, 8, 14, 13]


@pytest.mark.parametrize(("height", "width", "grid"), [(56, 56, Grid(1, 14)), (7, 7, Grid(2, 7)), (3, 20, Grid(1, 10))])
def test_tiles_cover_rows_of_pixels_evenly(height: int, width: int, grid: Grid) -> None:
    assert grid_of(height, width, 14) == grid


def test_rows_a_page_apart_collide_and_copied_ones_do_not() -> None:
    assert collides(AVX512, 4096, 14)
    assert not collides(AVX512, 4096 + 64, 14)
    assert not collides(AVX512, 100, 14)
    assert not collides(AVX512, pitch(AVX512, 1024, 4) * 4, 14)
    assert pitch(AVX512, 1024, 4) >= 1024


def test_which_rows_collide_depends_on_the_first_cache() -> None:
    assert collides(TOY, 2048, 2)
    assert not collides(AVX2, 2048, 2)
    assert not collides(TOY, pitch(TOY, 512, 4) * 4, 2)
    assert pitch(TOY, 512, 4) == 520


@machines
def test_long_sums_are_cut_only_if_tiles_share_panels(machine: Machine) -> None:
    assert depth_block(machine, 100_000, 32, 4, tiles=1) == 100_000
    block = depth_block(machine, 100_000, 32, 4, tiles=10)
    assert block * 32 * 4 <= panel_bytes(machine)
    assert block % 4 == 0


@machines
def test_blocks_and_panels_leave_room_in_the_second_cache(machine: Machine) -> None:
    assert block_bytes(machine) + panel_bytes(machine) < machine.second_cache.bytes


def test_one_core_needs_fewer_tasks() -> None:
    assert many_tasks(TOY) < many_tasks(AVX2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"vector_bytes": 24}, "vector_bytes to be a power of two from 16, got 24"),
        ({"vector_bytes": 8}, "vector_bytes to be a power of two from 16, got 8"),
        ({"registers": 4}, "registers to be 8 or more, got 4"),
        ({"line_bytes": 0}, "line_bytes to be a power of two"),
        ({"cores": 0}, "cores to be 1 or more"),
        ({"caches": ()}, "expected one cache or more"),
        ({"rates": Rates(1, 1, 1, speeds=(1, 1))}, "expected a speed for each cache and for memory, got 2"),
    ],
)
def test_what_no_machine_has_is_an_error(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Machine("mine", **{"vector_bytes": 16, "registers": 16, **fields})
    with pytest.raises(ValueError, match="whole ways"):
        Cache(100, 3)
    with pytest.raises(ValueError, match="call to be a number above 0, got 0"):
        Rates(0, 1, 1, speeds=(1,))
    with pytest.raises(ValueError, match="speeds above 0"):
        Rates(1, 1, 1, speeds=(1, 0))


@pytest.mark.parametrize(
    ("rows", "in_step"),
    [
        ([14], [14]),
        ([4, 6, 6], [4, 6, 6]),
        ([13, 6, 6], [12, 6, 6]),
        ([5, 13], [5, 10]),
        ([2, 10, 14, 6, 9], [2, 2, 2, 2, 2]),
    ],
)
def test_tiles_of_a_strip_have_few_rows_in_common(rows: list[int], in_step: list[int]) -> None:
    assert rows_in_step(rows) == in_step
