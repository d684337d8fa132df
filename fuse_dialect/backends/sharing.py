"""Primitives that differ in scales alone, as one: the layers of a network in 8 bits, whose code was made for each.

1. A scale is a constant number of f32 that is only multiplied with numbers which are known when the program runs. No
   kernel is chosen by its value.
2. Primitives that are equal but for the values of scales become the first of them, which gets its scales as arguments.

Fusion does not change: plans, pictures and remarks show what the strategy decided.
"""

from collections.abc import Hashable, Sequence

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.ops.broadcast import MultiplyOp
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE

_NUMBER = TensorType(f32, [])


def share_primitives(module: ModuleOp) -> None:
    """Make one function of primitives that differ in scales alone.

    Args:
        module: The module, outlined; it changes.

    Complexity: linear in the number of ops.
    """
    alike: dict[Hashable, list[func.FuncOp]] = {}
    for function in module.ops:
        if isinstance(function, func.FuncOp) and PRIMITIVE_ATTRIBUTE in function.attributes:
            scales = _scales(function)
            key = _structure(function, scales) if scales else None
            if key is not None:
                alike.setdefault(key, []).append(function)
    shared = {each.sym_name.data: group for group in alike.values() if len(group) > 1 for each in group}
    if not shared:
        return
    calls = [op for op in module.walk() if isinstance(op, func.CallOp) and op.callee.string_value() in shared]
    for call in calls:
        name = call.callee.string_value()
        first, *_ = group = shared[name]
        own = next(each for each in group if each.sym_name.data == name)
        _call_with_scales(call, first, _scales(own))
    for group in alike.values():
        if len(group) > 1:
            _take_scales(group[0])
            for other in group[1:]:
                other.detach()
                other.erase()


def _scales(function: func.FuncOp) -> list[arith.ConstantOp]:
    """The constants of a primitive that are scales (1), in order."""
    if len(function.body.blocks) != 1 or function.arg_attrs is not None:
        return []
    return [
        op
        for op in function.body.block.ops
        if isinstance(op, arith.ConstantOp)
        and op.result.type == _NUMBER
        and all(_multiplies(use.operation, op) for use in op.result.uses)
    ]


def _multiplies(op: Operation, constant: arith.ConstantOp) -> bool:
    """Whether an op multiplies a constant with a number that is none."""
    others = [operand for operand in op.operands if operand is not constant.result]
    return (
        isinstance(op, MultiplyOp)
        and op.results[0].type == _NUMBER
        and bool(others)
        and not any(isinstance(operand.owner, arith.ConstantOp) for operand in others)
    )


def _structure(function: func.FuncOp, scales: Sequence[Operation]) -> Hashable | None:
    """What is equal for primitives that differ in names and scales alone; `None` for one with regions inside."""
    block = function.body.block
    places: dict[SSAValue, int] = {value: place for place, value in enumerate(block.args)}
    marks = {name: value for name, value in function.attributes.items() if name != "sym_name"}
    parts: list[Hashable] = [function.function_type, tuple(sorted(marks.items(), key=lambda item: item[0]))]
    for op in block.ops:
        if op.regions or op.successors:
            return None
        parts.append((op.name, tuple(places[operand] for operand in op.operands), tuple(op.result_types)))
        if op not in scales:
            named = [*op.properties.items(), *op.attributes.items()]
            parts.append(tuple(sorted(named, key=lambda item: item[0])))
        for result in op.results:
            places[result] = len(places)
    return tuple(parts)


def _call_with_scales(call: func.CallOp, function: func.FuncOp, scales: Sequence[arith.ConstantOp]) -> None:
    """Call a function that gets its scales, in the place of a call."""
    block = call.parent_block()
    assert block is not None, "a call is in a block"
    constants = [scale.clone() for scale in scales]
    operands = [*call.operands, *(constant.result for constant in constants)]
    other = func.CallOp(function.sym_name.data, operands, list(call.result_types))
    other.attributes |= call.attributes
    block.insert_ops_before([*constants, other], call)
    for before, after in zip(call.results, other.results, strict=True):
        after.name_hint = before.name_hint
        before.replace_all_uses_with(after)
    call.detach()
    call.erase()


def _take_scales(function: func.FuncOp) -> None:
    """Make the scales of a function arguments."""
    block = function.body.block
    for scale in _scales(function):
        argument = block.insert_arg(_NUMBER, len(block.args))
        argument.name_hint = scale.result.name_hint
        scale.result.replace_all_uses_with(argument)
        scale.detach()
        scale.erase()
    function.function_type = FunctionType.from_lists(list(block.arg_types), list(function.function_type.outputs))
