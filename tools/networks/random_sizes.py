"""Random models of open sizes: loops whose states grow, shrink or are read whole, and rows that the data counts.

A seed makes a model: `x` has `n` rows, a few steps follow, and each value is a result.
"""

# pyright: basic

from typing import Any

import numpy as np

from networks.growing_loops import Made
from networks.onnx_graph import Graph, Value

F32, I64 = np.float32, np.int64
D = 4
"""Width of all rows."""
FAR = np.iinfo(np.int64).max


class _Model:
    """A model that is being made."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        self.g = Graph()
        self.x = self.g.input("x", F32, ["n", D])
        self.has_count = False
        self.rows = [self.x]
        """Values of open height."""

    def one_of(self, *choices: Any) -> Any:
        """Any of them."""
        return choices[self.random.integers(len(choices))]

    def count(self) -> Value:
        """The number in the input `count`, a list of one."""
        if not self.has_count:
            self.has_count = True
            self.g.input("count", I64, [1])
        return Value(self.g, "count")

    def source(self) -> Value:
        """A value of open height."""
        return self.rows[self.random.integers(len(self.rows))]

    def flat(self, rows: Value) -> Value:
        """One row from any number of them, bounded."""
        g = self.g
        match self.random.integers(4):
            case 0:
                return g.Tanh(g.ReduceSum(rows, [0], keepdims=1))
            case 1:
                q = g.weight(1, D)
                return g.Softmax(q @ g.Transpose(rows, perm=[1, 0]), axis=-1) @ rows
            case 2:
                return g.ReduceSum(g.Tanh(rows @ g.Transpose(rows, perm=[1, 0])), [0, 1], keepdims=1) * 0.01
            case _:
                return g.Tanh(g.ReduceSum(g.Abs(rows) * 0.1, [0], keepdims=1))

    def step(self) -> None:
        """Add something."""
        self.one_of(self.loop, self.loop, self.loop, self.counted, self.counted, self.plain)()

    def plain(self) -> None:
        """Something without loops."""
        g, x = self.g, self.source()
        match self.random.integers(5):
            case 0:
                self.rows.append(g.Tanh(x @ g.weight(D, D)))
            case 1:
                self.rows.append(g.Concat(x, self.source(), axis=0))
            case 2:
                self.rows.append(g.Slice(x, [0], [FAR], [0], [2]))
            case 3:
                self.rows.append(x + self.flat(x))
            case _:
                self.rows.append(g.Slice(x, [-1], [-FAR], [0], [-1]))

    def counted(self) -> None:
        """Rows that the data counts."""
        g, x = self.g, self.source()
        score = g.ReduceSum(x, [1], keepdims=0)
        mask = g.Greater(score, float(self.one_of(-9.0, 0.0, 0.5, 9.0)))
        match self.random.integers(9):
            case 8:
                # The fewer rows are counted, the more are left.
                count = g.Slice(g.Shape(g.Squeeze(g.NonZero(mask), [0])), [0], [1], [0])
                self.rows.append(g.Tanh(g.Slice(x, count, [FAR], [0], [self.one_of(1, 2, 3)])))
            case 6:
                at = g.Transpose(g.NonZero(g.Greater(x, float(self.one_of(-9.0, 0.25, 9.0)))), perm=[1, 0])
                self.rows.append(g.ScatterND(x, at, g.Tanh(g.GatherND(x, at))))
                self.rows.append(g.Cast(at, to=1) @ g.weight(2, D))
            case 7:
                # Of the input alone, whose boxes and scores are the same on any way.
                rounded = g.Round(g.Mul(self.x, 4.0)) * 0.25
                boxes, scores = g.Unsqueeze(rounded, [0]), g.Unsqueeze(g.Transpose(rounded, perm=[1, 0]), [0])
                limit, overlap = self.one_of(1, 3, 100), np.array([self.one_of(0.2, 0.6)], F32)
                kept = g.NonMaxSuppression(boxes, scores, np.array([limit]), overlap, np.array([-0.5], F32))
                own = g.Squeeze(g.piece(kept, [2], [3], 1), [1])
                self.rows.append(g.Gather(self.x, own, axis=0))
            case 0 | 1:
                rows = g.Squeeze(g.NonZero(mask), [0])
                kept = g.Tanh(g.Gather(x, rows, axis=0) @ g.weight(D, D))
                self.rows.append(kept)
                if self.random.integers(2):
                    zeros = g.Mul(x, 0.0)
                    self.rows.append(g.ScatterND(zeros, g.Unsqueeze(rows, [1]), kept))
            case 2:
                self.rows.append(g.Compress(x, mask, axis=0))
            case 3:
                keys = g.Cast(g.Round(score), to=7)
                values, first, inverse, counts = g.op("Unique", [keys], 4, sorted=1)
                own = g.Unsqueeze(g.Cast(counts, to=1) * 0.1, [1])
                self.rows.append(g.Gather(x, first, axis=0) * own)
                self.rows.append(g.Gather(own, inverse, axis=0) + x)
            case 4:
                most = g.Min(g.extent(x, 0), self.count())
                values, places = g.op("TopK", [score, most], 2, axis=0)
                self.rows.append(g.Gather(x, places, axis=0) + g.Unsqueeze(values, [1]))
            case _:
                # Of the input alone: states that have converged are equal but for rounding, which says who is first.
                x = self.x
                score = g.ReduceSum(x, [1], keepdims=0)
                best = g.ArgMax(score, axis=0, keepdims=1)
                marked = g.ScatterElements(score, best, np.full(1, 7.0, F32), axis=0)
                self.rows.append(g.Unsqueeze(marked, [1]) + x)

    def goes_on(self, small: Value, i: Value, limit: int) -> Value:
        """Whether there is another iteration: the input says it, so that it is the same on any way."""
        g = self.g
        return g.And(g.Squeeze(g.Gather(small, g.Min(g.Unsqueeze(i, [0]), [limit]), axis=0)), g.Less(i, limit))

    def loop(self) -> None:
        """A loop with states that change their sizes."""
        g, x = self.g, self.source()
        n = g.extent(x, 0)
        at_most = self.one_of(n, n, g.Max(g.Sub(n, [1]), np.array([0])), np.array([3]), self.count())
        trips = g.Squeeze(at_most) if isinstance(at_most, Value) else g.constant(np.array(3))
        kinds = [
            self.one_of("append", "append", "append two", "prepend", "shrink", "wide", "double", "scaled")
            for _ in range(self.random.integers(1, 3))
        ]
        stacks = bool(self.random.integers(2))
        ends_early, limit = self.one_of(False, False, True), int(self.random.integers(1, 20))
        if ends_early and self.one_of(False, False, True):
            trips = self.one_of(None, g.constant(np.array(FAR)))
        some = g.Less(g.Squeeze(g.piece(self.x, [0], [1], 1), [1]), 0.9) if ends_early else None
        small = None if some is None else g.Concat(some, np.ones(limit + 1, np.bool_), axis=0)
        reads = [int(self.random.integers(11)) for _ in range(self.random.integers(1, 3))]
        initial = [g.constant(np.ones((1, D)) * 0.5)]
        shapes: list[tuple[Any, list[Any]]] = [(F32, [1, D])]
        for kind in kinds:
            first = int(self.random.integers(3))
            if kind == "shrink":
                initial.append(g.Identity(x))
            elif kind == "double":
                initial.append(g.constant(np.ones((1, D)) * 0.1))
            else:
                initial.append(g.constant(np.full((D, first) if kind == "wide" else (first, D), 0.25)))
            shapes.append((F32, [D, "w"] if kind == "wide" else ["k", D]))

        positions = g.weight(5, D)

        def body(i: Value, h: Value, *states: Value) -> Any:
            at = g.Unsqueeze(i, [0])
            for read in reads:
                state, kind = states[read % len(states)], kinds[read % len(kinds)]
                whole = g.Transpose(state, perm=[1, 0]) if kind == "wide" else state
                match read:
                    case 0 | 1:
                        seen = self.flat(whole)
                    case 2:
                        seen = self.flat(g.piece(x, [0], g.Add(at, [1]), 0))
                    case 3:
                        seen = self.flat(g.piece(x, at, [FAR], 0))
                    case 4:
                        seen = self.flat(g.Slice(x, [0], g.Add(at, [2]), [0], [2]))
                    case 5:
                        seen = self.flat(g.Concat(g.piece(x, [0], at, 0), whole, axis=0))
                    case 6:
                        seen = self.flat(g.Concat(whole, h, axis=0))
                    case 7:
                        seen = self.flat(g.Concat(x, h, axis=0) + h)
                    case 8:
                        seen = self.flat(whole) * g.Div(1.0, g.Add(g.Cast(g.extent(whole, 0), to=1), 1.0))
                    case 9:
                        place = g.Mod(g.Add(g.extent(whole, 0), at), [5])
                        seen = g.Gather(positions, place, axis=0)
                    case _:
                        seen = g.ReduceSum(g.Tanh(whole @ g.Transpose(x, perm=[1, 0])), [0, 1], keepdims=1) * 0.01
                h = g.Tanh(h * 0.5 + seen * 0.3)
            following = [h]
            for state, kind in zip(states, kinds, strict=True):
                match kind:
                    case "append":
                        state = g.Concat(state, h, axis=0)
                    case "append two":
                        state = g.Concat(state, h, h * 0.5, axis=0)
                    case "prepend":
                        state = g.Concat(h, state, axis=0)
                    case "shrink":
                        state = g.piece(state, [1], [FAR], 0)
                    case "wide":
                        state = g.Concat(state, g.Transpose(h, perm=[1, 0]), axis=1)
                    case "double":
                        state = g.piece(g.Concat(state, state, axis=0), [0], [6], 0)
                    case _:
                        state = g.Concat(state * 0.5, g.Relu(h), axis=0)
                following.append(state)
            stacked = [h] if stacks else []
            return (following if small is None else [self.goes_on(small, i, limit), *following]), stacked

        ends = g.loop(trips, initial, body, shapes, goes_on=ends_early)
        ends = ends if isinstance(ends, list) else [ends]
        for kind, end in zip(kinds, ends[1:], strict=False):
            self.rows.append(g.Transpose(end, perm=[1, 0]) if kind == "wide" else end)
        if stacks:
            self.rows.append(g.Reshape(ends[-1], np.array([-1, D])))


def random_sizes(seed: int) -> Made:
    """The model of a seed, and inputs for `n` rows.

    Args:
        seed: Says what it does.
    """
    model = _Model(seed)
    for _ in range(model.random.integers(1, 4)):
        model.step()
    g = model.g
    g.output(*[g.Identity(rows) for rows in model.rows[1:]])

    def inputs(n: int, rng: np.random.Generator) -> list[Any]:
        made: list[Any] = [rng.standard_normal((n, D)).astype(F32)]
        return [*made, np.array([rng.integers(0, n + 3)])] if model.has_count else made

    return g.model(), inputs
