"""Constants: packed by one thread or several, from memory or from a file, they are the same, and are in memory once."""

from pathlib import Path

import numpy as np
import pytest

from fuse_dialect.backends.runtime import constants
from fuse_dialect.backends.runtime.constants import Constants
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.mapped_file import map_file
from fuse_dialect.loops.packing import Packing, Strided

SHAPE = (64, 96)
BY_ROWS = Packing("f32", 0, (), Strided(64, 96), (Strided(96, 1),), 16)
BY_COLUMNS = Packing("f32", 0, (), Strided(96, 1), (Strided(64, 96),), 32)


def elements(count: int = 4) -> dict[int, np.ndarray]:
    rng = np.random.default_rng(0)
    return {number: rng.standard_normal(SHAPE).astype(np.float32) for number in range(count)}


@pytest.mark.parametrize("threads", [1, 3])
def test_several_threads_pack_as_one_does(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(constants, "processors", lambda: threads)
    monkeypatch.setattr(constants, "_WORTH_THREADS", 0)
    arrays = elements()
    held = Constants(dict(arrays))
    forms = {0: {BY_ROWS}, 1: {BY_ROWS, BY_COLUMNS, None}, 2: {None}, 3: {BY_COLUMNS}}
    held.expect(forms)
    held.pack(forms)
    assert len(held._packed) == (4 if threads > 1 else 0)
    for tensor, each in forms.items():
        for form in each:
            if form is None:
                assert np.array_equal(held.dense(tensor), arrays[tensor])
            else:
                assert np.array_equal(held.packed(tensor, form), form.apply(arrays[tensor]))
    assert not held._elements  # each went with its last form


def test_an_error_of_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "processors", lambda: 3)
    monkeypatch.setattr(constants, "_WORTH_THREADS", 0)
    repeated = np.broadcast_to(np.float32(1), SHAPE)
    held = Constants({0: elements()[0], 1: repeated}, most_bytes=repeated.nbytes - 1)
    with pytest.raises(FuseError, match="written out"):
        held.pack({0: {BY_ROWS}, 1: {BY_ROWS}})


def test_an_unaligned_array_of_a_file_is_copied_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weights"
    (array,) = elements(1).values()
    path.write_bytes(b"x" + array.tobytes())
    mapped = map_file(path)
    assert mapped is not None
    unaligned = np.frombuffer(mapped, np.float32, offset=1).reshape(SHAPE)
    monkeypatch.setattr(constants, "_COPIED_BYTES", 1000)
    released: list[int] = []
    release = constants.release
    monkeypatch.setattr(constants, "release", lambda part: (released.append(part.nbytes), release(part)))
    dense = Constants({0: unaligned}).dense(0)
    assert np.array_equal(dense, array)
    assert dense.flags.aligned
    assert len(released) == -(-array.nbytes // 1000)
    assert sum(released) == array.nbytes


def test_a_reversed_array_is_copied() -> None:
    (array,) = elements(1).values()
    assert np.array_equal(Constants({0: array[::-1]}).dense(0), array[::-1])


def test_memory_may_go_while_a_large_array_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuse_dialect.loops.packing._READ_BYTES", 2 * 16 * 96 * 4)
    (array,) = elements(1).values()
    calls: list[int] = []
    assert np.array_equal(BY_ROWS.apply(array, lambda: calls.append(1)), BY_ROWS.apply(array))
    assert len(calls) == 1  # four panels, two at a time, and none behind the last
