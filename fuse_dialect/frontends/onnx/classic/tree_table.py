"""Trees of decisions as tables: checked, and laid out so that one comparison gives the next row.

1. A *row* is a node in one place of the table. From a row with a threshold t and a feature f one goes to row `child`
   or, if x[f] > t, to `child + 1`; `nan_right` says where one goes if x[f] is nan.
2. A leaf leads to itself: its threshold is infinite, so that walks of different lengths take the same number of steps.
3. Other comparisons become this one: x < t is x <= the number before t, a node with x >= t has its children swapped,
   and x = t is two rows, of which the second tells t from what is smaller.
4. Every node is reached once from one root, along children that exist: so a walk ends, and never leaves the table.

Source: ONNX-ML TreeEnsembleRegressor, TreeEnsembleClassifier and TreeEnsemble.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.tensors import Array

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
"""By their numbers in TreeEnsemble."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node as the model has it."""

    name: str
    """For errors."""
    mode: str
    """One of `MODES`, or LEAF."""
    feature: int = 0
    threshold: float = 0.0
    if_true: int = -1
    """Number of a node."""
    if_false: int = -1
    nan_is_true: bool = False
    weights: Mapping[int, float] = field(default_factory=dict[int, float])
    """Of a leaf, by the number of the target."""


@dataclass(frozen=True, slots=True)
class TreeTable:
    """Rows of all trees."""

    thresholds: Array
    features: Array
    """u32."""
    children: Array
    """u32."""
    nan_right: Array
    """bool."""
    nodes: Array
    """Number of the node of each row."""
    roots: Array
    """Row of each tree's root, u32."""
    depth: int
    """Most steps from a root to a leaf."""


def tree_table(nodes: Sequence[Node], roots: Sequence[int], features: int, dtype: "np.dtype[np.generic]") -> TreeTable:
    """The table of trees.

    Args:
        nodes: All nodes.
        roots: Number of each tree's first node.
        features: How many numbers an input has.
        dtype: Type of the thresholds, f32 or f64.

    Raises:
        FuseError: A feature or a child does not exist, or a node is reached twice: the trees have a cycle, say.
    """
    rows = _Rows(nodes, features, dtype)
    firsts = [rows.add(root, "the root of a tree") for root in roots]
    rows.grow()
    return rows.table(firsts)


class _Rows:
    """Rows that are laid out so far, breadth first."""

    def __init__(self, nodes: Sequence[Node], features: int, dtype: "np.dtype[np.generic]"):
        self._nodes, self._count, self._dtype = nodes, features, dtype
        thresholds = np.array([node.threshold for node in nodes]).astype(dtype)
        self._numbers: list[float] = thresholds.tolist()
        """The threshold of each node, as its type has it."""
        self._numbers_before: list[float] = np.nextafter(thresholds, np.asarray(-np.inf, dtype)).tolist()
        """What is not greater than this is less than the threshold (3)."""
        self._seen = bytearray(len(nodes))
        self._nodes_of: list[int] = []
        self._thresholds: list[float] = []
        self._features: list[int] = []
        self._children: list[int] = []
        self._nan_right: list[bool] = []
        self._split_rows: dict[int, int] = {}
        """Row in which each node was given its children; (3) may give it a second row."""

    def add(self, number: int, what: str) -> int:
        """A row for a node, the first for it."""
        if not 0 <= number < len(self._nodes):
            raise FuseError(f"{what} is node {number}, of {len(self._nodes)} nodes")
        if self._seen[number]:
            raise FuseError(f"{what} is {self._nodes[number].name}, which is reached twice: the trees have a cycle")
        self._seen[number] = 1
        return self._row(number)

    def _row(self, number: int) -> int:
        row = len(self._nodes_of)
        self._nodes_of.append(number)
        self._thresholds.append(np.inf)
        self._features.append(0)
        self._children.append(row)
        self._nan_right.append(False)
        return row

    def grow(self) -> None:
        """Rows for everything below the roots."""
        row = 0
        while row < len(self._nodes_of):
            number = self._nodes_of[row]
            node, before = self._nodes[number], self._split_rows.setdefault(number, row)
            if node.mode != "LEAF" and self._children[row] == row:
                if before == row:
                    self._split(row, node)
                else:
                    self._copy(row, before)
            row += 1

    def _copy(self, row: int, other: int) -> None:
        self._thresholds[row], self._features[row] = self._thresholds[other], self._features[other]
        self._children[row], self._nan_right[row] = self._children[other], self._nan_right[other]

    def _split(self, row: int, node: Node) -> None:
        if not 0 <= node.feature < self._count:
            raise FuseError(f"{node.name} asks for feature {node.feature}, of {self._count}")
        for child, word in ((node.if_true, "true"), (node.if_false, "false")):
            what = f"the child of {node.name} if {word}"
            if not 0 <= child < len(self._nodes):
                raise FuseError(f"{what} is missing")
            if self._seen[child]:
                name = self._nodes[child].name
                raise FuseError(f"{what} is {name}, which is reached twice: the trees have a cycle")
            self._seen[child] = 1
        number = self._nodes_of[row]
        threshold, below = self._numbers[number], self._numbers_before[number]
        yes, no, nan = node.if_true, node.if_false, node.nan_is_true
        match node.mode:
            case "BRANCH_LEQ":
                self._decide(row, node.feature, threshold, yes, no, nan_right=not nan)
            case "BRANCH_LT":
                self._decide(row, node.feature, below, yes, no, nan_right=not nan)
            case "BRANCH_GT":
                self._decide(row, node.feature, threshold, no, yes, nan_right=nan)
            case "BRANCH_GTE":
                self._decide(row, node.feature, below, no, yes, nan_right=nan)
            case _:
                # (3) What is not greater than t goes on to the row of the same node that asks what is less.
                equal, other = (yes, no) if node.mode == "BRANCH_EQ" else (no, yes)
                # nan is not equal to t, so that BRANCH_NEQ holds.
                nan_is_equal = nan and node.mode == "BRANCH_EQ"
                first = self._decide(row, node.feature, threshold, equal, other, nan_right=not nan_is_equal)
                again = self._decide(first, node.feature, below, other, equal, nan_right=nan_is_equal)
                self._nodes_of[first] = self._nodes_of[row]
                self._nodes_of[again], self._nodes_of[again + 1] = other, equal

    def _decide(self, row: int, feature: int, threshold: float, left: int, right: int, *, nan_right: bool) -> int:
        """Let a row lead to two new ones, the first of which is returned."""
        self._features[row], self._thresholds[row], self._nan_right[row] = feature, threshold, nan_right
        child = self._row(left)
        self._row(right)
        self._children[row] = child
        return child

    def table(self, roots: Sequence[int]) -> TreeTable:
        """All rows."""
        return TreeTable(
            thresholds=np.array(self._thresholds, self._dtype),
            features=np.array(self._features, np.uint32),
            children=np.array(self._children, np.uint32),
            nan_right=np.array(self._nan_right, np.bool_),
            nodes=np.array(self._nodes_of, np.int64),
            roots=np.array(roots, np.uint32),
            depth=self._depth(),
        )

    def _depth(self) -> int:
        """Most steps from a row to a leaf; children stand behind their parents."""
        heights = [0] * len(self._children)
        for row in reversed(range(len(heights))):
            if (child := self._children[row]) != row:
                heights[row] = 1 + max(heights[child], heights[child + 1])
        return max(heights, default=0)


def leaf_weights(
    table: TreeTable, nodes: Sequence[Node], targets: int, dtype: "np.dtype[np.generic]", missing: float = 0.0
) -> Array:
    """The weights of each row, [rows, targets]; those of nodes that are no leaves are never read.

    Raises:
        FuseError: A leaf has a weight for a target that does not exist.
    """
    by_node = np.full((len(nodes), targets), missing, dtype)
    for number, node in enumerate(nodes):
        for target, weight in node.weights.items():
            if not 0 <= target < targets:
                raise FuseError(f"{node.name} has a weight for target {target}, of {targets}")
            by_node[number, target] = weight
    return by_node[table.nodes]
