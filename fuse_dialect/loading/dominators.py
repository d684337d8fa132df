"""Immediate dominators of a flow graph, near-linear for every graph.

A node *dominates* another if every path from the entry to the other goes through it; the *immediate* dominator is the
closest one. The shorter algorithm of cooper-harvey-kennedy is quadratic on a long chain that many edges leave.

Source: T. Lengauer, R. E. Tarjan, "A fast algorithm for finding dominators in a flowgraph", TOPLAS 1(1), 1979,
doi:10.1145/357062.357071, the version with simple linking.
"""

from collections.abc import Sequence


def immediate_dominators(successors: Sequence[Sequence[int]]) -> list[int | None]:
    """The immediate dominator of every node; node 0 is the entry.

    Args:
        successors: For each node where it leads.

    Returns:
        A node for each node; `None` for the entry, and for nodes that no path from the entry reaches.

    Complexity: O((V + E) log V) time, O(V + E) space.

    >>> immediate_dominators([[1, 2], [3], [3], [], [3]])
    [None, 0, 0, 0, None]
    """
    order, parents = _depth_first(successors)
    number = {node: index for index, node in enumerate(order)}
    predecessors: list[list[int]] = [[] for _ in order]
    for index, node in enumerate(order):
        for successor in successors[node]:
            predecessors[number[successor]].append(index)
    forest = _Forest(len(order))
    idoms = [0] * len(order)
    waiting: list[list[int]] = [[] for _ in order]
    for index in range(len(order) - 1, 0, -1):
        semi = min(forest.semi[forest.least(predecessor)] for predecessor in predecessors[index])
        forest.semi[index] = semi
        waiting[semi].append(index)
        parent = parents[index]
        forest.ancestor[index] = parent
        for node in waiting[parent]:
            least = forest.least(node)
            idoms[node] = least if forest.semi[least] < forest.semi[node] else parent
        waiting[parent] = []
    result: list[int | None] = [None] * len(successors)
    for index in range(1, len(order)):
        if idoms[index] != forest.semi[index]:
            idoms[index] = idoms[idoms[index]]
        result[order[index]] = order[idoms[index]]
    return result


def _depth_first(successors: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """The nodes in depth-first preorder, and for each position in it that of the parent in the tree."""
    order, parents, seen = [0], [0], {0}
    stack = [(0, iter(successors[0]))]
    while stack:
        position, rest = stack[-1]
        for node in rest:
            if node not in seen:
                seen.add(node)
                parents.append(position)
                order.append(node)
                stack.append((len(order) - 1, iter(successors[node])))
                break
        else:
            stack.pop()
    return order, parents


class _Forest:
    """The part of the depth-first tree that was linked so far, with paths that shrink when they are walked."""

    def __init__(self, size: int):
        self.semi = list(range(size))
        """The semidominator of each node, by its number in the preorder."""
        self.ancestor = [-1] * size
        """An ancestor in the forest; -1 for a root."""
        self._label = list(range(size))
        """The node of least semidominator on the path to the ancestor, the ancestor apart."""

    def least(self, node: int) -> int:
        """The node of least semidominator on the path from a node up to its root, the root apart."""
        ancestor, label, semi = self.ancestor, self._label, self.semi
        if ancestor[node] < 0:
            return node
        path: list[int] = []
        current = node
        while ancestor[ancestor[current]] >= 0:
            path.append(current)
            current = ancestor[current]
        for current in reversed(path):
            above = ancestor[current]
            if semi[label[above]] < semi[label[current]]:
                label[current] = label[above]
            ancestor[current] = ancestor[above]
        return label[node]
