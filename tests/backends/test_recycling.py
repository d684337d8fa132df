"""Memory of results comes back to its program, in classes of sizes, and does not pile up."""

import gc

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.backends.runtime import recycling
from fuse_dialect.backends.runtime.recycling import ALIGNED, LARGEST, MOST_WAITING, SMALLEST, RecycledMemory

F32 = np.dtype(np.float32)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of blocks that were made."""
    sizes: list[int] = []
    make = recycling.aligned_bytes

    def noted(size: int) -> "np.ndarray":
        sizes.append(size)
        return make(size)

    monkeypatch.setattr(recycling, "aligned_bytes", noted)
    return sizes


def test_results_that_grow_seldom_need_new_memory(made: list[int]) -> None:
    memory = RecycledMemory()
    old = [memory.empty((100, 1000), F32) for _ in range(4)]
    for rows in range(101, 400):
        new = [memory.empty((rows, 1000), F32) for _ in range(4)]
        assert all(each.shape == (rows, 1000) and each.dtype == F32 for each in new)
        for number, each in enumerate(new):
            each[:] = number
        assert all((each == number).all() for number, each in enumerate(new))
        old = new
    # Two octaves of eight classes, and each needs blocks for what goes and what comes.
    assert len(made) <= 17 * 8
    held = sum(each.nbytes for each in old)
    assert memory.waiting_bytes <= 4 * held


@pytest.mark.parametrize("size", [SMALLEST, SMALLEST + 1, 3 * SMALLEST - 5, (1 << 21) - 1, 1 << 21, LARGEST])
def test_a_class_has_room_and_little_more(made: list[int], size: int) -> None:
    array = RecycledMemory().empty((size,), np.dtype(np.uint8))
    array[-1] = 1
    assert array.size == size
    (room,) = made
    assert size <= room <= size * 9 // 8 + 1


@pytest.mark.parametrize("size", [ALIGNED - 1, 0])
def test_small_ones_are_numpys(made: list[int], size: int) -> None:
    assert RecycledMemory().empty((size,), np.dtype(np.uint8)).size == size
    assert not made


@pytest.mark.parametrize("size", [ALIGNED, SMALLEST - 1, LARGEST + 1])
def test_others_are_aligned_and_not_kept(made: list[int], size: int) -> None:
    memory = RecycledMemory()
    array = memory.maker((size,), np.dtype(np.uint8))()
    assert made == [size]
    assert array.size == size
    assert array.ctypes.data % 64 == 0
    del array
    assert memory.waiting_bytes == 0


def test_random_sizes_keep_no_more_than_was_held() -> None:
    memory = RecycledMemory()
    rng = np.random.default_rng(0)
    most = 0
    kept: list[np.ndarray] = []
    for _ in range(3000):
        kept = [*kept[-3:], memory.empty((int(rng.integers(1 << 18, 1 << 23)),), np.dtype(np.uint8))]
        most = max(most, sum(each.nbytes for each in kept))
        gc.collect(0)
        assert memory.waiting_bytes <= 3 * most
    del kept
    assert memory.waiting_bytes <= MOST_WAITING


def test_a_view_keeps_its_block() -> None:
    memory = RecycledMemory()
    view = memory.empty((1 << 20,), F32)[5:10]
    view[:] = 7
    others = [memory.empty((1 << 20,), F32) for _ in range(3)]
    for each in others:
        each[:] = 1
    assert (view == 7).all()


def test_a_program_of_open_sizes_does_not_grow() -> None:
    program = fd.compile(
        fd.parse("""func.func @main(%x: tensor<?x256xf32>) -> tensor<?x256xf32> {
  %y = fuse.relu %x : tensor<?x256xf32>
  return %y : tensor<?x256xf32>
}"""),
        cache=False,
    )
    rng = np.random.default_rng(0)
    for rows in rng.integers(256, 4096, 500):
        x = np.full((rows, 256), -1, np.float32)
        assert not program(x)[0].any()
    assert program._memory.waiting_bytes <= 3 * 4096 * 256 * 4
