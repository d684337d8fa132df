"""Strategies that do not come with the package: they show what another one has to do."""

from collections.abc import Mapping

from fuse_dialect.fusion.core.plan import FusionPlan, plan_of_roots
from fuse_dialect.fusion.core.strategy import FusionOptions, Strategy
from fuse_dialect.fusion.core.value_graph import ValueGraph
from fuse_dialect.pattern_kind import PatternKind


def alone(values: ValueGraph, options: FusionOptions) -> FusionPlan:
    """Every node is a group."""
    return plan_of_roots(values, range(len(values)))


def chains(values: ValueGraph, options: FusionOptions) -> FusionPlan:
    """A node joins its only user, as long as nothing but elementwise operators follow each other."""
    graph = values.forward
    roots = list(range(len(graph)))
    for node in range(len(graph) - 1, -1, -1):
        users = {user for user, _ in graph.users[node]}
        if len(users) == 1 and not graph.escapes[node]:
            (user,) = users
            if max(graph.kinds[node], graph.kinds[user]) <= PatternKind.BROADCAST:
                roots[node] = roots[user]
    return plan_of_roots(values, roots)


def everything(values: ValueGraph, options: FusionOptions) -> FusionPlan:
    """A node joins the group of its users if they are all in one, whatever the kinds: as much as a plan can hold."""
    graph = values.forward
    roots = list(range(len(graph)))
    for node in range(len(graph) - 1, -1, -1):
        groups = {roots[user] for user, _ in graph.users[node]}
        if len(groups) == 1 and not graph.escapes[node] and graph.kinds[node] is not PatternKind.OPAQUE:
            (root,) = groups
            if graph.kinds[root] not in (PatternKind.OPAQUE, PatternKind.TUPLE):
                roots[node] = root
    return plan_of_roots(values, roots)


OWN_STRATEGIES: Mapping[str, Strategy] = {"alone": alone, "chains": chains, "everything": everything}
