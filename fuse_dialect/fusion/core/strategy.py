"""Strategies of fusion: functions from a graph to a plan, those that come with the package and those that others add.

What a strategy may return is what `plan.check_plan` asks for. `plan_of_nodes` makes a plan of any choice of nodes, and
`plan_of_roots` of groups with one way out each, so that a strategy need only say which nodes belong together.

A package of your own adds a strategy by an entry point, and installing it is all it takes:

    [project.entry-points."fuse_dialect.strategies"]
    mine = "my_package.fusion:my_strategy"
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeAlias, cast

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.extensions import added, at_place, loaded
from fuse_dialect.fusion.core.decision import FusionDecision, Merge
from fuse_dialect.fusion.core.options import FuseOptions
from fuse_dialect.fusion.core.plan import FusionPlan
from fuse_dialect.fusion.core.rules import RuleTable
from fuse_dialect.fusion.core.tvm_rules import TVM_RULES
from fuse_dialect.fusion.core.value_graph import ValueGraph

if TYPE_CHECKING:
    from fuse_dialect.loops.forms import OperatorForm
    from fuse_dialect.machines.machine import Machine


@dataclass(frozen=True)
class FusionOptions(FuseOptions):
    """What is asked of a strategy: what the user gives, and what comes from Python code.

    A strategy that cannot keep to a limit says so in its docstring. The graph says what nodes read and define only if
    `max_function_args` is a limit.
    """

    rules: RuleTable = TVM_RULES
    """What may fuse into what."""
    log: Callable[[Merge], object] | None = None
    """Is told each merge in the order in which they are made, by strategies that merge."""
    most_merges: int | None = None
    """How many merges are made; those after them are refused. `None` is no limit; for strategies that merge."""
    attempts: Callable[[FusionDecision], object] | None = None
    """Is told each verdict of a rule that is tried on a node, in order, by strategies that have rules."""
    target: "Machine | None" = None
    """What strategies by cost count for where `machine` names nothing: what code is made for."""
    forms: "Callable[[Machine], Sequence[OperatorForm | None]] | None" = None
    """Finds for each node of the graph how its loops look from outside on a machine, or `None` where nothing is known.
    For strategies by cost; none by default."""


Strategy: TypeAlias = Callable[[ValueGraph, FusionOptions], FusionPlan]
"""A way to group the nodes of a graph. It is pure: equal graphs and options give equal plans."""

STRATEGIES: Mapping[str, str] = {
    "tvm": "fuse_dialect.fusion.core.partition:tvm",
    "separate": "fuse_dialect.fusion.core.separate:separate",
    "cost": "fuse_dialect.cost.by_cost:cost",
}
"""Place of each strategy by name, spelled `module:function`; the module is imported when the name is used."""
ENTRY_POINTS = "fuse_dialect.strategies"
"""Group of the entry points by which other packages add strategies."""


def find_strategy(name: str) -> Strategy:
    """The strategy that is called `name`: of the table, or of another package that is installed.

    Raises:
        FuseError: There is none of this name, or its package cannot be imported.
    """
    place = STRATEGIES.get(name)
    if place is not None:
        return at_place(place)
    others = added(ENTRY_POINTS)
    if name in others:
        return cast(Strategy, loaded(others[name], "fusion strategy", "a function", callable))
    known = (*STRATEGIES, *sorted(others))
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}"
    raise FuseError(f"no fusion strategy '{name}'", hint=hint)
