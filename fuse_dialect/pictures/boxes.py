"""The boxes of a block: kernels and ops alone in a row, gathered into sections."""

from collections.abc import Mapping, Sequence
from typing import Any

from fuse_dialect.fusion.core.topological_order import topological_order
from fuse_dialect.pictures.copies import ALONE, copies_of, edges_between
from fuse_dialect.pictures.outline import Unit, module_path, outline
from fuse_dialect.pictures.sections import Box

_OP, _TYPES, _SOURCE = 2, 4, 8
"""Fields of a node."""


def boxes_of(block: Mapping[str, Any]) -> list[Any]:
    """The boxes of a block from the outside in.

    Args:
        block: A block of a scene, with `nodes`, `edges`, `kernels`, `refusals`, `refusedAt` and `stories`.

    Returns:
        Numbers of kernels, -1 less those of nodes that are in none, and sections: dictionaries with `name`, `note`,
        `open` (whether it is shown open) and `boxes` of their own. Producers stand before readers.

    Complexity: that of `outline`.
    """
    copies = copies_of(block)
    units = list(range(len(block["kernels"]))) + [-1 - copy.node for copy in copies if copy.kernel == ALONE]
    alone = {unit: place for place, unit in enumerate(units) if unit < 0}
    unit_of = [alone[-1 - copy.node] if copy.kernel == ALONE else copy.kernel for copy in copies]
    pairs = {(unit_of[edge.source], unit_of[edge.reader]) for edge in edges_between(block, copies)}
    order = _ordered(len(units), sorted((source, reader) for source, reader in pairs if source != reader))
    place_of = {unit: place for place, unit in enumerate(order)}
    placed = sorted((place_of[source], place_of[reader]) for source, reader in pairs if source != reader)
    ascending = [(source, reader) for source, reader in placed if source < reader]
    row = [_unit(block, units[unit]) for unit in order]
    return [_named(box, [units[unit] for unit in order]) for box in outline(row, ascending)]


def _unit(block: Mapping[str, Any], number: int) -> Unit:
    """A kernel as the outline needs it, or -1 less the number of a node that is in none."""
    nodes, kernel = block["nodes"], block["kernels"][number] if number >= 0 else None
    held: Sequence[int] = [-1 - number] if kernel is None else kernel["nodes"]
    lead = nodes[held[0] if kernel is None or kernel["lead"] < 0 else kernel["lead"]]
    ops = [nodes[node][_OP].partition(".")[2] or nodes[node][_OP] for node in held]
    label = ops[0] if len(ops) < 2 else f"{ops[0]} + {ops[-1]}" if len(ops) < 3 else f"{ops[0]} … {ops[-1]}"
    key = str([(nodes[node][_OP], nodes[node][_TYPES]) for node in held])
    return Unit(label, key, module_path(lead[_SOURCE] if len(lead) > _SOURCE else ""))


def _ordered(count: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Producers before readers, as far as there are no cycles, and otherwise the least number first."""
    readers: dict[int, list[int]] = {unit: [] for unit in range(count)}
    for source, reader in pairs:
        readers[source].append(reader)
    order = topological_order(readers)
    return order + sorted(set(range(count)) - set(order))


def _named(box: Box, units: Sequence[int]) -> Any:
    if isinstance(box, int):
        return units[box]
    inside = [_named(each, units) for each in box.boxes]
    return {"name": box.name, "note": box.note, "open": box.is_open, "boxes": inside}
