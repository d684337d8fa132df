"""What a picture of a module shows, as plain data: lists, numbers and strings that JSON can hold.

The page reads it, and so may other programs. `scene_of` says the fields. Nodes have the numbers of the forward graph;
kinds, roles and rules are places in the lists beside them, so that a model of 50,000 ops stays small.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from fuse_dialect.analysis.kernel_costs import kernel_cost
from fuse_dialect.counts import Count
from fuse_dialect.dialect.op_sources import source_of
from fuse_dialect.fusion.core.plan import FusionKernel
from fuse_dialect.fusion.core.value_graph import NodeRole
from fuse_dialect.fusion.ir.function_like import place_name, symbol_of
from fuse_dialect.fusion.ir.fusible_blocks import functions_to_fuse
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.pattern_kind import PatternKind
from fuse_dialect.pictures.anchors import WORK, anchor_of, work_of
from fuse_dialect.pictures.boxes import boxes_of
from fuse_dialect.pictures.costly import costly_nodes
from fuse_dialect.pictures.drawn_plan import DrawnPlan, drawn_plans
from fuse_dialect.pictures.fused_names import FusedModule, fused_module
from fuse_dialect.remarks.printed_ir import PrintedIR, printed_ir
from fuse_dialect.remarks.recorded_fusion import MadePlans
from fuse_dialect.templates.template import HardwareTemplate

_KINDS = list(PatternKind)
_ROLES = list(NodeRole)
_DRAWN = (NodeRole.OPERATOR, NodeRole.IN_PLACE, NodeRole.TUPLE_OP)
"""Roles of the nodes that get a box; what stands between boxes is drawn as an edge."""


@dataclass(frozen=True, slots=True)
class SceneOptions:
    """What a caller knows besides the module."""

    title: str = ""
    """Name of the file, or whatever the page should be called; by default the name of the module or its function."""
    locate: Callable[[Operation], str] | None = None
    """Where an op stands in its file; by default its location, if it has one."""
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    """Seconds that all calls of a primitive take in one run, by name, from a profile."""
    rates: tuple[float, float] | None = None
    """Bytes and arithmetic operations per second that the machine of the profile reaches at best."""


def scene_of(
    module: ModuleOp, module_pass: ModulePass, options: SceneOptions | None = None, made: MadePlans | None = None
) -> dict[str, Any]:
    """What there is to see of a plan.

    Args:
        module: A valid module; it is not changed.
        module_pass: `fuse-ops` or `fuse-ops-hw`.
        options: See `SceneOptions`.
        made: Plans of `fuse-ops` to show; by default those that the pass makes.

    Returns:
        `title`, `pass`, `kinds`, `roles`, `rules`, `work` (what kernels are for, see `anchors`), `reasons` (how often
        each code comes), `before` and `after` (IR as text), `hasTimes`, `accelerator` (its units and wires, for
        `fuse-ops-hw`), and `blocks`: for each block `name`, `nodes`, `edges`, `ipdom`, `edgeKinds`, `refusals`,
        `refusedAt`, `blockers`, `stories`, `kernels`, `merges`, `units`, `costly` (nodes whose values are expensive to
        keep apart) and `boxes` (see `boxes_of`).

    Raises:
        FuseError: The pass has no such strategy or template.
        OpError: The pass cannot group a block.
        PassFailedException: An option has no meaning.

    Complexity: that of the pass, and O(ops + operands).
    """
    options = options or SceneOptions()
    printed = printed_ir(module)
    ctx = Context()
    plans = drawn_plans(module, module_pass, printed, ctx, made)
    fused = fused_module(module, module_pass, ctx, [(plan.function, len(plan.calls)) for plan in plans], made)
    rules: dict[str, int] = {}
    blocks = [
        _block(plan, printed, options, fused, names, rules) for plan, names in zip(plans, fused.calls, strict=True)
    ]
    return {
        "title": options.title or title_of(module),
        "pass": str(module_pass),
        "kinds": [kind.keyword for kind in _KINDS],
        "roles": [role.name.lower() for role in _ROLES],
        "work": list(WORK),
        "rules": list(rules),
        "reasons": _meanings(blocks),
        "before": printed.text,
        "after": fused.text,
        "hasTimes": bool(options.seconds),
        "accelerator": next((_accelerator(plan.template) for plan in plans if plan.template is not None), None),
        "blocks": [block for block in blocks if block["kernels"] or len(blocks) == 1],
    }


def title_of(module: ModuleOp) -> str:
    """What a module without a file is called: its own name, or that of its largest function."""
    functions = functions_to_fuse(module)
    largest = max(functions, key=lambda function: sum(1 for _ in function.walk()), default=module)
    return symbol_of(module) or place_name(largest)


def _accelerator(template: HardwareTemplate) -> dict[str, Any]:
    """The units of an accelerator with kind and capacity, and the wires between them."""
    return {
        "name": template.name,
        "units": [[unit.name, unit.kind, unit.capacity] for unit in template.units],
        "links": [[link.source, link.sink] for link in template.links],
    }


def _meanings(blocks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How often each code keeps an operator from fusing, the most frequent first."""
    return dict(Counter(code for block in blocks for code in block["refusals"].values()).most_common())


def _block(
    plan: DrawnPlan,
    printed: PrintedIR,
    options: SceneOptions,
    fused: FusedModule,
    names: Sequence[str],
    rules: dict[str, int],
) -> dict[str, Any]:
    """What there is to see of a block."""
    nodes, tree = plan.block_graph.nodes, plan.tree
    drawn = [number for number, node in enumerate(nodes) if node.role in _DRAWN]
    edges = _edges(plan, drawn)
    name_of = dict(zip(plan.calls, names, strict=True)) if len(names) == len(plan.calls) else {}
    name = place_name(plan.function)
    block: dict[str, Any] = {
        "name": name if not plan.block else f"{name}, block {plan.block + 1}",
        "nodes": [_node(plan, number, printed, options) for number in range(len(nodes))],
        "edges": edges,
        "ipdom": [] if tree is None else [-1 if sink is None else sink for sink in tree.parent],
        "edgeKinds": [] if tree is None else [_KINDS.index(kind) for kind in tree.edge_kind],
        "refusals": dict(plan.refusals),
        # On hardware an operator is refused by the trips of its producers, otherwise by what reads it.
        "refusedAt": "reader" if plan.on_hardware else "source",
        "blockers": {
            number: decision.blocker
            for number in plan.refusals
            if (decision := plan.decision(number)) is not None and decision.blocker is not None
        },
        "stories": {number: "\n".join(plan.story(number)) for number in drawn},
        "kernels": [
            _kernel(plan, number, kernel, name_of.get(number, ""), options, fused)
            for number, kernel in enumerate(plan.plan.kernels)
        ],
        "merges": [
            [
                merge.source,
                merge.sink,
                list(merge.absorbed),
                -1 if merge.phase is None else merge.phase,
                -1 if merge.rule is None else rules.setdefault(merge.rule.name, len(rules)),
            ]
            for merge in plan.merges
        ],
        "units": dict(plan.units),
    }
    return block | {"costly": costly_nodes(block), "boxes": boxes_of(block)}


def _node(plan: DrawnPlan, number: int, printed: PrintedIR, options: SceneOptions) -> list[Any]:
    """Role, kind, op, value, types, start and end in the IR, place, source, bytes, flops, work; fewer if no op."""
    role, op, value = plan.block_graph.nodes[number]
    kind = _KINDS.index(plan.block_graph.graph.kinds[number])
    head = [_ROLES.index(role), kind]
    if op is None:
        return [*head, "", "" if value is None else printed.name_of(value), "" if value is None else str(value.type)]
    if role.is_view:
        return [*head, op_name(op), "" if value is None else printed.name_of(value), ""]
    facts, graph = plan.block_graph.value_graph.facts, plan.block_graph.value_graph
    results = ", ".join(map(printed.name_of, op.results))
    types = ", ".join(_type_text(result.type) for result in op.results)
    if role not in _DRAWN:
        return [*head, op_name(op), results, types]
    place = options.locate(op) if options.locate is not None else ""
    given = [facts.values[value].bytes for value in graph.gives(number)]
    bytes = sum(size.number or 0 for size in given if size is not None)
    return [
        *head,
        op_name(op),
        results,
        types,
        *printed.spans.get(id(op), (0, 0)),
        place,
        source_of(op),
        bytes,
        amount(facts.flops[number]),
        work_of(op_name(op), _KINDS[kind]),
    ]


@lru_cache(maxsize=4096)
def _type_text(type: Attribute) -> str:
    """The text of a type; a program has few, and repeats them at every op."""
    return str(type)


def amount(count: Count | None) -> int | str:
    """A number; its formula where sizes are open, and `?` where it is not known."""
    if count is None:
        return "?"
    return str(count) if count.number is None else count.number


def _edges(plan: DrawnPlan, drawn: Sequence[int]) -> list[list[int]]:
    """Producer, reader and kind, as a place in the list of kinds, of each edge between boxes; views are passed."""
    graph, nodes = plan.block_graph.graph, plan.block_graph.nodes
    edges: dict[tuple[int, int], int] = {}
    for node in drawn:
        pending = [(user, kind) for user, kind in graph.users[node]]
        while pending:
            user, kind = pending.pop()
            if nodes[user].role.is_view:
                pending.extend((after, max(kind, edge)) for after, edge in graph.users[user])
            else:
                edges[node, user] = max(edges.get((node, user), 0), _KINDS.index(kind))
    return [[source, reader, kind] for (source, reader), kind in sorted(edges.items())]


def _kernel(
    plan: DrawnPlan,
    number: int,
    kernel: FusionKernel,
    name: str,
    options: SceneOptions,
    fused: FusedModule,
) -> dict[str, Any]:
    """Nodes, cost and name of a kernel."""
    graph, nodes = plan.block_graph.value_graph, plan.block_graph.nodes
    cost = kernel_cost(graph, kernel)
    operators = [node for node in kernel.nodes if graph.roles[node] is NodeRole.OPERATOR]
    alone = [kernel_cost(graph, FusionKernel((node,), tuple(graph.gives(node)))) for node in operators]
    inside, anchor = set(kernel.nodes), PatternKind.OUT_EWISE_FUSABLE
    drawn = [node for node in kernel.nodes if nodes[node].role in _DRAWN]
    works = [_work(plan, node) for node in drawn]
    facts = graph.facts
    reads = {
        value for node in kernel.nodes for value in facts.reads[node] if facts.values[value].producer not in inside
    }
    seconds = options.seconds
    time = {"seconds": seconds[name] / fused.times[name]} if name in seconds else {}
    flops = amount(cost.flops)
    if plan.cycles:
        time["cycles"] = plan.cycles[number]
    if options.rates is not None and isinstance(flops, int) and not cost.open_values:
        time["roofline"] = max(cost.static_bytes / options.rates[0], flops / options.rates[1])
    return {
        "name": name or f"kernel {number + 1}",
        "nodes": drawn,
        "work": min(works, default=len(WORK) - 1),
        "lead": drawn[anchor_of(works)] if drawn else -1,
        "stores": sorted({graph.producer(value) for value in kernel.outputs}),
        "anchor": next((node for node in operators if graph.forward.kinds[node] is anchor), -1),
        "arguments": len(reads),
        "results": len(kernel.outputs),
        "before": sum(each.static_bytes for each in alone),
        "after": cost.static_bytes,
        "open": cost.open_values,
        "flops": flops,
        **time,
    }


def _work(plan: DrawnPlan, node: int) -> int:
    op = plan.block_graph.nodes[node].op
    assert op is not None, "what is drawn is an op"
    return work_of(op_name(op), plan.block_graph.graph.kinds[node])
