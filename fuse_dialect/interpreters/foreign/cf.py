"""Meanings of `cf` within one block: assertions."""

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.meaning import Rows, Surroundings, attribute_of
from fuse_dialect.interpreters.values import EvaluationError


def _assert(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    if not operands[0].all():
        message = attribute_of(op, "msg")
        raise EvaluationError(op, f"fails: {message.data if isinstance(message, StringAttr) else 'it is false'}")
    return ()


MEANINGS: Rows = {"cf.assert": _assert}
