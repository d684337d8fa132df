"""Functions that are not inlined: each is called once, and they stand before their callers, in the order of calls.

IREE 3.13 follows what functions exchange that it may not inline, from call to call, for at most 32 rounds. A function
that is called in several places makes cycles: what one call gives flows into all others. A function that stands behind
its callers, or out of order, costs rounds, too. Where 32 are too few, it fails with "failed to solve for timepoint
coverage". Kernels that are equal become one again later.
"""

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation

from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.fusion.ir.symbol_tables import blocks_of_functions, walk_table

NOINLINE_ATTRIBUTE = "noinline"
"""What keeps IREE from inlining a function."""


def keep_calls(module: ModuleOp) -> None:
    """Give every call of a primitive function a function of its own that IREE does not inline.

    These functions come first, in the order of calls. Those on whose calls IREE fails may be inlined: what is called
    inside a `scf.while`, or has open sizes and is called inside another op, or gives several results of open sizes.

    Complexity: linear in the size of what comes out.
    """
    for block in blocks_of_functions(module):
        _keep_calls(block)


def _keep_calls(block: Block) -> None:
    functions = [op for op in block.ops if isinstance(op, func.FuncOp)]
    primitives = {op.sym_name.data: op for op in functions if PRIMITIVE_ATTRIBUTE in op.attributes}
    names = {name.data for op in block.ops if isinstance(name := op.properties.get("sym_name"), StringAttr)}
    for primitive in primitives.values():
        primitive.attributes[NOINLINE_ATTRIBUTE] = UnitAttr()
    copies = dict.fromkeys(primitives, 0)
    called: dict[str, func.FuncOp] = {}
    for call in [op for function in functions for op in walk_table(function) if isinstance(op, func.CallOp)]:
        callee = call.callee.root_reference.data
        if callee not in primitives or call.callee.nested_references.data:
            continue
        name, function = callee, primitives[callee]
        if callee in called:
            while name in names:
                name = f"{callee}_{copies[callee]}"
                copies[callee] += 1
            names.add(name)
            function = function.clone()
            function.properties["sym_name"] = StringAttr(name)
            call.properties["callee"] = SymbolRefAttr(name)
        called[name] = function
        function.attributes.pop(NOINLINE_ATTRIBUTE, None)
        if not _must_be_inlined(call, function):
            function.attributes[NOINLINE_ATTRIBUTE] = UnitAttr()
    for function in called.values():
        if function.parent is block:
            function.detach()
    first = next((op for op in block.ops if isinstance(op, func.FuncOp)), None)
    if first is not None:
        block.insert_ops_before(list(called.values()), first)


def _must_be_inlined(call: func.CallOp, function: func.FuncOp) -> bool:
    results = function.function_type.outputs.data
    if len(results) > 1 and any(map(_is_open, results)):
        return True
    around: list[Operation] = []
    op = call.parent_op()
    while op is not None and not isinstance(op, func.FuncOp):
        around.append(op)
        op = op.parent_op()
    has_open_sizes = any(map(_is_open, (*results, *function.function_type.inputs)))
    return bool(around) and (has_open_sizes or any(isinstance(op, scf.WhileOp) for op in around))


def _is_open(type: Attribute) -> bool:
    return is_tensor(type) and DYNAMIC in type.get_shape()
