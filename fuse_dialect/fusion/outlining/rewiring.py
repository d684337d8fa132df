"""Replacing operands, many at once."""

from collections.abc import Mapping, MutableMapping

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


def resolve(replacement: MutableMapping[SSAValue, SSAValue]) -> None:
    """Let every value be replaced by the last of its chain: what replaces it may be replaced itself.

    Blocks need not stand in the order in which they run, so a value may be replaced before what replaces it is.
    """
    for first, value in list(replacement.items()):
        if value not in replacement:
            continue
        chain = {first: None}
        while value in replacement and value not in chain:
            chain[value] = None
            value = replacement[value]
        for each in chain:
            replacement[each] = value
