"""`fuse-ops` from text to outlined functions against what TVM v0.18.0 did with the same Relay programs."""

from collections.abc import Callable
from typing import Any

import pytest
from recorded_graphs import recorded
from relay_records import Function, RelayProgram, inexpressible, outlined_functions, recorded_programs
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.fusion.core.value_graph import NodeRole
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.block_graph import build_graph

FILES = ("relay_tests", "extra_cases", "handmade", "zoo", "limits", "fuzz_relay")

COMPARED_RUNS = {"relay_tests": 141, "extra_cases": 166, "handmade": 140, "zoo": 220, "limits": 52, "fuzz_relay": 790}
"""Runs whose program our IR can express and that had no argument limit, which is our own."""


NOT_EXPRESSIBLE = {
    "relay_tests": {"test_fuse_myia_regression": "call, if", "test_split": "refcreate, refread"},
    "extra_cases": {
        "already_primitive_call": "call, var",
        "compiler_function_call": "TVM itself fails",
        "if_else": "if",
    },
    "handmade": {"bert_encoder_1": "TVM itself fails", "layernorm_manual": "TVM itself fails"},
    "zoo": {"lstm_1": "call, let, var"},
    "limits": {},
    "fuzz_relay": {},
}
"""Cases left out, and the constructs of Relay that our IR has no counterpart for."""


@pytest.mark.parametrize("name", FILES)
def test_programs_left_out_are_known(name: str, record_property: Callable[[str, str], None]) -> None:
    left_out = [(case["name"], reason) for case in recorded(name) if (reason := inexpressible(case))]
    record_property("figure", f"programs without a counterpart in our IR, {name}: {len(left_out)}")
    assert dict(left_out) == NOT_EXPRESSIBLE[name]


def runs_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The runs without an argument limit; a run equal to another says what that one gave."""
    runs: list[dict[str, Any]] = []
    for run in case["runs"]:
        if run["max_function_args"] == 0:
            source = case["runs"][run["same_as"]] if "same_as" in run else run
            runs.append({**source, **{key: run[key] for key in ("opt_level", "max_depth", "link_params")}})
    return runs


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_graph_and_outlined_functions_are_those_of_tvm(name: str, record_property: Callable[[str, str], None]) -> None:
    compared = 0
    for case, program, original in recorded_programs(name):
        check_graph(program, original, case["graph"]["edges"])
        done: dict[tuple[object, ...], list[Function]] = {}
        for run in runs_of(case):
            options = (min(run["opt_level"], 1), run["max_depth"], run["link_params"])
            if options not in done:
                module = original.clone()
                FuseOpsPass(*options[:2], link_params=options[2], dedup=False).apply(Context(), module)
                done[options] = outlined_functions(module)
            functions = done[options]
            assert len(functions) == len(set(functions))
            assert set(functions) == program.recorded_functions(run), f"{case['name']} {case['stage']} {options}"
            compared += 1
    record_property("figure", f"TVM's outlined functions, {name}: {compared} runs equal")
    assert compared == COMPARED_RUNS[name]


def check_graph(program: RelayProgram, module: ModuleOp, recorded_edges: list[list[int]]) -> None:
    """Compare order, kinds, escapes and edges; the tuple that a program returns is no node of ours."""
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    block_graph = build_graph(function.body.block)
    graph = block_graph.graph
    returned_tuple = program.root_tuple()
    nodes = [node for node in program.nodes if node["id"] != returned_tuple]
    returned = set() if returned_tuple is None else set(program.nodes[returned_tuple]["inputs"])
    assert [int(kind) for kind in graph.kinds] == [node["pattern"] for node in nodes]
    assert [KINDS_OF_ROLE[node.role] for node in block_graph.nodes] == [KIND_GROUPS[node["kind"]] for node in nodes]
    assert list(graph.escapes) == [node["extern_ref"] or node["id"] in returned for node in nodes]
    edges = [[source, sink, int(kind)] for source, users in enumerate(graph.users) for sink, kind in users]
    assert edges == [edge for edge in recorded_edges if edge[1] != returned_tuple]


KINDS_OF_ROLE = {
    NodeRole.OPERATOR: "op",
    NodeRole.IN_PLACE: "op",
    NodeRole.CONSTANT: "const",
    NodeRole.TUPLE_OP: "tuple",
    NodeRole.RESULT: "tuple",
    NodeRole.INPUT: "input",
}
KIND_GROUPS = {"op": "op", "const": "const", "tuple": "tuple", "tuple_get": "tuple", "input": "input"}
