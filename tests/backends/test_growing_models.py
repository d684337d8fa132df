"""Growing states, loops over open axes, rows that the data counts: one program at many lengths, in any order."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from networks.counted_rows import COUNTED
from networks.growing_loops import LOOPS

import fuse_dialect as fd

MODELS = {**LOOPS, **COUNTED}
LENGTHS = (5, 3, 17, 8, 4, 17, 5)
"""Longer and shorter ones, and some that come back."""
TOLERANCE = 1e-4
"""Of the largest element: steps follow each other."""


def read(name: str, folder: Path) -> tuple[Any, Any]:
    file, inputs = MODELS[name]()
    path = folder / "model.onnx"
    path.write_bytes(file)
    return fd.read(os.fspath(path)), inputs


def assert_close(got: Sequence[Any], wanted: Sequence[Any]) -> None:
    for one, other in zip(got, wanted, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        scale = np.abs(other[np.isfinite(other)]).max(initial=1e-6) if other.dtype.kind == "f" else 0
        np.testing.assert_allclose(one, other, rtol=0, atol=TOLERANCE * scale)


@pytest.mark.parametrize("name", MODELS)
def test_one_program_serves_all_lengths(name: str, tmp_path: Path) -> None:
    module, inputs = read(name, tmp_path)
    program = fd.compile(module)
    rng = np.random.default_rng(0)
    for length in LENGTHS:
        arrays = inputs(length, rng)
        assert_close(program(*arrays), fd.run(module, *arrays))


NATIVE = (
    "append, axis 0",
    "append, axis 1",
    "slices and a stack",
    "LSTM by hand",
    "Mamba scan",
    "RWKV",
    "DeltaNet",
    "Kalman filter",
    "Floyd-Warshall",
    "Floyd-Warshall, open",
    "DeepAR",
    "CTC forward",
    "edit distance",
    "power iteration",
    "Sinkhorn",
    "loop in a loop",
    "greedy until the end",
    "greedy until the end, cache",
    "greedy without a limit",
    "greedy by position",
    "a prefix under a mask",
    "greedy until all end",
    "fixed point",
    "read until a gate closes",
)


@pytest.mark.parametrize("name", NATIVE)
def test_nothing_of_these_is_left_to_numpy(name: str, tmp_path: Path) -> None:
    module, _ = read(name, tmp_path)
    assert not [kernel for kernel in fd.compile(module).kernels if kernel.reason]
