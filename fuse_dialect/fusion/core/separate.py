"""The strategy that fuses nothing: every node is a group of its own."""

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.plan import FusionPlan, plan_of_roots
from fuse_dialect.fusion.core.strategy import FusionOptions
from fuse_dialect.fusion.core.value_graph import ValueGraph


def separate(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
    """Leave every node alone, whatever the options; it is what `opt-level=0` asks for."""
    return plan_of_roots(graph, range(len(graph)), Reason.FUSION_OFF)
