"""Constants: arrays become attributes and come back, without a change and without lists."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    TensorType,
    bf16,
    f32,
    i1,
    i64,
)
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.constants import constant, constant_array, constant_attribute, constant_of

DTYPES = [np.bool_, np.int8, np.uint8, np.int32, np.int64, np.float16, np.float32, np.float64]


@given(
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: arrays(dtype, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    )
)
def test_constant_array_inverts_constant_attribute(array: npt.NDArray[Any]) -> None:
    result = constant_array(constant_attribute(array))
    assert (result.dtype, result.shape, result.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_constant_array_keeps_bfloat16_bits() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([-np.inf, np.nan, 1.5], ml_dtypes.bfloat16)
    attribute = constant_attribute(array)
    assert attribute.get_element_type() == bf16
    assert constant_array(attribute).tobytes() == array.tobytes()


def test_constant_attribute_agrees_with_the_printed_form() -> None:
    assert str(constant_attribute(np.array([[1, -2]], np.int8))) == "dense<[[1, -2]]> : tensor<1x2xi8>"
    assert str(constant_attribute(np.array([True, False]))) == "dense<[true, false]> : tensor<2xi1>"


def test_constant_attribute_stores_a_splat_once() -> None:
    attribute = constant_attribute(np.broadcast_to(np.float32(2), (1000, 1000)))
    assert len(attribute.data.data) == 4
    assert str(attribute) == "dense<2.000000e+00> : tensor<1000x1000xf32>"
    result = constant_array(attribute)
    assert result.shape == (1000, 1000)
    assert result[999, 999] == 2


def test_constant_array_reads_transposed_arrays_in_order() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3).T
    np.testing.assert_array_equal(constant_array(constant_attribute(array)), array)


@pytest.mark.parametrize("true", [b"\x01", b"\xff"])
def test_constant_array_takes_any_nonzero_byte_for_true(true: bytes) -> None:
    attribute = DenseIntOrFPElementsAttr(TensorType(i1, [2]), BytesAttr(true + b"\x00"))
    assert constant_array(attribute).tolist() == [True, False]


def test_constant_array_shares_memory() -> None:
    attribute = constant_attribute(np.arange(8, dtype=np.float32))
    assert np.shares_memory(constant_array(attribute), np.frombuffer(attribute.data.data, np.uint8))


def test_constant_array_of_numbers_has_rank_0() -> None:
    assert constant_array(IntegerAttr(3, i64)).shape == ()
    assert constant_array(FloatAttr(0.5, f32)).dtype == np.float32


def test_constant_array_rejects_missing_elements() -> None:
    with pytest.raises(VerifyException, match="expects 4 elements of 2x2, got 8 bytes"):
        constant_array(DenseIntOrFPElementsAttr(TensorType(f32, [2, 2]), BytesAttr(bytes(8))))
    with pytest.raises(VerifyException, match="elements of the constant in the module, got dense_resource<blob>"):
        constant_array(DenseResourceAttr.from_params("blob", TensorType(f32, [2])))


def test_constant_of_knows_constants_only() -> None:
    op = constant(np.arange(3))
    assert constant_of(op.result) is not None
    assert constant_of(test.TestOp(result_types=[i64]).results[0]) is None


@pytest.mark.parametrize("shape", ["4611686018427387904x8", "0x4611686018427387904x8"])
def test_constant_that_no_memory_holds(shape):
    attribute = DenseIntOrFPElementsAttr(TensorType(f32, [int(size) for size in shape.split("x")]), BytesAttr(bytes(4)))
    with pytest.raises(VerifyException, match=f"expects a constant that memory can address, got {shape}"):
        constant_array(attribute)
