"""Graphs and partitions recorded from TVM; `tests/data/tvm/README.md` describes the files."""

import json
import lzma
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.pattern_kind import PatternKind

TVM_DATA = Path(__file__).parents[1] / "data" / "tvm"


@cache
def recorded(name: str) -> list[dict[str, Any]]:
    """All cases of one file."""
    with lzma.open(TVM_DATA / f"{name}.json.xz", "rt") as file:
        return json.load(file)


def graph_of_fuzz(case: dict[str, Any]) -> ForwardGraph:
    """The graph of a case of `fuzz_partitions`."""
    return _graph(case["pattern"], case["extern"], case["edges"])


def graph_of_case(case: dict[str, Any]) -> ForwardGraph:
    """The graph of a case of any other file."""
    nodes = case["graph"]["nodes"]
    return _graph([n["pattern"] for n in nodes], [n["extern_ref"] for n in nodes], case["graph"]["edges"])


def _graph(kinds: Sequence[int], escapes: Sequence[int], edges: Sequence[Sequence[int]]) -> ForwardGraph:
    users: list[list[tuple[int, PatternKind]]] = [[] for _ in kinds]
    for source, sink, kind in edges:
        users[source].append((sink, PatternKind(kind)))
    graph = ForwardGraph([PatternKind(kind) for kind in kinds], users, [bool(escape) for escape in escapes])
    graph.validate()
    return graph
