"""Detection heads, routers and filters: how many rows there are, the data says.

Every row of `COUNTED` gives a graph and inputs for one number of candidates.
"""

# pyright: basic

from collections.abc import Callable
from typing import Any

import numpy as np

from networks.growing_loops import Made, _floats
from networks.onnx_graph import Graph, Value

F32, I64 = np.float32, np.int64
D = 32


def _rows(g: Graph, mask: Value) -> Value:
    """Numbers of the true elements of a vector."""
    return g.Squeeze(g.NonZero(mask), [0])


def suppression(*, has_top: bool) -> Made:
    """Boxes from anchors, suppressed, and the features of those that are left."""
    g = Graph()
    deltas = g.input("deltas", F32, ["n", 4])
    scores = g.input("scores", F32, ["n", 3])
    features = g.input("features", F32, ["n", D])
    centre = g.Sigmoid(g.piece(deltas, [0], [2], 1))
    size = g.Exp(g.piece(deltas, [2], [4], 1) * 0.3) * 0.1
    boxes = g.Concat(centre - size, centre + size, axis=1)
    best = g.Transpose(g.Sigmoid(scores), perm=[1, 0])
    if has_top:
        most = g.ReduceMax(best, axes=[0], keepdims=0)
        count = g.Min(g.extent(deltas, 0), np.array([50]))
        _, place = g.op("TopK", [most, count], 2, axis=0)
        boxes, best = g.Gather(boxes, place, axis=0), g.Gather(best, place, axis=1)
        features = g.Gather(features, place, axis=0)
    kept = g.NonMaxSuppression(
        g.Unsqueeze(boxes, [0]), g.Unsqueeze(best, [0]), np.array([20]), np.array([0.5], F32), np.array([0.4], F32)
    )
    own = g.Squeeze(g.piece(kept, [2], [3], 1), [1])
    head = g.Relu(g.Gather(features, own, axis=0) @ g.weight(D, D)) @ g.weight(D, 5)
    g.output(g.Gather(boxes, own, axis=0), kept, g.Softmax(head, axis=1))
    return g.model(), _floats(("n", 4), ("n", 3), ("n", D))


def threshold() -> Made:
    """Rows whose score is above a threshold go through two layers."""
    g = Graph()
    x = g.input("x", F32, ["n", D])
    score = g.Squeeze(g.Sigmoid(x @ g.weight(D, 1)), [1])
    rows = _rows(g, g.Greater(score, 0.5))
    y = g.Relu(g.Gather(x, rows, axis=0) @ g.weight(D, 4 * D)) @ g.weight(4 * D, D)
    g.output(y, g.Gather(score, rows, axis=0))
    return g.model(), _floats(("n", D))


def compressed() -> Made:
    """The same with a mask."""
    g = Graph()
    x = g.input("x", F32, ["n", D])
    mask = g.Greater(g.Squeeze(x @ g.weight(D, 1), [1]), 0.0)
    y = g.Compress(x, mask, axis=0)
    g.output(g.Tanh(y @ g.weight(D, D)), g.ReduceMean(y, axes=[0], keepdims=0))
    return g.model(), _floats(("n", D))


def distinct() -> Made:
    """Distinct numbers, and how often each occurs."""
    g = Graph()
    x = g.input("x", I64, ["n"])
    values, _, inverse, counts = g.op("Unique", [x], 4, sorted=1)
    share = g.Cast(counts, to=1) / g.Cast(g.Size(x), to=1)
    g.output(values, g.Gather(share, inverse, axis=0))
    return g.model(), lambda n, rng: [rng.integers(0, 17, n)]


def embedded_once() -> Made:
    """An embedding of each distinct token is computed once."""
    g = Graph()
    x = g.input("x", I64, ["n"])
    values, _, inverse, _ = g.op("Unique", [x], 4, sorted=1)
    y = g.Relu(g.Gather(g.weight(100, D), values, axis=0) @ g.weight(D, D))
    g.output(g.Gather(y, inverse, axis=0))
    return g.model(), lambda n, rng: [rng.integers(0, 100, n)]


def scattered() -> Made:
    """Elements above a threshold are changed where they are."""
    g = Graph()
    x = g.input("x", F32, ["n", D])
    places = g.Transpose(g.NonZero(g.Greater(x, 1.0)), perm=[1, 0])
    g.output(g.ScatterND(x, places, g.Sqrt(g.GatherND(x, places))), places)
    return g.model(), _floats(("n", D))


def experts(number: int = 4) -> Made:
    """Each expert gets the rows that chose it, as TorchScript writes it."""
    g = Graph()
    x = g.input("x", F32, ["n", D])
    gate = g.Softmax(x @ g.weight(D, number), axis=1)
    chosen = g.ArgMax(gate, axis=1, keepdims=0)
    y = x * 0.0
    for expert in range(number):
        rows = _rows(g, g.Equal(chosen, expert))
        own = g.Gather(x, rows, axis=0)
        weight = g.piece(g.Gather(gate, rows, axis=0), [expert], [expert + 1], 1)
        own = (g.Relu(own @ g.weight(D, 2 * D)) @ g.weight(2 * D, D)) * weight
        y = g.ScatterND(y, g.Unsqueeze(rows, [1]), own)
    g.output(y)
    return g.model(), _floats(("n", D))


def two_experts(number: int = 4) -> Made:
    """The two best experts of each row, added where the row is."""
    g = Graph()
    x = g.input("x", F32, ["n", D])
    score, place = g.op("TopK", [x @ g.weight(D, number), [2]], 2, axis=1)
    share = g.Softmax(score, axis=1)
    y = x * 0.0
    for expert in range(number):
        at = g.NonZero(g.Equal(place, expert))
        rows, slots = (g.Squeeze(g.piece(at, [axis], [axis + 1], 0), [0]) for axis in (0, 1))
        own = g.Relu(g.Gather(x, rows, axis=0) @ g.weight(D, D))
        both = g.Concat(g.Unsqueeze(rows, [1]), g.Unsqueeze(slots, [1]), axis=1)
        own = own * g.Unsqueeze(g.GatherND(share, both), [1])
        y = g.op("ScatterND", [y, g.Unsqueeze(rows, [1]), own], reduction="add")
    g.output(y)
    return g.model(), _floats(("n", D))


def ragged() -> Made:
    """Rows of several lengths, unpacked by a mask and packed again."""
    g = Graph()
    x = g.input("x", F32, ["n", 8, D])
    lengths = g.input("lengths", I64, ["n"])
    steps = g.Range(np.array(0), np.array(8), np.array(1))
    mask = g.Less(steps, g.Unsqueeze(lengths, [1]))
    at = g.Transpose(g.NonZero(mask), perm=[1, 0])
    packed = g.GatherND(x, at)
    g.output(g.LayerNormalization(g.Relu(packed @ g.weight(D, D)), np.ones(D, F32), axis=-1))

    def inputs(n: int, rng: np.random.Generator) -> list[Any]:
        return [rng.standard_normal((n, 8, D)).astype(F32), rng.integers(0, 9, n)]

    return g.model(), inputs


def counted_best() -> Made:
    """As many of the best as the input says."""
    g = Graph()
    x = g.input("x", F32, ["n", D])
    k = g.input("k", I64, [1])
    score = g.Squeeze(x @ g.weight(D, 1), [1])
    values, place = g.op("TopK", [score, k], 2, axis=0)
    g.output(values, g.Gather(x, place, axis=0) @ g.weight(D, D))
    return g.model(), lambda n, rng: [rng.standard_normal((n, D)).astype(F32), np.array([max(n // 2, 1)])]


def pooled_regions() -> Made:
    """Regions above a threshold, cut from a map of features."""
    g = Graph()
    image = g.input("image", F32, [1, 8, 20, 20])
    boxes, scores = g.input("boxes", F32, ["n", 4]), g.input("scores", F32, ["n"])
    rows = _rows(g, g.Greater(scores, 0.0))
    own = g.Gather(g.Abs(boxes), rows, axis=0)
    corner = g.piece(own, [0], [2], 1)
    own = g.Concat(corner * 4.0, corner * 4.0 + g.piece(own, [2], [4], 1) * 6.0 + 1.0, axis=1)
    batch = g.Expand(np.array(0), g.Shape(rows))
    y = g.RoiAlign(image, own, batch, output_height=4, output_width=4, sampling_ratio=2)
    g.output(g.Relu(g.Flatten(y) @ g.weight(128, D)))

    def inputs(n: int, rng: np.random.Generator) -> list[Any]:
        return [rng.standard_normal(shape).astype(F32) for shape in [(1, 8, 20, 20), (n, 4), (n,)]]

    return g.model(), inputs


def early_exit() -> Made:
    """Rows that are sure leave, the others go through another layer."""
    g = Graph()
    x = g.input("x", F32, ["n", D])
    h = g.Relu(x @ g.weight(D, D))
    logits = h @ g.weight(D, 6)
    sure = g.ReduceMax(g.Softmax(logits, axis=1), axes=[1], keepdims=0)
    rows = _rows(g, g.Less(sure, 0.4))
    deeper = g.Tanh(g.Gather(h, rows, axis=0) @ g.weight(D, D)) @ g.weight(D, 6)
    g.output(g.ScatterND(logits, g.Unsqueeze(rows, [1]), deeper))
    return g.model(), _floats(("n", D))


COUNTED: dict[str, Callable[[], Made]] = {
    "suppression": lambda: suppression(has_top=False),
    "best 50, suppression": lambda: suppression(has_top=True),
    "threshold": threshold,
    "compress": compressed,
    "unique": distinct,
    "embedding of distinct": embedded_once,
    "argwhere and scatter": scattered,
    "experts by nonzero": experts,
    "two experts by nonzero": two_experts,
    "ragged rows": ragged,
    "top k of an input": counted_best,
    "regions above a threshold": pooled_regions,
    "early exit": early_exit,
}
