"""Panels give back the array that they were made of."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuse_dialect.loops.packing import Packing, Strided


@st.composite
def packings(draw: st.DrawFn) -> tuple[Packing, np.ndarray]:
    """A layout for a dense array whose axes are taken in any order, and such an array."""
    count = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(1, 5), min_size=count, max_size=count))
    kind = draw(st.sampled_from(["f4", "f2", "i4", "i1", "pairs"]))
    element, dtype = {"f4": ("f32", "f4"), "f2": ("f32", "f2"), "i4": ("i32", "i4")}.get(kind, ("i32", "i1"))
    order = draw(st.permutations(range(count)))
    strides = dict(zip(order, np.cumprod([1, *(sizes[axis] for axis in order[:-1])]).tolist(), strict=True))
    axes = [Strided(sizes[axis], strides[axis]) for axis in range(count)]
    column = draw(st.integers(0, count - 1))
    packing = Packing(
        element, 0, tuple(axes[:column]), axes[column], tuple(axes[column + 1 :]), draw(st.sampled_from([1, 4, 16])),
        is_pairs=kind == "pairs",
    )  # fmt: skip
    size = prod(sizes) * {"i1": 4, "pairs": 2}.get(kind, 1)
    array = np.random.default_rng(draw(st.integers(0, 99))).integers(-100, 100, size).astype(dtype)
    return packing, array


@given(packings())
def test_undo_gives_back_what_was_packed(drawn: tuple[Packing, np.ndarray]) -> None:
    packing, array = drawn
    assert packing.can_undo(array.size, array.itemsize)
    again = packing.undo(packing.apply(array), array.dtype, array.size)
    assert again.dtype == array.dtype
    assert again.tobytes() == array.tobytes()


@pytest.mark.parametrize("apart", [1, 5])
def test_pairs_of_16_bits_are_put_together_and_come_back(apart: int) -> None:
    # Columns are rows of 4 numbers, two pairs; or there are 5 columns of 6 numbers, which lie a row apart.
    columns, reduced = (Strided(6, 2), Strided(2, 1)) if apart == 1 else (Strided(5, 1), Strided(3, 5))
    array = np.arange(24 if apart == 1 else 30, dtype=np.uint16)
    packing = Packing("f32", 0, (), columns, (reduced,), 16, is_pairs=True, apart=apart)
    assert packing.can_undo(array.size, 2)
    packed = packing.apply(array)
    first = packed.view(np.uint16)[:4].tolist()
    assert first == ([0, 1, 4, 5] if apart == 1 else [0, 5, 1, 6])
    assert packing.undo(packed, array.dtype, array.size).tobytes() == array.tobytes()


def test_undo_leaves_points_out() -> None:
    taps = (Strided(3, 24), Strided(3, 8), Strided(8, 1))
    packing = Packing("f32", 0, (), Strided(5, 72), taps, 16, has_points=True)
    array = np.random.default_rng(0).standard_normal(360).astype(np.float32)
    assert packing.undo(packing.apply(array), array.dtype, array.size).tobytes() == array.tobytes()


def test_halves_of_bytes_come_back_with_their_sign() -> None:
    packing = Packing("i8", 0, (), Strided(5, 8), (Strided(2, 4), Strided(4, 1)), 4, is_halves=True)
    for dtype, low, high in ((np.int8, -8, 8), (np.uint8, 0, 16)):
        array = np.random.default_rng(0).integers(low, high, 40).astype(dtype)
        packed = packing.apply(array)
        assert packed.nbytes == 8 * 8 // 2
        assert packing.undo(packed, array.dtype, array.size).tobytes() == array.tobytes()


def test_what_does_not_have_each_element_once_cannot_be_undone() -> None:
    for strides in ((1, 1), (2, 4), (5, 1)):
        packing = Packing("f32", 0, (), Strided(4, strides[0]), (Strided(4, strides[1]),), 4)
        assert not packing.can_undo(16, 4)
    assert not Packing("f32", 1, (), Strided(4, 4), (Strided(4, 1),), 4).can_undo(16, 4)
    assert not Packing("f32", 0, (), Strided(4, 4), (Strided(4, 1),), 4).can_undo(17, 4)
