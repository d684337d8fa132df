"""What the function of a trip holds in memory, by the roles of its values."""

from collections.abc import Collection

from xdsl.dialects import func
from xdsl.ir import OpResult, SSAValue

from fuse_dialect.dialect.types import byte_count
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.templates.regions import Held
from fuse_dialect.templates.template import HardwareTemplate


def held_by(function: func.FuncOp, template: HardwareTemplate, constants: Collection[int] = ()) -> Held:
    """The bytes of a trip; a view holds nothing, and sizes that are open count nothing.

    Args:
        function: The trip.
        template: Its hardware, which says what is a view.
        constants: Numbers of the arguments that are constants.
    """
    block = function.body.block
    views = {each.operator for each in template.virtual}
    weights = sum(_bytes(block.args[place]) for place in constants)
    inputs = sum(_bytes(value) for place, value in enumerate(block.args) if place not in constants)
    written: set[SSAValue] = set()
    given: list[SSAValue] = []
    for op in block.ops:
        if is_constant(op):
            weights += sum(map(_bytes, op.results))
        elif isinstance(op, func.ReturnOp):
            written.update(_viewed(value, views) for value in op.operands)
        elif op_name(op) not in views:
            given += op.results
    outputs = sum(_bytes(value) for value in given if value in written)
    between = sum(map(_bytes, given)) - outputs
    return Held(inputs, weights, outputs, between, max(map(_bytes, given[:-1]), default=0))


def _viewed(value: SSAValue, views: Collection[str]) -> SSAValue:
    """What a value is a view of, or the value itself."""
    while isinstance(value, OpResult) and op_name(value.op) in views and value.op.operands:
        value = value.op.operands[0]
    return value


def _bytes(value: SSAValue) -> int:
    return byte_count(value.type) or 0
