"""Loops as TorchScript writes them: states that grow, slices of one step, decoders, dynamic programming, iterations.

Every row of `LOOPS` gives a graph and inputs for one length.
"""

# pyright: basic

from collections.abc import Callable
from typing import Any

import numpy as np

from networks.onnx_graph import Graph, Value

F32, I64, BOOL = np.float32, np.int64, np.bool_
Made = tuple[bytes, Callable[[int, np.random.Generator], list[Any]]]
D = 32
"""Width of states."""
END = 7
"""The token that ends what a decoder writes."""


def _sequence(g: Graph, width: int = D, name: str = "x") -> tuple[Value, Value]:
    """[1, t, width], and t as a scalar."""
    x = g.input(name, F32, [1, "t", width])
    return x, g.scalar(g.extent(x, 1))


def _floats(*shape: Any) -> Callable[[int, np.random.Generator], list[Any]]:
    """Inputs: `n` in a shape is the length."""

    def inputs(n: int, rng: np.random.Generator) -> list[Any]:
        return [rng.standard_normal([n if size == "n" else size for size in each]).astype(F32) for each in shape]

    return inputs


def _at(g: Graph, x: Value, i: Value, axis: int = 1) -> Value:
    """`x[:, i : i + 1]` with that axis squeezed."""
    start = g.Unsqueeze(i, [0])
    return g.Squeeze(g.piece(x, start, g.Add(start, [1]), axis), [axis])


def append_cell(axis: int) -> Made:
    """`out = cat([out, y])` of a cell that is read by step."""
    g = Graph()
    x, t = _sequence(g)
    w, u = g.weight(D, D), g.weight(D, D)
    h0, out0 = g.constant(np.zeros((1, D))), g.constant(np.zeros((1, 0, D) if axis == 1 else (0, 1, D)))

    def body(i: Value, h: Value, out: Value) -> Any:
        h = g.Tanh(g.Gather(x, i, axis=1) @ w + h @ u)
        return [h, g.Concat(out, g.Unsqueeze(h, [axis]), axis=axis)], []

    _, out = g.loop(t, [h0, out0], body, [(F32, [1, D]), (F32, [1, "k", D] if axis == 1 else ["k", 1, D])])
    g.output(out)
    return g.model(), _floats((1, "n", D))


def two_appended() -> Made:
    """Outputs and gates, both appended."""
    g = Graph()
    x, t = _sequence(g)
    w, u = g.weight(D, D), g.weight(D, D)
    empty = g.constant(np.zeros((1, 0, D)))

    def body(i: Value, h: Value, outs: Value, gates: Value) -> Any:
        gate = g.Sigmoid(_at(g, x, i) @ w)
        h = h * gate + g.Tanh(h @ u)
        return [
            h,
            g.Concat(outs, g.Unsqueeze(h, [1]), axis=1),
            g.Concat(gates, g.Unsqueeze(gate, [1]), axis=1),
        ], []

    shapes = [(F32, [1, D]), (F32, [1, "k", D]), (F32, [1, "k", D])]
    h, outs, gates = g.loop(t, [g.constant(np.zeros((1, D))), empty, empty], body, shapes)
    g.output(h, outs, gates)
    return g.model(), _floats((1, "n", D))


def sliced_scan() -> Made:
    """`x[:, t : t + 1]` and a scan output."""
    g = Graph()
    x, t = _sequence(g)
    w = g.weight(D, D)

    def body(i: Value, h: Value) -> Any:
        h = g.Tanh(_at(g, x, i) + h @ w)
        return [h], [h]

    _, out = g.loop(t, [g.constant(np.zeros((1, D)))], body, [(F32, [1, D])])
    g.output(out)
    return g.model(), _floats((1, "n", D))


def lstm() -> Made:
    """An LSTM by hand, its outputs appended."""
    g = Graph()
    x, t = _sequence(g)
    w, u = g.weight(D, 4 * D), g.weight(D, 4 * D)
    zero = g.constant(np.zeros((1, D)))

    def body(n: Value, h: Value, c: Value, out: Value) -> Any:
        gates = _at(g, x, n) @ w + h @ u
        i, f, o, z = g.op("Split", [gates, [D, D, D, D]], 4, axis=1)
        c = g.Sigmoid(f) * c + g.Sigmoid(i) * g.Tanh(z)
        h = g.Sigmoid(o) * g.Tanh(c)
        return [h, c, g.Concat(out, g.Unsqueeze(h, [1]), axis=1)], []

    shapes = [(F32, [1, D]), (F32, [1, D]), (F32, [1, "k", D])]
    g.output(*g.loop(t, [zero, zero, g.constant(np.zeros((1, 0, D)))], body, shapes))
    return g.model(), _floats((1, "n", D))


def selective_scan() -> Made:
    """Mamba's scan, step by step."""
    g = Graph()
    x, t = _sequence(g)
    dt = g.input("dt", F32, [1, "t", D])
    a, b, c = g.weight(D, 8), g.weight(D, 8), g.weight(D, 8)

    def body(i: Value, h: Value, out: Value) -> Any:
        xt, step = _at(g, x, i), g.Softplus(_at(g, dt, i))
        decay = g.Exp(g.Unsqueeze(step, [2]) * g.Neg(g.Abs(a)))
        h = h * decay + g.Unsqueeze(step * xt, [2]) * g.Unsqueeze(xt @ b, [1])
        y = g.ReduceSum(h * g.Unsqueeze(xt @ c, [1]), [2], keepdims=0)
        return [h, g.Concat(out, g.Unsqueeze(y, [1]), axis=1)], []

    states = [g.constant(np.zeros((1, D, 8))), g.constant(np.zeros((1, 0, D)))]
    g.output(g.loop(t, states, body, [(F32, [1, D, 8]), (F32, [1, "k", D])])[1])
    return g.model(), _floats((1, "n", D), (1, "n", D))


def wkv() -> Made:
    """RWKV's weighted sums of keys and values."""
    g = Graph()
    k, t = _sequence(g, name="k")
    v = g.input("v", F32, [1, "t", D])
    decay, bonus = g.constant(np.full(D, -0.5)), g.weight(1, D)

    def body(i: Value, top: Value, bottom: Value, most: Value) -> Any:
        kt, vt = _at(g, k, i), _at(g, v, i)
        q = g.Max(most, kt + bonus)
        e, f = g.Exp(most - q), g.Exp(kt + bonus - q)
        y = (e * top + f * vt) / (e * bottom + f)
        q = g.Max(most + decay, kt)
        e, f = g.Exp(most + decay - q), g.Exp(kt - q)
        return [e * top + f * vt, e * bottom + f, q], [y]

    zero = g.constant(np.zeros((1, D)))
    low = g.constant(np.full((1, D), -1e30))
    g.output(g.loop(t, [zero, zero, low], body, [(F32, [1, D])] * 3)[3])
    return g.model(), _floats((1, "n", D), (1, "n", D))


def delta_rule() -> Made:
    """DeltaNet: a matrix that forgets along its keys."""
    g = Graph()
    k, t = _sequence(g, name="k")
    v, q = (g.input(name, F32, [1, "t", D]) for name in "vq")

    def body(i: Value, s: Value, out: Value) -> Any:
        kt, vt, qt = (_at(g, each, i) for each in (k, v, q))
        kt = kt / g.ReduceL2(kt, axes=[1], keepdims=1)
        wrong = vt - kt @ s
        s = s + g.Transpose(kt, perm=[1, 0]) @ (wrong * 0.5)
        return [s, g.Concat(out, g.Unsqueeze(qt @ s, [1]), axis=1)], []

    states = [g.constant(np.zeros((D, D))), g.constant(np.zeros((1, 0, D)))]
    g.output(g.loop(t, states, body, [(F32, [D, D]), (F32, [1, "k", D])])[1])
    return g.model(), _floats(*[(1, "n", D)] * 3)


def kalman() -> Made:
    """A filter of a state of 4 by observations of 2, with a 2 x 2 inverse by hand."""
    g = Graph()
    z, t = _sequence(g, 2, "z")
    f = g.constant(np.eye(4) + 0.1 * np.eye(4, k=2))
    ft = g.constant((np.eye(4) + 0.1 * np.eye(4, k=2)).T)
    h, ht = np.eye(2, 4), np.eye(2, 4).T

    def body(i: Value, x: Value, p: Value, out: Value) -> Any:
        x, p = x @ ft, f @ p @ ft + np.eye(4) * 0.01
        s = g.constant(h) @ p @ ht + np.eye(2) * 0.1
        a, b, c, d = (g.piece(g.piece(s, [r], [r + 1], 0), [q], [q + 1], 1) for r in (0, 1) for q in (0, 1))
        inverse = g.Concat(g.Concat(d, g.Neg(b), axis=1), g.Concat(g.Neg(c), a, axis=1), axis=0)
        gain = p @ ht @ (inverse / (a * d - b * c))
        x = x + (_at(g, z, i) - x @ ht) @ g.Transpose(gain, perm=[1, 0])
        p = p - gain @ g.constant(h) @ p
        return [x, p, g.Concat(out, x, axis=0)], []

    states = [g.constant(np.zeros((1, 4))), g.constant(np.eye(4)), g.constant(np.zeros((0, 4)))]
    g.output(g.loop(t, states, body, [(F32, [1, 4]), (F32, [4, 4]), (F32, ["k", 4])])[2])
    return g.model(), _floats((1, "n", 2))


def floyd_warshall(*, is_open: bool) -> Made:
    """Shortest paths: a row and a column of each step."""
    g = Graph()
    n: int | str = "n" if is_open else 48
    d = g.input("d", F32, [n, n])

    def body(k: Value, d: Value) -> Any:
        start = g.Unsqueeze(k, [0])
        stop = g.Add(start, [1])
        return [g.Min(d, g.piece(d, start, stop, 1) + g.piece(d, start, stop, 0))], []

    g.output(*g.loop(g.scalar(g.extent(d, 0)), [d], body, [(F32, [n, n])]))

    def inputs(n: int, rng: np.random.Generator) -> list[Any]:
        n = n if is_open else 48
        return [rng.random((n, n)).astype(F32)]

    return g.model(), inputs


def autoregressive() -> Made:
    """DeepAR: each output is the next input."""
    g = Graph()
    x, t = _sequence(g, 4)
    w, u, o = g.weight(4, D), g.weight(D, D), g.weight(D, 4)

    def body(i: Value, h: Value, y: Value, out: Value) -> Any:
        h = g.Tanh((y + _at(g, x, i)) @ w + h @ u)
        y = h @ o
        return [h, y, g.Concat(out, g.Unsqueeze(y, [1]), axis=1)], []

    states = [g.constant(np.zeros(shape)) for shape in [(1, D), (1, 4), (1, 0, 4)]]
    g.output(g.loop(t, states, body, [(F32, [1, D]), (F32, [1, 4]), (F32, [1, "k", 4])])[2])
    return g.model(), _floats((1, "n", 4))


def greedy(*, has_cache: bool) -> Made:
    """Tokens one by one, with a cache that grows in the loop, or a state of fixed size."""
    g = Graph()
    start = g.input("start", I64, [1])
    trips = g.input("trips", I64, [])
    embedding, w, o = g.weight(50, D), g.weight(D, D), g.weight(D, 50)
    wk, wv = g.weight(D, D), g.weight(D, D)

    def body(i: Value, token: Value, h: Value, tokens: Value, keys: Value, values: Value) -> Any:
        x = g.Gather(embedding, token, axis=0)
        h = g.Tanh(x + h @ w)
        y = h
        if has_cache:
            keys, values = g.Concat(keys, h @ wk, axis=0), g.Concat(values, h @ wv, axis=0)
            y = g.Softmax(h @ g.Transpose(keys, perm=[1, 0]), axis=-1) @ values
        token = g.ArgMax(y @ o, axis=1, keepdims=0)
        return [token, h, g.Concat(tokens, token, axis=0), keys, values], []

    shapes = [(I64, [1]), (F32, [1, D]), (I64, ["k"]), (F32, ["k2", D]), (F32, ["k3", D])]
    states = [start, g.constant(np.zeros((1, D))), g.constant(np.zeros(0, I64))]
    states += [g.constant(np.zeros((0, D)))] * 2
    g.output(g.loop(trips, states, body, shapes)[2])
    return g.model(), lambda n, rng: [np.array([3]), np.array(n)]


def beam() -> Made:
    """The four best continuations in each step, with what led to them."""
    g = Graph()
    trips = g.input("trips", I64, [])
    embedding, w, o = g.weight(30, D), g.weight(D, D), g.weight(D, 30)

    def body(i: Value, token: Value, h: Value, score: Value, tokens: Value) -> Any:
        h = g.Tanh(g.Gather(embedding, token, axis=0) + h @ w)
        logits = g.LogSoftmax(h @ o, axis=1) + g.Unsqueeze(score, [1])
        score, place = g.op("TopK", [g.Reshape(logits, [-1]), [4]], 2, axis=0)
        token, origin = g.Mod(place, 30), g.Div(place, 30)
        tokens = g.Concat(g.Gather(tokens, origin, axis=0), g.Unsqueeze(token, [1]), axis=1)
        return [token, g.Gather(h, origin, axis=0), score, tokens], []

    shapes = [(I64, [4]), (F32, [4, D]), (F32, [4]), (I64, [4, "k"])]
    states = [g.constant(np.arange(4)), g.constant(np.zeros((4, D))), g.constant(np.zeros(4))]
    g.output(*g.loop(trips, [*states, g.constant(np.zeros((4, 0), I64))], body, shapes)[2:])
    return g.model(), lambda n, rng: [np.array(n)]


def until_end(*, has_cache: bool, is_bounded: bool = True) -> Made:
    """Tokens one by one until one of them is the last, with a cache of what came before or without one."""
    g = Graph()
    start = g.input("start", I64, [1])
    trips = g.input("trips", I64, []) if is_bounded else g.constant(np.array(np.iinfo(I64).max))
    embedding, w, o = g.weight(50, D), g.weight(D, D), g.weight(D, 50)
    wk, wv = g.weight(D, D), g.weight(D, D)

    def body(i: Value, token: Value, h: Value, tokens: Value, *cache: Value) -> Any:
        h = g.Tanh(g.Gather(embedding, token, axis=0) + h @ w)
        y = h
        if has_cache:
            cache = g.Concat(cache[0], h @ wk, axis=0), g.Concat(cache[1], h @ wv, axis=0)
            y = g.Softmax(h @ g.Transpose(cache[0], perm=[1, 0]), axis=-1) @ cache[1]
        token = g.ArgMax(y @ o, axis=1, keepdims=0)
        goes_on = g.And(g.Not(g.Equal(g.Squeeze(token), END)), g.Less(i, 100))
        return [goes_on, token, h, g.Concat(tokens, token, axis=0), *cache], []

    shapes = [(I64, [1]), (F32, [1, D]), (I64, ["k"])]
    states = [start, g.constant(np.zeros((1, D))), g.constant(np.zeros(0, I64))]
    if has_cache:
        shapes += [(F32, ["k2", D]), (F32, ["k3", D])]
        states += [g.constant(np.zeros((0, D)))] * 2
    _, h, tokens, *_ = g.loop(trips, states, body, shapes, goes_on=True)
    g.output(tokens, g.ReduceMean(g.Gather(embedding, tokens, axis=0), axes=[0], keepdims=0) + h)
    return g.model(), lambda n, rng: [np.array([n % 50]), np.array(n)][: 1 + is_bounded]


def by_position() -> Made:
    """Tokens one by one, each with the embedding of its place: how many there are so far."""
    g = Graph()
    start, trips = g.input("start", I64, [1]), g.input("trips", I64, [])
    embedding, positions, w, o = g.weight(50, D), g.weight(512, D), g.weight(D, D), g.weight(D, 50)

    def body(i: Value, token: Value, tokens: Value, keys: Value) -> Any:
        x = g.Gather(embedding, token, axis=0) + g.Gather(positions, g.extent(tokens, 0), axis=0)
        keys = g.Concat(keys, x @ w, axis=0)
        y = g.Softmax(x @ g.Transpose(keys, perm=[1, 0]), axis=-1) @ keys
        y = y * g.Sqrt(g.Cast(g.extent(keys, 0), to=1))
        token = g.ArgMax(y @ o, axis=1, keepdims=0)
        return [token, g.Concat(tokens, token, axis=0), keys], []

    states = [start, g.constant(np.zeros(0, I64)), g.constant(np.zeros((0, D)))]
    g.output(g.loop(trips, states, body, [(I64, [1]), (I64, ["k"]), (F32, ["j", D])])[1])
    return g.model(), lambda n, rng: [np.array([n % 50]), np.array(n)]


def masked_prefix() -> Made:
    """Tokens one by one; each looks at all before it again, under a mask that positions make."""
    g = Graph()
    start, trips = g.input("start", I64, [1]), g.input("trips", I64, [])
    embedding, w, o = g.weight(50, D), g.weight(D, D), g.weight(D, 50)

    def body(i: Value, token: Value, tokens: Value) -> Any:
        tokens = g.Concat(tokens, token, axis=0)
        count = g.extent(tokens, 0)
        x = g.Gather(embedding, tokens, axis=0) @ w
        places = g.Range(g.constant(np.array(0)), g.Squeeze(count), g.constant(np.array(1)))
        mask = g.Where(g.LessOrEqual(g.Unsqueeze(places, [0]), g.Unsqueeze(places, [1])), 0.0, -1e9)
        y = g.Softmax(x @ g.Transpose(x, perm=[1, 0]) + mask, axis=-1) @ x
        last = g.Gather(y, g.Sub(count, [1]), axis=0)
        return [g.ArgMax(last @ o, axis=1, keepdims=0), tokens], []

    g.output(g.loop(trips, [start, g.constant(np.zeros(0, I64))], body, [(I64, [1]), (I64, ["k"])])[1])
    return g.model(), lambda n, rng: [np.array([n % 50]), np.array(n)]


def until_all_end() -> Made:
    """A batch of any size, one token at a time, until all have come to the end."""
    g = Graph()
    start, trips = g.input("start", I64, ["b"]), g.input("trips", I64, [])
    embedding, w, o = g.weight(50, D), g.weight(D, D), g.weight(D, 50)
    h0 = g.Expand(g.constant(np.zeros((1, D))), g.Concat(g.extent(start, 0), np.array([D]), axis=0))
    tokens0, keys0 = (g.Slice(g.Unsqueeze(each, [1]), [0], [0], [1]) for each in (start, h0))

    def body(i: Value, token: Value, h: Value, tokens: Value, keys: Value) -> Any:
        h = g.Tanh(g.Gather(embedding, token, axis=0) + h @ w)
        row = g.Unsqueeze(h, [1])
        keys = g.Concat(keys, row, axis=1)
        y = g.Softmax(row @ g.Transpose(keys, perm=[0, 2, 1]), axis=-1) @ keys
        token = g.ArgMax(g.Squeeze(y, [1]) @ o, axis=1, keepdims=0)
        tokens = g.Concat(tokens, g.Unsqueeze(token, [1]), axis=1)
        left = g.ReduceMax(g.Cast(g.Not(g.Equal(token, END)), to=6), keepdims=0)
        return [g.Cast(left, to=9), token, h, tokens, keys], []

    shapes = [(I64, ["b"]), (F32, ["b", D]), (I64, ["b", "k"]), (F32, ["b", "k", D])]
    g.output(g.loop(trips, [start, h0, tokens0, keys0], body, shapes, goes_on=True)[2])
    return g.model(), lambda n, rng: [np.arange(1 + n % 4) + n % 9, np.array(n)]


def converging() -> Made:
    """A fixed point, with what led to it."""
    g = Graph()
    x = g.input("x", F32, [1, D])
    w = g.weight(D, D)

    def body(i: Value, h: Value) -> Any:
        following = g.Tanh(h @ w * 0.5 + x)
        change = g.ReduceMax(g.Abs(g.Sub(following, h)), keepdims=0)
        return [g.Greater(change, 1e-3), following], [change, g.Squeeze(following, [0])]

    h, changes, states = g.loop(None, [g.constant(np.zeros((1, D)))], body, [(F32, [1, D])], goes_on=True)
    g.output(h, changes, g.ReduceMean(states, axes=[0], keepdims=0))
    return g.model(), lambda n, rng: [(rng.standard_normal((1, D)) * n / 8).astype(F32)]


def read_until() -> Made:
    """Steps of a sequence until a gate closes, and the mean of all steps that were read."""
    g = Graph()
    x, t = _sequence(g)
    w = g.weight(D, D)

    def body(i: Value, h: Value, read: Value) -> Any:
        h = g.Tanh(_at(g, x, i) + h @ w)
        closed = g.Greater(g.ReduceMean(h, keepdims=0), 0.3)
        return [g.Not(closed), h, g.Concat(read, g.Unsqueeze(h, [1]), axis=1)], []

    shapes = [(F32, [1, D]), (F32, [1, "k", D])]
    states = [g.constant(np.zeros((1, D))), g.constant(np.zeros((1, 0, D)))]
    h, read = g.loop(t, states, body, shapes, goes_on=True)
    g.output(h, read, g.Softmax(read @ g.weight(D, D), axis=1))
    return g.model(), _floats((1, "n", D))


def viterbi() -> Made:
    """The best path through 12 tags: forward with pointers, then back."""
    g = Graph()
    x, t = _sequence(g, 12)
    moves = g.weight(12, 12)

    def forward(i: Value, score: Value) -> Any:
        both = g.Unsqueeze(score, [2]) + moves
        best = g.ReduceMax(both, axes=[1], keepdims=0)
        return [best + _at(g, x, i)], [g.ArgMax(both, axis=1, keepdims=0)]

    score, pointers = g.loop(t, [g.constant(np.zeros((1, 12)))], forward, [(F32, [1, 12])])
    last = g.ArgMax(score, axis=1, keepdims=0)

    def back(i: Value, tag: Value, path: Value) -> Any:
        own = g.Gather(pointers, g.Sub(g.Sub(t, i), 1), axis=0)
        tag = g.Squeeze(g.GatherElements(own, g.Unsqueeze(tag, [1]), axis=1), [1])
        return [tag, g.Concat(tag, path, axis=0)], []

    g.output(score, g.loop(t, [last, g.constant(np.zeros(0, I64))], back, [(I64, [1]), (I64, ["k"])])[1])
    return g.model(), _floats((1, "n", 12))


def ctc_forward() -> Made:
    """The sums of a CTC loss for 9 labels."""
    g = Graph()
    x, t = _sequence(g, 20)
    labels = g.constant(np.arange(9) % 5)

    def body(i: Value, alpha: Value) -> Any:
        own = g.Gather(g.LogSoftmax(_at(g, x, i), axis=1), labels, axis=1)
        one = g.Concat(np.full((1, 1), -1e9), g.piece(alpha, [0], [8], 1), axis=1)
        top = g.Max(alpha, one)
        return [top + g.Log(g.Exp(alpha - top) + g.Exp(one - top)) + own], []

    g.output(*g.loop(t, [g.constant(np.array([[0.0] + [-1e9] * 8]))], body, [(F32, [1, 9])]))
    return g.model(), _floats((1, "n", 20))


def edit_distance() -> Made:
    """Rows of the table of a weighted edit distance, appended."""
    g = Graph()
    x, t = _sequence(g, 24)

    def body(i: Value, row: Value, rows: Value) -> Any:
        own = g.Abs(_at(g, x, i))
        moved = g.Concat(g.piece(row, [0], [1], 1) + 1.0, g.piece(row, [0], [23], 1), axis=1)
        row = g.Min(row + 1.0, moved + own)
        return [row, g.Concat(rows, row, axis=0)], []

    states = [g.constant(np.arange(24.0)[None]), g.constant(np.zeros((0, 24)))]
    g.output(g.loop(t, states, body, [(F32, [1, 24]), (F32, ["k", 24])])[1])
    return g.model(), _floats((1, "n", 24))


def power_iteration() -> Made:
    """Until the vector stands still."""
    g = Graph()
    a = g.input("a", F32, ["n", "n"])
    x0 = g.Expand(np.ones((1, 1)), g.Concat(g.extent(a, 0), [1], axis=0))

    def body(i: Value, x: Value) -> Any:
        y = a @ x
        y = y / g.ReduceL2(y, axes=[0], keepdims=1)
        change = g.ReduceMax(g.Abs(y - x), axes=[0, 1], keepdims=0)
        return [g.Greater(change, 1e-5), y], []

    g.output(*g.loop(g.constant(100), [x0], body, [(F32, ["n", 1])], goes_on=True))

    def inputs(n: int, rng: np.random.Generator) -> list[Any]:
        a = rng.random((n, n))
        return [(a @ a.T / n + np.eye(n)).astype(F32)]

    return g.model(), inputs


def sinkhorn() -> Made:
    """Rows and columns normalised in turn."""
    g = Graph()
    x = g.input("x", F32, ["n", "m"])

    def body(i: Value, k: Value) -> Any:
        k = k / g.ReduceSum(k, [1], keepdims=1)
        return [k / g.ReduceSum(k, [0], keepdims=1)], []

    g.output(*g.loop(g.constant(20), [g.Exp(x)], body, [(F32, ["n", "m"])]))
    return g.model(), lambda n, rng: [rng.standard_normal((n, n + 3)).astype(F32)]


def runge_kutta() -> Made:
    """An equation of motion, its path appended."""
    g = Graph()
    x0, trips = g.input("x0", F32, [8, 3]), g.input("trips", I64, [])
    w = g.weight(3, 3)

    def slope(x: Value) -> Value:
        return g.Tanh(x @ w) - x * 0.1

    def body(i: Value, x: Value, path: Value) -> Any:
        k1 = slope(x)
        k2 = slope(x + k1 * 0.05)
        k3 = slope(x + k2 * 0.05)
        k4 = slope(x + k3 * 0.1)
        x = x + (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (0.1 / 6)
        return [x, g.Concat(path, g.Unsqueeze(x, [0]), axis=0)], []

    states = [x0, g.constant(np.zeros((0, 8, 3)))]
    g.output(g.loop(trips, states, body, [(F32, [8, 3]), (F32, ["k", 8, 3])])[1])
    return g.model(), lambda n, rng: [rng.standard_normal((8, 3)).astype(F32), np.array(n)]


def convolutional() -> Made:
    """A recurrent convolution over frames."""
    g = Graph()
    x = g.input("x", F32, ["t", 4, 12, 12])
    w, u = (g.constant(g.random.standard_normal((4, 4, 3, 3)) * 0.1) for _ in range(2))

    def body(i: Value, h: Value, out: Value) -> Any:
        start = g.Unsqueeze(i, [0])
        frame = g.piece(x, start, g.Add(start, [1]), 0)
        h = g.Tanh(g.Conv(frame, w, pads=[1] * 4) + g.Conv(h, u, pads=[1] * 4))
        return [h, g.Concat(out, h, axis=0)], []

    states = [g.constant(np.zeros((1, 4, 12, 12))), g.constant(np.zeros((0, 4, 12, 12)))]
    shapes = [(F32, [1, 4, 12, 12]), (F32, ["k", 4, 12, 12])]
    g.output(g.loop(g.scalar(g.extent(x, 0)), states, body, shapes)[1])
    return g.model(), _floats(("n", 4, 12, 12))


def pointer() -> Made:
    """A tour: the best place that was not visited, marked by a scatter."""
    g = Graph()
    x = g.input("x", F32, ["n", D])
    w = g.weight(D, D)
    n = g.extent(x, 0)
    seen0 = g.Expand(np.zeros(1), n)

    def body(i: Value, h: Value, seen: Value, tour: Value) -> Any:
        score = g.Squeeze(x @ g.Transpose(h @ w, perm=[1, 0]), [1]) - seen * 1e9
        best = g.ArgMax(score, axis=0, keepdims=1)
        seen = g.ScatterElements(seen, best, np.ones(1, F32), axis=0)
        return [g.Gather(x, best, axis=0), seen, g.Concat(tour, best, axis=0)], []

    states = [g.constant(np.ones((1, D))), seen0, g.constant(np.zeros(0, I64))]
    g.output(g.loop(g.scalar(n), states, body, [(F32, [1, D]), (F32, ["n"]), (I64, ["k"])])[2])
    return g.model(), _floats(("n", D))


def prefix_attention() -> Made:
    """Attention of each step over the steps so far: `x[:, : t + 1]`."""
    g = Graph()
    x, t = _sequence(g)
    w = g.weight(D, D)

    def body(i: Value, out: Value) -> Any:
        past = g.Squeeze(g.piece(x, [0], g.Add(g.Unsqueeze(i, [0]), [1]), 1), [0])
        y = g.Softmax((_at(g, x, i) @ w) @ g.Transpose(past, perm=[1, 0]), axis=-1) @ past
        return [g.Concat(out, y, axis=0)], []

    g.output(*g.loop(t, [g.constant(np.zeros((0, D)))], body, [(F32, ["k", D])]))
    return g.model(), _floats((1, "n", D))


def nested() -> Made:
    """A loop inside of a loop, with a sum of both counters."""
    g = Graph()
    x, t = _sequence(g)

    def outer(i: Value, h: Value) -> Any:
        xt = _at(g, x, i)

        def inner(j: Value, h: Value) -> Any:
            return [g.Tanh(h * 0.9 + xt)], []

        (h,) = g.loop(g.constant(3), [h], inner, [(F32, [1, D])])
        return [h], [h]

    g.output(*g.loop(t, [g.constant(np.zeros((1, D)))], outer, [(F32, [1, D])]))
    return g.model(), _floats((1, "n", D))


LOOPS: dict[str, Callable[[], Made]] = {
    "append, axis 0": lambda: append_cell(0),
    "append, axis 1": lambda: append_cell(1),
    "two appended states": two_appended,
    "slices and a stack": sliced_scan,
    "LSTM by hand": lstm,
    "Mamba scan": selective_scan,
    "RWKV": wkv,
    "DeltaNet": delta_rule,
    "Kalman filter": kalman,
    "Floyd-Warshall": lambda: floyd_warshall(is_open=False),
    "Floyd-Warshall, open": lambda: floyd_warshall(is_open=True),
    "DeepAR": autoregressive,
    "greedy decoding": lambda: greedy(has_cache=False),
    "greedy decoding, cache": lambda: greedy(has_cache=True),
    "beam decoding": beam,
    "greedy until the end": lambda: until_end(has_cache=False),
    "greedy until the end, cache": lambda: until_end(has_cache=True),
    "greedy without a limit": lambda: until_end(has_cache=True, is_bounded=False),
    "greedy by position": by_position,
    "a prefix under a mask": masked_prefix,
    "greedy until all end": until_all_end,
    "fixed point": converging,
    "read until a gate closes": read_until,
    "Viterbi": viterbi,
    "CTC forward": ctc_forward,
    "edit distance": edit_distance,
    "power iteration": power_iteration,
    "Sinkhorn": sinkhorn,
    "Runge-Kutta": runge_kutta,
    "ConvRNN": convolutional,
    "pointer network": pointer,
    "attention to a prefix": prefix_attention,
    "loop in a loop": nested,
}
