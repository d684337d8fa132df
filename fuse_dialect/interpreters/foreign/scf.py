"""Meanings of loops and branches of `scf` on tensors and numbers."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import scf
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.meaning import Rows, Surroundings
from fuse_dialect.interpreters.values import Value


def _if(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Value]:
    assert isinstance(op, scf.IfOp), "the row's op"
    region = op.true_region if operands[0] else op.false_region
    return around.run(region) if region.blocks else ()


def _for(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Value]:
    assert isinstance(op, scf.ForOp), "the row's op"
    first, last, step, *initial = operands
    if int(step) < 1:
        raise ValueError(f"expects a step of at least 1, got {int(step)}")
    states: Sequence[Value] = initial
    for number in range(int(first), int(last), int(step)):
        arguments = [np.array(number, first.dtype), *states]
        states = around.run(op.body, arguments, is_repeated=number > int(first))
    return states


def _while(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Value]:
    assert isinstance(op, scf.WhileOp), "the row's op"
    states: Sequence[Value] = operands
    is_repeated = False
    while True:
        goes_on, *given = around.run(op.before_region, states, is_repeated=is_repeated)
        if not np.any(np.asarray(goes_on)):
            return given
        states = around.run(op.after_region, given, is_repeated=is_repeated)
        is_repeated = True


def _index_switch(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Value]:
    assert isinstance(op, scf.IndexSwitchOp), "the row's op"
    regions = dict(zip(op.cases.get_values(), op.case_regions, strict=True))
    return around.run(regions.get(int(operands[0]), op.default_region))


def _execute_region(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Value]:
    if len(op.regions[0].blocks) != 1:
        raise ValueError(f"expects one block, got {len(op.regions[0].blocks)}")
    return around.run(op.regions[0])


MEANINGS: Rows = {
    "scf.execute_region": _execute_region,
    "scf.for": _for,
    "scf.if": _if,
    "scf.index_switch": _index_switch,
    "scf.while": _while,
}
