"""In which precision, and of which type, a sum of many elements is formed."""

from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerType, StringAttr, i32
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.shape_rules import one_of, require_numbers
from fuse_dialect.dialect.types import Tensor, require_same_element


def sum_element(lhs: Tensor, rhs: Tensor, out_dtype: StringAttr) -> Attribute:
    """The element type of sums of products of two tensors.

    Args:
        lhs: One operand.
        rhs: The other.
        out_dtype: Empty for the type of both operands, `i32` for 8-bit integers with or without sign.

    Raises:
        VerifyException: The operands' types do not fit each other, or `out_dtype`, or it is something else.
    """
    if one_of(out_dtype, ("", "i32"), "out_dtype"):
        for type in (lhs, rhs):
            match type.element_type:
                case IntegerType() as element if element.width.data == 8:
                    pass
                case element:
                    raise VerifyException(f'expects elements of i8 or ui8 with out_dtype = "i32", got {element}')
        return i32
    require_same_element((lhs, rhs))
    require_numbers(lhs)
    return lhs.element_type


def exact_product(lhs: Array, rhs: Array) -> Array:
    """The matrix product of 8-bit integers, in 32 bits, which wrap around.

    NumPy multiplies floats by BLAS, and integers by plain loops. f64 holds all sums of fewer than 2**37 such products.
    """
    # Sums beyond 32 bits wrap by way of 64, as they would one by one.
    return (lhs.astype(np.float64) @ rhs.astype(np.float64)).astype(np.int64).astype(np.int32)


def mean(x: Array, axes: tuple[int, ...], *, keepdims: bool = False) -> Array:
    """The mean over axes; nan of nothing, without the warning of `numpy.mean`, in which `numpy.errstate` has no say."""
    with np.errstate(all="ignore"):
        return np.asarray(x.sum(axis=axes, keepdims=keepdims) / x.dtype.type(prod(x.shape[axis] for axis in axes)))
