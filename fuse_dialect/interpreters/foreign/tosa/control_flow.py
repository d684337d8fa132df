"""TOSA: branches and loops."""

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.meaning import Rows, Surroundings
from fuse_dialect.interpreters.values import Value


def _cond_if(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Value]:
    """The first region if the condition is true, else the second; inputs are arguments of both, if there are any."""
    then, otherwise = op.regions
    return around.run(then if operands[0].all() else otherwise, operands[1:])


def _while_loop(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Value]:
    """The second region as often as the first one gives true."""
    condition, body = op.regions
    states: Sequence[Value] = operands
    is_repeated = False
    while np.all(np.asarray(around.run(condition, states, is_repeated=is_repeated)[0])):
        states = around.run(body, states, is_repeated=is_repeated)
        is_repeated = True
    return states


ROWS: Rows = {"cond_if": _cond_if, "while_loop": _while_loop}
"""Meanings by the op's name without its dialect."""
