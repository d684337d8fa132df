"""Offsets in the arena: no two buffers that live at one step share a byte, and the block is not needlessly large."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuse_dialect.backends.runtime import arena
from fuse_dialect.backends.runtime.arena import ALIGNMENT, Lifetime, arrange, most_live_bytes, rounded_up

LIFETIMES = st.lists(
    st.builds(
        lambda size, first, length: Lifetime(size, first, first + length),
        st.integers(0, 1000),
        st.integers(0, 30),
        st.integers(0, 12),
    ),
    max_size=60,
)


def overlapping(lifetimes: Sequence[Lifetime], offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of buffers that share a byte at some step, found byte by byte and step by step."""
    pairs: list[tuple[int, int]] = []
    for one, (life, offset) in enumerate(zip(lifetimes, offsets, strict=True)):
        for other in range(one):
            second, start = lifetimes[other], offsets[other]
            steps = set(range(life.first, life.last + 1)) & set(range(second.first, second.last + 1))
            shared = set(range(offset, offset + life.size)) & set(range(start, start + second.size))
            if steps and shared:
                pairs.append((other, one))
    return pairs


@given(LIFETIMES)
@pytest.mark.parametrize("heuristic", ["_by_time", "_by_size", "arrange"])
def test_buffers_that_live_together_do_not_overlap(heuristic: str, lifetimes: list[Lifetime]) -> None:
    layout = getattr(arena, heuristic)(lifetimes)
    assert not overlapping(lifetimes, layout.offsets)
    assert all(offset % ALIGNMENT == 0 for offset in layout.offsets)
    ends = [offset + life.size for offset, life in zip(layout.offsets, lifetimes, strict=True)]
    assert max(ends, default=0) <= layout.size


@given(LIFETIMES)
def test_the_block_lies_between_what_lives_together_and_all_there_is(lifetimes: list[Lifetime]) -> None:
    layout = arrange(lifetimes)
    assert most_live_bytes(lifetimes) <= layout.size <= sum(rounded_up(life.size) for life in lifetimes)


@given(LIFETIMES)
def test_most_live_bytes_is_the_largest_sum_over_the_steps(lifetimes: list[Lifetime]) -> None:
    sums = [sum(rounded_up(life.size) for life in lifetimes if life.first <= step <= life.last) for step in range(50)]
    assert most_live_bytes(lifetimes) == max(sums)


def test_a_chain_needs_two_buffers() -> None:
    chain = [Lifetime(4096, step, step + 1) for step in range(1000)]
    assert arrange(chain).size == 2 * 4096


def test_a_long_chain_of_growing_buffers_is_arranged_in_linear_time() -> None:
    chain = [Lifetime(64 * (1 + step % 7), step, step + 2) for step in range(100_000)]
    layout = arrange(chain)
    assert layout.size < 100 * 64


def test_the_smallest_gap_that_fits_is_taken() -> None:
    lives = [Lifetime(640, 0, 1), Lifetime(64, 0, 9), Lifetime(128, 0, 1), Lifetime(64, 0, 9), Lifetime(128, 2, 9)]
    layout = arrange(lives)
    assert layout.size == most_live_bytes(lives)
