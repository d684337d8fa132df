"""Strategies of fusion: functions from a graph to groups, and the table of those that come with the package.

What a strategy may return is what `check_roots` of `plan` asks for; `plan_of_roots` makes a plan of any such choice, so
that a strategy need only say which nodes belong together.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TypeAlias

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.fusion.forward_graph import ForwardGraph
from fuse_dialect.fusion.plan import FusionPlan
from fuse_dialect.fusion.rules import RuleTable
from fuse_dialect.fusion.tvm_rules import TVM_RULES


@dataclass(frozen=True, slots=True)
class FusionOptions:
    """What the user asks of a strategy; one that cannot keep to a limit says so in its docstring."""

    max_depth: int | None = 256
    """Most nodes of a group, in the strategy's way of counting; `None` is no limit."""
    max_function_args: int = 0
    """Most arguments and results of a group; 0 is no limit. Only then the graph says what nodes read and define."""
    rules: RuleTable = TVM_RULES
    """What may fuse into what."""


Strategy: TypeAlias = Callable[[ForwardGraph, FusionOptions], FusionPlan]
"""A way to group the nodes of a graph. It is pure: equal graphs and options give equal plans."""

STRATEGIES: Mapping[str, str] = {
    "tvm": "fuse_dialect.fusion.partition:tvm",
    "separate": "fuse_dialect.fusion.separate:separate",
}
"""Place of each strategy by name, spelled `module:function`; the module is imported when the name is used."""


def find_strategy(name: str) -> Strategy:
    """The strategy of the table that is called `name`.

    Raises:
        FuseError: No strategy of the table has this name.
    """
    place = STRATEGIES.get(name)
    if place is None:
        close = get_close_matches(name, STRATEGIES, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(STRATEGIES)}"
        raise FuseError(f"no fusion strategy '{name}'", hint=hint)
    module, _, function = place.partition(":")
    return getattr(import_module(module), function)
