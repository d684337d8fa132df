"""Verifying what op definitions say, once for ops that are alike.

xDSL's `OpDef.verify` checks operands, results, regions, properties, attributes and traits of an op against its
definition. Most of its time goes into operands and results, and a program repeats the same types at every op. What
makes it safe to skip them the second time:

1. Operands and results are checked by their types and number alone.
2. Properties and traits are checked at every op.
3. A definition takes no part if one of its properties shares a constraint variable with others or says how operands
   are divided, if it constrains regions or successors, or if it requires attributes.
4. Neither does one of `PRINTED_FORMS`, whose checks are made here too.
"""

from collections.abc import Generator
from contextlib import contextmanager
from threading import get_ident

from xdsl.ir import Operation
from xdsl.irdl import AnyAttr, OpDef, RangeOf, RegionDef, VerificationContext

from fuse_dialect.loading.printed_forms import PRINTED_FORMS

_ANY_ARGUMENTS = RangeOf(AnyAttr())
_MOST_SIGNATURES = 4096
"""Signatures that one run remembers, so that odd programs take no memory."""


@contextmanager
def definitions_checked_once() -> Generator[None]:
    """Let xDSL check operands and results of ops that are alike once; the IR must not change meanwhile.

    Types are told apart by identity, because hashing them is slow. xDSL has only a global place for this, its
    `OpDef.verify`.
    """
    verify, verifier = OpDef.verify, get_ident()
    passed: set[object] = set()
    takes_part: dict[int, bool] = {}

    def verify_once(self: OpDef, op: Operation) -> None:
        if get_ident() != verifier:
            verify(self, op)
            return
        part = takes_part.get(id(self))
        if part is None:
            part = takes_part[id(self)] = _checks_parts_apart(self)
        if not part or op.successors:
            verify(self, op)
            if (check := PRINTED_FORMS.get(self.name)) is not None:
                check(op)
            return
        signature = (
            id(self),
            len(op.regions),
            tuple(op.properties),
            tuple([id(operand.type) for operand in op.operands]),
            tuple([id(result.type) for result in op.results]),
        )
        if signature not in passed:
            verify(self, op)
            if len(passed) < _MOST_SIGNATURES:
                passed.add(signature)
            return
        for name, value in op.properties.items():
            self.properties[name].constr.verify(value, VerificationContext())
        for trait in self.traits:
            trait.verify(op)

    OpDef.verify = verify_once
    try:
        yield
    finally:
        OpDef.verify = verify


def _checks_parts_apart(definition: OpDef) -> bool:
    """Whether conditions 1 to 4 hold for the ops of a definition."""
    shares = any(property.constr.variables() for property in definition.properties.values())
    plain_regions = all(type(each) is RegionDef and each.entry_args == _ANY_ARGUMENTS for _, each in definition.regions)
    is_simple = not definition.attributes and not definition.successors and not definition.options
    return is_simple and plain_regions and not shares and definition.name not in PRINTED_FORMS
