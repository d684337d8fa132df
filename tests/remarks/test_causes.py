"""Every operator has one verdict, and its cause is true: found again from the graph and the merges, by brute force.

The oracle walks all ways from a node to its post-dominator, edge by edge, and keeps groups as plain sets.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from story_programs import programs
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.decision import FusionDecision
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.fusible_blocks import functions_to_fuse
from fuse_dialect.pattern_kind import PatternKind
from fuse_dialect.remarks.fusion import is_operator
from fuse_dialect.remarks.recorded_fusion import RecordedFusion, record_fusion
from fuse_dialect.remarks.rows import RemarkType, remark_rows

_LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


class _Replay:
    """The groups of one block, merge by merge."""

    def __init__(self, recorded: RecordedFusion):
        self.recorded = recorded
        self.graph = recorded.fusion.block_graph.graph
        self.group = [{node} for node in range(len(self.graph))]
        self.kind = list(self.graph.kinds)
        """For each node the kind of its own group object; that of a root stands for the group."""
        self.root = list(range(len(self.graph)))

    def kind_of(self, node: int) -> PatternKind:
        return self.kind[self.root[node]]

    def merge(self, absorbed: tuple[int, ...], sink: int) -> None:
        root = self.root[sink]
        for node in absorbed:
            members = self.group[self.root[node]]
            if any(self.graph.kinds[each] is PatternKind.OUT_EWISE_FUSABLE for each in members):
                self.kind[root] = max(self.kind[root], PatternKind.OUT_EWISE_FUSABLE)
            self.group[root] |= members
            for each in members:
                self.root[each] = root

    def between(self, source: int, sink: int) -> tuple[set[int], list[tuple[int, PatternKind]]]:
        """The nodes strictly between, and the ends and kinds of all edges on the ways."""
        seen: set[int] = set()
        edges: list[tuple[int, PatternKind]] = []
        pending = [source]
        while pending:
            for user, kind in self.graph.users[pending.pop()]:
                edges.append((user, kind))
                if user != sink and user not in seen:
                    seen.add(user)
                    pending.append(user)
        return seen, edges

    def check(self, attempt: FusionDecision) -> None:
        """Whether what an attempt says is so, in the groups as they are."""
        rule, source, sink = attempt.rule, attempt.source, attempt.sink
        assert rule is not None
        assert sink is not None
        nodes, edges = self.between(source, sink)
        assert all(not self.graph.escapes[node] and self.graph.users[node] for node in (source, *nodes))
        assert self.kind[source] in rule.sources
        greatest = max(kind for _, kind in edges)
        blocked = {node for node in nodes if self.kind_of(node) > rule.path_limit}
        match attempt.reason:
            case Reason.EDGE_KIND:
                assert greatest not in rule.edges
                assert (attempt.blocker, attempt.kind) in edges
                assert attempt.kind is greatest
            case Reason.SINK_KIND:
                assert greatest in rule.edges
                assert attempt.blocker == sink
                assert attempt.kind is self.kind_of(sink)
                assert self.kind_of(sink) not in rule.sinks
            case Reason.TUPLE_CONSUMER:
                assert self.kind_of(sink) is PatternKind.TUPLE
            case Reason.PATH_KIND:
                assert greatest in rule.edges
                assert self.kind_of(sink) in rule.sinks
                assert attempt.blocker in blocked
                assert attempt.kind is self.kind_of(attempt.blocker)
            case Reason.MAX_DEPTH | Reason.MAX_ARGS:
                assert attempt.counted is not None
                assert attempt.limit is not None
                assert attempt.counted > attempt.limit
                assert not blocked
            case _:
                assert attempt.reason is Reason.FUSED
                assert greatest in rule.edges
                assert self.kind_of(sink) in rule.sinks
                assert not blocked


def _check_block(recorded: RecordedFusion) -> None:
    replay, merges = _Replay(recorded), iter(recorded.merges)
    last: dict[int, FusionDecision] = {}
    for attempt in recorded.attempts:
        replay.check(attempt)
        known = last.get(attempt.source)
        # A limit that was alone in the way says more than what a later phase has against it.
        if known is None or known.limit is None or attempt or attempt.limit is not None:
            last[attempt.source] = attempt
        if attempt:
            merge = next(merges)
            assert (merge.source, merge.sink) == (attempt.source, attempt.sink)
            replay.merge(merge.absorbed, merge.sink)
    assert next(merges, None) is None
    for number, decision in enumerate(recorded.fusion.plan.decisions):
        graph = replay.graph
        if decision:
            assert replay.root[number] != number
            continue
        assert replay.root[number] == number
        if number in last:
            assert decision == last[number]
        elif decision.reason is Reason.VALUE_ESCAPES:
            assert graph.escapes[number] or _meet_nowhere(graph, number)
        else:
            assert decision.reason in (Reason.OPAQUE, Reason.NO_RULE, Reason.TUPLE_CONSUMER)
            assert (decision.reason is Reason.OPAQUE) == (graph.kinds[number] is PatternKind.OPAQUE)


def _meet_nowhere(graph: ForwardGraph, node: int) -> bool:
    """Whether no single node is on all ways from a node out of the graph: each one can be avoided."""
    reached = _reached(graph, node, None)
    leaves = {each for each in reached if graph.escapes[each] or not graph.users[each]}
    return all(leaves & _reached(graph, node, avoided) for avoided in reached - {node})


def _reached(graph: ForwardGraph, node: int, avoided: int | None) -> set[int]:
    seen, pending = {node}, [node]
    while pending:
        for user, _ in graph.users[pending.pop()]:
            if user != avoided and user not in seen:
                seen.add(user)
                pending.append(user)
    return seen


def _check_module(module: ModuleOp, fuse_ops: FuseOpsPass) -> Counter[str]:
    operators: list[int] = []
    for recorded in _recorded(module, fuse_ops):
        _check_block(recorded)
        nodes = recorded.fusion.block_graph.nodes
        operators += [id(node.op) for node in nodes if is_operator(node)]
    rows = remark_rows(module, fuse_ops, Context(), [RemarkType.MISSED])
    missed = [id(row.op) for row in rows]
    assert len(set(missed)) == len(missed)
    assert len(set(operators)) == len(operators)
    assert set(missed) <= set(operators)
    return Counter(row.code for row in rows)


def _recorded(module: ModuleOp, fuse_ops: FuseOpsPass) -> Iterator[RecordedFusion]:
    for function in functions_to_fuse(module):
        yield from record_fusion(function, fuse_ops)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(_LIGHT.glob("light_*.onnx")), ids=lambda path: path.stem)
def test_causes_are_true_for_light_models(path):
    module = fd.read(path)
    codes = _check_module(module, FuseOpsPass())
    plan = fd.plan_fusion(module)
    assert dict(codes) == dict(plan.summary().refusals)
    assert codes.total() + sum(map(bool, plan.decisions)) == len(plan.decisions)


_PASSES = (FuseOpsPass(), FuseOpsPass(max_depth=3), FuseOpsPass(max_depth=2), FuseOpsPass(max_function_args=3))


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(programs(), st.sampled_from(_PASSES))
def test_causes_are_true_for_random_programs(text, fuse_ops):
    module = fd.parse(text, allow_unregistered=True)
    codes = _check_module(module, fuse_ops)
    options = {"max_depth": fuse_ops.max_depth, "max_function_args": fuse_ops.max_function_args}
    assert dict(codes) == dict(fd.plan_fusion(module, **options).summary().refusals)
