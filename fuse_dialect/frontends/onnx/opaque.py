"""Operators that the table lacks, as unregistered ops: opaque to fusion, complete in what they say."""

from typing import cast

import onnx_ir as ir
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, NoneType, StringAttr, UnregisteredOp, f32, i1, i64
from xdsl.ir import Attribute, SSAValue

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.constants import constant_attribute
from fuse_dialect.dialect.types import DYNAMIC, Tensor, element_type_of, tensor
from fuse_dialect.frontends.mlir.reader import is_printable_op_name
from fuse_dialect.frontends.onnx.node import OnnxNode
from fuse_dialect.frontends.onnx.support import has_known_type, is_default_domain, is_read, type_hint
from fuse_dialect.frontends.onnx.tensors import dtype_of, tensor_array
from fuse_dialect.frontends.onnx.values import Value


def import_opaque(node: OnnxNode) -> list[Value]:
    """The results of `"onnx.Name"(...)`; result types come from ONNX's shape inference.

    Raises:
        FuseError: A result type is not known, or an attribute cannot be said in the IR.
    """
    domain = "" if is_default_domain(node.node.domain) else f"{node.node.domain}."
    name = f"onnx.{domain}{node.node.op_type}"
    if not is_printable_op_name(name):
        raise FuseError("is not supported, and its name cannot be printed as that of an op")
    attributes = {name: _attribute(node, name, attribute) for name, attribute in node.node.attributes.items()}
    present = [operand is not None for operand in node.operands]
    if not all(present):
        attributes["onnx.operand_present"] = ArrayAttr([IntegerAttr(int(there), i1) for there in present])
    op = UnregisteredOp.with_name(name).create(
        operands=[node.builder.materialize(operand) for operand in node.operands if operand is not None],
        result_types=[_result_type(value) for value in node.node.outputs],
        attributes=attributes,
    )
    node.builder.append(op)
    return [cast(SSAValue[Tensor], result) for result in op.results]


def _result_type(value: ir.Value) -> Tensor | NoneType:
    if not is_read(value) and not has_known_type(value):
        # An optional result that is left out.
        return NoneType()
    if not isinstance(value.type, ir.TensorType) or value.shape is None:
        raise FuseError(
            f"is not supported, and the type of its result '{value.name}' is not known", hint=type_hint(value)
        )
    shape = [dim if isinstance(dim, int) and dim >= 0 else DYNAMIC for dim in value.shape]
    return tensor(shape, element_type_of(dtype_of(value.dtype)))


def _attribute(node: OnnxNode, name: str, attribute: ir.Attr) -> Attribute:
    match attribute.type:
        case ir.AttributeType.INT:
            return IntegerAttr(attribute.as_int(), i64)
        case ir.AttributeType.FLOAT:
            return FloatAttr(attribute.as_float(), f32)
        case ir.AttributeType.STRING:
            return StringAttr(attribute.as_string())
        case ir.AttributeType.INTS:
            return ArrayAttr([IntegerAttr(item, i64) for item in attribute.as_ints()])
        case ir.AttributeType.FLOATS:
            return ArrayAttr([FloatAttr(item, f32) for item in attribute.as_floats()])
        case ir.AttributeType.STRINGS:
            return ArrayAttr([StringAttr(item) for item in attribute.as_strings()])
        case ir.AttributeType.TENSOR:
            return constant_attribute(tensor_array(attribute.as_tensor(), node.builder.budget))
        case _:
            raise FuseError(
                f"is not supported, and its attribute '{name}' of type {attribute.type.name} cannot be kept"
            )
