"""A scene in the language of Graphviz (https://graphviz.org/doc/info/lang.html): a cluster for each kernel.

Boxes have the colours of their kinds, anchors are drawn thick, and what a kernel computes again is dashed. An edge that
could not fuse says why; it is red where its value is expensive.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fuse_dialect.pictures.copies import ALONE, Copy, copies_of, edges_between

COLOURS = {
    "elemwise": "#d3edd6",
    "broadcast": "#cbe9ec",
    "injective": "#d3e1f8",
    "comm_reduce": "#fae3b8",
    "out_ewise_fusable": "#ecd3f2",
    "tuple": "#e2e4e8",
    "opaque": "#f3d5d0",
}
"""Fill of the boxes of each kind."""


def dot_of(scene: Mapping[str, Any]) -> str:
    """The scene as text that `dot` draws."""
    lines = [
        "digraph fusion {",
        "  node [shape=box, style=filled, fontname=sans];",
        "  edge [fontname=sans, fontsize=10];",
    ]
    for number, block in enumerate(scene["blocks"]):
        lines += (f"  {line}" for line in _block(scene, block, number))
    return "\n".join([*lines, "}"]) + "\n"


def _block(scene: Mapping[str, Any], block: Mapping[str, Any], number: int) -> Iterator[str]:
    yield f"subgraph cluster_{number} {{"
    yield f"  label={quoted(block['name'])};"
    copies, costly = copies_of(block), set(block["costly"])
    for kernel, known in enumerate(block["kernels"]):
        yield f"  subgraph cluster_{number}_{kernel} {{"
        yield f'    label={quoted(known["name"])}; style="rounded,filled"; fillcolor="#f1f4f6";'
        yield from (f"    {_node(scene, block, number, copy)}" for copy in copies if copy.kernel == kernel)
        yield "  }"
    yield from (f"  {_node(scene, block, number, copy)}" for copy in copies if copy.kernel == ALONE)
    for edge in edges_between(block, copies):
        colour = "firebrick" if copies[edge.source].node in costly else "gray40"
        refused = f", color={colour}, fontcolor={colour}, label={quoted(edge.code)}" if edge.code else ""
        ends = f"{_name(number, copies[edge.source])} -> {_name(number, copies[edge.reader])}"
        yield f"  {ends} [tooltip={quoted(scene['kinds'][edge.kind])}{refused}];"
    yield "}"


def _name(block: int, copy: Copy) -> str:
    return f"n{block}_{copy.node}" + (f"_{copy.kernel}" if copy.is_again else "")


def _node(scene: Mapping[str, Any], block: Mapping[str, Any], number: int, copy: Copy) -> str:
    _, kind, op, value, types, *rest = block["nodes"][copy.node]
    source = rest[3] if len(rest) > 3 else ""
    unit = block["units"].get(copy.node)
    words = [op, value, f"unit {unit}" if unit else "", source]
    label = "\n".join(word for word in words if word)
    is_anchor = copy.kernel != ALONE and block["kernels"][copy.kernel]["anchor"] == copy.node
    style = ", penwidth=3" if is_anchor else ""
    style += ', style="filled,dashed"' if copy.is_again else ""
    colour = COLOURS[scene["kinds"][kind]]
    head = f"{_name(number, copy)} [label={quoted(label)}, fillcolor={quoted(colour)}"
    return f"{head}, tooltip={quoted(types)}{style}];"


def quoted(text: str) -> str:
    """Text in quotes; whatever is no character of a line is spelled out."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + "".join(char if char.isprintable() else f"\\\\u{ord(char):04x}" for char in escaped) + '"'
