"""Whether a laid-out program keeps its values apart: the driver's table, run on symbols instead of numbers.

A table of rows and words is what a run works on: arena, inputs, outputs, loops, branches, states, rows, stacks. It is
walked here as the driver and the functions of `control` would, on memory that holds contents. Meanwhile the meaning of
the function says what each step must find. Checked is, at each step:

1. Its arguments have the contents that the meaning gives them.
2. Its results lie in memory that may be written, and overlap neither each other, nor its arguments, nor its workspace.
3. All parts of a shared step have the same arguments and results, and workspaces of their own.
4. A loop finds its counter as it left it.

In the end each output has its content. A workspace holds nothing after its step.

Where sizes grow with the iterations of a loop, each of them is taken to have the largest ones: what keeps these apart
keeps others apart. Such a loop is taken to have one iteration at least. A plan in which some sizes become smaller is
not checked: what few iterations leave says nothing of the size that a state has in the end.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from fuse_dialect.backends.runtime.checking.contents import Atoms, Content, content_of
from fuse_dialect.backends.runtime.checking.control_steps import ControlSteps
from fuse_dialect.backends.runtime.checking.program_meaning import RUNS, Decisions, Event, Meaning
from fuse_dialect.backends.runtime.checking.symbolic_memory import SymbolicMemory
from fuse_dialect.backends.runtime.entry_graph import Loop
from fuse_dialect.backends.runtime.flow import Begin, Choice, Copy, CountIterations, End, Jump
from fuse_dialect.backends.runtime.plan import Home
from fuse_dialect.backends.runtime.shapes import IterationSizes, SizeResolver
from fuse_dialect.backends.runtime.walk import WORD
from fuse_dialect.checked import CheckError

if TYPE_CHECKING:
    from fuse_dialect.backends.runtime.entry_graph import Call
    from fuse_dialect.backends.runtime.executable import Executable
    from fuse_dialect.dialect.op import Array


def check_program_memory(executable: "Executable") -> None:
    """Check what an executable has laid out.

    Raises:
        CheckError: A step would find another value than the function means, or write where it must not.

    Complexity: in proportion to the steps that a run takes when each loop has `MOST_TRIPS` iterations.
    """
    if not all(map(_only_grows, executable.plan.iterations.values())):
        return
    runs = RUNS if executable.plan.flow.has_control else 1
    for run in range(runs):
        _Walk(executable, run).check()


def _only_grows(sizes: IterationSizes) -> bool:
    """Whether no tensor of a loop's body becomes smaller from one iteration to the next."""
    return all(prod(one[tensor]) <= prod(other[tensor]) for one, other in pairwise(sizes.shapes) for tensor in one)


@dataclass(frozen=True, slots=True)
class _Range:
    """Bytes that a step works on."""

    address: int
    size: int
    what: str


def _counts(executable: "Executable") -> Iterator[tuple[int, int]]:
    """Inputs that say how often loops run which stack rows, with that number: the plan has so many rows."""
    counting, changing = (
        SizeResolver(executable.graph, executable.primitives).counting_inputs,
        executable.plan.iterations,
    )
    for call in executable.graph.all_calls:
        if isinstance(call.control, Loop) and (call.control.stacked or call.control.counter in changing):
            if call.control.stacked:
                rows = executable.plan.shapes[call.results[len(call.control.initial)]][0]
            else:
                rows = len(changing[call.control.counter].shapes)
            for place, limits in counting.items():
                if call.control.limit in limits:
                    yield place, rows


class _Walk:
    """One walk over the table."""

    def __init__(self, executable: "Executable", run: int):
        numbers: dict[Content, int] = {}
        plan, graph = executable.plan, executable.graph
        self.executable, self.plan, self.table = executable, plan, executable.table
        self.meaning = Meaning(
            graph,
            [compiled.how for compiled in executable.primitives],
            plan.sizes,
            lambda tensor: plan.shapes[tensor][0],
            [
                tensor
                for tensor, place in enumerate(plan.places)
                if place.home in (Home.CONSTANT, Home.SETTLED) and place.at == tensor
            ],
            Atoms(),
            Decisions(run, numbers),
            plan.iterations.keys(),
        )
        for tensor, packing, array in executable.constants.forms():
            if packing is None and array.dtype == np.int64 and array.size == 1:
                numbers[content_of(self.meaning.constant(tensor), array.nbytes)] = array.item()
        for tensor, array in plan.values.items():
            if array.dtype == np.int64 and array.size == 1:
                numbers[content_of(self.meaning.constant(tensor), array.nbytes)] = array.item()
        for place, count in _counts(executable):
            numbers[content_of(self.meaning.input(place), plan.sizes[graph.inputs[place]])] = count
        self.memory = SymbolicMemory(self.meaning.atoms, executable.words().tolist())
        self.steps = ControlSteps(self.memory, self.meaning)
        self.arena = self.memory.add("the arena", self.table.memory_bytes)
        self.inputs = [self._input(place, plan.sizes[tensor]) for place, tensor in enumerate(graph.inputs)]
        self.outputs = [
            self.memory.add(f"output {place}", plan.sizes[tensor]) for place, tensor in enumerate(graph.outputs)
        ]
        self.forms: dict[int, int] = {}
        """Atom of each form of a constant, by the id of the array."""
        self.held: dict[int, int] = {}
        """Address of each tensor that NumPy holds."""
        self._fill_words()

    def _input(self, place: int, size: int) -> int:
        content = content_of(self.meaning.input(place), size)
        return self.memory.add(f"input {place}", size, content, is_read_only=True)

    def _fill_words(self) -> None:
        """Put addresses into the words, as a new frame and a call do."""
        table, words = self.table, self.memory.words
        for word, largest in self.executable.largest_words.items():
            words[word] = largest
        for word in table.in_arena:
            words[word] += self.arena
        for word in table.in_slots:
            words[word] = self.memory.slots + words[word] * WORD
        for tensor, packing, array in self.executable.constants.forms():
            # What is row by row is the constant itself; a packed form is something of its own.
            packed = self.meaning.atoms.number(("packed", tensor, packing))
            self.forms[id(array)] = self.meaning.constant(tensor) if packing is None else packed
        for tensor, array in self.plan.values.items():
            self.forms[id(array)] = self.meaning.constant(tensor)
        for word, array in table.in_constants:
            self.forms.setdefault(id(array), self.meaning.atoms.number(("sizes", word)))
        for tensor, word in self.executable.own_words.items():
            size = self.plan.values[tensor].nbytes
            content = content_of(self.meaning.constant(tensor), size)
            self.memory.write(self.memory.slots + word * WORD, content, size, "a settled value among the words")
        bases: dict[int, int] = {}
        settled = self.executable.settled_words
        given = [*table.in_constants, *((word, self.plan.values[tensor]) for word, tensor in settled.items())]
        for word, array in given:
            if id(array) not in bases:
                bases[id(array)] = self.memory.add("a constant", array.nbytes, self._form(array), is_read_only=True)
            words[word] = bases[id(array)]
        for places, addresses in ((table.inputs, self.inputs), (table.outputs, self.outputs)):
            for number, known in places:
                for word in known:
                    words[word] = addresses[number]

    def _form(self, array: "Array") -> Content:
        return content_of(self.forms[id(array)], array.nbytes)

    def check(self) -> None:
        """Walk all segments."""
        events = self.meaning.events()
        for segment in self.executable.segments:
            if segment.rows:
                self._walk(segment.row, segment.first, segment.rows, events)
            else:
                self._run_numpy(segment.first, self._next(events, segment.first))
        last = next(events, None)
        if last is not None:
            raise CheckError(f"{self._name(last.call)} is never run")
        for place, (tensor, written) in enumerate(zip(self.executable.graph.outputs, self.plan.written, strict=True)):
            what, size = f"output {place}", self.plan.sizes[tensor]
            found = self.memory.read(self.outputs[place], size, what) if written else self._content(tensor, what)
            self.memory.check(what, found, self.meaning.values[tensor])

    def _next(self, events: Iterator[Event], step: int) -> Event:
        """What the meaning runs next, which must be what the table runs next."""
        call, event = self.plan.call_at(step), next(events, None)
        if event is None or event.call is not call:
            expected = "nothing" if event is None else self._name(event.call)
            raise CheckError(f"{self._name(call)} is run where {expected} should be")
        return event

    def _walk(self, row: int, first: int, rows: int, events: Iterator[Event]) -> None:
        words, at = self.memory.words, 0
        while 0 <= at < rows:
            slots = self.table.rows[row + at][1]
            match self.plan.flow.steps[first + at]:
                case Begin(loop=number):
                    counter = self.plan.flow.loops[number].loop.counter
                    at += self.steps.begin(slots, is_begun=counter in self.plan.iterations)
                case End():
                    at += self.steps.end(slots)
                case Choice():
                    at += 1 if self.steps.holds(words[slots], "a condition") else words[slots + 1]
                case Jump():
                    at += words[slots]
                case CountIterations():
                    at += self.steps.count(slots)
                case Copy():
                    size = words[slots + 2]
                    content = self.memory.read(words[slots + 1], size, "what is copied")
                    self.memory.write(words[slots], content, size, "a copy")
                    at += 1
                case _:
                    self._run_kernel(row + at, self._next(events, first + at))
                    at += 1
        if at != rows:
            raise CheckError(f"a jump leaves the steps of its segment: to {at} of {rows}")

    def _name(self, call: "Call") -> str:
        return f"'{self.executable.primitives[call.kernel].name}'"

    def _run_kernel(self, row: int, event: Event) -> None:
        call = event.call
        name, kernel = self._name(call), self.executable.primitives[call.kernel].kernel
        assert kernel is not None, "a native call has a kernel"
        lead = self.executable.primitives[call.kernel].leading_words
        slots, count = self.table.rows[row][1] + lead, len(call.arguments) + len(call.results)
        self._check_parts(row, name, count, lead)
        addresses = self.memory.words[slots : slots + count]
        read: list[_Range] = []
        for place, expected in enumerate(event.arguments):
            packing = kernel.packings.get(place)
            if packing is not None:  # (1) another form of the constant that the meaning names
                expected = self._form(self.executable.constants.packed(self._constant(expected), packing))
            size = sum(piece.stop - piece.start for piece in expected)
            read.append(_Range(addresses[place], size, f"argument {place} of {name}"))
            self.memory.check(read[-1].what, self.memory.read(addresses[place], size, read[-1].what), expected)
        space = _Range(self.memory.words[slots + count], kernel.workspace_bytes, f"the workspace of {name}")
        written = [
            _Range(address, self.plan.sizes[tensor], f"result {place} of {name}")
            for place, (address, tensor) in enumerate(zip(addresses[len(read) :], call.results, strict=True))
        ]
        _check_apart([space, *written], read)
        scratch = content_of(self.meaning.atoms.number("scratch"), space.size)
        for each, content in zip((space, *written), (scratch, *event.results), strict=True):
            self.memory.write(each.address, content, each.size, each.what)

    def _check_parts(self, row: int, name: str, count: int, lead: int) -> None:
        """(3): a row of one part against those of the others; `count` words are of arguments and results."""
        table, words = self.table, self.memory.words
        per_part, first = len(table.rows) // table.threads, table.rows[row][1] + lead
        spaces = {words[first + count]}
        for part in range(1, table.threads):
            slots = table.rows[row + part * per_part][1] + lead
            if words[slots : slots + count] != words[first : first + count]:
                raise CheckError(f"part {part} of {name} has other arrays than the first")
            spaces.add(words[slots + count])
        if len(spaces) < table.threads and self.executable.workspace_bytes:
            raise CheckError(f"two parts of {name} have one workspace")

    def _constant(self, content: Content) -> int:
        """The constant that a content is."""
        for tensor in self.meaning.constants:
            if content and content[0].atom == self.meaning.constant(tensor):
                return tensor
        raise CheckError(f"a kernel has its own form of {self.memory.told(content)}, which is no constant")

    def _content(self, tensor: int, what: str) -> Content:
        """A tensor as NumPy sees it."""
        place, size = self.plan.places[tensor], self.plan.sizes[tensor]
        match place.home:
            case Home.INPUT:
                return self.memory.read(self.inputs[place.at], size, what)
            case Home.OUTPUT:
                return self.memory.read(self.outputs[place.at], size, what)
            case Home.ARENA:
                return self.memory.read(self.arena + place.at, size, what)
            case Home.CONSTANT | Home.SETTLED:
                return content_of(self.meaning.constant(place.at), size)
            case Home.HELD if place.at in self.held:
                return self.memory.read(self.held[place.at], size, what)
            case _:
                raise CheckError(f"{what} is nowhere")

    def _run_numpy(self, step: int, event: Event) -> None:
        name = self._name(event.call)
        for place, (tensor, expected) in enumerate(zip(event.call.arguments, event.arguments, strict=True)):
            what = f"argument {place} of {name}"
            self.memory.check(what, self._content(tensor, what), expected)
        for tensor, content in zip(event.call.results, event.results, strict=True):
            self.held[tensor] = self.memory.add(f"an array of {name}", self.plan.sizes[tensor], content)
            for word in self.executable.bound.get((Home.HELD, tensor), ()):
                self.memory.words[word] = self.held[tensor]
        for tensor in self.plan.last_reads[step]:
            if tensor in self.held:
                self.memory.clear(self.held.pop(tensor))


def _check_apart(written: Sequence[_Range], read: Sequence[_Range]) -> None:
    """(2): kernels are compiled for arrays that do not overlap what they write."""
    for place, each in enumerate(written):
        for other in (*written[place + 1 :], *read):
            is_empty = not each.size or not other.size
            if not is_empty and each.address < other.address + other.size and other.address < each.address + each.size:
                raise CheckError(f"{each.what} overlaps {other.what}")
