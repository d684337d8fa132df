"""Where every tensor of a function is while it runs: a pure function of its steps and of all sizes.

1. A tensor that a native kernel writes is in the arena, or in the caller's memory if it is an output.
2. A tensor that a NumPy step gives is *held*: it is an array of its own until its last reader has run.
3. A view, the result of a primitive that only reshapes, is where its operand is.
4. An output that is an input, a constant, or the same memory as another output is copied in the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod

from fuse_dialect.backends.runtime.arena import Lifetime, arrange, most_live_bytes
from fuse_dialect.backends.runtime.entry_graph import Call, EntryGraph, Shape


class Home(Enum):
    """Whose memory a tensor is in."""

    INPUT = "input"
    CONSTANT = "constant"
    OUTPUT = "output"
    ARENA = "arena"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor is."""

    home: Home
    at: int
    """Number of the input or output, offset in the arena, or number of the tensor that is held or constant."""


class How(Enum):
    """How a primitive is run."""

    NATIVE = "native"
    NUMPY = "numpy"
    VIEW = "view"


@dataclass(frozen=True, slots=True)
class Plan:
    """How a function runs on arrays of given shapes."""

    shapes: Sequence[Shape]
    """Of each tensor."""
    places: Sequence[Place]
    """Of each tensor."""
    calls: Sequence[Call]
    """What is run, in order; views are left out."""
    is_native: Sequence[bool]
    """For each of the calls."""
    written: Sequence[bool]
    """For each output, whether a kernel writes it; the others are copied in the end."""
    last_reads: Sequence[Sequence[int]]
    """For each of the calls, the held tensors that nobody reads after it."""
    arena_bytes: int
    held_bytes: int
    """Most bytes of held tensors at a time."""


def make_plan(graph: EntryGraph, shapes: Sequence[Shape], how: Sequence[How]) -> Plan:
    """Places for all tensors.

    Args:
        graph: The function.
        shapes: Sizes of each tensor, all known.
        how: How each primitive is run.

    Complexity: linear in the number of tensors and arguments, apart from `arrange`.
    """
    roots = _roots(graph, how)
    calls = [call for call in graph.calls if how[call.kernel] is not How.VIEW]
    writer, last = _uses(calls, roots)
    places: list[Place | None] = [None] * len(graph.tensors)
    for position, tensor in enumerate(graph.inputs):
        places[tensor] = Place(Home.INPUT, position)
    for tensor in graph.constants:
        places[tensor] = Place(Home.CONSTANT, tensor)
    native = [how[call.kernel] is How.NATIVE for call in calls]
    for tensor, step in writer.items():
        if not native[step]:
            places[tensor] = Place(Home.HELD, tensor)
    written = _place_outputs(graph, roots, places)
    sizes = [prod(shape) * type.dtype.itemsize for shape, type in zip(shapes, graph.tensors, strict=True)]
    in_arena = [tensor for tensor in writer if places[tensor] is None]
    lives = [Lifetime(sizes[tensor], writer[tensor], last[tensor]) for tensor in in_arena]
    layout = arrange(lives)
    for tensor, offset in zip(in_arena, layout.offsets, strict=True):
        places[tensor] = Place(Home.ARENA, offset)
    end = len(calls)
    for tensor in graph.outputs:  # held until it has been handed over
        last[roots[tensor]] = end
    held = [tensor for tensor in writer if not native[writer[tensor]]]
    return Plan(
        shapes=shapes,
        places=[_known(places[root]) for root in roots],
        calls=calls,
        is_native=native,
        written=written,
        last_reads=_last_reads(held, last, end),
        arena_bytes=layout.size,
        held_bytes=most_live_bytes([Lifetime(sizes[tensor], writer[tensor], last[tensor]) for tensor in held]),
    )


def _roots(graph: EntryGraph, how: Sequence[How]) -> list[int]:
    """For each tensor the one whose memory it shows."""
    roots = list(range(len(graph.tensors)))
    for call in graph.calls:
        if how[call.kernel] is How.VIEW:
            roots[call.results[0]] = roots[call.arguments[0]]
    return roots


def _uses(calls: Sequence[Call], roots: Sequence[int]) -> tuple[dict[int, int], dict[int, int]]:
    """For each root that a step writes, that step; for each root the last step that uses it."""
    writer: dict[int, int] = {}
    last: dict[int, int] = {}
    for step, call in enumerate(calls):
        for tensor in call.results:
            writer[tensor] = last[tensor] = step
        for tensor in call.arguments:
            last[roots[tensor]] = step
    return writer, last


def _place_outputs(graph: EntryGraph, roots: Sequence[int], places: list[Place | None]) -> list[bool]:
    """Put what a kernel writes and a caller gets into the caller's memory; say which outputs that serves."""
    written = [False] * len(graph.outputs)
    for position, tensor in enumerate(graph.outputs):
        root = roots[tensor]
        if places[root] is None:
            places[root] = Place(Home.OUTPUT, position)
            written[position] = True
    return written


def _last_reads(held: Sequence[int], last: dict[int, int], end: int) -> list[list[int]]:
    gone: list[list[int]] = [[] for _ in range(end)]
    for tensor in held:
        if last[tensor] < end:
            gone[last[tensor]].append(tensor)
    return gone


def _known(place: Place | None) -> Place:
    assert place is not None, "a tensor is an input, a constant, or the result of a call"
    return place
