"""What is recognised as a contraction, a convolution, or windows; and the layouts of constant factors."""

from dataclasses import replace

import numpy as np
import pytest
from products import ZERO, convolution, matmul

from fuse_dialect.counts import Count, product
from fuse_dialect.loops.contraction import Contraction, as_matrices, contraction_of
from fuse_dialect.loops.convolution import Window, convolution_of
from fuse_dialect.loops.indices import loop
from fuse_dialect.loops.iteration_space import merged_axes, split_axes, without_single_points
from fuse_dialect.loops.packing import Packing, Strided, packing_of
from fuse_dialect.loops.places import flat_place
from fuse_dialect.loops.program import Apply, Combiner, Literal, LoopProgram, Reduction
from fuse_dialect.loops.windowing import Interval, windowing_of


def contraction(program: LoopProgram) -> Contraction:
    found = contraction_of(program, program.stages[0])
    assert found is not None
    return found


def sizes(found: Contraction, axes: tuple[int, ...]) -> list[int | str]:
    return [found.stage.axes[axis].size for axis in axes]


def test_counts_of_equal_polynomials_are_equal() -> None:
    n, m = Count.of("n"), Count.of("m")
    assert (n + m) * (n + m) == n * n + n * m.times(2) + m * m
    assert (n + n.times(-1)).number == 0
    assert product(("n", 3, 4)) == n.times(12)
    assert n.number is None


def test_quotients_that_cancel_leave_a_flat_place() -> None:
    whole = loop(0)
    place = flat_place((whole // 7, whole % 7, loop(1)), (5, 7, 3), 2)
    assert place is not None
    assert [stride.number for stride in place.strides] == [3, 1]
    assert flat_place((whole % 7, whole // 7), (7, 5), 2) is None


def test_strides_may_depend_on_a_size() -> None:
    place = flat_place((loop(0), loop(1), loop(2)), ("a", "b", 4), 3)
    assert place is not None
    assert place.strides == (Count.of("b").times(4), Count.of(4), Count.of(1))


def test_rows_and_columns_of_a_matrix_product() -> None:
    found = contraction(matmul(5, 6, 7))
    assert (found.outer, found.row_axes, found.column_axes, found.reduced) == ((), (0,), (1,), (2,))
    assert found.rows.read is not None
    assert found.rows.read.buffer == "a"


def test_columns_are_the_axis_along_which_results_are_contiguous() -> None:
    program = matmul(5, 6, 7)
    transposed = replace(program.stages[0], store=(loop(1), loop(0)))
    buffers = (*program.buffers[:2], replace(program.buffers[2], shape=(7, 5)))
    found = contraction(replace(program, buffers=buffers, stages=(transposed,)))
    assert sizes(found, found.column_axes) == [5]
    assert found.columns.read is not None
    assert found.columns.read.buffer == "a"


def test_a_batch_is_an_outer_axis() -> None:
    found = contraction(matmul(5, 6, 7, batch=(2, 3)))
    assert sizes(found, found.outer) == [2, 3]


@pytest.mark.parametrize(
    "reduction",
    [Reduction(Combiner.MAXIMUM, ZERO), Reduction(Combiner.ADD, Literal(1.0, "f32")), None],
    ids=["maximum", "start", "none"],
)
def test_only_sums_that_start_at_0_are_contractions(reduction: Reduction | None) -> None:
    program = matmul(5, 6, 7)
    assert contraction_of(program, replace(program.stages[0], reduction=reduction)) is None


def test_a_sum_of_sums_is_no_contraction() -> None:
    program = matmul(5, 6, 7)
    body = (*program.stages[0].body[:2], Apply("arith.addf", (0, 1), "f32"))
    assert contraction_of(program, replace(program.stages[0], body=body)) is None


def test_a_pointwise_convolution_becomes_one_matrix_product() -> None:
    program = convolution(8, 16, 32, 1)
    found = as_matrices(program, contraction(program))
    assert (sizes(found, found.row_axes), sizes(found, found.column_axes), found.outer) == ([64], [32], ())
    assert sizes(found, found.reduced) == [16]


def test_pixels_of_a_padded_convolution_merge_though_its_windows_do_not() -> None:
    program = convolution(8, 16, 32, 3, pad=1)
    found = as_matrices(program, contraction(program))
    assert sizes(found, found.row_axes) == [64]
    assert sizes(found, found.reduced) == [3, 3, 16]


def test_groups_of_a_convolution_are_an_outer_axis() -> None:
    program = convolution(8, 16, 32, 3, pad=1, groups=4)
    found = contraction(program)
    assert (sizes(found, found.outer), sizes(found, found.column_axes)) == ([4], [8])


def test_channels_are_innermost_and_windows_know_their_steps() -> None:
    program = convolution(9, 16, 32, 3, step=2, pad=1)
    found = convolution_of(program, contraction(program))
    assert found is not None
    assert found.windows[0] == Window(0, 5, 2, 3, 3, 1)
    assert found.windows[1].positions(5) == 11
    assert found.innermost is not None
    assert found.contraction.reduced[-1] == found.innermost
    assert sizes(found.contraction, (found.innermost,)) == [16]


def test_a_position_takes_the_place_of_pixel_and_tap() -> None:
    program = convolution(9, 16, 32, 3, step=2, pad=1)
    found = convolution_of(program, contraction(program))
    assert found is not None
    (read,) = found.by_position
    rank = len(found.contraction.stage.axes)
    assert [guard.index for guard in getattr(read, "guards")] == [loop(rank) - 1, loop(rank + 1) - 1]  # noqa: B009


def test_a_depthwise_convolution_is_windows_and_no_contraction() -> None:
    program = convolution(9, 16, 16, 3, pad=1, groups=16)
    assert contraction_of(program, program.stages[0]) is None
    found = windowing_of(program, program.stages[0])
    assert found is not None
    assert found.stage.axes[found.lane_axis].size == 16
    assert found.inside is not None
    assert list(found.inside.values()) == [Interval(1, 8), Interval(1, 8)]


def test_axes_of_one_element_are_dropped_and_divided_ones_split() -> None:
    program = convolution(8, 16, 32, 3, groups=4)
    stage = split_axes(without_single_points(program.stages[0]))
    assert [axis.size for axis in stage.axes] == [6, 6, 4, 8, 3, 3, 4]


def test_merging_undoes_splitting() -> None:
    stage = split_axes(without_single_points(convolution(8, 16, 32, 3, groups=4).stages[0]))
    merged = merged_axes(stage, 2, 3)
    assert merged.axes[2].size == 32
    assert merged.store[-1] == loop(2)


@pytest.mark.parametrize("columns", [1, 31, 32, 33, 70])
def test_panels_hold_columns_side_by_side_and_zeros_behind_the_last(columns: int) -> None:
    program = matmul(5, 6, columns, swapped=True)
    packing = packing_of(program, contraction(program), frozenset(["b"]), 32) if columns > 1 else None
    packing = packing or Packing("f32", 0, (), Strided(columns, 6), (Strided(6, 1),), 32)
    array = np.arange(columns * 6, dtype=np.float32).reshape(columns, 6) + 1
    panels = packing.apply(array).reshape(packing.panels, 6, 32)
    together = panels.transpose(0, 2, 1).reshape(-1, 6)
    np.testing.assert_array_equal(together[:columns], array)
    assert not together[columns:].any()
    assert packing.apply(array).ctypes.data % 64 == 0


def test_panels_of_f16_may_be_f32() -> None:
    packing = Packing("f32", 0, (), Strided(4, 1), (Strided(3, 4),), 8)
    packed = packing.apply(np.ones((3, 4), np.float16))
    assert packed.dtype == np.float32
    assert packed.sum() == 12


def test_only_constant_factors_are_packed() -> None:
    program = matmul(5, 6, 7)
    assert packing_of(program, contraction(program), frozenset(["a"]), 32) is None
