"""Functions that are called once each, in the order of their calls.

IREE 3.13 follows what functions exchange that it may not inline, from call to call, for at most 32 rounds. A function
that is called in several places makes cycles: what one call gives flows into all others. Functions out of order cost a
round each time. Where 32 are too few, it fails with "failed to solve for timepoint coverage". Kernels that are equal
become one again later.
"""

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Block

from fuse_dialect.analysis.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.analysis.symbol_tables import blocks_of_functions, walk_table


def call_once(module: ModuleOp) -> None:
    """Give every call of a primitive function a function of its own, and put these at the end, in the order of calls.

    Complexity: linear in the size of what comes out.
    """
    for block in blocks_of_functions(module):
        _call_once(block)


def _call_once(block: Block) -> None:
    functions = [op for op in block.ops if isinstance(op, func.FuncOp)]
    primitives = {op.sym_name.data: op for op in functions if PRIMITIVE_ATTRIBUTE in op.attributes}
    names = {name.data for op in block.ops if isinstance(name := op.properties.get("sym_name"), StringAttr)}
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
    for function in called.values():
        if function.parent is block:
            function.detach()
        block.add_op(function)
