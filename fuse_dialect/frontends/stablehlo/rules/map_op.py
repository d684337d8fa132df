"""`map`: what its region does to one element of each operand, done to all of them."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.frontends.stablehlo.rules.elementwise import ELEMENTWISE


def expand_map(op: Operation) -> list[Operation]:
    """Put the ops of a `map` in its place, on whole tensors; none if they are not elementwise or a size is open."""
    block, type = op.regions[0].first_block, op.results[0].type
    if block is None or block.next_block is not None or not is_tensor(type) or DYNAMIC in type.get_shape():
        return []
    *inner, end = block.ops
    if end.name != "stablehlo.return" or any(each.name not in {*ELEMENTWISE, "stablehlo.constant"} for each in inner):
        return []
    if any(not is_tensor(value.type) or value.type.get_shape() for each in inner for value in each.results):
        return []
    sizes = type.get_shape()
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, op.operands, strict=True))
    made = [_on_all(each, sizes, values) for each in inner]
    Rewriter.insert_op(made, InsertPoint.before(op))
    returned = end.operands[0]
    op.results[0].replace_all_uses_with(values.get(returned, returned))
    Rewriter.erase_op(op)
    return made


def _on_all(op: Operation, sizes: Sequence[int], values: dict[SSAValue, SSAValue]) -> Operation:
    """A copy of an op on scalars, on tensors of these sizes; a constant is repeated."""
    types = [TensorType(cast(TensorType[Attribute], each.type).element_type, sizes) for each in op.results]
    operands = [values.get(each, each) for each in op.operands]
    copy = type(op).create(operands=operands, result_types=types, properties=dict(op.properties))
    values.update(zip(op.results, copy.results, strict=True))
    value = copy.properties.get("value")
    if isinstance(value, DenseIntOrFPElementsAttr):  # one element stands for all
        whole = cast("TensorType[IntegerType]", types[0])
        copy.properties["value"] = DenseIntOrFPElementsAttr(whole, value.data)
    return copy
