"""What a plan of trips costs, by the objective that it is made for."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from fuse_dialect.templates.graph import HardwareGraph
from fuse_dialect.templates.matcher import UnitMatcher
from fuse_dialect.templates.template import HardwareTemplate


class Objective(StrEnum):
    """What there shall be little of."""

    TRIPS = "trips"
    """Trips; of equally many, bytes decide."""
    BYTES = "bytes"
    """Bytes that trips read from memory and write to it."""
    CYCLES = "cycles"
    """Cycles: of each trip those of its busiest unit, or of memory if that takes longer; trips run one by one."""


def trip_bytes(
    graph: HardwareGraph, nodes: Iterable[int], readers: Sequence[Sequence[int]], gives: Sequence[Sequence[int]]
) -> int:
    """Bytes that a trip of these nodes reads and writes, each value once; values of unknown size count nothing.

    Args:
        graph: The graph.
        nodes: Those of the trip, views included.
        readers: For each value of the graph the nodes that read it.
        gives: For each node its values.
    """
    inside = frozenset(nodes)
    reads = dict.fromkeys(
        value
        for number in sorted(inside)
        for value in graph.nodes[number].reads
        if graph.producers[value] not in inside
    )
    written = [
        value
        for number in inside
        for value in gives[number]
        if graph.escapes[value] or any(reader not in inside for reader in readers[value])
    ]
    return sum(graph.value_bytes[value] or 0 for value in (*reads, *written))


def trip_cycles(moved: int, busiest: float, template: HardwareTemplate) -> float:
    """Cycles of a trip: data move while units work."""
    return max(busiest, moved / template.bandwidth if template.bandwidth else 0.0)


def missing_rate(template: HardwareTemplate) -> str | None:
    """What a template does not say that the objective `cycles` asks for; `None` if it says all."""
    mapped = {kind for row in template.mappings for kind in row.kinds}
    for unit in template.units:
        if unit.kind in mapped and not unit.operations and not unit.bytes:
            return f"unit '{unit.name}' has no rate: say 'operations' or 'bytes' a cycle"
    return None if template.bandwidth else "the template has no 'bandwidth' to memory, in bytes a cycle"


def busiest_unit(matcher: UnitMatcher, work: Iterable[tuple[int, int, int]]) -> float:
    """Cycles of the unit that works longest, for its number, operations and bytes of each operator."""
    cycles: dict[int, float] = {}
    for unit, operations, size in work:
        cycles[unit] = cycles.get(unit, 0.0) + matcher.cycles_of(unit, operations, size)
    return max(cycles.values(), default=0.0)
