"""How large the values of a run are: a type of a few letters may ask for terabytes."""

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from fuse_dialect.budget import spelled
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.types import byte_count
from fuse_dialect.interpreters.entry import function_named, functions_of
from fuse_dialect.interpreters.values import EvaluationError


def check_sizes(module: ModuleOp, entry: str, limit: int) -> None:
    """Refuse a program of which one value takes too much memory, before it runs.

    Args:
        module: A verified module.
        entry: Name of the function that will run; those that it calls count as well.
        limit: Most bytes of a value whose type is static. What a `?` stands for is known only later.

    Raises:
        EvaluationError: An op gives, or a function takes, a larger value.
        InterpretationError: There is no such function.

    Complexity: O(ops).
    """
    functions = functions_of(module)
    pending = [function_named(module, entry)]
    seen = set(pending)
    while pending:
        function = pending.pop()
        for block in function.body.blocks:
            for argument in block.args:
                _check(argument, limit)
        for op in ops_inside(function):
            for result in op.results:
                _check(result, limit)
            if isinstance(op, func.CallOp):
                callee = functions.get(op.callee.string_value())
                if callee is not None and callee not in seen:
                    seen.add(callee)
                    pending.append(callee)


def _check(value: SSAValue, limit: int) -> None:
    size = byte_count(value.type)
    if size is not None and size > limit:
        op = value.owner.parent_op() if isinstance(value.owner, Block) else value.owner
        assert op is not None, "a block of a function is part of an op"
        reason = f"has a value of type {value.type}: {spelled(size)} bytes, more than the {limit} that one may take"
        raise EvaluationError(op, reason, "--max-value-bytes raises the limit")
