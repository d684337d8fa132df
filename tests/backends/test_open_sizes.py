"""Programs of open sizes run natively for every length: shape arithmetic when a plan is made, moves, cut primitives."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import fuse_dialect as fd
from fuse_dialect.backends.runtime import specializing

sys.path.append(str(Path(__file__).parents[1] / "transforms"))
from random_shapes import arguments, shape_programs

TORCH = Path(__file__).parents[1] / "data" / "torch"
SIZES = [(1, 1), (2, 3), (3, 1), (0, 2), (2, 7), (5, 13), (2, 3)]


@pytest.fixture(autouse=True)
def _general(monkeypatch):
    """Programs for given sizes would hide what that for all sizes does; plans are checked as well."""
    monkeypatch.setattr(specializing, "MAX_SECONDS", -1.0)
    monkeypatch.setenv("FUSE_CHECKED", "plans")


def outcome(run, inputs):
    """The results, or `None` when an op rejects what it gets."""
    try:
        return run(*inputs)
    except fd.FuseError:
        return None


@settings(max_examples=60, deadline=None)
@given(module=shape_programs())
def test_random_shape_arithmetic_is_right_for_every_size(module):
    program = fd.compile(module, cache=False)
    for b, s in SIZES:
        inputs = arguments({"b": b, "s": s}, seed=b * 100 + s)
        wanted = outcome(lambda *arrays: fd.run(module, *arrays), inputs)
        found = outcome(program, inputs)
        assert (found is None) == (wanted is None)
        for one, other in zip(found or (), wanted or (), strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
