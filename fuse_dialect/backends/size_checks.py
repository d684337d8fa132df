"""Checks of sizes as a primitive of their own, so that they are made when sizes are settled and not in each call.

What a check asks is arithmetic on sizes. A strategy may put that into a kernel beside what else reads a size; then
only the kernel would know it, and NumPy would ask after it in every call.
"""

from collections.abc import Sequence

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.dynamic import ShapeOfOp
from fuse_dialect.dialect.shape_assertion import is_shape_assertion
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.interpreters.entry import function_named, functions_of

NAME = "check_sizes"
"""Of the function."""


def outline_checks(module: ModuleOp, entry: str) -> None:
    """Move the checks of a function that follow from sizes into one that is called for them.

    Args:
        module: The module before fusion; it changes.
        entry: Name of the function.

    Raises:
        InterpretationError: There is no such function with one block.

    Complexity: linear in the number of ops, times the number of checks.
    """
    if NAME in functions_of(module):
        return
    block = function_named(module, entry).body.block
    needed: set[Operation] = set()
    last: Operation | None = None
    for op in block.ops:
        if is_shape_assertion(op) and (asked := _asked(op, block)):
            needed.update(asked)
            last = op
    if last is None:
        return
    ops = [op for op in block.ops if op in needed]
    sized = list(dict.fromkeys(op.operands[0] for op in ops if isinstance(op, ShapeOfOp)))
    module.body.block.add_op(_function(ops, sized))
    Rewriter.insert_op(func.CallOp(NAME, sized, []), InsertPoint.before(last))
    for op in reversed(ops):
        if is_shape_assertion(op) or not any(result.uses for result in op.results):
            Rewriter.erase_op(op)


def _asked(check: Operation, block: Block) -> set[Operation]:
    """The check and the ops that it follows from, back to sizes of tensors; none if it follows from anything else."""
    found = {check}
    pending = list(check.operands)
    reads_sizes = False
    while pending:
        op = pending.pop().owner
        if not isinstance(op, FuseOp | arith.ConstantOp) or op.parent is not block or op.regions:
            return set()
        if isinstance(op, ShapeOfOp):
            reads_sizes = True
        elif op not in found:
            pending += op.operands
        found.add(op)
    return found if reads_sizes else set()


def _function(ops: Sequence[Operation], sized: Sequence[SSAValue]) -> func.FuncOp:
    body = Block(arg_types=[value.type for value in sized])
    mapped: dict[SSAValue, SSAValue] = dict(zip(sized, body.args, strict=True))
    for op in ops:
        copy = op.clone(mapped)
        copy.location = op.location
        body.add_op(copy)
    body.add_op(func.ReturnOp())
    function = func.FuncOp(NAME, ([value.type for value in sized], []), Region(body), "private")
    function.attributes[PRIMITIVE_ATTRIBUTE] = UnitAttr()
    return function
