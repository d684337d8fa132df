"""Which mappings of a template hold for an op, and if none does, why: each constraint by its own sentence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.ir import Operation

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.extensions import added, loaded
from fuse_dialect.hardware.operator_facts import OpFacts
from fuse_dialect.hardware.predicates import PREDICATES, SENTENCES, Known
from fuse_dialect.templates.constraint import judge
from fuse_dialect.templates.template import HardwareTemplate, OperatorMapping

CHECKS = "fuse_dialect.hardware_checks"
"""Entry point group of functions from an op to a sentence why hardware cannot run it, or to `None` if it can."""


@dataclass(frozen=True, slots=True)
class Support:
    """What a template says of an op."""

    rows: tuple[OperatorMapping, ...]
    """The mappings that hold."""
    refusal: str = ""
    """Why none does; empty if one does, or the template has none."""
    padding: str = ""
    """What the first of them wants padded."""


def supported_by(template: HardwareTemplate, rows: Sequence[OperatorMapping], op: Operation, known: Known) -> Support:
    """Which of the rows hold for an op.

    Args:
        template: The accelerator, with its requirements.
        rows: Its mappings of the op's name.
        op: The op.
        known: Values that are constants.

    Raises:
        FuseError: A row names a check that no package brings.
    """
    facts = OpFacts(op, known)
    holding: list[OperatorMapping] = []
    refusals: dict[str, None] = {}
    paddings: list[str] = []
    for row in rows:
        if not PREDICATES[row.predicate](op, known):
            refusals[SENTENCES[row.predicate]] = None
            continue
        verdicts = [judge(constraint, facts) for constraint in template.constraints_of(row)]
        why = next((verdict.refusal for verdict in verdicts if verdict.refusal), "")
        if not why and row.check:
            why = hardware_check(row.check)(op) or ""
        if why:
            refusals[why] = None
            continue
        holding.append(row)
        paddings += [verdict.padding for verdict in verdicts if verdict.padding]
    return Support(tuple(holding), "" if holding else "; ".join(refusals), "; ".join(dict.fromkeys(paddings)))


@cache
def hardware_check(name: str) -> Callable[[Operation], str | None]:
    """The function that a package has registered under the name.

    Raises:
        FuseError: No package has.
    """
    checks = added(CHECKS)
    if name not in checks:
        there_are = ", ".join(sorted(checks)) or "none"
        raise FuseError(
            f"no hardware check '{name}'",
            hint=f"a package registers one under the entry point group {CHECKS}; there are: {there_are}",
        )
    return loaded(checks[name], "hardware check", "a function", callable)
