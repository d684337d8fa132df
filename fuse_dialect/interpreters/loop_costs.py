"""What an iteration of a loop counts against the limit on ops, whoever runs it.

1. A run may take as many ops as the module has, and `max_ops` beyond: one run of everything is in proportion to the
   module. So the first iteration of a loop is free each time that the loop begins, and each further one counts all ops
   in the body as it is written: those of inner regions once, of both branches, and of functions that are called.
2. A compiler changes bodies. So that the same loops end wherever they run, it is told before: `mark_iterations`.
"""

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation

from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.ops.regions import LoopOp

ITERATION_OPS_ATTRIBUTE = "fuse.iteration_ops"
"""Of a loop in a module that is being compiled: ops of an iteration in the source."""
_MOST = 1 << 62
"""Counts double with each call of a function that calls another one twice; this one ends any loop."""


class LoopCosts:
    """Counts of the loops of some functions."""

    def __init__(self, functions: Mapping[str, func.FuncOp]):
        self._sizes = _sizes_of(functions)
        self._costs: dict[LoopOp, int] = {}

    def iteration(self, op: LoopOp) -> int:
        """Ops of one iteration, at least one: condition 1."""
        if op not in self._costs:
            inside = ops_inside(op)
            called = sum(self._sizes.get(name, 0) for each in inside if (name := _callee(each)) is not None)
            self._costs[op] = min(max(1, len(inside) + called), _MOST)
        return self._costs[op]


def mark_iterations(module: ModuleOp, functions: Mapping[str, func.FuncOp]) -> None:
    """Note at each loop what an iteration counts: condition 2."""
    costs = LoopCosts(functions)
    for op in ops_inside(module):
        if isinstance(op, LoopOp):
            op.attributes[ITERATION_OPS_ATTRIBUTE] = IntegerAttr(costs.iteration(op), i64)


def marked_iteration(op: LoopOp) -> int:
    """What has been noted, or the ops in the body as they are."""
    noted = op.attributes.get(ITERATION_OPS_ATTRIBUTE)
    return max(1, noted.value.data if isinstance(noted, IntegerAttr) else len(ops_inside(op)))


def _callee(op: Operation) -> str | None:
    return op.callee.string_value() if isinstance(op, func.CallOp) else None


def _sizes_of(functions: Mapping[str, func.FuncOp]) -> dict[str, int]:
    """Ops of each function, with those that it calls; one that calls itself never ends anyway."""
    inside = {name: ops_inside(function) for name, function in functions.items()}
    called = {name: [each for op in ops if (each := _callee(op)) in functions] for name, ops in inside.items()}
    sizes: dict[str, int] = {}
    entered: set[str] = set()
    for root in functions:
        pending = [root]
        while pending:
            name = pending[-1]
            before = [] if name in entered else [each for each in called[name] if each and each not in entered]
            entered.add(name)
            pending.extend(before)
            if not before:
                pending.pop()
                total = len(inside[name]) + sum(sizes.get(each, 0) for each in called[name] if each)
                sizes.setdefault(name, min(total, _MOST))
    return sizes
