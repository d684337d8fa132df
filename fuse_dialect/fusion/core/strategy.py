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
from importlib import import_module
from typing import Any, TypeAlias, cast

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.extensions import added, loaded
from fuse_dialect.fusion.core.decision import FusionDecision, Merge
from fuse_dialect.fusion.core.plan import FusionPlan
from fuse_dialect.fusion.core.rules import RuleTable
from fuse_dialect.fusion.core.tvm_rules import TVM_RULES
from fuse_dialect.fusion.core.value_graph import ValueGraph


@dataclass(frozen=True, slots=True)
class FusionOptions:
    """What the user asks of a strategy; one that cannot keep to a limit says so in its docstring."""

    max_depth: int | None = 256
    """Most nodes of a group, in the strategy's way of counting; `None` is no limit."""
    max_function_args: int = 0
    """Most arguments and results of a group; 0 is no limit. Only then the graph says what nodes read and define."""
    rules: RuleTable = TVM_RULES
    """What may fuse into what."""
    log: Callable[[Merge], object] | None = None
    """Is told each merge in the order in which they are made, by strategies that merge."""
    most_merges: int | None = None
    """How many merges are made; those after them are refused. `None` is no limit; for strategies that merge."""
    attempts: Callable[[FusionDecision], object] | None = None
    """Is told each verdict of a rule that is tried on a node, in order, by strategies that have rules."""
    machine: object = ""
    """What strategies by cost count for: a `machines.machine.Machine`, or its name or file. Fusion looks into none."""
    recompute: bool = True
    """Whether a node may be computed in several kernels, by strategies that can."""
    horizontal: bool = True
    """Whether kernels that only read the same may become one, by strategies that can."""
    multi_output: bool = True
    """Whether a kernel may store more than one value, by strategies that can."""
    open_size: int = 64
    """What strategies by cost take an open size for."""
    forms: Callable[[Any], Sequence[object]] | None = None
    """Finds for each node of the graph how its loops look from outside on a `machines.machine.Machine`: a
    `loops.forms.OperatorForm`, or `None` where nothing is known. For strategies by cost; none by default."""


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
        module, _, function = place.partition(":")
        return getattr(import_module(module), function)
    others = added(ENTRY_POINTS)
    if name in others:
        return cast(Strategy, loaded(others[name], "fusion strategy", "a function", callable))
    known = (*STRATEGIES, *sorted(others))
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}"
    raise FuseError(f"no fusion strategy '{name}'", hint=hint)
