"""All plans of trips of a small graph, one after the other, and random graphs and templates to try them on.

Nothing of the package's law, matcher or search is used: each complete plan is judged from scratch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from fuse_dialect.templates.graph import HardwareGraph, HardwareNode, HardwareRole
from fuse_dialect.templates.objective import Objective
from fuse_dialect.templates.template import (
    HardwareLimits,
    HardwareLink,
    HardwareRegion,
    HardwareTemplate,
    HardwareUnit,
    OperatorMapping,
)

Walks = Sequence[Sequence[int]]


def random_template(random: Random) -> HardwareTemplate:
    """A valid template of one to seven units, often with cycles, dead ends and limits."""
    count = random.randint(1, 7)
    units = tuple(
        HardwareUnit(
            f"u{i}",
            "abcd"[random.randrange(4)],
            max(1, random.randint(-3, 2)),
            random.randint(1, 8),
            random.randint(1, 8),
        )
        for i in range(count)
    )
    if random.random() < 0.3:
        chosen = random.randrange(count)
        units = (*units[:chosen], replace(units[chosen], required=True), *units[chosen + 1 :])
    if random.random() < 0.3:
        # The last unit in the order of links is behind all others, but for cycles: data can always come to it.
        kept = {random.randrange(count), count - 1}
        units = tuple(replace(unit, stores=index in kept) for index, unit in enumerate(units))
    links = {HardwareLink(f"u{random.randrange(i)}", f"u{i}"): None for i in range(1, count)}
    for _ in range(random.randint(0, 5)):
        links[HardwareLink(f"u{random.randrange(count)}", f"u{random.randrange(count)}")] = None
    if units[-1].stores:
        links.update({HardwareLink(unit.name, f"u{count - 1}"): None for unit in units})
    limits = HardwareLimits(
        operands=max(0, random.randint(-6, 4)),
        buffer_bytes=max(0, random.randint(-6, 1) * 100),
        channel_alignment=max(0, random.randint(-6, 2)),
        results=max(0, random.randint(-4, 2)),
        products=max(0, random.randint(-4, 2)),
        feature_bytes=max(0, random.randint(-6, 4) * 100),
    )
    kinds = sorted({unit.kind for unit in units})
    mappings = (OperatorMapping("fuse.exp", tuple(kinds)),)
    regions = (
        HardwareRegion("near", ("inputs", "outputs"), random.randint(2, 5) * 100),
        HardwareRegion("middle", ("weights", "between", "inputs"), random.randint(1, 4) * 100),
        HardwareRegion("far", ("between",), random.randint(0, 1) * 64),
    )
    template = HardwareTemplate(
        "random",
        "u0",
        units,
        tuple(links),
        mappings,
        limits=limits,
        bandwidth=random.randint(1, 64),
        regions=regions if random.random() < 0.3 else (),
    )
    template.validate()
    return template


def random_graph(random: Random, template: HardwareTemplate, most: int = 14) -> HardwareGraph:
    """A graph of up to so many operators, most of which units run; views are left out."""
    kinds = sorted({unit.kind for unit in template.units})
    nodes = [HardwareNode(HardwareRole.INPUT, "%in")]
    sizes = [64]
    for number in range(1, random.randint(3, most + 1)):
        near = random.random() < 0.7
        reads = tuple(
            random.randrange(max(0, number - 3) if near else 0, number) for _ in range(random.choice((1, 1, 2, 3)))
        )
        dice, label = random.random(), f"%{number}"
        if dice < 0.08:
            nodes.append(HardwareNode(HardwareRole.CONSTANT, label))
        elif dice < 0.18:
            nodes.append(HardwareNode(HardwareRole.OPERATOR, label, reads=reads))
        else:
            own = tuple(dict.fromkeys(random.choice(kinds) for _ in range(random.choice((1, 1, 2)))))
            streams = frozenset(reads[:1]) if random.random() < 0.15 else None
            widened = frozenset(reads[-1:]) if random.random() < 0.1 else frozenset[int]()
            nodes.append(
                HardwareNode(
                    HardwareRole.OPERATOR,
                    label,
                    own,
                    own,
                    reads,
                    widened,
                    channels=random.choice((0, 0, 0, 2, 3)),
                    streams=streams,
                    operations=random.randint(0, 200),
                )
            )
        sizes.append(random.choice((32, 64, 128)))
    used = {value for node in nodes for value in node.reads}
    escapes = [number not in used or random.random() < 0.08 for number in range(len(nodes))]
    return HardwareGraph(nodes, range(len(nodes)), sizes, escapes)


def assignments(template: HardwareTemplate, kinds: Sequence[Sequence[str]]) -> Iterator[tuple[int, ...]]:
    """All ways to run operators of these kinds on units in one trip."""
    number = {unit.name: index for index, unit in enumerate(template.units)}
    ahead = {index: {index} for index in number.values()}
    for _ in template.units:
        for link in template.links:
            for reached in ahead.values():
                if number[link.source] in reached:
                    reached.add(number[link.sink])
    pending: list[tuple[int, ...]] = [()]
    while pending:
        path = pending.pop()
        if len(path) == len(kinds):
            yield path
            continue
        start = path[-1] if path else number[template.source]
        pending += [
            (*path, index)
            for index, unit in enumerate(template.units)
            if unit.kind in kinds[len(path)] and index in ahead[start] and path.count(index) < unit.capacity
        ]


def is_trip(graph: HardwareGraph, template: HardwareTemplate, walk: Sequence[int], *, ends: bool = True) -> bool:
    """Whether the operators may be one trip, in this order; or the first of one, if it does not end with them."""
    nodes, limits = graph.nodes, template.limits
    for place, number in enumerate(walk):
        inside = [value for value in nodes[number].reads if value in walk[:place]]
        if place and (not inside or set(inside) != {walk[place - 1]}):
            return False
        if any(value in nodes[number].widened for value in inside):
            return False
        streams = nodes[number].streams
        if streams is not None and any(value not in streams for value in inside):
            return False
        if limits.buffer_bytes and any((graph.value_bytes[value] or 0) > limits.buffer_bytes for value in inside):
            return False
    if limits.channel_alignment and any((nodes[each].channels or 0) % limits.channel_alignment for each in walk):
        return False
    if limits.products and sum(nodes[each].channels != 0 for each in walk) > limits.products:
        return False
    outside = {value for each in walk for value in nodes[each].reads if value not in walk}
    if limits.operands and len(outside) > limits.operands:
        return False
    left = [each for each in walk[:-1] if is_written(graph, walk, each)]
    if limits.results and len(left) + 1 > limits.results:
        return False
    features = [value for value in outside if nodes[value].role is not HardwareRole.CONSTANT]
    if (
        limits.feature_bytes
        and sum(graph.value_bytes[value] or 0 for value in (*features, *walk)) > limits.feature_bytes
    ):
        return False
    if template.regions and not has_room(graph, template, walk):
        return False
    return any(True for _ in placements(graph, template, walk, ends=ends))


def has_room(graph: HardwareGraph, template: HardwareTemplate, walk: Sequence[int]) -> bool:
    """Whether each kind of bytes of a trip goes into the first of its regions that has room."""
    outside = {value for each in walk for value in graph.nodes[each].reads if value not in walk}
    weights = {value for value in outside if graph.nodes[value].role is HardwareRole.CONSTANT}
    outputs = {value for value in walk if value == walk[-1] or is_written(graph, walk, value)}
    kinds = {"inputs": outside - weights, "weights": weights, "outputs": outputs, "between": set(walk) - outputs}
    room = [region.bytes or 10**9 for region in template.regions]
    for kind, values in kinds.items():
        size = sum(graph.value_bytes[value] or 0 for value in values)
        places = [place for place, region in enumerate(template.regions) if kind in region.holds]
        chosen = next((place for place in places if room[place] >= size), None)
        if chosen is None:
            return False
        room[chosen] -= size
    return True


def placements(
    graph: HardwareGraph, template: HardwareTemplate, walk: Sequence[int], *, ends: bool = True
) -> Iterator[tuple[int, ...]]:
    """All ways to run a trip on units that write what must be written, and of which none is left out that must not."""
    required = {index for index, unit in enumerate(template.units) if unit.required and ends}
    storing = {index for index, unit in enumerate(template.units) if unit.stores}
    written = {place for place, each in enumerate(walk[:-1]) if storing and is_written(graph, walk, each)}
    for path in assignments(template, [graph.nodes[each].kinds for each in walk]):
        if required <= set(path) and all(path[place] in storing for place in written):
            yield path


def is_written(graph: HardwareGraph, walk: Sequence[int], value: int) -> bool:
    """Whether something beside the trip reads the value."""
    return graph.escapes[value] or any(
        value in node.reads for number, node in enumerate(graph.nodes) if number not in walk
    )


def has_cycle(graph: HardwareGraph, walks: Walks) -> bool:
    """Whether trips wait for each other."""
    name = {number: (walk[0] if walk else number) for walk in walks for number in walk}
    before: dict[int, set[int]] = {}
    for number, node in enumerate(graph.nodes):
        own = name.get(number, number)
        before.setdefault(own, set()).update(name.get(value, value) for value in node.reads)
        before[own].discard(own)
    while before:
        free = [each for each, waits in before.items() if not waits & before.keys()]
        if not free:
            return True
        for each in free:
            del before[each]
    return False


def cost_of(graph: HardwareGraph, template: HardwareTemplate, walks: Walks, objective: Objective) -> float:
    """The cost of a plan, from its definition."""
    if objective is Objective.TRIPS:
        return len(walks)
    total = 0.0
    for walk in walks:
        outside = {value for each in walk for value in graph.nodes[each].reads if value not in walk}
        written = [value for value in walk if is_written(graph, walk, value)]
        moved = sum(graph.value_bytes[value] or 0 for value in (*outside, *written))
        if objective is Objective.BYTES:
            total += moved
            continue
        busiest = min(
            max(
                sum(
                    max(graph.nodes[each].operations / unit.operations, (graph.value_bytes[each] or 0) / unit.bytes)
                    for each, on in zip(walk, units, strict=True)
                    if on == index
                )
                for index, unit in enumerate(template.units)
            )
            for units in placements(graph, template, walk)
        )
        total += max(busiest, moved / template.bandwidth)
    return total


def full_cost(
    graph: HardwareGraph, template: HardwareTemplate, walks: Walks, objective: Objective
) -> tuple[int, float]:
    """Operators that stay on the host although a unit runs them, and the cost."""
    stranded = sum(bool(node.kinds) for node in graph.nodes) - sum(map(len, walks))
    return stranded, cost_of(graph, template, walks, objective)


def fewest(graph: HardwareGraph, template: HardwareTemplate, objective: Objective) -> tuple[int, float]:
    """The least cost of all plans."""
    nodes = graph.nodes
    operators = [number for number, node in enumerate(nodes) if node.kinds]
    starts = {number for number in operators if is_trip(graph, template, [number], ends=False)}
    may_stay = {number for number in operators if not is_trip(graph, template, [number])}
    best = (len(nodes), float("inf"))
    pending: list[tuple[int, tuple[tuple[int, ...], ...]]] = [(0, ())]
    while pending:
        place, walks = pending.pop()
        if place == len(operators):
            if not has_cycle(graph, walks) and all(is_trip(graph, template, walk) for walk in walks):
                best = min(best, full_cost(graph, template, walks, objective))
            continue
        if place - sum(map(len, walks)) > best[0]:
            continue
        number = operators[place]
        if number in starts:
            pending.append((place + 1, (*walks, (number,))))
        if number in may_stay:
            pending.append((place + 1, walks))
        for index, walk in enumerate(walks):
            if walk[-1] in nodes[number].reads and is_trip(graph, template, (*walk, number), ends=False):
                pending.append((place + 1, (*walks[:index], (*walk, number), *walks[index + 1 :])))
    return best
