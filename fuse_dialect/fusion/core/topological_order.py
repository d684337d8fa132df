"""Items in an order in which each stands behind those that it follows, and otherwise the least number first."""

from collections.abc import Collection, Mapping
from heapq import heapify, heappop, heappush


def topological_order(followers: Mapping[int, Collection[int]]) -> list[int]:
    """The items that wait for none that waits for itself: all of them, if there is no cycle.

    Args:
        followers: For each item those that stand behind it, each once.

    Complexity: O((V + E) log V).
    Source: A. B. Kahn, "Topological sorting of large networks", https://doi.org/10.1145/368996.369025.

    >>> topological_order({0: [], 1: [0, 3], 2: [1], 3: []})
    [2, 1, 0, 3]
    >>> topological_order({0: [1], 1: [0], 2: [0]})
    [2]
    """
    missing = dict.fromkeys(followers, 0)
    for each in followers.values():
        for item in each:
            missing[item] += 1
    ready = [item for item, count in missing.items() if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        item = heappop(ready)
        order.append(item)
        for follower in followers[item]:
            missing[follower] -= 1
            if not missing[follower]:
                heappush(ready, follower)
    return order
