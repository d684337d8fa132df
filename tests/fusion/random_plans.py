"""Random kernels over a graph: several results, nodes that are computed again, valid or not."""

from random import Random

from fuse_dialect.fusion.core.plan import FusionKernel, FusionPlan, plan_of_nodes
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph


def random_plan(rng: Random, graph: ValueGraph, merges: int) -> FusionPlan:
    """A plan that grows from single operators: kernels join, and nodes are computed again, where that makes a plan."""
    sets = [{node} for node, role in enumerate(graph.roles) if role is NodeRole.OPERATOR]
    plan = plan_of_nodes(graph, sets)
    for _ in range(merges):
        tried = [set(nodes) for nodes in sets]
        if len(tried) > 1 and rng.random() < 0.6:
            one, other = rng.sample(range(len(tried)), 2)
            tried[one] |= tried.pop(other) if other > one else tried[other]
            if other < one:
                del tried[other]
        elif tried:
            # A producer of something in the kernel, or anything: most such plans are fine.
            chosen = rng.choice(tried)
            reads = [graph.facts.values[value].producer for node in chosen for value in graph.facts.reads[node]]
            node = rng.choice(reads) if reads and rng.random() < 0.9 else rng.randrange(len(graph))
            chosen.add(node)
        try:
            plan = plan_of_nodes(graph, tried)
        except ValueError:
            continue
        sets = tried
    return plan


def broken(rng: Random, graph: ValueGraph, plan: FusionPlan) -> list[FusionKernel]:
    """The kernels of a plan with a few changes, which most of the time make no plan."""
    kernels = list(plan.kernels)
    for _ in range(rng.choice((1, 1, 2))):
        if not kernels:
            break
        place = rng.randrange(len(kernels))
        nodes, outputs = kernels[place]
        match rng.randrange(6):
            case 0 if len(nodes) > 1:
                kernels[place] = FusionKernel(tuple(rng.sample(nodes, len(nodes) - 1)), outputs)
            case 1:
                added = rng.randrange(len(graph))
                kernels[place] = FusionKernel(tuple(sorted({*nodes, added})), outputs)
            case 2:
                kernels[place] = FusionKernel(nodes, outputs[:-1])
            case 3 if graph.num_values:
                kernels[place] = FusionKernel(nodes, (*outputs, rng.randrange(graph.num_values)))
            case 4:
                del kernels[place]
            case _:
                other = rng.randrange(len(kernels))
                both = tuple(sorted({*nodes, *kernels[other].nodes}))
                kernels[place] = FusionKernel(both, tuple(dict.fromkeys((*outputs, *kernels[other].outputs))))
                if other != place:
                    del kernels[other]
    return kernels
