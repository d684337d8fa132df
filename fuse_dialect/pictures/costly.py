"""Values that are expensive to keep apart: large ones that cross memory between kernels, and were not fused."""

from collections.abc import Mapping
from typing import Any

from fuse_dialect.pictures.copies import copies_of, edges_between

LEAST_RATIO = 3
"""A value is expensive if it has at least so many times the bytes of the mean value that crosses memory."""
_BYTES = 9


def costly_nodes(block: Mapping[str, Any]) -> list[int]:
    """The nodes whose values are expensive, in order.

    The mean is that of the values that one kernel writes and another reads. A value that leaves the function has to be
    written anyway, so `value-escapes` is no reason to complain.

    Args:
        block: A block of a scene, with `nodes`, `edges`, `kernels`, `refusals`, `refusedAt` and `stories`.

    Complexity: O(nodes + edges).
    """
    copies = copies_of(block)
    crossing: dict[int, bool] = {}
    for edge in edges_between(block, copies):
        source, reader = copies[edge.source], copies[edge.reader]
        if source.kernel != reader.kernel:
            refused = edge.code not in ("", "value-escapes")
            crossing[source.node] = crossing.get(source.node, False) or refused
    sizes = {node: _bytes(block["nodes"][node]) for node in crossing}
    total = sum(sizes.values())
    if not total:
        return []
    least = LEAST_RATIO * total / len(sizes)
    return sorted(node for node, refused in crossing.items() if refused and sizes[node] >= least)


def _bytes(node: Any) -> int:
    return node[_BYTES] if len(node) > _BYTES else 0
