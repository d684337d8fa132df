"""What a function means, step by step, in symbols: each call with the contents that it gets and gives.

Values of the graph are in SSA form, so nothing here knows of memory. How often a loop runs and which way a branch goes
follows from the content that decides it, and from a number for the run; loops run `MOST_TRIPS` times at most. Rows of a
stack that belong to other iterations are unknown.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from fuse_dialect.backends.runtime.checking.contents import UNKNOWN, Atoms, Content, Piece, content_of, joined, part
from fuse_dialect.backends.runtime.entry_graph import Branch, Call, EntryGraph, How, Loop

MOST_TRIPS = 3
"""Iterations of a loop: the third is the first that reads what the second wrote where the first did."""
RUNS = MOST_TRIPS + 3
"""How many runs there are that turn out otherwise."""


@dataclass(frozen=True, slots=True)
class Event:
    """One call of a primitive that is run as one step."""

    call: Call
    arguments: tuple[Content, ...]
    results: tuple[Content, ...]


@dataclass(frozen=True, slots=True)
class Decisions:
    """How a run turns out: in the first all conditions hold, in the second none does, in others some."""

    run: int
    """The number of the run."""
    known: Mapping[Content, int] = field(default_factory=dict[Content, int])
    """The numbers that constants are: a stack has as many rows as a known limit says."""

    def truth(self, content: Content) -> bool:
        """Whether an i1 of this content is true."""
        return self.run == 0 or (self.run > 1 and bool(hash(content) >> self.run & 1))

    def trips(self, content: Content) -> int:
        """What an i64 of this content says, if it is a number of iterations; each number in one of the later runs."""
        if content in self.known:
            return min(self.known[content], MOST_TRIPS)
        return MOST_TRIPS if self.run < 2 else (hash(content) + self.run) % (MOST_TRIPS + 1)


@dataclass(eq=False, slots=True)
class Meaning:
    """A function, and how its primitives are run."""

    graph: EntryGraph
    how: Sequence[How]
    """Of each primitive: only loops and branches that are `CONTROL` are gone into."""
    sizes: Sequence[int]
    """Bytes of each tensor."""
    rows: Callable[[int], int]
    """How many rows a tensor has."""
    constants: Sequence[int]
    """The tensors that are constants; whoever runs the graph may have dropped their elements."""
    atoms: Atoms
    decisions: Decisions
    begun: AbstractSet[int] = frozenset()
    """Loops that are taken to begin, by their counter: of those whose sizes change the plan has no others."""
    values: dict[int, Content] = field(default_factory=dict[int, Content])
    """Of each tensor that is known so far."""

    def constant(self, tensor: int) -> int:
        """The atom of a constant's elements."""
        return self.atoms.number(("constant", tensor))

    def input(self, position: int) -> int:
        """The atom of an input's elements."""
        return self.atoms.number(("input", position))

    def iteration(self, number: int) -> int:
        """The atom of a loop's counter."""
        return self.atoms.number(("iteration", number))

    def events(self) -> Iterator[Event]:
        """The calls in order; afterwards `values` has the results."""
        for tensor in self.constants:
            self.values[tensor] = content_of(self.constant(tensor), self.sizes[tensor])
        for position, tensor in enumerate(self.graph.inputs):
            self.values[tensor] = content_of(self.input(position), self.sizes[tensor])
        yield from self._run(self.graph.calls)

    def _run(self, calls: Sequence[Call]) -> Iterator[Event]:
        for call in calls:
            match self.how[call.kernel], call.control:
                case How.VIEW, _:
                    self.values[call.results[0]] = self.values[call.arguments[0]]
                case How.SETTLED, _:
                    pass  # constants of the plan
                case How.CONTROL, Loop() as loop:
                    yield from self._run_loop(call, loop)
                case How.CONTROL, Branch() as branch:
                    side = 0 if self.decisions.truth(self.values[branch.condition]) else 1
                    yield from self._run(branch.calls[side])
                    for result, value in zip(call.results, branch.yielded[side], strict=True):
                        self.values[result] = self.values[value]
                case _:
                    yield self._event(call)

    def _event(self, call: Call) -> Event:
        arguments = tuple(self.values[tensor] for tensor in call.arguments)
        results = tuple(
            content_of(self.atoms.number((call.kernel, arguments, place)), self.sizes[tensor])
            for place, tensor in enumerate(call.results)
        )
        self.values.update(zip(call.results, results, strict=True))
        return Event(call, arguments, results)

    def _run_loop(self, call: Call, loop: Loop) -> Iterator[Event]:
        values, truth = self.values, self.decisions.truth
        trips = min([MOST_TRIPS, *(self.rows(tensor) for tensor in loop.rows)])
        if loop.limit is not None:
            trips = min(trips, self.decisions.trips(values[loop.limit]))
        if loop.condition is not None and not truth(values[loop.condition]):
            trips = 0
        if loop.counter in self.begun:
            trips = max(trips, 1)
        states = [values[tensor] for tensor in loop.initial]
        stacks: list[list[Content]] = [[] for _ in loop.stacked]
        for trip in range(trips):
            values[loop.counter] = content_of(self.iteration(trip), 8)
            values.update(zip(loop.states, states, strict=True))
            for element, tensor in zip(loop.elements, loop.rows, strict=True):
                size = self.sizes[element]
                values[element] = part(values[tensor], trip * size, size)
            yield from self._run(loop.calls)
            states = [values[tensor] for tensor in loop.following]
            for stack, tensor in zip(stacks, loop.stacked, strict=True):
                stack.append(values[tensor])
            if loop.goes_on is not None and not truth(values[loop.goes_on]):
                break
        last, stacked = call.results[: len(states)], call.results[len(states) :]
        values.update(zip(last, states, strict=True))
        for result, stack in zip(stacked, stacks, strict=True):
            content = joined(stack)
            rest = self.sizes[result] - sum(piece.stop - piece.start for piece in content)
            values[result] = joined([content, (Piece(UNKNOWN, 0, rest),) if rest else ()])
