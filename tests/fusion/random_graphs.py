"""Random graphs of several shapes for tests of the analyses."""

from collections.abc import Callable, Iterable, Sequence
from random import Random

from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.pattern_kind import PatternKind as Kind

Operands = list[list[int]]
"""For each node the nodes whose values it reads, all of them smaller."""

KIND_MIXES: tuple[Sequence[Kind], ...] = (
    [Kind.ELEMWISE] * 4 + [Kind.BROADCAST] * 3 + [Kind.INJECTIVE],
    [Kind.ELEMWISE] * 5 + [Kind.BROADCAST] * 2 + [Kind.OUT_EWISE_FUSABLE] * 2,
    [Kind.ELEMWISE] * 9 + [Kind.OUT_EWISE_FUSABLE],
    [Kind.ELEMWISE] * 4 + [Kind.INJECTIVE] * 4 + [Kind.TUPLE] * 3 + [Kind.COMM_REDUCE],
    [Kind.ELEMWISE] * 9 + [Kind.BROADCAST, Kind.INJECTIVE, Kind.COMM_REDUCE, Kind.OUT_EWISE_FUSABLE, Kind.TUPLE],
    list(Kind),
)


def chain(rng: Random, size: int) -> Operands:
    """Each node reads the one before, some of them twice."""
    return [[], *([node - 1] * rng.choice((1, 1, 1, 2)) for node in range(1, size))]


def layered(rng: Random, size: int) -> Operands:
    """Layers of a few nodes that read nodes of the layer before."""
    operands: Operands = []
    below: list[int] = []
    while len(operands) < size:
        layer = range(len(operands), len(operands) + rng.randint(1, 5))
        operands += [rng.choices(below, k=rng.randint(1, 3)) if below else [] for _ in layer]
        below = list(layer)
    return operands


def windowed(rng: Random, size: int) -> Operands:
    """Nodes read what is near, and sometimes something far away."""
    window = rng.choice((2, 4, 16))
    return [
        [
            rng.randrange(node) if rng.random() < 0.1 else rng.randrange(max(0, node - window), node)
            for _ in range(rng.choice((0, 1, 1, 2, 2, 3)) if node else 0)
        ]
        for node in range(size)
    ]


def nested_skips(rng: Random, size: int) -> Operands:
    """A way down and a way up, with skips between equal heights as in a U-Net."""
    half = max(1, size // 2)
    down = [[node - 1] if node else [] for node in range(half)]
    up = [[node - 1, 2 * half - 1 - node] if rng.random() < 0.8 else [node - 1] for node in range(half, 2 * half)]
    return down + up


def parallel_skips(rng: Random, size: int) -> Operands:
    """A chain with skips from anywhere to its end, or from its start to anywhere."""
    to_end = rng.random() < 0.5
    operands = [[node - 1] if node else [] for node in range(size)]
    for node in range(1, size - 1):
        if rng.random() < 0.3:
            operands[size - 1 if to_end else node].append(node if to_end else 0)
    return operands


def converging(rng: Random, size: int) -> Operands:
    """Nodes are read by some that come soon after, so all paths end in the last node, and regions overlap."""
    window = rng.choice((2, 3, 5, 8))
    operands: Operands = [[] for _ in range(size)]
    for node in range(size - 1):
        for _ in range(rng.choice((1, 1, 2, 2, 3))):
            operands[rng.randint(node + 1, min(size - 1, node + window))].append(node)
    return operands


def fans(rng: Random, size: int) -> Operands:
    """One node is read by many, whose values come together in a tree or in one node; then it starts again."""
    operands: Operands = [[]]
    while len(operands) < size:
        hub = len(operands) - 1
        leaves = list(range(len(operands), len(operands) + rng.randint(2, 8)))
        operands += [[hub] for _ in leaves]
        arity = rng.choice((2, len(leaves)))
        while len(leaves) > 1:
            taken, leaves = leaves[:arity], leaves[arity:]
            leaves.append(len(operands))
            operands.append(taken)
    return operands


def series_parallel(rng: Random, size: int) -> Operands:
    """Edges of one edge are replaced by two in a row or two side by side until the graph is large enough."""
    edges = [(0.0, 1.0)]
    while len(edges) < size:
        source, sink = edges.pop(rng.randrange(len(edges)))
        middle = source + (sink - source) * rng.uniform(0.3, 0.7)
        edges += [(source, middle), (middle, sink)]
        if rng.random() < 0.5:
            edges.append((source, sink))
    number = {place: node for node, place in enumerate(sorted({place for edge in edges for place in edge}))}
    operands: Operands = [[] for _ in number]
    for source, sink in edges:
        operands[number[sink]].append(number[source])
    return operands


SHAPES: tuple[Callable[[Random, int], Operands], ...] = (
    chain,
    layered,
    windowed,
    nested_skips,
    parallel_skips,
    converging,
    converging,
    fans,
    series_parallel,
)


def random_graph(rng: Random, size: int) -> ForwardGraph:
    """A valid graph of about `size` nodes, of any shape and mix of kinds, with values and sometimes several outputs."""
    operands = rng.choice(SHAPES)(rng, size)
    mix = rng.choice(KIND_MIXES)
    rare_outputs = rng.choice((0.0, 0.0, 0.03))
    opaque_inputs = rng.choice((0.0, 0.5, 1.0))
    kinds = [rng.choice(mix) if inputs or rng.random() >= opaque_inputs else Kind.OPAQUE for inputs in operands]
    users: list[list[tuple[int, Kind]]] = [[] for _ in operands]
    for node, inputs in enumerate(operands):
        for value in inputs:
            users[value].append((node, edge_kind(rng, kinds[node])))
    for edges in users:
        rng.shuffle(edges)
    dead = rng.choice((0.0, 0.5))
    return ForwardGraph(
        kinds=kinds,
        users=users,
        escapes=[rng.random() < rare_outputs or (not edges and rng.random() >= dead) for edges in users],
        reads=[list(read_values(kinds, operands, node)) for node in range(len(kinds))],
        defines=[[node] for node in range(len(kinds))],
        value_weights=[rng.choice((1, 1, 1, 2)) for _ in kinds],
    )


def edge_kind(rng: Random, user: Kind) -> Kind:
    """A kind that an edge into `user` may have."""
    if user is Kind.BROADCAST:
        return rng.choice((Kind.ELEMWISE, Kind.BROADCAST))
    if user is Kind.TUPLE:
        return Kind.INJECTIVE
    return user if rng.random() < 0.97 else Kind.BROADCAST


def read_values(kinds: Sequence[Kind], operands: Operands, node: int) -> Iterable[int]:
    """Values that a node reads: a tuple of kind TUPLE reads nothing, and its users read its fields."""
    if kinds[node] is Kind.TUPLE:
        return
    pending = list(operands[node])
    while pending:
        value = pending.pop()
        if kinds[value] is Kind.TUPLE:
            pending += operands[value]
        else:
            yield value
