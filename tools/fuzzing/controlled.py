"""Programs with loops and branches that mean what they meant before.

Some consecutive ops become the body of a loop, or of a branch that is taken. The body computes from what stands outside
in each iteration anew, so its last results are those of the ops. What it reads comes in as it is, as a state that stays
what it is, or as a row of a stack of equal rows; what it gives goes out as a state or as the last of what is stacked.
Bodies can hold loops that were made before. The reference of the program without loops is that of the new one, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Block, Operation, SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.ops.comparison import LessOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.layout import SqueezeOp
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp, YieldOp
from fuse_dialect.dialect.ops.replication import ExpandDimsOp
from fuse_dialect.dialect.types import DYNAMIC, Tensor, element_dtype, is_tensor, tensor

_Op = TypeVar("_Op", bound=Operation)

MOST_ITERATIONS = 3
"""More would only take longer."""


def add_control_flow(module: ModuleOp, random: Random) -> None:
    """Put some ops of the function into loops and branches.

    Args:
        module: A random program; it is changed.
        random: Which ops, and how.
    """
    main = next(iter(module.ops))
    assert isinstance(main, func.FuncOp)
    block = main.body.block
    for _ in range(random.choice((1, 1, 2, 3))):
        ops = [op for op in block.ops if not isinstance(op, ConstantOp | func.ReturnOp)]
        if not ops:
            return
        first = random.randrange(len(ops))
        part = ops[first : first + random.randint(1, len(ops) - first)]
        wrapping = _Wrapping(block, part, random)
        # Tuples are no states, and are not stacked.
        if wrapping.given and all(is_tensor(value.type) for value in (*wrapping.given, *wrapping.read)):
            wrapping.wrap()


@dataclass(frozen=True, slots=True)
class _Passed:
    """How values get into a loop."""

    states: list[SSAValue]
    rows: list[SSAValue]


class _Wrapping:
    """Consecutive ops of a block on their way into a region."""

    def __init__(self, block: Block, part: Sequence[Operation], random: Random):
        self.block, self.part, self.random = block, part, random
        inside = set(part)
        self.given = [
            value for op in part for value in op.results if any(use.operation not in inside for use in value.uses)
        ]
        made = {value for op in part for value in op.results}
        self.read = list(dict.fromkeys(value for op in part for value in op.operands if value not in made))

    def wrap(self) -> None:
        """Make a loop or a branch of the ops."""
        # A constant is read where it stands: an index or a scale that varies is another program.
        free = [value for value in self.read if not isinstance(value.owner, ConstantOp)]
        if self.random.random() < 0.25:
            self._branch()
        else:
            self._loop(free)

    def _insert(self, op: _Op) -> _Op:
        self.block.insert_op_before(op, self.part[0])
        return op

    def _number(self, value: int) -> SSAValue:
        return self._insert(constant(np.array(value, np.int64))).result

    def _branch(self) -> None:
        """`if` of a condition that is true; the other branch gives zeros, or computes the same."""
        condition = self._insert(constant(np.array(True))).result
        if any(DYNAMIC in _type(value).get_shape() for value in self.given) or self.random.random() < 0.3:
            mapping: dict[SSAValue, SSAValue] = {}
            copies = [op.clone(mapping) for op in self.part]
            otherwise = Block([*copies, YieldOp(*(mapping[value] for value in self.given))])
        else:
            zeros = [_zeros(_type(value)) for value in self.given]
            otherwise = Block([*zeros, YieldOp(*(op.result for op in zeros))])
        then = self._moved(Block(), {})
        then.add_op(YieldOp(*self.given))
        self._finish(IfOp(condition, then, otherwise), list(range(len(self.given))), [])

    def _loop(self, free: Sequence[SSAValue]) -> None:
        count = self.random.randint(1, MOST_ITERATIONS)
        passed = _Passed([], [])
        for value in free:
            match self.random.choice(("outside", "state", "row")):
                case "state":
                    passed.states.append(value)
                case "row":
                    passed.rows.append(value)
                case _:
                    pass
        stacks = [self._stacked(value, count) for value in passed.rows]
        as_states = [
            value for value in self.given if DYNAMIC not in _type(value).get_shape() and self.random.random() < 0.6
        ]
        as_stacks = [value for value in self.given if value not in as_states]
        begin = [self._insert(_zeros(_type(value))).result for value in as_states]
        entering_types = [value.type for value in (*passed.states, *begin, *passed.rows)]
        body = Block(arg_types=[tensor((), i64), *entering_types])
        entering = dict(zip(passed.states, body.args[1:], strict=False))
        entering |= dict(zip(passed.rows, body.args[1 + len(passed.states) + len(begin) :], strict=True))
        # Rows end the loop by themselves, if it has any.
        way = self.random.choice(("limit", "while", "rows") if stacks else ("limit", "while"))
        condition = limit = start = None
        if way == "limit":
            limit = self._number(count)
        last = self._number(count - 1)
        if way == "while":
            start = self._insert(constant(np.array(True))).result
        self._moved(body, entering)
        if way == "while":
            less = LessOp(body.args[0], last)
            body.add_op(less)
            condition = less.results[0]
        same = body.args[1 : 1 + len(passed.states)]
        body.add_op(YieldOp(*same, *as_states, *as_stacks, condition=condition))
        loop = LoopOp(body, limit=limit, condition=start, states=[*passed.states, *begin], rows=stacks)
        places = [len(passed.states) + place for place in range(len(self.given))]
        self.given = [*as_states, *as_stacks]
        self._finish(loop, places, as_stacks, count)

    def _stacked(self, value: SSAValue, count: int) -> SSAValue:
        """The value so many times, along a new first axis."""
        row = self._insert(ExpandDimsOp(value, axis=0)).results[0]
        return row if count == 1 else self._insert(ConcatenateOp(*[row] * count, axis=0)).results[0]

    def _moved(self, block: Block, entering: Mapping[SSAValue, SSAValue]) -> Block:
        """The block with the ops, which read the values that enter; a place holder stays where they stood."""
        marker = constant(np.array(0, np.int64))
        self.block.insert_op_after(marker, self.part[-1])
        for op in self.part:
            op.detach()
            block.add_op(op)
            for place, operand in enumerate(op.operands):
                if operand in entering:
                    op.operands[place] = entering[operand]
        self.part = [marker]
        return block

    def _finish(self, op: LoopOp | IfOp, places: Sequence[int], stacked: Sequence[SSAValue], count: int = 0) -> None:
        """Let what is behind read the results of the op."""
        inside = {each for region in op.regions for each in region.walk()}
        self._insert(op)
        for value, place in zip(self.given, places, strict=True):
            result: SSAValue = op.results[place]
            if value in stacked:
                cut = self._insert(StridedSliceOp(result, begin=[count - 1], end=[count], axes=[0]))
                result = self._insert(SqueezeOp(cut.results[0], axes=[0])).results[0]
            value.replace_uses_with_if(result, lambda use: use.operation not in inside)
        for marker in self.part:
            marker.detach()
            marker.erase()


def _type(value: SSAValue) -> Tensor:
    assert is_tensor(value.type), "programs with tuples are left alone"
    return value.type


def _zeros(type: Tensor) -> ConstantOp:
    return constant(np.zeros(type.get_shape(), element_dtype(type.element_type)))
