"""Replacing operands, many at once."""

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue


def replace_operands(op: Operation, replacement: Mapping[SSAValue, SSAValue]) -> None:
    """Put new operands of one op in the place of old ones.

    All at once, because xDSL takes the number of operands for each one that is set alone.
    """
    operands = op.operands
    for value in operands:
        if value in replacement:
            op.operands = [replacement.get(value, value) for value in operands]
            return
