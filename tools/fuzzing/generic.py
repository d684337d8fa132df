"""What is proposed for an op that has no row: operands that broadcast, and properties by their form and name."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block
from xdsl.irdl import AttrConstraint, OptionalDef, VariadicDef
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.fields import FLAG, INTEGER, INTEGERS, REAL, STRING, PropertyValue
from fuse_dialect.dialect.op import FuseOp
from fuzzing.draft import Draft, Known, Proposal

_REALS = (0.0, 1.0, -1.0, 0.5, 0.01, 2.0, 1e-5, 3.25, -0.75)


def propose(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal | None:
    """The subject, others that broadcast with it, and some properties."""
    definition = op_class.get_irdl_definition()
    operands = [subject]
    for _, operand in definition.operands[1:]:
        operands.append(draft.companion(subject))
        assert not isinstance(operand, VariadicDef), "only the first is variadic where there is no row"
    if definition.operands and isinstance(definition.operands[0][1], VariadicDef):
        operands += [_twin(draft, subject) for _ in range(draft.random.randint(0, 3))]
    operands = operands[: max(len(operands), 1)] if definition.operands else []
    properties: dict[str, PropertyValue] = {}
    for name, declared in definition.properties.items():
        is_required = declared.default_value is None and not isinstance(declared, OptionalDef)
        if is_required or draft.chance(0.6):
            properties[name] = value_of(draft, op_class, name, declared.constr, operands)
    return Proposal(operands, properties)


def _twin(draft: Draft, subject: Known) -> Known:
    """An operand of the same shape and element type."""
    if draft.chance(0.2):
        return subject
    found = draft.find(lambda known: known.element == subject.element and known.shape == subject.shape)
    if found is not None and draft.chance(0.5):
        return found
    return draft.fresh(subject.shape, subject.element)


def value_of(
    draft: Draft, op_class: type[FuseOp], name: str, constraint: AttrConstraint, operands: list[Known]
) -> PropertyValue:
    """A value for a property, by its form; the name says more where it is one of the dialect's usual ones."""
    rank = len(operands[0].shape) if operands else 1
    if constraint is FLAG:
        return draft.chance(0.5)
    if constraint is INTEGER:
        return draft.axis(rank) if "axis" in name else draft.random.randint(1, 4)
    if constraint is REAL:
        return draft.random.choice((1e-5, 1e-3, 0.1)) if name == "epsilon" else draft.random.choice(_REALS)
    if constraint is STRING:
        words = words_of(op_class, name, operands)
        return draft.random.choice(words) if words else None
    if constraint is INTEGERS and name == "axes":
        return draft.axes(rank)
    return None


_WORDS: dict[tuple[type[FuseOp], str], tuple[str, ...]] = {}


def words_of(op_class: type[FuseOp], name: str, operands: Sequence[Known]) -> tuple[str, ...]:
    """The words that a property allows, as the op's own error names them; none if it complains of something else."""
    known = _WORDS.get((op_class, name))
    if known is not None:
        return known
    block = Block(arg_types=[operand.type for operand in operands])
    try:
        properties: dict[str, Any] = {name: StringAttr("no such word")}
        op_class(*block.args, **properties)
    except VerifyException as error:
        words = _named_words(str(error), name)
        if words:
            _WORDS[op_class, name] = words
        return words
    return ()


@cache
def _named_words(message: str, name: str) -> tuple[str, ...]:
    listed = re.search(rf"expects {name} to be (.*), got", message)
    return tuple(re.findall(r"'(\w+)'", listed.group(1))) if listed else ()
