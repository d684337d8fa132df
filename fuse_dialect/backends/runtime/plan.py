"""Where every tensor of a function is while it runs: a pure function of its steps and of all sizes.

1. A tensor that a native kernel writes is in the arena, or in the caller's memory if it is an output.
2. A tensor that a NumPy step gives is *held*: it is an array of its own until its last reader has run.
3. A view, the result of a primitive that only reshapes, is where its operand is.
4. An output that is an input, a constant, or the same memory as another output is copied in the end.
5. In a loop, what moves with the iterations has no place of its own: it is in a row of another tensor, or takes turns
   between two places in the arena.
6. What exists before a loop and is read in it lives until the loop's last step. What a body writes lives from its first
   step to its last one in the body, since every iteration writes it again before it is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from operator import gt
from typing import TypeVar

from fuse_dialect.backends.runtime.arena import ALIGNMENT, Lifetime, arrange, most_live_bytes
from fuse_dialect.backends.runtime.entry_graph import Call, EntryGraph, How
from fuse_dialect.backends.runtime.flow import Flow, flatten
from fuse_dialect.backends.runtime.shapes import Bound, IterationSizes, Resolved
from fuse_dialect.backends.types import Shape
from fuse_dialect.budget import LARGEST_SIZE
from fuse_dialect.dialect.op import Array

Item = TypeVar("Item")
NATIVE = (How.NATIVE, How.MOVE, How.COUNT)
"""How calls are run that are rows of the driver's table."""
SPARE_BYTES = 16 << 20
"""Of an arena for sizes that may come."""


class Home(Enum):
    """Whose memory a tensor is in."""

    INPUT = "input"
    CONSTANT = "constant"
    SETTLED = "settled"
    """Of the plan: what the sizes of the inputs say."""
    OUTPUT = "output"
    ARENA = "arena"
    HELD = "held"
    MOVING = "moving"
    INSIDE = "inside"
    """Of a step that NumPy runs: Python's own."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor is."""

    home: Home
    at: int
    """Number of the input or output, offset in the arena, or number of a tensor that is elsewhere."""


_NOWHERE = Place(Home.INSIDE, 0)


@dataclass(frozen=True, slots=True)
class Plan:
    """How a function runs on arrays of given shapes."""

    flow: Flow
    """What is run, in order; views are left out."""
    shapes: Sequence[Shape]
    """Of each tensor, those that only the flow knows included."""
    sizes: Sequence[int]
    """Bytes of each tensor."""
    places: Sequence[Place]
    """Of each tensor."""
    turns: Mapping[int, tuple[int, int]]
    """Two offsets in the arena for each tensor that takes turns."""
    is_native: Sequence[bool]
    """For each of the steps."""
    written: Sequence[bool]
    """For each output, whether a kernel writes it; the others are copied in the end."""
    last_reads: Sequence[Sequence[int]]
    """For each of the steps, the held tensors that nobody reads after it."""
    arena_bytes: int
    held_bytes: int
    """Most bytes of held tensors at a time."""
    values: Mapping[int, Array]
    """Settled values by tensor."""
    words: Mapping[int, Sequence[int]]
    """What each native call is told of sizes, by its first result: those by name, or the record of a move."""
    room: Sequence[int]
    """Bytes that each tensor may have where it is: the same plan serves other sizes, if none takes more."""
    iterations: Mapping[int, IterationSizes] = field(default_factory=dict[int, IterationSizes])
    """Of loops whose sizes change, by their counter."""
    bounds: Mapping[int, Bound] = field(default_factory=dict[int, Bound])
    """Of loops that count their iterations, by their counter."""

    def resized(self, resolved: Resolved) -> "Plan | None":
        """The plan for other sizes of the same function; `None` if they need one of their own."""
        if (resolved.values.keys(), resolved.iterations.keys()) != (self.values.keys(), self.iterations.keys()):
            return None
        shapes, sizes = self.with_copies(resolved.shapes), self.with_copies(resolved.bytes)
        if any(map(gt, sizes, self.room)):
            return None
        return replace(
            self,
            shapes=shapes,
            sizes=sizes,
            values=resolved.values,
            words=resolved.words,
            iterations=resolved.iterations,
            bounds=resolved.bounds,
        )

    def with_copies(self, of_graph: Sequence[Item]) -> list[Item]:
        """What is so of each tensor of the graph, then of those that only the flow knows: each is like its source."""
        found = [*of_graph]
        for source in self.flow.copies:
            found.append(found[source])
        return found

    def source(self, tensor: int) -> int:
        """The tensor of the graph that a tensor is like."""
        copied = tensor - len(self.shapes) + len(self.flow.copies)
        return tensor if copied < 0 else self.source(self.flow.copies[copied])

    def call_at(self, step: int) -> Call:
        """The call that a step is."""
        call = self.flow.steps[step]
        assert isinstance(call, Call), "only calls run kernels"
        return call


def make_plan(graph: EntryGraph, resolved: Resolved, how: Sequence[How]) -> Plan:
    """Places for all tensors.

    Args:
        graph: The function.
        resolved: Sizes of each tensor, and what they settle.
        how: How each primitive is run.

    Complexity: linear in the number of tensors and arguments times the depth of loops, apart from `arrange`.
    """
    flow = flatten(graph, how)
    shapes, sizes = list(resolved.shapes), list(resolved.bytes)
    types = list(graph.tensors)
    for source in flow.copies:
        shapes.append(shapes[source])
        types.append(types[source])
        sizes.append(sizes[source])
    writer, last = _uses(flow)
    places = _given_places(graph, flow)
    for tensor in resolved.values:
        places[tensor] = Place(Home.SETTLED, tensor)
    native = [not isinstance(step, Call) or how[step.kernel] in NATIVE for step in flow.steps]
    # What NumPy makes comes in memory of its own.
    for tensor, step in writer.items():
        if not native[step]:
            places[tensor] = Place(Home.HELD, tensor)
    # What is held or moves keeps its place: only the rest can be in a caller's memory (conditions 1, 2, 5).
    written = _place_outputs(graph, flow.roots, places)
    # Inputs, constants and outputs have memory already; only what is left needs some.
    in_arena = [tensor for tensor in writer if places[tensor] is None]
    room = _room(
        sizes, [type.is_static for type in types], [(tensor, writer[tensor], last[tensor]) for tensor in in_arena]
    )
    lives = [Lifetime(room[tensor], writer[tensor], last[tensor]) for tensor in in_arena]
    turning = [(tensor, loop) for loop in flow.loops for tensor in loop.turns]
    # A value that takes turns has two buffers all through its loop: one is read while the other is written.
    lives += [Lifetime(room[tensor], loop.begin, loop.exit) for tensor, loop in turning for _ in range(2)]
    layout = arrange(lives)
    for tensor, offset in zip(in_arena, layout.offsets, strict=False):
        places[tensor] = Place(Home.ARENA, offset)
    pairs = iter(layout.offsets[len(in_arena) :])
    turns = {tensor: (next(pairs), next(pairs)) for tensor, _ in turning}
    # What lies in the arena alone must fit where it is.
    bounded = {*in_arena, *(tensor for tensor, _ in turning)}
    room = [size if tensor in bounded else LARGEST_SIZE for tensor, size in enumerate(room)]
    end = len(flow.steps)
    for tensor in graph.outputs:  # held until it has been handed over
        last[flow.roots[tensor]] = end
    held = [tensor for tensor in writer if not native[writer[tensor]]]
    return Plan(
        flow=flow,
        shapes=shapes,
        sizes=sizes,
        places=[places[root] or _NOWHERE for root in flow.roots],
        turns=turns,
        is_native=native,
        written=written,
        last_reads=_last_reads(held, last, end),
        arena_bytes=layout.size,
        held_bytes=most_live_bytes([Lifetime(sizes[tensor], writer[tensor], last[tensor]) for tensor in held]),
        values=resolved.values,
        words=resolved.words,
        room=room,
        iterations=resolved.iterations,
        bounds=resolved.bounds,
    )


def _room(sizes: Sequence[int], is_static: Sequence[bool], lives: Sequence[tuple[int, int, int]]) -> list[int]:
    """Bytes that each tensor may have where it is.

    Of open sizes that is more than it has, so that a table serves sizes that grow: twice as much, and no less than its
    share of memory that nobody would miss, which those have in common that live at a time.

    Args:
        sizes: Bytes of each tensor.
        is_static: Whether that never changes.
        lives: Of tensors in the arena: number, first step, last step.
    """
    grow = [Lifetime(ALIGNMENT, first, last) for tensor, first, last in lives if not is_static[tensor]]
    share = SPARE_BYTES // max(most_live_bytes(grow) // ALIGNMENT, 1)
    return [
        size if static else max(1 << (2 * size).bit_length(), share)
        for size, static in zip(sizes, is_static, strict=True)
    ]


def _given_places(graph: EntryGraph, flow: Flow) -> list[Place | None]:
    """Places of inputs, constants and what moves; `None` for the rest, and for what is in calls that NumPy runs."""
    places: list[Place | None] = [None] * len(flow.roots)
    for position, tensor in enumerate(graph.inputs):
        places[tensor] = Place(Home.INPUT, position)
    for tensor in graph.constants:
        places[tensor] = Place(Home.CONSTANT, tensor)
    # Condition 5: the loop writes the addresses of all these while it runs, so none has one place of its own.
    for loop in flow.loops:
        for tensor in (*(row for row, _ in loop.moves), *loop.turns, *(state for state, _, _ in loop.states)):
            places[tensor] = Place(Home.MOVING, tensor)
    return places


def _uses(flow: Flow) -> tuple[dict[int, int], dict[int, int]]:
    """For each root that a step writes, the first such step; for each root the last step that needs it."""
    writer: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, step in enumerate(flow.steps):
        for tensor in flow.writes(step):
            # A result of a branch is written in both of its regions: its memory is needed from the first of them on.
            writer.setdefault(tensor, number)
            # What nobody reads needs its memory, too, while the step that writes it runs.
            last[tensor] = number
        for tensor in flow.reads(step):
            last[tensor] = number
    for loop in flow.loops:  # an outer loop comes first, and ends last
        for step in flow.steps[loop.begin : loop.exit + 1]:
            for tensor in (*flow.reads(step), *flow.writes(step)):
                if writer.get(tensor, -1) <= loop.begin:  # condition 6
                    last[tensor] = max(last[tensor], loop.exit)
    return writer, last


def _place_outputs(graph: EntryGraph, roots: Sequence[int], places: list[Place | None]) -> list[bool]:
    """Put what a kernel writes and a caller gets into the caller's memory; say which outputs that serves."""
    written = [False] * len(graph.outputs)
    for position, tensor in enumerate(graph.outputs):
        root = roots[tensor]
        # The first output of a tensor is written by its kernel; a second one of the same, or an input, is copied.
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
