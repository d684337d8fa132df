"""Sizes that are polynomials compute as integers do, and what they note is what was asked."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fuse_dialect.backends.runtime.strided import Strided
from fuse_dialect.backends.runtime.traced_sizes import Relation, SizeTrace, UntraceableError, is_same, value_of

OPS = ["+", "-", "*", "//", "%"]


@given(st.integers(0, 50), st.integers(1, 50), st.lists(st.tuples(st.sampled_from(OPS), st.integers(1, 9)), max_size=6))
def test_polynomials_have_the_values_that_integers_have(n, m, steps):
    trace = SizeTrace()
    traced, known = trace.atom(n), n
    for step, (op, number) in enumerate(steps):
        # Every other step computes with a second size; divisors are positive.
        one, other = (trace.atom(m), m) if step % 2 and op in "+-*" else (number, number)
        traced, known = (eval(f"x {op} y", {"x": x, "y": y}) for x, y in ((traced, one), (known, other)))
    assert traced == known
    assert trace.conditions.keys() <= {(Relation.ZERO, key) for _, key in trace.conditions}


def test_a_comparison_is_noted():
    trace = SizeTrace()
    n = trace.atom(5)
    assert n > 3
    assert n != 1
    assert list(trace.conditions) == [
        (Relation.NOT_NEGATIVE, (((), -4), ((0,), 1))),
        (Relation.NOT_ZERO, (((), -1), ((0,), 1))),
    ]


def test_equal_polynomials_need_no_condition():
    trace = SizeTrace()
    n, m = trace.atom(5), trace.atom(5)
    assert (n + 1) * 4 == 4 * n + 4
    assert not is_same(n, m)
    assert not trace.conditions


def test_a_quotient_is_an_atom_unless_it_has_no_rest():
    trace = SizeTrace()
    n = trace.atom(7)
    assert is_same(6 * n // 3, 2 * n)
    half = n // 2
    assert len(trace.derived) == 1
    assert value_of(half.terms, trace.values) == 3


def test_no_index_is_traced():
    with pytest.raises(TypeError):
        [0, 1][SizeTrace().atom(1)]
    with pytest.raises(UntraceableError):
        Strided.dense((4,), 4).cut(0, 0, 4, SizeTrace().atom(1))


@example(1, None, -1, -1)  # -1 is the last element, and not what lies before the first one
@given(st.integers(0, 9), st.none() | st.integers(-12, 12), st.none() | st.integers(-12, 12), st.integers(-4, 4))
def test_slices_are_those_of_numpy(size, begin, end, step):
    if not step:
        return
    array = np.zeros((size, 3), np.float32)
    wanted = array[begin:end:step]
    found = Strided.dense(array.shape, 4).cut(0, begin, end, step)
    assert found.shape == wanted.shape
    if wanted.size:
        assert found.strides == wanted.strides
        start = wanted.__array_interface__["data"][0] - array.__array_interface__["data"][0]
        assert found.start == start
