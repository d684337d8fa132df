"""Einsum, determinants and blocks put together: shape rules, meaning, cost."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.einsum import Equation
from fuse_dialect.dialect.ops.linear_algebra import Col2imOp, DetOp, EinsumOp

SIZES = dict(zip("abcdef", (2, 3, 4, 1, 5, 2), strict=True))


@st.composite
def equations(draw):
    """An equation, and the labels of each operand."""
    terms = draw(st.lists(st.text("abcdef", min_size=0, max_size=4), min_size=1, max_size=3))
    known = sorted({label for term in terms for label in term})
    result = draw(st.permutations(known))[: draw(st.integers(0, len(known)))]
    arrow = draw(st.booleans())
    return ",".join(terms) + (f"->{''.join(result)}" if arrow else ""), terms


@given(case=equations(), seed=st.integers(0, 100))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_einsum_is_that_of_numpy(apply, case, seed):
    text, terms = case
    random = np.random.default_rng(seed)
    arrays = [random.integers(-3, 4, [SIZES[label] for label in term]) for term in terms]
    np.testing.assert_array_equal(apply(EinsumOp, *arrays, equation=text), np.einsum(text, *arrays))


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("...ij,...jk->...ik", [(3, 1, 4, 3), (2, 3, 5)]),
        ("i...j,...jk", [(4, 1, 3), (2, 3, 5)]),
        ("...i->...", [(3, 1, 4)]),
        ("...ii->...i", [(2, 3, 3)]),
        ("b...,b...->...", [(3, 1, 4), (3, 2, 1)]),
    ],
)
def test_axes_of_an_ellipsis_broadcast(apply, random, text, shapes):
    arrays = [random.normal(size=shape) for shape in shapes]
    np.testing.assert_allclose(apply(EinsumOp, *arrays, equation=text), np.einsum(text, *arrays))


def test_short_floats_are_summed_in_32_bits(apply):
    x = np.ones(4096, ml_dtypes.bfloat16)
    # A sum in bf16 would stop at 256.
    assert float(apply(EinsumOp, x, x, equation="i,i->")) == 4096


def test_labels_are_counted_from_the_back():
    equation = Equation.parse("...a,b...->...ab", [3, 2])
    assert equation.operands == ((1, 0, "a"), ("b", 0))
    assert equation.result == (1, 0, "a", "b")


@pytest.mark.parametrize(
    ("text", "ranks", "message"),
    [
        ("ij->ij->", [2], "expects letters, ',', '->' and '...' in an equation, got '-'"),
        ("...i->i", [2], "expects '...' in the result of '...i->i', since an operand has axes there"),
        ("", [2], "expects a term of 2 labels, got ''"),
        ("i.j", [2], "got '.' in 'i.j'"),
        ("i......j", [2], "got '.' in 'i......j'"),
    ],
)
def test_wrong_equations_are_rejected(text, ranks, message):
    with pytest.raises(VerifyException) as error:
        Equation.parse(text, ranks)
    assert message in str(error.value)


def test_einsum_costs_its_combinations(build):
    op = build(EinsumOp, "2x3xf32", "3x4xf32", equation="ij,jk->ik")
    assert op.flops() == 2 * 2 * 3 * 4
    assert build(EinsumOp, "2x?xf32", equation="ij->i").flops() is None


def test_determinants_agree_with_numpy(apply, random):
    x = random.normal(size=(2, 5, 3, 3))
    np.testing.assert_allclose(apply(DetOp, x), np.linalg.det(x))
    assert apply(DetOp, x[0, 0].astype(np.float16)).dtype == np.float16


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", [[0, 0, 0, 0], [1, 0, 1, 2]])
def test_col2im_agrees_with_onnx(apply, onnx_reference, random, stride, padding):
    image, block = [5, 6], [2, 3]
    counts = [(size + padding[axis] + padding[axis + 2] - block[axis]) // stride + 1 for axis, size in enumerate(image)]
    x = random.integers(-9, 9, (2, 3 * 6, counts[0] * counts[1])).astype(np.float32)
    expected = onnx_reference(
        "Col2Im", x, np.array(image), np.array(block), pads=padding, strides=[stride, stride], dilations=[1, 1]
    )
    got = apply(
        Col2imOp, x, image_shape=image, block_shape=block, strides=[stride] * 2, padding=padding, dilation=[1, 1]
    )
    np.testing.assert_array_equal(got, expected)


def test_blocks_of_no_images_make_none(apply):
    block = {"block_shape": [2, 2], "strides": [1, 1], "padding": [0, 0, 0, 0], "dilation": [1, 1]}
    got = apply(Col2imOp, np.zeros((0, 12, 4), np.float32), image_shape=[3, 3], **block)
    assert got.shape == (0, 3, 3, 3)
