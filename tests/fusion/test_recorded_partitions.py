"""The analyses against what TVM v0.18.0 did on the same graphs; see `tests/data/tvm/README.md`."""

from typing import Any

import pytest
from recorded_graphs import graph_of_case, graph_of_fuzz, recorded

from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.partition import partition
from fuse_dialect.fusion.core.post_dominators import post_dominator_tree

COMPARABLE_RUNS = {
    "crash_max_function_args": 1,
    "extra_cases": 176,
    "fuzz_relay": 790,
    "handmade": 140,
    "limits": 52,
    "relay_tests": 151,
    "zoo": 245,
}
"""Runs without an argument limit in each file; TVM's limit is not ours."""

GRAPHS = {
    "crash_max_function_args": 1,
    "extra_cases": 35,
    "fuzz_relay": 300,
    "handmade": 28,
    "limits": 4,
    "relay_tests": 29,
    "zoo": 49,
}
"""Cases with a graph in each file; for the others TVM raised an error."""


def assert_same_post_dominators(graph: ForwardGraph, expected: dict[str, Any]):
    tree = post_dominator_tree(graph)
    assert [-1 if parent is None else parent for parent in tree.parent] == expected["ipdom"]
    assert tree.depth == expected["ipdom_depth"]
    # TVM calls the empty set of edges below an unused node elementwise.
    is_dead = [not users and not escapes for users, escapes in zip(graph.users, graph.escapes, strict=True)]
    edge_kinds = [0 if dead else int(kind) for dead, kind in zip(is_dead, tree.edge_kind, strict=True)]
    assert edge_kinds == expected["ipdom_pattern"]


@pytest.mark.slow
@pytest.mark.parametrize("file", GRAPHS)
def test_post_dominators_are_those_of_tvm(file: str):
    cases = [case for case in recorded(file) if "edges" in case.get("graph", {})]
    for case in cases:
        assert_same_post_dominators(graph_of_case(case), case["graph"])
    assert len(cases) == GRAPHS[file]


@pytest.mark.slow
@pytest.mark.parametrize("file", COMPARABLE_RUNS)
def test_groups_are_those_of_tvm(file: str):
    compared = 0
    for case in recorded(file):
        graph = graph_of_case(case) if "edges" in case.get("graph", {}) else None
        for run in case.get("runs", ()):
            if run["max_function_args"] != 0:
                continue
            assert graph is not None
            same = case["runs"][run["same_as"]] if "same_as" in run else run
            plan = partition(graph, opt_level=run["opt_level"], max_depth=run["max_depth"])
            groups = [(g.root, g.anchor, int(g.kind), g.num_nodes, list(g.members)) for g in plan.groups]
            expected = [
                (g["root"], g["anchor"], g["pattern"], g["num_nodes"], sorted(g["nodes"])) for g in same["groups"]
            ]
            assert groups == sorted(expected), case["name"]
            compared += 1
    assert compared == COMPARABLE_RUNS[file]


@pytest.mark.slow
def test_random_graphs_are_partitioned_as_by_tvm():
    cases = recorded("fuzz_partitions")
    for case in cases:
        graph = graph_of_fuzz(case)
        assert_same_post_dominators(graph, case)
        plan = partition(graph, max_depth=case["max_depth"])
        assert plan.root_of == case["root"]
        for group in plan.groups:
            for node in group.members:
                assert group.num_nodes == case["num_nodes"][node]
                assert group.kind == case["group_pattern"][node]
                assert (-1 if group.anchor is None else group.anchor) == case["anchor"][node]
    assert len(cases) == 2000
