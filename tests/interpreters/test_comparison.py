"""Differences of arrays: the largest ones, and what counts as equal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.comparison import Difference, difference

NAN, INF = np.nan, np.inf


def compare(value: object, reference: object, dtype: str = "f4", atol: float = 0.1, rtol: float = 0.1) -> Difference:
    return difference(np.array(value, dtype), np.array(reference, dtype), atol=atol, rtol=rtol)


def test_difference_is_the_largest_one() -> None:
    found = compare([[1, 2], [3, 10]], [[1, 2.5], [3, 8]], "f8")
    assert found == Difference(absolute=2.0, relative=0.25, beyond=2, worst=(1, 1))


@pytest.mark.parametrize(
    ("value", "reference", "is_within"),
    [
        (NAN, NAN, True),
        (INF, INF, True),
        (-INF, INF, False),
        (NAN, 1, False),
        (1, NAN, False),
        (INF, 1, False),
        (0, -0.0, True),
    ],
)
@pytest.mark.parametrize("rtol", [0, 0.1, INF])
def test_difference_of_special_values(value: float, reference: float, is_within: bool, rtol: float) -> None:
    found = compare([value], [reference], rtol=rtol)
    assert found.is_within == is_within
    assert found.absolute == (0 if is_within else INF)


def test_difference_sees_integers_that_are_equal_as_floats() -> None:
    assert compare([2**60], [2**60 + 1], "i8", rtol=0).absolute == 1


def test_difference_of_unsigned_integers_does_not_wrap() -> None:
    assert compare([0], [255], "u1").absolute == 255


def test_difference_of_booleans_counts_elements() -> None:
    assert compare([True, False], [False, False], "?").beyond == 1


def test_difference_of_nothing_is_none() -> None:
    assert compare([], []).is_within


@pytest.mark.parametrize(
    ("other", "text"), [(np.zeros(2, "f8"), "float64 of shape 2"), (np.zeros((1, 2), "f4"), "shape 1x2")]
)
def test_difference_rejects_other_layouts(other: Array, text: str) -> None:
    with pytest.raises(ValueError, match=f"float32 of shape 2 against .*{text}"):
        difference(np.zeros(2, "f4"), other, atol=1, rtol=1)


@given(
    arrays(np.float32, array_shapes(), elements=st.floats(-1e3, 1e3, width=32)),
    st.sampled_from([0.0, 1e-6, 1e-2]),
    st.sampled_from([0.0, 1e-6, 1e-2]),
)
def test_difference_agrees_with_numpy_isclose(array: Array, atol: float, rtol: float) -> None:
    other = (array * np.float32(1.001)).astype(np.float32)
    found = difference(array, other, atol=atol, rtol=rtol)
    close = np.isclose(array.astype("f8"), other.astype("f8"), rtol=rtol, atol=atol)
    assert found.beyond == np.count_nonzero(~close)


def test_difference_of_a_scalar() -> None:
    assert compare(1.5, 1.0) == Difference(absolute=0.5, relative=0.5, beyond=1, worst=())
