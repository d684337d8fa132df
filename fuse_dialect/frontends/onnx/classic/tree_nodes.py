"""Ensembles of trees as their nodes: what the attributes of the three operators of ONNX-ML say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.classic.tree_table import MODES, Node
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.tensors import Array


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Trees, and what is made of the leaves that a row reaches."""

    nodes: Sequence[Node]
    roots: Sequence[int]
    """Number of each tree's first node."""
    targets: int
    aggregate: str = "SUM"
    base: Array | None = None
    """What is added for each target."""
    is_positive: bool = False
    """Whether all weights are 0 or greater."""
    is_of_one_class: bool = False
    """Whether all weights are for the same class."""


def ensemble_by_targets(node: OnnxNode) -> Ensemble:
    """The trees of TreeEnsembleRegressor."""
    targets = node.integer("n_targets", 0)
    weights = _weights(node, "target")
    if not 0 < targets <= _MOST_TARGETS:
        raise FuseError(f"expects attribute 'n_targets' between 1 and {_MOST_TARGETS}, got {targets}")
    nodes, roots = _nodes(node, weights)
    return Ensemble(nodes, roots, targets, node.string("aggregate_function", "SUM"), _base(node, targets))


def ensemble_of_classes(node: OnnxNode, classes: int) -> Ensemble:
    """The trees of TreeEnsembleClassifier; those of two classes have one target if all weights are for the first."""
    weights = _weights(node, "class")
    numbers = {target for leaf in weights.values() for target in leaf}
    single = classes == 2 and numbers == {0}
    nodes, roots = _nodes(node, weights)
    positive = all(weight >= 0 for leaf in weights.values() for weight in leaf.values())
    base = _base(node, 0)
    if base is not None:
        base = base[-1:] if single else base
        if len(base) != (1 if single else classes):
            raise UnsupportedFormError(f"{len(base)} base values of {classes} classes are not supported")
    is_shared = len(numbers) == 1
    return Ensemble(nodes, roots, 1 if single else classes, base=base, is_positive=positive, is_of_one_class=is_shared)


_MOST_TARGETS = 1 << 16


def _base(node: OnnxNode, targets: int) -> Array | None:
    """The base values; one stands for all targets."""
    if node.has("base_values_as_tensor"):
        base = node.tensor_attribute("base_values_as_tensor").reshape(-1)
    else:
        base = np.array(node.reals("base_values", []), np.float32)
    if not base.size:
        return None
    if targets and base.size not in (1, targets):
        raise FuseError(f"expects {targets} base values, got {base.size}")
    return base


def _numbers(node: OnnxNode, name: str) -> Array:
    """A list of floats, as a list or as a tensor of more bits."""
    if node.has(f"{name}_as_tensor"):
        return node.tensor_attribute(f"{name}_as_tensor").reshape(-1)
    return np.array(node.reals(name, []), np.float32)


def _weights(node: OnnxNode, kind: str) -> Mapping[tuple[int, int], dict[int, float]]:
    """Weights by target, for the tree and number of each leaf; several of one target add up."""
    trees, numbers = node.integers(f"{kind}_treeids", []), node.integers(f"{kind}_nodeids", [])
    targets, weights = node.integers(f"{kind}_ids", []), _numbers(node, f"{kind}_weights")
    if not len(trees) == len(numbers) == len(targets) == len(weights):
        raise FuseError(f"expects as many '{kind}_treeids' as nodes, ids and weights")
    found: dict[tuple[int, int], dict[int, float]] = {}
    for tree, number, target, weight in zip(trees, numbers, targets, weights.tolist(), strict=True):
        leaf = found.setdefault((tree, number), {})
        leaf[target] = leaf.get(target, 0.0) + weight
    return found


def _nodes(node: OnnxNode, weights: Mapping[tuple[int, int], dict[int, float]]) -> tuple[list[Node], list[int]]:
    """Nodes and roots from lists in which trees and nodes have numbers of the model's own choice.

    Raises:
        FuseError: Lists differ in length, a node stands there twice, a mode is unknown, or a weight has no leaf.
    """
    names = ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids")
    trees, numbers, features, if_true, if_false = (node.integers(name, []) for name in names)
    modes, thresholds = node.strings("nodes_modes", []), _numbers(node, "nodes_values")
    count = len(modes)
    missing = node.integers("nodes_missing_value_tracks_true", []) or [0] * count
    lengths = {len(each) for each in (trees, numbers, features, if_true, if_false, thresholds, missing)}
    if lengths != {count} or not count:
        raise FuseError(f"expects lists of equal length that describe nodes, got {sorted({count, *lengths})}")
    node.builder.budget.spend("trees", ops=0, bytes=128 * count)
    places = {(tree, number): index for index, (tree, number) in enumerate(zip(trees, numbers, strict=True))}
    if len(places) < count:
        raise FuseError("has a node of a tree twice")
    if stray := [leaf for leaf in weights if leaf not in places]:
        raise FuseError(f"has a weight for node {stray[0][1]} of tree {stray[0][0]}, which is missing")
    nodes: list[Node] = []
    for index, mode in enumerate(modes):
        name = f"node {numbers[index]} of tree {trees[index]}"
        if mode == "LEAF":
            nodes.append(Node(name, mode, weights=weights.get((trees[index], numbers[index]), {})))
            continue
        if mode not in MODES:
            raise UnsupportedFormError(f"the mode '{mode}' is not supported")
        yes, no = (places.get((trees[index], each[index]), -1) for each in (if_true, if_false))
        threshold, nan = float(thresholds[index]), bool(missing[index])
        nodes.append(Node(name, mode, features[index], threshold, yes, no, nan))
    return nodes, _roots(trees)


def _roots(trees: Sequence[int]) -> list[int]:
    """The first node of each tree is its root."""
    first: dict[int, int] = {}
    for index, tree in enumerate(trees):
        first.setdefault(tree, index)
    return list(first.values())


def ensemble_of_leaves(node: OnnxNode) -> Ensemble:
    """The trees of TreeEnsemble: children are numbers of nodes, or of leaves where `nodes_trueleafs` says so.

    Raises:
        FuseError: Lists differ in length, or a number is out of range.
    """
    features, modes = node.integers("nodes_featureids"), node.tensor_attribute("nodes_modes").reshape(-1)
    splits = node.tensor_attribute("nodes_splits").reshape(-1)
    if_true, if_false = node.integers("nodes_truenodeids"), node.integers("nodes_falsenodeids")
    leaf_true, leaf_false = node.integers("nodes_trueleafs"), node.integers("nodes_falseleafs")
    missing = node.integers("nodes_missing_value_tracks_true", []) or [0] * len(features)
    lists = (modes, splits, if_true, if_false, leaf_true, leaf_false, missing)
    if {len(each) for each in lists} != {len(features)}:
        raise FuseError("expects lists of equal length that describe nodes")
    targets, weights = node.integers("leaf_targetids"), node.tensor_attribute("leaf_weights").reshape(-1)
    if len(targets) != len(weights):
        raise FuseError(f"expects as many targets as weights of leaves, got {len(targets)} and {len(weights)}")
    count, leaves = len(features), len(targets)
    node.builder.budget.spend("trees", ops=0, bytes=128 * (count + leaves))
    nodes: list[Node] = []
    for index, number in enumerate(map(int, modes)):
        if not 0 <= number < len(MODES):
            raise UnsupportedFormError(f"the mode {number} is not supported")
        yes, no = (
            _child(child[index], bool(leaf[index]), count, leaves)
            for child, leaf in ((if_true, leaf_true), (if_false, leaf_false))
        )
        threshold, nan = float(splits[index]), bool(missing[index])
        nodes.append(Node(f"node {index}", MODES[number], features[index], threshold, yes, no, nan))
    for index, (target, weight) in enumerate(zip(targets, weights.tolist(), strict=True)):
        nodes.append(Node(f"leaf {index}", "LEAF", weights={target: weight}))
    aggregate = node.integer("aggregate_function", 1)
    names = ("AVERAGE", "SUM", "MIN", "MAX")
    if not 0 <= aggregate < len(names):
        raise FuseError(f"expects 'aggregate_function' between 0 and 3, got {aggregate}")
    total = node.integer("n_targets", 1)
    if not 0 < total <= _MOST_TARGETS:
        raise FuseError(f"expects attribute 'n_targets' between 1 and {_MOST_TARGETS}, got {total}")
    return Ensemble(nodes, node.integers("tree_roots"), total, names[aggregate])


def _child(number: int, is_leaf: bool, nodes: int, leaves: int) -> int:
    """Number of a child among all nodes and leaves, -1 if there is none of the number."""
    if not 0 <= number < (leaves if is_leaf else nodes):
        return -1
    return nodes + number if is_leaf else number
