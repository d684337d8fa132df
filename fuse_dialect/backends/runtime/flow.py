"""The calls of a function as one list of steps, in which loops and branches are steps that jump.

1. A loop is its begin, the steps of its body, its end, and copies of the last states to its results. Behind the end
   stands what counts the iterations, where a condition may end the loop and results are as large as that is late.
2. A branch is a step that may jump, the steps of one region, a jump behind the other, and the steps of that. Both copy
   what they yield to the results.
3. A value of the body that is stacked is written to its row of the stack at once. One that becomes a state is written
   to two places in turn. Both need a kernel in the body that writes it, and one use of this kind; else it is copied.
4. A state that never changes is the value that the loop begins with. So is the loop's result.
5. What a loop overwrites between two iterations, its counter and the places of its states, is copied when it becomes a
   state.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from fuse_dialect.backends.runtime.entry_graph import Branch, Call, EntryGraph, How, Loop


@dataclass(frozen=True, slots=True)
class Copy:
    """Copies all elements of a tensor."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Begin:
    """The begin of a loop."""

    loop: int
    """Its number in the flow."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of a loop."""

    loop: int


@dataclass(frozen=True, slots=True)
class Choice:
    """Goes on with the next step if a condition holds."""

    condition: int
    otherwise: int
    """How many steps to go on by if it does not."""


@dataclass(frozen=True, slots=True)
class Jump:
    """Goes on elsewhere."""

    steps: int


@dataclass(frozen=True, slots=True)
class CountIterations:
    """Says how often a loop has run, for sizes that follow from it."""

    loop: int


Step: TypeAlias = Call | Copy | Begin | End | CountIterations | Choice | Jump


@dataclass(frozen=True, slots=True)
class FlatLoop:
    """Where a loop is in the list, and what moves with its iterations; all tensors are roots."""

    call: Call
    loop: Loop
    begin: int
    end: int
    exit: int
    """The last of the copies behind the end."""
    moves: tuple[tuple[int, int], ...]
    """(what moves, what it is a row of)."""
    turns: tuple[int, ...]
    """What is written to two places in turn."""
    states: tuple[tuple[int, int, int], ...]
    """(state, what it begins with, what it becomes)."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What a function does, step by step."""

    steps: Sequence[Step]
    loops: Sequence[FlatLoop]
    roots: Sequence[int]
    """For each tensor the one whose memory it shows; tensors that only this list knows come after the graph's."""
    copies: Sequence[int]
    """For each tensor that only this list knows, the one that it is a copy of."""

    @property
    def has_control(self) -> bool:
        """Whether there are steps that are no calls."""
        return any(not isinstance(step, Call) for step in self.steps)

    def looked_up(self, step: Step) -> Iterator[int]:
        """The tensors whose addresses a control step has."""
        match step:
            case Begin():
                flat = self.loops[step.loop]
                numbers: Sequence[int | None] = [
                    *(flat.loop.limit, flat.loop.condition, flat.loop.goes_on),
                    *(base for _, base in flat.moves),
                    *(tensor for _, *both in flat.states for tensor in both),
                ]
            case Copy():
                numbers = [step.source]
            case Choice():
                numbers = [step.condition]
            case _:
                numbers = []
        return (number for number in numbers if number is not None)

    def reads(self, step: Step) -> Iterator[int]:
        """The roots that a step reads, or whose place it looks up."""
        match step:
            case Call():
                numbers: Sequence[int | None] = step.arguments
            case Copy():
                numbers = [step.source]
            case Begin():
                loop = self.loops[step.loop].loop
                numbers = [loop.limit, loop.condition, *loop.initial, *loop.rows]
            case End():
                flat = self.loops[step.loop]
                numbers = [flat.loop.goes_on, *(following for _, _, following in flat.states)]
            case CountIterations():
                numbers = [self.loops[step.loop].loop.counter]
            case Choice():
                numbers = [step.condition]
            case Jump():
                numbers = []
        return (self.roots[number] for number in numbers if number is not None)

    def writes(self, step: Step) -> Iterator[int]:
        """The roots that a step writes, or that hold something from it on."""
        match step:
            case Call():
                numbers: Sequence[int] = step.results
            case Copy():
                numbers = [step.target]
            case Begin():
                flat = self.loops[step.loop]
                stacks = flat.call.results[len(flat.loop.initial) :]
                numbers = [flat.loop.counter, *stacks]
            case _:
                numbers = []
        return (self.roots[number] for number in numbers)


def flatten(graph: EntryGraph, how: Sequence[How]) -> Flow:
    """The steps of a function.

    Args:
        graph: The function.
        how: How each primitive is run: `CONTROL` for those whose calls are loops or branches to be made steps.

    Complexity: linear in the number of calls and arguments.
    """
    flattening = _Flattening(graph, how, list(range(len(graph.tensors))))
    flattening.add(graph.calls)
    roots = [flattening.root(tensor) for tensor in range(len(flattening.parents))]
    return Flow(flattening.steps, flattening.loops, roots, flattening.copies)


@dataclass(slots=True)
class _Flattening:
    graph: EntryGraph
    how: Sequence[How]
    parents: list[int]
    """For each tensor the one that it shows, or itself."""
    steps: list[Step] = field(default_factory=list[Step])
    loops: list[FlatLoop] = field(default_factory=list[FlatLoop])
    copies: list[int] = field(default_factory=list[int])

    def root(self, tensor: int) -> int:
        while (parent := self.parents[tensor]) != tensor:
            self.parents[tensor] = self.parents[parent]
            tensor = parent
        return tensor

    def add(self, calls: Sequence[Call]) -> None:
        for call in calls:
            match self.how[call.kernel], call.control:
                case How.VIEW, _:
                    # No step: whoever reads a view reads its operand's memory.
                    self.parents[call.results[0]] = call.arguments[0]
                case How.SETTLED, _:
                    pass  # a plan has what it gives
                case How.CONTROL, Loop() as loop:
                    self._add_loop(call, loop)
                case How.CONTROL, Branch() as branch:
                    self._add_branch(call, branch)
                case _:
                    self.steps.append(call)

    def _copied(self, source: int) -> int:
        """A new tensor, and a step that copies one to it."""
        target = len(self.parents)
        self.parents.append(target)
        self.copies.append(source)
        self.steps.append(Copy(source, target))
        return target

    def _add_loop(self, call: Call, loop: Loop) -> None:
        number, begin = len(self.loops), len(self.steps)
        self.loops.append(FlatLoop(call, loop, begin, begin, begin, (), (), ()))  # its number comes before those inside
        self.steps.append(Begin(number))
        self.add(loop.calls)
        own = self._written_since(begin)
        last, stacks = call.results[: len(loop.initial)], call.results[len(loop.initial) :]
        moving: dict[int, int] = dict(zip(loop.elements, loop.rows, strict=True))
        for value, stack in zip(loop.stacked, stacks, strict=True):
            root = self.root(value)
            # Condition 3: a kernel writes to one moving place, so a second use of its result is a copy.
            direct = root in own and root not in moving
            moving[root if direct else self._copied(value)] = stack
        states: list[tuple[int, int, int]] = []
        turns: dict[int, None] = {}
        changed: list[tuple[int, int]] = []
        for state, first, value, result in zip(loop.states, loop.initial, loop.following, last, strict=True):
            root = self.root(value)
            if root == state:  # condition 4
                self.parents[state], self.parents[result] = first, first
                continue
            # (5) The loop itself overwrites its counter and the places of its states before the next iteration reads
            # this one: a state that becomes either is a copy.
            if root == loop.counter or root in loop.states:
                root = self._copied(value)
                own.add(root)
            # Condition 3: the next iteration would write over the state that it reads. A row of a stack is not written
            # again, nor is what exists before the loop: those stay where they are.
            if root in own and root not in moving:
                turns[root] = None
            states.append((state, first, root))
            changed.append((state, result))
        end = len(self.steps)
        self.steps.append(End(number))
        if loop.is_counted:
            self.steps.append(CountIterations(number))  # before the copies: it says how much they copy
        # Condition 1: a loop that never runs comes here, too, and its states are then what it began with.
        self.steps += [Copy(state, result) for state, result in changed]
        exit = len(self.steps) - 1
        moves = tuple(moving.items())
        self.loops[number] = FlatLoop(call, loop, begin, end, exit, moves, tuple(turns), tuple(states))

    def _written_since(self, begin: int) -> set[int]:
        """Roots that steps after `begin` write; those of loops inside are their results and stacks."""
        own: set[int] = set()
        for step in self.steps[begin + 1 :]:
            match step:
                case Call():
                    own.update(step.results)
                case Copy():
                    own.add(step.target)
                case Begin():
                    # Its stacks are written row by row; its last states by copies, which are steps themselves.
                    inner = self.loops[step.loop]
                    own.update(inner.call.results[len(inner.loop.initial) :])
                case _:
                    pass
        return own

    def _add_branch(self, call: Call, branch: Branch) -> None:
        choice = len(self.steps)
        self.steps.append(Jump(1))  # until the number of steps is known
        self.add(branch.calls[0])
        # Condition 2: a result has two writers, of which one runs; who reads it cannot tell which.
        self.steps += [Copy(value, result) for value, result in zip(branch.yielded[0], call.results, strict=True)]
        jump = len(self.steps)
        self.steps.append(Jump(1))
        self.add(branch.calls[1])
        self.steps += [Copy(value, result) for value, result in zip(branch.yielded[1], call.results, strict=True)]
        self.steps[choice] = Choice(branch.condition, jump + 1 - choice)
        self.steps[jump] = Jump(len(self.steps) - jump)
