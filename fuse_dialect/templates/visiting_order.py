"""The order in which fusion onto hardware visits nodes: topological, and along a chain for as long as it goes on."""

from collections.abc import Sequence
from heapq import heappop, heappush

from fuse_dialect.templates.graph import HardwareGraph, HardwareRole


def visiting_order(graph: HardwareGraph) -> list[int]:
    """All nodes except constants and inputs, in topological order, each followed by its first reader where possible."""
    skipped = (HardwareRole.CONSTANT, HardwareRole.INPUT)
    followers = graph.readers()
    for number, node in enumerate(graph.nodes):
        for each in node.after:
            followers[each].append(number)
    missing = [0] * len(graph.nodes)
    for each in followers:
        for follower in each:
            missing[follower] += 1
    ready: list[int] = []
    order: list[int] = []
    visited = [False] * len(graph.nodes)
    for number, node in enumerate(graph.nodes):
        if node.role in skipped:
            for follower in followers[number]:
                missing[follower] -= 1
    for number, node in enumerate(graph.nodes):
        if node.role not in skipped and not missing[number]:
            heappush(ready, number)
    while ready:
        number: int | None = heappop(ready)
        while number is not None and not visited[number]:
            visited[number] = True
            order.append(number)
            freed = _freed(followers[number], missing)
            for each in freed:
                heappush(ready, each)
            number = min(freed, default=None)
    return order


def _freed(followers: Sequence[int], missing: list[int]) -> list[int]:
    """The followers that have nothing more to wait for."""
    freed: list[int] = []
    for follower in followers:
        missing[follower] -= 1
        if not missing[follower]:
            freed.append(follower)
    return freed
