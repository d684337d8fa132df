"""Outlining: each group of a fusion plan becomes a private function with the attribute `primitive`, and one call.

1. A group is outlined when it holds an operator, even a single one. Constants and tuple ops move along with the
   operators of their group; alone they stay.
2. Arguments stand in the order in which the group's ops, numbered as in the graph, first read them: a producer's before
   those of its users. The results are those of the root that something reads.
3. Ops move, they are not copied: attributes that nobody knows, locations and name hints stay with them.
4. Groups of the same structure share one function: same ops, attributes and types, wired alike. Locations do not count;
   each call carries the location of its own root.
5. A function is called from where it stands: one for a function's group follows that function, one for a group at a
   module's top level stands at the end of the module. Whatever a group reads from outside is an argument, so that no
   primitive captures values of the top level.
6. Names are `fused_<op>_<op>`, made unique in the module with a number, and follow from the block order alone.

Source: TVM `FuseMutator`, src/relay/transforms/fuse_ops.cc (v0.18).
"""

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.ops.opaque import StopFusionOp
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE, fusible_blocks
from fuse_dialect.fusion.outlining.copies import without_number
from fuse_dialect.fusion.outlining.group import Group
from fuse_dialect.fusion.outlining.primitives import Primitives
from fuse_dialect.fusion.outlining.rewiring import replace_operands, resolve

_PRIVATE, _UNIT = StringAttr("private"), UnitAttr()


def outline(
    function: Operation, groups: Sequence[Group], primitives: Primitives, *, keep_barriers: bool = False
) -> None:
    """Move each group of `function` into a primitive function, and leave a call in its place.

    Args:
        function: The function that holds the groups; new functions follow it in its block. Or a module, whose top level
            does; new functions stand at its end.
        groups: Groups of all blocks of the function, those of one block in block order of their roots.
        primitives: The module's primitive functions; it grows.
        keep_barriers: Whether `fuse.stop_fusion` stays, for a later pass.

    Complexity: O(ops + operands).
    """
    replacement: dict[SSAValue, SSAValue] = {}
    created: list[func.FuncOp] = []
    shared: list[Operation] = []
    for group in groups:
        call = _call_of(group, replacement)
        structure = primitives.structure(group) if primitives.dedup else None
        callee = primitives.find(structure)
        if callee is None:
            callee = primitives.add(structure, primitives.unique_name(group.ops))
            created.append(_move_into_function(callee, group, primitives))
        else:
            for op in group.ops:
                op.detach()
            shared.extend(group.ops)
        call.properties["callee"] = callee
        if group.promise:
            primitives.promises.setdefault(callee.string_value(), set()).add(group.promise)
    if not keep_barriers:
        _remove_stop_fusion(function, replacement)
    resolve(replacement)
    _replace_operands(function, replacement)
    for op in shared:
        op.drop_all_references()
    for constant in dict.fromkeys(constant for group in groups for constant in group.embedded):
        if constant.results[0].first_use is None:
            constant.detach()
    if isinstance(function, ModuleOp):
        function.body.block.add_ops(created)
        return
    block = function.parent
    assert block is not None, "a function to outline from is part of a module"
    block.insert_ops_after(created, function)


def _call_of(group: Group, replacement: dict[SSAValue, SSAValue]) -> func.CallOp:
    """A call, still without a callee, in the place of the group's root."""
    call = func.CallOp.create(
        operands=[replacement.get(value, value) for value in group.arguments],
        result_types=[value.type for value in group.results],
        attributes=dict(group.call_attributes),
        location=group.root.location,
    )
    for old, new in zip(group.results, call.results, strict=True):
        if old.name_hint is not None:
            new.name_hint = old.name_hint
        replacement[old] = new
    block = group.root.parent
    assert block is not None, "the ops of a group are in the block that was analysed"
    block.insert_op_before(call, group.root)
    return call


def _move_into_function(callee: SymbolRefAttr, group: Group, primitives: Primitives) -> func.FuncOp:
    body = Block(arg_types=[value.type for value in group.arguments])
    inner: dict[SSAValue, SSAValue] = {}
    for value, argument in zip(group.arguments, body.args, strict=True):
        argument.name_hint = value.name_hint
        inner[value] = argument
    constants = [constant.clone() for constant in group.embedded]
    for constant, copy in zip(group.embedded, constants, strict=True):
        copy.attributes = dict(without_number(copy.attributes))
        inner[constant.results[0]] = copy.results[0]
    for op in group.ops:
        op.detach()
        replace_operands(op, inner)
        if op.regions:
            for nested in ops_inside(op):
                replace_operands(nested, inner)
    body.add_ops((*constants, *group.ops))
    body.add_op(func.ReturnOp.create(operands=group.results))
    return func.FuncOp.create(
        properties={
            "sym_name": callee.root_reference,
            "function_type": primitives.function_type(
                [value.type for value in group.arguments], [value.type for value in group.results]
            ),
            "sym_visibility": _PRIVATE,
        },
        attributes={PRIMITIVE_ATTRIBUTE: _UNIT, **group.function_attributes},
        regions=[Region(body)],
        location=group.root.location,
    )


def _remove_stop_fusion(function: Operation, replacement: dict[SSAValue, SSAValue]) -> None:
    """Let the users of every `fuse.stop_fusion` read its operand: the barrier has done its work.

    One in a region that fusion does not look into stays: what it reads was planned as something that is needed.
    """
    barriers = [
        op
        for block in fusible_blocks(function)
        for op in block.ops
        if isinstance(op, StopFusionOp) and op.result.type == op.input.type
    ]
    for op in barriers:
        replacement[op.result] = replacement.get(op.input, op.input)
        op.detach()
        op.drop_all_references()


def _replace_operands(function: Operation, replacement: dict[SSAValue, SSAValue]) -> None:
    for op in ops_inside(function):
        replace_operands(op, replacement)
