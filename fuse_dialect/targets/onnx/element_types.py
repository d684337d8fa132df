"""Element types of the values of a graph while it is written, and whether ONNX's operators take them.

1. Tensors of 2 and 4 bits and `f8E8M0FNU` came late: a model that has some is written for the first version of ONNX's
   operators that has their type. All other models are written for `OPSET`.
2. An operator that takes no `bf16` or `f16` gets `f32`, and its results are rounded: that is what `fuse` ops mean.
3. Any other type that an operator does not take is refused: `onnx.checker` and runtimes would reject the model.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.defs import OpSchema

OPSET = 21
"""Version of ONNX's operators that is written, unless an element type needs a later one."""
_LATE_OPSETS = {"float4_e2m1fn": 23, "float8_e8m0fnu": 24, "int2": 25, "uint2": 25}
"""First version that has an element type, by NumPy's name of the type."""
IR_VERSIONS = {21: 10, 23: 11, 24: 12, 25: 13}
"""Version of the file format in which tensors may have the element types of a version of the operators."""
_ROUNDED = ("tensor(bfloat16)", "tensor(float16)")


def opset_for(dtypes: Iterable["np.dtype[Any]"]) -> int:
    """The version of ONNX's operators for a model with tensors of these element types."""
    return max((_LATE_OPSETS.get(dtype.name, OPSET) for dtype in dtypes), default=OPSET)


def type_text(dtype: "np.dtype[Any]") -> str:
    """An element type as schemas write it: `tensor(float)`."""
    return _text_of(helper.np_dtype_to_tensor_dtype(dtype))


def _text_of(number: int) -> str:
    return f"tensor({onnx.TensorProto.DataType.Name(number).lower()})"


@cache
def schema_of(op_type: str, opset: int) -> OpSchema:
    """The definition of an operator."""
    return onnx.defs.get_schema(op_type, opset, "")


def refused(schema: OpSchema, inputs: Sequence[str | None]) -> str | None:
    """The type variable of the first input whose type the operator does not take, if any.

    Args:
        schema: The operator.
        inputs: Types of the operands; `None` where it is not known, or the operand is left out.
    """
    for text, variable in zip(inputs, variables_of(schema.inputs, len(inputs)), strict=True):
        if text is not None and text not in _allowed(schema).get(variable, (variable,)):
            return variable
    return None


def result_types(
    schema: OpSchema, inputs: Sequence[str | None], count: int, attributes: "dict[str, Any]"
) -> list[str | None]:
    """Types of the first results; `None` where the schema does not say them."""
    if "to" in attributes:
        return [_text_of(attributes["to"])]
    if schema.name == "Constant":
        return [_text_of(attributes["value"].data_type)]
    bound = dict[str, str | None](zip(variables_of(schema.inputs, len(inputs)), inputs, strict=True))
    variables = variables_of(schema.outputs, count)
    return [bound.get(each) if each in _allowed(schema) else each for each in variables]


def number_of(text: str) -> int:
    """An element type as attributes of nodes write it."""
    return onnx.TensorProto.DataType.Value(text.removeprefix("tensor(").removesuffix(")").upper())


def may_round(text: str | None) -> bool:
    """Whether an operator may compute in `f32` instead."""
    return text in _ROUNDED


def variables_of(formal: Sequence[OpSchema.FormalParameter], count: int) -> list[str]:
    """The type variable, or the type, of each of the first parameters; the last one stands for all that follow."""
    return [formal[min(place, len(formal) - 1)].type_str for place in range(count)]


def _allowed(schema: OpSchema) -> dict[str, Sequence[str]]:
    return {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
