"""Complex numbers that go in and out of functions, loops and branches, as real ones.

1. An argument or result of a function is one tensor with both parts along a new last axis of 2: that is how complex
   numbers of NumPy, PyTorch and JAX lie in memory, so they are handed over without a copy.
2. What goes round a loop, or comes out of a branch, is two tensors: the ops inside work on whole vectors of parts.

In between stand `stablehlo.complex`, `real` and `imag`, which vanish with the ops around them.
"""

from collections.abc import Sequence
from typing import cast

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import func
from xdsl.dialects.builtin import ComplexType, FunctionType, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.ops.concatenation import StackOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.layout import SqueezeOp
from fuse_dialect.dialect.types import Tensor, is_tensor
from fuse_dialect.frontends.stablehlo.dialect import BY_NAME

_WITH_REGIONS = ("stablehlo.while", "stablehlo.if", "stablehlo.case")


def is_complex_type(type: Attribute) -> bool:
    """Whether it is a tensor of complex numbers."""
    return is_tensor(type) and isinstance(type.element_type, ComplexType)


def part_type(type: Attribute) -> Tensor:
    """The type of the real parts of complex numbers."""
    assert is_tensor(type), "complex numbers are in tensors"
    element = cast("ComplexType[Attribute]", type.element_type).element_type  # pyright: ignore[reportInvalidTypeArguments]
    return TensorType(element, type.get_shape())


def split_complex(module: ModuleOp) -> None:
    """Say the complex numbers that cross borders with real ones.

    Functions that are called keep what they take and give: `inline` puts them where they are called.

    Complexity: O(ops + operands).
    """
    ops = list(ops_inside(module))
    crossing = [op for op in ops if op.name in _WITH_REGIONS and _has_complex((*op.operands, *op.results))]
    called = {op.callee.root_reference.data for op in ops if isinstance(op, func.CallOp)}
    for op in reversed(crossing):  # from the inside: what is around an op finds tensors of parts
        _split_region_op(op)
    for op in ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data not in called and not op.is_declaration:
            _split_function(op)


def _has_complex(values: Sequence[SSAValue]) -> bool:
    return any(is_complex_type(value.type) for value in values)


def _parts(value: SSAValue) -> list[SSAValue]:
    """The parts of a complex tensor, by ops of their own; any other value as it is."""
    if not is_complex_type(value.type):
        return [value]
    type = part_type(value.type)
    return [BY_NAME[f"stablehlo.{name}"].create(operands=[value], result_types=[type]).results[0] for name in _PARTS]


_PARTS = ("real", "imag")


def _part_types(types: Sequence[Attribute]) -> list[Attribute]:
    return [each for type in types for each in ([part_type(type)] * 2 if is_complex_type(type) else [type])]


def _joined(parts: Sequence[SSAValue], type: Attribute) -> SSAValue:
    return BY_NAME["stablehlo.complex"].create(operands=parts, result_types=[type]).results[0]


def _parts_before(op: Operation, values: Sequence[SSAValue]) -> list[SSAValue]:
    block = Block()
    with ImplicitBuilder(block):
        found = [part for value in values for part in _parts(value)]
    _insert(block, InsertPoint.before(op))
    return found


def _insert(block: Block, place: InsertPoint) -> None:
    made = list(block.ops)
    for op in made:
        op.detach()
    Rewriter.insert_op(made, place)


def _split_region_op(op: Operation) -> None:
    operands = _parts_before(op, op.operands)
    regions = list(op.regions)
    for region in regions:
        for block in region.blocks:
            _split_arguments(block)
            end = block.last_op
            if end is not None and end.name == "stablehlo.return":
                end.operands = _parts_before(end, end.operands)
    moved = [op.detach_region(region) for region in regions]
    made = type(op).create(
        operands=operands,
        result_types=_part_types(op.result_types),
        properties=op.properties,
        attributes=op.attributes,
        regions=moved,
    )
    made.location = op.location
    block, rest = Block(), iter(made.results)
    with ImplicitBuilder(block):
        values = [
            _joined([next(rest), next(rest)], result.type) if is_complex_type(result.type) else next(rest)
            for result in op.results
        ]
    parent = op.parent_block()
    assert parent is not None, "an op of a module stands in a block"
    Rewriter.insert_op(made, InsertPoint.before(op))
    _insert(block, InsertPoint.before(op))
    Rewriter.replace_op(op, [], values)


def _split_arguments(block: Block) -> None:
    """Two arguments in place of each complex one."""
    for argument in [each for each in block.args if is_complex_type(each.type)]:
        type, place = argument.type, argument.index
        parts = [block.insert_arg(part_type(type), place + 1 + offset) for offset in range(2)]
        inner = Block()
        with ImplicitBuilder(inner):
            value = _joined(parts, type)
        argument.replace_all_uses_with(value)
        block.erase_arg(argument)
        _insert(inner, InsertPoint.at_start(block))


def _split_function(function: func.FuncOp) -> None:
    types = function.function_type
    if not any(map(is_complex_type, (*types.inputs, *types.outputs))) or len(function.body.blocks) != 1:
        return
    block = function.body.block
    for argument in [each for each in block.args if is_complex_type(each.type)]:
        type, place = argument.type, argument.index
        pair = block.insert_arg(_pair_type(type), place + 1)
        pair.name_hint, pair.location = argument.name_hint, argument.location
        inner = Block()
        with ImplicitBuilder(inner):
            value = _joined([_part_of(pair, index) for index in range(2)], type)
        argument.replace_all_uses_with(value)
        block.erase_arg(argument)
        _insert(inner, InsertPoint.at_start(block))
    end = block.last_op
    assert isinstance(end, func.ReturnOp), "a function ends with a return"
    inner = Block()
    with ImplicitBuilder(inner):
        values = [
            StackOp(*_parts(value), axis=-1).results[0] if is_complex_type(value.type) else value
            for value in end.arguments
        ]
    _insert(inner, InsertPoint.before(end))
    end.operands = values
    function.function_type = FunctionType.from_lists(
        [argument.type for argument in block.args], [value.type for value in values]
    )


def _pair_type(type: Attribute) -> Tensor:
    part = part_type(type)
    return TensorType(part.element_type, [*part.get_shape(), 2])


def _part_of(pair: SSAValue, index: int) -> SSAValue:
    """The real or the imaginary parts of a tensor that has both along its last axis."""
    type = cast("Tensor", pair.type)
    *shape, _ = type.get_shape()
    axis = len(shape)
    part = StridedSliceOp(pair, begin=[index], end=[index + 1], axes=[axis], strides=[1]).results[0]
    return SqueezeOp(part, axes=[axis]).results[0]
