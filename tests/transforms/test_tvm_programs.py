"""`fuse-ops` from text to outlined functions against what TVM v0.18.0 did with the same Relay programs."""

import random
from typing import Any

import pytest
from recorded_graphs import recorded
from relay_records import RelayProgram, is_expressible, outlined_functions
from xdsl.dialects import func
from xdsl.context import Context

from fuse_dialect.analysis.build_graph import Role, build_graph
from fuse_dialect.transforms.fuse_ops import FuseOpsPass

FILES = ("relay_tests", "extra_cases", "handmade", "zoo", "limits", "fuzz_relay")

COMPARED_RUNS = {"relay_tests": 0, "extra_cases": 0, "handmade": 0, "zoo": 0, "limits": 0, "fuzz_relay": 0}
"""Runs whose program our IR can express and that had no argument limit, which is our own (see the next test)."""


def runs_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The runs without an argument limit; a run equal to another says what that one gave."""
    runs: list[dict[str, Any]] = []
    for run in case["runs"]:
        if run["max_function_args"] == 0 and "error" not in run:
            source = case["runs"][run["same_as"]] if "same_as" in run else run
            runs.append({**source, **{key: run[key] for key in ("opt_level", "max_depth", "link_params")}})
    return runs


@pytest.mark.parametrize("name", FILES)
def test_outlined_functions_are_those_of_tvm(name: str) -> None:
    shuffle = random.Random(0)
    compared = 0
    for case in filter(is_expressible, recorded(name)):
        program = RelayProgram(case)
        for run in runs_of(case):
            module = program.parse(shuffle if compared % 2 else None)
            options = {key: run[key] for key in ("opt_level", "max_depth", "link_params")}
            FuseOpsPass(**options, dedup=False).apply(Context(), module)
            module.verify()
            functions = outlined_functions(module)
            assert len(functions) == len(set(functions))
            assert set(functions) == program.recorded_functions(run), f"{case['name']} {case['stage']} {options}"
            compared += 1
    assert compared == COMPARED_RUNS[name]


@pytest.mark.parametrize("name", FILES)
def test_graph_is_that_of_tvm(name: str) -> None:
    for case in filter(is_expressible, recorded(name)):
        program = RelayProgram(case)
        module = program.parse()
        function = module.body.block.first_op
        assert isinstance(function, func.FuncOp)
        block_graph = build_graph(function.body.block)
        graph = block_graph.graph
        nodes = [node for node in program.nodes if node["id"] != program.root_tuple()]
        returned = set(program.nodes[program.output]["inputs"]) if program.root_tuple() is not None else set()
        assert [int(kind) for kind in graph.kinds] == [node["pattern"] for node in nodes], case["name"]
        assert [role_name(node.role) for node in block_graph.nodes] == [node["kind"] for node in nodes]
        assert list(graph.escapes) == [node["extern_ref"] or node["id"] in returned for node in nodes], case["name"]
        edges = [edge for edge in case["graph"]["edges"] if edge[1] != program.root_tuple()]
        ours = [[source, sink, int(kind)] for source, users in enumerate(graph.users) for sink, kind in users]
        assert ours == edges, case["name"]


def role_name(role: Role) -> str:
    return {
        Role.OPERATOR: "op",
        Role.CONSTANT: "const",
        Role.TUPLE_OP: "tuple",
        Role.UNKNOWN: "op",
        Role.RESULT: "tuple_get",
        Role.INPUT: "input",
    }[role]
