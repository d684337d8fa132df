"""How contractions are cut up for a processor."""

import pytest

from fuse_dialect.backends.llvm.contractions.convolution import Grid, grid_of
from fuse_dialect.backends.llvm.contractions.schedule import (
    collides,
    depth_block,
    even_part,
    most_rows,
    pitch,
    tile_size,
)
from fuse_dialect.backends.llvm.host import AVX2, Host

AVX512 = Host("znver4", "+avx,+avx512bw,+avx512f,+avx512vl,+fma")


@pytest.mark.parametrize("host", [AVX2, AVX512], ids=["avx2", "avx512"])
@pytest.mark.parametrize("rows", [1, 2, 5, 14, 49, 1000, None])
@pytest.mark.parametrize("columns", [1, 16, 24, 40, 1000, None])
def test_a_tile_fits_the_registers(host: Host, rows: int | None, columns: int | None) -> None:
    tile = tile_size(host, host.vector_bytes // 4, rows, columns)
    assert tile.rows * tile.vectors + tile.vectors < host.registers
    assert rows is None or tile.rows <= rows


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
    assert collides(4096, 14)
    assert not collides(4096 + 64, 14)
    assert not collides(100, 14)
    assert not collides(pitch(1024, 4) * 4, 14)
    assert pitch(1024, 4) >= 1024


def test_long_sums_are_cut_only_if_tiles_share_panels() -> None:
    assert depth_block(100_000, 32, 4, tiles=1) == 100_000
    block = depth_block(100_000, 32, 4, tiles=10)
    assert block * 32 * 4 <= 256 * 1024
    assert block % 4 == 0
