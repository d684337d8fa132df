"""A scene as a graph of Google's Model Explorer: kernels as layers, post-dominators as an overlay, costs as node data.

Source: https://github.com/google-ai-edge/model-explorer; fields are those of the classes for graphs and node data in
its Python package, release 0.1.34.
"""

import json
from collections.abc import Mapping
from typing import Any

from fuse_dialect.pictures.copies import ALONE, Copy, copies_of, edges_between
from fuse_dialect.pictures.dot import COLOURS

_ROLE, _KIND, _OP, _VALUE, _TYPES, _PLACE, _SOURCE, _BYTES, _FLOPS = 0, 1, 2, 3, 4, 7, 8, 9, 10
"""Fields of a node of a scene."""
NODE_DATA = ("bytes", "flops", "seconds")
"""What node data may say of each op: bytes that it stores, its arithmetic, and its part of a profile's time."""


def model_explorer_of(scene: Mapping[str, Any]) -> str:
    """The scene as a collection of graphs, one for each block."""
    graphs = [_graph(scene, block) for block in scene["blocks"]]
    return _text({"label": scene["title"], "graphs": graphs})


def node_data_of(scene: Mapping[str, Any], what: str) -> str:
    """Numbers beside the ops of the same graphs, to be added to them in Model Explorer.

    Args:
        scene: The scene.
        what: One of `NODE_DATA`.
    """
    ramp = [{"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#f2a65a"}]
    data = {
        block["name"]: {"name": what, "results": _numbers(block, what), "gradient": ramp} for block in scene["blocks"]
    }
    return _text(data)


def _text(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=True) + "\n"


def _graph(scene: Mapping[str, Any], block: Mapping[str, Any]) -> dict[str, Any]:
    copies = copies_of(block)
    incoming: list[list[dict[str, str]]] = [[] for _ in copies]
    for edge in edges_between(block, copies):
        number = str(len(incoming[edge.reader]))
        incoming[edge.reader].append({"sourceNodeId": _id(copies[edge.source]), "targetNodeInputId": number})
    nodes = [_node(scene, block, copy, edges) for copy, edges in zip(copies, incoming, strict=True)]
    attributes = {_layer(block, number): _kernel(block, number) for number in range(len(block["kernels"]))}
    attributes[""] = {"pass": scene["pass"], "kernels": str(len(block["kernels"]))}
    overlay = {
        "name": "post-dominators",
        "edgeColor": "#0b57b5",
        "edges": _dominators(block, copies),
        "showEdgesConnectedToSelectedNodeOnly": True,
    }
    tree = {"type": "edge_overlays", "name": "post-dominator tree", "overlays": [overlay]}
    return {
        "id": block["name"],
        "nodes": nodes,
        "groupNodeAttributes": attributes,
        "tasksData": {"edgeOverlaysDataListLeftPane": [tree] if overlay["edges"] else []},
    }


def _id(copy: Copy) -> str:
    return f"{copy.node}" + (f"@{copy.kernel}" if copy.is_again else "")


def _layer(block: Mapping[str, Any], kernel: int) -> str:
    """The namespace of a kernel: a `/` in it would be a layer within."""
    return f"{kernel + 1}. {block['kernels'][kernel]['name'].replace('/', '_')}"


def _kernel(block: Mapping[str, Any], number: int) -> dict[str, str]:
    kernel = block["kernels"][number]
    known = {
        "ops": len(kernel["nodes"]),
        "arguments": kernel["arguments"],
        "results": kernel["results"],
        "bytes unfused": kernel["before"],
        "bytes fused": kernel["after"],
        "flops": kernel["flops"],
        "seconds": kernel.get("seconds", ""),
    }
    return {name: str(value) for name, value in known.items() if value != ""}


def _node(
    scene: Mapping[str, Any], block: Mapping[str, Any], copy: Copy, edges: list[dict[str, str]]
) -> dict[str, Any]:
    node = [*block["nodes"][copy.node]]
    node += [""] * (_FLOPS + 1 - len(node))
    kind = scene["kinds"][node[_KIND]]
    known = {
        "value": node[_VALUE],
        "kind": kind,
        "source": node[_SOURCE],
        "place": node[_PLACE],
        "unit": block["units"].get(copy.node, ""),
        "not fused": block["refusals"].get(copy.node, ""),
        "computed again": "yes" if copy.is_again else "",
        "bytes": node[_BYTES],
        "flops": node[_FLOPS],
        "story": block["stories"].get(copy.node, ""),
    }
    types = {"id": "0", "attrs": [{"key": "shape", "value": node[_TYPES]}]}
    return {
        "id": _id(copy),
        "label": node[_OP] or node[_VALUE] or "value",
        "namespace": "" if copy.kernel == ALONE else _layer(block, copy.kernel),
        "attrs": [{"key": name, "value": str(value)} for name, value in known.items() if value != ""],
        "incomingEdges": edges,
        "outputsMetadata": [types],
        "style": {"backgroundColor": COLOURS[kind]},
    }


def _dominators(block: Mapping[str, Any], copies: list[Copy]) -> list[dict[str, str]]:
    """From each op to the one where its ways meet; a sink without a box stands for what reads it."""
    place = {copy.node: _id(copy) for copy in copies if not copy.is_again}
    edges: list[dict[str, str]] = []
    for node, sink in enumerate(block["ipdom"]):
        while sink >= 0 and sink not in place:
            sink = block["ipdom"][sink]
        if node in place and sink >= 0:
            edges.append({"sourceNodeId": place[node], "targetNodeId": place[sink]})
    return edges


def _numbers(block: Mapping[str, Any], what: str) -> dict[str, dict[str, float]]:
    results: dict[str, dict[str, float]] = {}
    for copy in copies_of(block):
        node = block["nodes"][copy.node]
        if what == "seconds":
            # A profile measures kernels: each of its ops gets an equal part.
            kernel: Mapping[str, Any] = {} if copy.kernel == ALONE else block["kernels"][copy.kernel]
            value: object = kernel["seconds"] / len(kernel["nodes"]) if "seconds" in kernel else None
        else:
            value = node[_BYTES if what == "bytes" else _FLOPS] if len(node) > _FLOPS else None
        if isinstance(value, int | float):
            results[_id(copy)] = {"value": value}
    return results
