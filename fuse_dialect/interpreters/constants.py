"""The elements of constants when a program runs."""

from math import prod

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.elision import ELIDED_RESOURCE
from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.values import EvaluationError


def evaluate_constant(op: arith.ConstantOp) -> Array:
    """The elements of a constant.

    Raises:
        EvaluationError: They are not in the module, or of a type that the dialect does not know.
    """
    return evaluate_attribute(op, op.value)


def evaluate_attribute(op: Operation, value: Attribute | None) -> Array:
    """The elements of an attribute of an op, which may be of type index.

    Raises:
        EvaluationError: They are not in the module, or of a type that the dialect does not know.
    """
    try:
        match value:
            case None:
                raise EvaluationError(op, "has no value")
            case IntegerAttr() if isinstance(value.type, IndexType):
                return np.array(value.value.data, np.int64)
            case DenseIntOrFPElementsAttr() if isinstance(value.get_element_type(), IndexType):
                # As i64, of which one may stand for all.
                numbers, shape = np.frombuffer(value.data.data, "<i8"), value.get_shape()
                return numbers.reshape(shape) if len(numbers) == prod(shape) else np.broadcast_to(numbers[0], shape)
            case _:
                return constant_array(value)
    except VerifyException as error:
        raise EvaluationError(op, str(error), _missing_elements_hint(value)) from error


_ELIDED_HINT = (
    "whoever printed the module left the elements out: print it without "
    "--mlir-elide-elementsattrs-if-larger, or read the original"
)

_ELSEWHERE_HINT = "weights= (--weights) names the safetensors file that was written with the module"


def _missing_elements_hint(value: Attribute | None) -> str | None:
    """Where the elements of a constant may be that are not in the module."""
    if not isinstance(value, DenseResourceAttr):
        return None
    return _ELIDED_HINT if value.resource_handle.data == ELIDED_RESOURCE else _ELSEWHERE_HINT
