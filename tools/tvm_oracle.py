"""TVM itself as the judge of a partition: runs the `FuseOps` of an installed TVM on our graphs and compares.

    pip install ".[oracle]"
    python tools/tvm_oracle.py model.mlir

Relax, TVM's present IR, partitions by the same code as Relay did, on a graph that is built as follows, so any
`ForwardGraph` can be given to it:

1. Each node becomes a `call_tir` of a function of its own with the attribute `op_pattern`; its body is never looked at.
   Functions of their own, because TVM shares outlined functions that are structurally equal.
2. A value that escapes is bound to a `Var`, any other to a `DataflowVar`. A value that nobody reads escapes too, which
   makes no difference to the partition, but TVM does not outline a group that gives nothing.
3. An edge in Relax always has the kind of its user. Kinds of users are chosen so that no rule can tell the difference
   (`relax_kinds`); a graph for which that is impossible raises `InexactError`.
4. Calls are normalized first: `FuseOps` would otherwise fill in types in place, and fail its own check of hashes.

Needs `apache-tvm` 0.27; the pass `FuseOps` there knows no limit of arguments.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.partition import partition
from fuse_dialect.fusion.core.post_dominators import PostDominatorTree, post_dominator_tree
from fuse_dialect.fusion.core.tvm_rules import TVM_RULES
from fuse_dialect.fusion.ir.block_graph import build_graph
from fuse_dialect.fusion.ir.function_like import place_name
from fuse_dialect.fusion.ir.fusible_blocks import functions_to_fuse, fusible_blocks
from fuse_dialect.loading.module_file import read_module
from fuse_dialect.pattern_kind import PatternKind

try:
    tvm: Any = import_module("tvm")
except ModuleNotFoundError:
    sys.exit("error: TVM is not installed\nhint: pip install '.[oracle]', in an environment of its own")
relax: Any = import_module("tvm.relax")
tirx: Any = import_module("tvm.tirx")
GlobalVar: Any = tvm.ir.GlobalVar

NO_LIMIT = 2**31 - 1
"""What stands for no depth limit in TVM."""


class InexactError(ValueError):
    """No Relax module has edges of these kinds."""


def with_edges_of(graph: ForwardGraph, kinds: Sequence[PatternKind]) -> ForwardGraph:
    """The graph as Relax sees it: every edge has the kind that `kinds` gives its user."""
    users = [[(user, kinds[user]) for user, _ in edges] for edges in graph.users]
    return ForwardGraph(kinds, users, graph.escapes)


def relax_kinds(graph: ForwardGraph) -> list[PatternKind]:
    """Kinds for the nodes under which Relax decides as the edge kinds of `graph` ask for.

    No rule tells an elementwise operator from a broadcast one, only edges of these kinds differ, and only to a group
    that holds an anchor. So broadcast nodes count as elementwise where such a source needs it, and nowhere else.

    Raises:
        InexactError: The sources of the graph need the same node to be both.
    """
    exact = _with_tuple_edges(graph)
    tree = post_dominator_tree(exact)
    has_broadcast_edge = [False] * len(graph)
    for edges in graph.users:
        for user, kind in edges:
            has_broadcast_edge[user] |= kind is PatternKind.BROADCAST
    kinds = list(graph.kinds)
    for node, kind in enumerate(kinds):
        if kind <= PatternKind.BROADCAST:
            kinds[node] = PatternKind.BROADCAST if has_broadcast_edge[node] else PatternKind.ELEMWISE
    anchored = _may_hold_anchor(graph, tree)
    for source, sink in enumerate(tree.parent):
        if sink is not None and anchored[source] and tree.edge_kind[source] is PatternKind.ELEMWISE:
            for node in _up_to(graph, source, sink):
                kinds[node] = PatternKind.ELEMWISE
    _check_edges(tree, post_dominator_tree(with_edges_of(graph, kinds)), graph.kinds, anchored)
    return kinds


def _with_tuple_edges(graph: ForwardGraph) -> ForwardGraph:
    """The graph with edges of kind TUPLE into tuples.

    Relay calls them injective. It makes no difference: rules into tuples take all edges, and as long as the others are
    tried, a tuple blocks the path of every source before it.
    """
    users = [
        [(user, PatternKind.TUPLE if graph.kinds[user] is PatternKind.TUPLE else kind) for user, kind in edges]
        for edges in graph.users
    ]
    return ForwardGraph(graph.kinds, users, graph.escapes)


def _may_hold_anchor(graph: ForwardGraph, tree: PostDominatorTree) -> list[bool]:
    """Whether an anchor is at or below each node in the post-dominator tree."""
    anchored = [kind is PatternKind.OUT_EWISE_FUSABLE for kind in graph.kinds]
    for node, parent in enumerate(tree.parent):
        if parent is not None and anchored[node]:
            anchored[parent] = True
    return anchored


def _up_to(graph: ForwardGraph, source: int, sink: int) -> Iterator[int]:
    """All nodes on the way from `source` to `sink`, the sink too."""
    seen = {source, sink}
    pending = [source]
    while pending:
        for user, _ in graph.users[pending.pop()]:
            if user not in seen:
                seen.add(user)
                pending.append(user)
                yield user
    yield sink


def _check_edges(
    exact: PostDominatorTree, relaxed: PostDominatorTree, kinds: Sequence[PatternKind], anchored: Sequence[bool]
) -> None:
    """Check that no rule sees a difference between the two trees."""
    for node, parent in enumerate(exact.parent):
        if parent is None:
            continue
        sources = {kinds[node], PatternKind.OUT_EWISE_FUSABLE} if anchored[node] else {kinds[node]}
        for rule in TVM_RULES.rows:
            differs = (exact.edge_kind[node] in rule.edges) != (relaxed.edge_kind[node] in rule.edges)
            if differs and sources & rule.sources:
                raise InexactError(f"node {node} has edges to {parent} of kinds that Relax cannot have together")


@cache
def _tensor() -> Any:
    return relax.TensorType((4,), "float32")


@cache
def _function(number: int, kind: int) -> tuple[Any, Any]:
    """A symbol and a function that does nothing, of the given kind."""
    symbol = GlobalVar(f"node_{number}")
    relax.expr._update_type(symbol, relax.FuncType.opaque_func(ret=_tensor()))
    return symbol, tirx.PrimFunc([], tirx.Evaluate(tirx.const(number, "int32"))).with_attr("op_pattern", kind)


def relax_module(graph: ForwardGraph, kinds: Sequence[PatternKind], *, share_functions: bool = False) -> Any:
    """A Relax module whose `FuseOps` graph is `graph`, with the edges that `kinds` makes.

    Args:
        graph: The graph.
        kinds: Kinds of its nodes, see `relax_kinds`.
        share_functions: Whether nodes of the same kind call the same function, as in programs of real users; then
            TVM shares outlined functions that are equal, and the groups cannot be told from them.
    """
    functions = [_function(int(kind) if share_functions else number, int(kind)) for number, kind in enumerate(kinds)]
    reads: list[list[int]] = [[] for _ in kinds]
    for node, users in enumerate(graph.users):
        for user, _ in users:
            reads[user].append(node)
    escapes = [escapes or not users for escapes, users in zip(graph.escapes, graph.users, strict=True)]
    values: list[Any] = []
    bindings: list[Any] = []
    for number, (symbol, _) in enumerate(functions):
        call = relax.op.call_tir(symbol, relax.Tuple([values[i] for i in reads[number]]), _tensor())
        variable = relax.Var if escapes[number] else relax.DataflowVar
        values.append(variable(f"v{number}", _tensor()))
        bindings.append(relax.VarBinding(values[-1], call))
    outputs = [value for value, is_output in zip(values, escapes, strict=True) if is_output]
    body = relax.SeqExpr([relax.DataflowBlock(bindings)], relax.Tuple(outputs))
    main = relax.Function([], body, ret_ty=relax.TupleType([_tensor()] * len(outputs)))
    return relax.transform.Normalize()(tvm.IRModule({**dict(functions), GlobalVar("main"): main}))


def run_fuse_ops(module: Any, opt_level: int, max_depth: int | None) -> Any:
    """What TVM's `FuseOps` makes of a Relax module."""
    limit = NO_LIMIT if max_depth is None else max_depth
    with tvm.transform.PassContext(opt_level=3, config={"relax.FuseOps.max_depth": limit}):
        return relax.transform.FuseOps(opt_level)(module)


def tvm_groups(graph: ForwardGraph, *, opt_level: int = 2, max_depth: int | None = 256) -> list[list[int]]:
    """Groups of several nodes that TVM makes of the graph, each ascending, in ascending order.

    Raises:
        InexactError: Relax has no such graph.
    """
    fused = run_fuse_ops(relax_module(graph, relax_kinds(graph)), opt_level, max_depth)
    groups: list[list[int]] = []
    for symbol, function in fused.functions.items():
        if symbol.name_hint != "main" and isinstance(function, relax.Function):
            calls = [binding.value for block in function.body.blocks for binding in block.bindings]
            groups.append(sorted(int(call.args[0].name_hint.removeprefix("node_")) for call in calls))
    return sorted(groups)


def our_groups(graph: ForwardGraph, *, opt_level: int = 2, max_depth: int | None = 256) -> list[list[int]]:
    """Groups of several nodes that we make of the graph, in the form of `tvm_groups`."""
    plan = partition(graph, opt_level=opt_level, max_depth=max_depth)
    return sorted(list(group.members) for group in plan.groups if group.num_nodes > 1)


def main() -> int:
    """Compare on the functions of a module; returns the exit code."""
    parser = argparse.ArgumentParser(description="Compare our partition of a module with TVM's.")
    parser.add_argument("file", help="an .mlir or .onnx file")
    parser.add_argument("--opt-level", type=int, default=2)
    parser.add_argument("--max-depth", type=int, default=256, help="0 is no limit (default: %(default)s)")
    options = parser.parse_args()
    limits: dict[str, Any] = {"opt_level": options.opt_level, "max_depth": options.max_depth or None}
    differences = 0
    try:
        module = read_module(options.file).module
    except FuseError as error:
        sys.exit(error.diagnostic.format())
    for function in functions_to_fuse(module):
        for block in fusible_blocks(function):
            graph = build_graph(block).graph
            ours = our_groups(graph, **limits)
            what = f"{place_name(function)}: {len(graph)} nodes, {len(ours)} groups of several"
            try:
                theirs = tvm_groups(graph, **limits)
            except InexactError as error:
                print(f"{what}, left out: {error}")
                continue
            print(f"{what}, same" if ours == theirs else f"{what}, DIFFERENT\n  ours {ours}\n  TVM  {theirs}")
            differences += ours != theirs
    return int(differences > 0)


if __name__ == "__main__":
    sys.exit(main())
