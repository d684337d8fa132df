"""Boxes in layers, so that edges lead down: for pictures without a browser.

1. A box stands one layer below the lowest of those that it reads from.
2. An edge over several layers passes a point in each of them, which takes part in what follows.
3. Layers are sorted by the mean place of what each of their members is connected to, down and up in turn.
4. Members stand side by side, each as near to what it is connected to as its neighbours allow.

Source: K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical system structures",
https://doi.org/10.1109/TSMC.1981.4308636.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

_SWEEPS = 6
_GAP, _LAYER_GAP = 24.0, 40.0
_POINT = 10.0
"""Width that an edge takes in a layer which it passes."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Where boxes and edges are."""

    width: float
    height: float
    corners: list[tuple[float, float]]
    """Of each box the left and the upper end."""
    routes: list[list[tuple[float, float]]]
    """Of each edge the points that it goes through, from the bottom of one box to the top of another."""


def layered(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layers:
    """Places for boxes.

    Args:
        sizes: Width and height of each box.
        edges: Pairs of a box and one that stands below it; a box's number is less than that of those below.

    Complexity: O(boxes + layers that edges pass), and sorting.

    Example:
        >>> found = layered([(100, 40), (80, 40)], [(0, 1)])
        >>> found.corners, found.height
        ([(0.0, 0.0), (10.0, 80.0)], 120.0)
    """
    layer = _layer_of(len(sizes), edges)
    widths = [width for width, _ in sizes]
    chains = _chains(layer, edges, widths)
    members: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for item, level in enumerate(layer):
        members[level].append(item)
    above: list[list[int]] = [[] for _ in layer]
    below: list[list[int]] = [[] for _ in layer]
    for chain in chains:
        for source, reader in pairwise(chain):
            below[source].append(reader)
            above[reader].append(source)
    _sort(members, above, below)
    center = _centers(members, above, below, widths)
    tops, bottoms = _levels(members, sizes)
    left = min((center[item] - widths[item] / 2 for item in range(len(sizes))), default=0.0)
    right = max((center[item] + widths[item] / 2 for item in range(len(layer))), default=0.0)
    corners = [(center[box] - widths[box] / 2 - left, tops[layer[box]]) for box in range(len(sizes))]
    routes = [_route(chain, center, layer, tops, bottoms, sizes, left) for chain in chains]
    return Layers(right - left, bottoms[-1] if bottoms else 0.0, corners, routes)


def _layer_of(count: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """(1) numbers ascend along edges, so one pass in their order is enough."""
    layer = [0] * count
    for source, reader in sorted(edges):
        layer[reader] = max(layer[reader], layer[source] + 1)
    return layer


def _chains(layer: list[int], edges: Iterable[tuple[int, int]], widths: list[float]) -> list[list[int]]:
    """(2) for each edge its ends, and between them points, which are added to the layers."""
    chains: list[list[int]] = []
    for source, reader in edges:
        points: list[int] = []
        for level in range(layer[source] + 1, layer[reader]):
            points.append(len(layer))
            layer.append(level)
            widths.append(_POINT)
        chains.append([source, *points, reader])
    return chains


def _sort(members: list[list[int]], above: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> None:
    """(3) from the first layer down, and from the last up, a few times."""
    for sweep in range(_SWEEPS):
        near, levels = (above, members) if sweep % 2 == 0 else (below, members[::-1])
        place = {item: float(at) for level in members for at, item in enumerate(level)}
        for level in levels:
            mean = {item: _mean([place[other] for other in near[item]], place[item]) for item in level}
            level.sort(key=lambda item, mean=mean: mean[item])
            place.update((item, float(at)) for at, item in enumerate(level))


def _centers(
    members: Sequence[Sequence[int]],
    above: Sequence[Sequence[int]],
    below: Sequence[Sequence[int]],
    widths: Sequence[float],
) -> list[float]:
    """(4) the middle of each item."""
    center = [0.0] * len(widths)
    for level in members:
        _pack(level, center, widths, [0.0] * len(level))
    for sweep in range(_SWEEPS):
        near, levels = (above, members) if sweep % 2 == 0 else (below, members[::-1])
        for level in levels:
            wanted = [_mean([center[other] for other in near[item]], center[item]) for item in level]
            _pack(level, center, widths, wanted)
    return center


def _pack(level: Sequence[int], center: list[float], widths: Sequence[float], wanted: Sequence[float]) -> None:
    """Place the items of a layer where they want to be, moved apart where they overlap: runs of them stand together.

    A run is placed so that its items are off by 0 in the mean, and joins its neighbour when it would overlap it.
    """
    runs: list[tuple[list[int], list[float], float]] = []  # items, offsets from the run's start, where it starts
    for item, want in zip(level, wanted, strict=True):
        items, offsets, start = [item], [widths[item] / 2], want - widths[item] / 2
        while runs and runs[-1][2] + _length(runs[-1][0], runs[-1][1], widths) + _GAP > start:
            before, places, at = runs.pop()
            shift = _length(before, places, widths) + _GAP
            total = len(before) + len(items)
            # Each run knows where it would like to start; the mean of these counts by items.
            start = (at * len(before) + (start - shift) * len(items)) / total
            items, offsets = before + items, places + [offset + shift for offset in offsets]
        runs.append((items, offsets, start))
    for items, offsets, start in runs:
        for item, offset in zip(items, offsets, strict=True):
            center[item] = start + offset


def _length(items: Sequence[int], offsets: Sequence[float], widths: Sequence[float]) -> float:
    return offsets[-1] + widths[items[-1]] / 2


def _levels(members: Sequence[Sequence[int]], sizes: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """The upper and lower end of each layer."""
    tops: list[float] = []
    bottoms: list[float] = []
    top = 0.0
    for level in members:
        height = max((sizes[item][1] for item in level if item < len(sizes)), default=0.0)
        tops.append(top)
        bottoms.append(top + height)
        top += height + _LAYER_GAP
    return tops, bottoms


def _route(
    chain: Sequence[int],
    center: Sequence[float],
    layer: Sequence[int],
    tops: Sequence[float],
    bottoms: Sequence[float],
    sizes: Sequence[tuple[float, float]],
    left: float,
) -> list[tuple[float, float]]:
    source, *points, reader = chain
    route = [(center[source] - left, tops[layer[source]] + sizes[source][1])]
    for point in points:
        route += [(center[point] - left, tops[layer[point]]), (center[point] - left, bottoms[layer[point]])]
    return [*route, (center[reader] - left, tops[layer[reader]])]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
