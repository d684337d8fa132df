"""Where each op of a block is drawn: in every kernel that computes it, or alone; and the edges between those places."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ALONE = -1
"""In place of a kernel, for an op that stays where it is."""


@dataclass(frozen=True, slots=True)
class Copy:
    """An op in one kernel."""

    node: int
    kernel: int
    """Its number, or `ALONE`."""
    is_again: bool = False
    """Whether another kernel stores the op's value, and this one computes it for itself."""


@dataclass(frozen=True, slots=True)
class CopyEdge:
    """A value that one op reads of another; both are places in the list of copies."""

    source: int
    reader: int
    kind: int
    """Place in the scene's list of kinds."""
    code: str
    """Why the source was not fused into the reader; empty within a kernel, and where it has no code."""


def copies_of(block: Mapping[str, Any]) -> list[Copy]:
    """The ops of a block of a scene, kernel by kernel, then those in none."""
    home: dict[int, int] = {}
    for number, kernel in enumerate(block["kernels"]):
        for node in kernel["nodes"]:
            if node in kernel["stores"] or node not in home:
                home[node] = number
    copies = [
        Copy(node, number, home[node] != number)
        for number, kernel in enumerate(block["kernels"])
        for node in kernel["nodes"]
    ]
    drawn = {*map(int, block["stories"])} | {end for source, reader, _ in block["edges"] for end in (source, reader)}
    return copies + [Copy(node, ALONE) for node in sorted(drawn - home.keys())]


def edges_between(block: Mapping[str, Any], copies: list[Copy]) -> list[CopyEdge]:
    """The edges of a block between copies: from the copy in the same kernel, or else from where the value is stored."""
    places: dict[int, list[int]] = {}
    for place, copy in enumerate(copies):
        places.setdefault(copy.node, []).append(place)
    edges: list[CopyEdge] = []
    for source, reader, kind in block["edges"]:
        for at in places[reader]:
            own = [place for place in places[source] if copies[place].kernel == copies[at].kernel != ALONE]
            stored = [place for place in places[source] if not copies[place].is_again]
            code = "" if own else block["refusals"].get(reader if block["refusedAt"] == "reader" else source, "")
            edges.append(CopyEdge((own or stored)[0], at, kind, code))
    return edges
