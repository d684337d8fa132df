"""Kernels in their places, `fuse.fused`, as primitive functions and calls."""

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.ops.regions import FusedOp, YieldOp
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.fusion.ir.symbol_tables import blocks_of_functions, may_be_symbol_table, walk_table
from fuse_dialect.fusion.outlining.group import Group
from fuse_dialect.fusion.outlining.primitives import Primitives


def outline_regions(module: ModuleOp, *, dedup: bool = True) -> None:
    """Make a private primitive function of each kernel in its place, and a call.

    Args:
        module: The module; it changes.
        dedup: Whether kernels of the same structure share a function.

    Complexity: O(ops + operands).
    """
    for block in blocks_of_functions(module):
        primitives: Primitives | None = None
        for op in [each for each in block.ops if not may_be_symbol_table(each)]:
            created: list[func.FuncOp] = []
            for fused in _innermost_first(op):
                primitives = primitives or Primitives(block, dedup)
                function = _outlined(fused, primitives)
                if function is not None:
                    created.append(function)
            block.insert_ops_after(created, op)


@contextmanager
def kernels_as_functions(module: ModuleOp) -> Generator[ModuleOp]:
    """The module for somebody who writes primitive functions, or a copy where kernels in their places are such.

    Raises:
        OpError: The body of the `with` has raised it; it names the op of the module, not that of the copy.
    """
    if not any(type(op) is FusedOp for op in module.walk()):
        yield module
        return
    copy = module.clone()
    origins = dict(zip(copy.walk(), module.walk(), strict=True))
    outline_regions(copy)
    try:
        yield copy
    except OpError as error:
        error.op = origins.get(error.op, module)
        raise


def _innermost_first(op: Operation) -> list[FusedOp]:
    """The kernels inside an op, in order, each after those that it holds."""
    found = [each for each in walk_table(op) if type(each) is FusedOp]
    return sorted(found, key=_depth, reverse=True) if len(found) > 1 else found


def _depth(op: Operation) -> int:
    depth, outer = 0, op.parent_op()
    while outer is not None:
        depth, outer = depth + 1, outer.parent_op()
    return depth


def _outlined(fused: FusedOp, primitives: Primitives) -> func.FuncOp | None:
    """Put a call in the place of a kernel; its function, if there is none of its structure yet."""
    body = fused.body.block
    *ops, end = body.ops
    marks: dict[str, Attribute] = dict(fused.function_attributes.data) if fused.function_attributes else {}
    # What a function is marked with tells it apart, too.
    structure = (primitives.structure(Group(ops, body.args, end.operands)), primitives.dictionary(marks))
    callee = primitives.find(structure)
    is_new = callee is None
    if callee is None:
        callee = primitives.add(structure, primitives.unique_symbol(fused.kernel.data))
    call = func.CallOp.create(
        operands=fused.operands,
        result_types=fused.result_types,
        properties={"callee": callee},
        attributes=dict(fused.attributes),
        location=fused.location,
    )
    function = _function(fused, callee.root_reference, marks, body, end) if is_new else None
    block = fused.parent
    assert block is not None, "an op inside an op stands in a block"
    block.insert_op_before(call, fused)
    values: list[SSAValue] = list(call.results)
    for old, new in zip(fused.results, values, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    block.erase_op(fused)
    return function


def _function(
    fused: FusedOp, name: StringAttr, marks: dict[str, Attribute], body: Block, end: Operation
) -> func.FuncOp:
    assert isinstance(end, YieldOp), "what is verified ends so"
    last = func.ReturnOp(*end.operands)
    last.location = end.location
    body.insert_op_before(last, end)
    body.erase_op(end)
    region = Region()
    fused.body.move_blocks(region)
    function = func.FuncOp(name.data, (fused.operand_types, fused.result_types), region, visibility="private")
    function.attributes = {PRIMITIVE_ATTRIBUTE: UnitAttr(), **marks}
    function.location = fused.location
    return function
