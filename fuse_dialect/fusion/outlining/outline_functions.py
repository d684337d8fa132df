"""What all passes that fuse do around their plans: go through the functions of a module, and outline their groups."""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult

from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.ir.function_like import symbols_around
from fuse_dialect.fusion.ir.fusible_blocks import functions_to_fuse
from fuse_dialect.fusion.ir.ssa import read_values
from fuse_dialect.fusion.kinds.kind_of import kind_of
from fuse_dialect.fusion.outlining.group import Group
from fuse_dialect.fusion.outlining.outline import outline
from fuse_dialect.fusion.outlining.primitives import Primitives


def outline_functions(
    module: ModuleOp,
    groups_in: Callable[[Operation], Sequence[Group]],
    *,
    dedup: bool,
    keep_barriers: bool = False,
) -> dict[str, set[str]]:
    """Outline groups of every function of the module that fusion may change.

    Args:
        module: The module; it changes.
        groups_in: The groups of all blocks of a function, those of one block in block order of their roots. It may
            erase and move ops of the function.
        dedup: Whether groups of the same structure share a primitive.
        keep_barriers: Whether `fuse.stop_fusion` stays, for a later pass.

    Returns:
        The families of native code that the new functions were planned as, by name; see `Group.promise`.
    """
    primitives: dict[Block, Primitives] = {}
    for function in functions_to_fuse(module):
        symbols = symbols_around(function)
        if symbols not in primitives:
            # Functions of one symbol table share names and structures, those of another one cannot be called.
            primitives[symbols] = Primitives(symbols, dedup)
        outline(function, groups_in(function), primitives[symbols], keep_barriers=keep_barriers)
    return {name: families for each in primitives.values() for name, families in each.promises.items()}


def _erase_dead(dead: Sequence[Operation]) -> None:
    """Erase ops whose results nothing needs but ops behind them in the sequence."""
    for op in reversed(dead):
        op.detach()
        op.drop_all_references()


def erase_dead_chains(dead: Sequence[Operation]) -> bool:
    """Erase ops whose results nothing needs, and then what only they have read, in whatever block it stands.

    Args:
        dead: Pure ops; none of them is needed by others than those behind it.

    Returns:
        Whether pure ops other than these were erased.
    """
    # What only they have read in their own block is dead with them already.
    pending = [
        value.op
        for op in dead
        for value in read_values(op)
        if isinstance(value, OpResult) and value.op.parent is not op.parent
    ]
    _erase_dead(dead)
    is_more = False
    while pending:
        op = pending.pop()
        if op.parent is None or any(result.first_use is not None for result in op.results):
            continue
        if kind_of(op) is not None or is_constant(op):
            pending.extend(value.op for value in read_values(op) if isinstance(value, OpResult))
            _erase_dead([op])
            is_more = True
    return is_more
