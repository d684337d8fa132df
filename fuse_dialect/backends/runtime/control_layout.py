"""Rows and descriptors of the control steps of a plan, as `control` reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fuse_dialect.backends.runtime.arrays import address_of
from fuse_dialect.backends.runtime.control import LOOP_WORDS, LoopWord
from fuse_dialect.backends.runtime.control_code import ControlCode, native_control
from fuse_dialect.backends.runtime.driver import CONTROL
from fuse_dialect.backends.runtime.flow import Begin, Choice, Copy, CountIterations, End, FlatLoop, Jump
from fuse_dialect.backends.runtime.iteration_matrix import LoopMatrix
from fuse_dialect.backends.runtime.iteration_table import IterationTable
from fuse_dialect.backends.runtime.plan import Plan
from fuse_dialect.backends.runtime.shapes import Bound, bytes_of, least_rows
from fuse_dialect.backends.runtime.size_formulas import SizeFormulas
from fuse_dialect.backends.runtime.slots import Slots
from fuse_dialect.budget import LARGEST_SIZE
from fuse_dialect.dialect.op import Array

_NEVER = 1 << 60
"""A number of iterations that no loop comes to; sections take numbers of this size."""


@dataclass(eq=False, slots=True)
class ControlLayout:
    """The control steps of one plan."""

    slots: Slots
    changing: Mapping[int, IterationTable]
    """Of loops whose sizes change, by their counter."""
    left: int = field(init=False)
    """The word with the ops that loops may still run; a run begins with all."""
    _code: ControlCode = field(init=False)
    _descriptors: dict[int, int] = field(default_factory=dict[int, int], init=False)
    """First word of each loop's descriptor, by its number."""
    _around: dict[int, IterationTable | None] = field(default_factory=dict[int, "IterationTable | None"], init=False)
    """The table of the loop around each loop, by its number."""
    _bytes: dict[int, int] = field(default_factory=dict[int, int], init=False)
    """Words that hold the bytes of a tensor, with its number."""
    _rows: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]], init=False)
    """Words that hold the least number of rows of some tensors, with their numbers."""
    _bounds: dict[int, int] = field(default_factory=dict[int, int], init=False)
    """Words that hold how often a loop may run that counts its iterations, with its counter."""
    _ends: dict[int, int] = field(default_factory=dict[int, int], init=False)
    """Words that hold the number of iterations that ends a run, with the counter of the loop."""
    _tables: dict[int, int] = field(default_factory=dict[int, int], init=False)
    """Words that hold the address of a table of sizes, with the counter of its loop."""

    def __post_init__(self) -> None:
        self.left = self.slots.add(0)
        self._code = native_control()

    def add_count(self, step: CountIterations) -> None:
        """Add the words that the function of `COUNT_ITERATIONS` reads, but for those in front."""
        loop = self.slots.plan.flow.loops[step.loop].loop
        self.slots.add_address(loop.counter)
        self._ends[self.slots.add(_end(self.slots.plan.bounds[loop.counter]))] = loop.counter

    def row(
        self, step: Begin | End | Choice | Jump | Copy, around: IterationTable | None = None
    ) -> tuple[int, int, int]:
        """Function, first word and flags of a step.

        Args:
            step: The step.
            around: The table of the loop around it whose sizes change, if there is one.
        """
        slots, code = self.slots, self._code
        match step:
            case Begin():
                return code.begin, self._add_descriptor(step.loop, around), CONTROL
            case End():
                # The begin had its row before, and both work on one descriptor: what one counts, the other reads.
                return code.end, self._descriptors[step.loop], CONTROL
            case Choice():
                first = slots.add_address(step.condition)
                slots.add(step.otherwise)
                return code.branch, first, CONTROL
            case Jump():
                return code.jump, slots.add(step.steps), CONTROL
            case Copy():
                first = slots.add_address(step.target)
                slots.add_address(step.source)
                # The last states are as large as the results that they become.
                self._add_bytes(step.target, around)
                return code.copy, first, 0

    @property
    def sized(self) -> list[int]:
        """Words that other sizes change; no step writes them."""
        return [*self._bytes, *self._rows, *self._bounds, *self._ends, *self._tables]

    def sizes_in(self, plan: Plan, tables: Sequence[Array]) -> list[int]:
        """What these words are for a plan with the same places, and its `tables_in`."""
        bytes = [plan.sizes[tensor] for tensor in self._bytes.values()]
        rows = [_least_rows(plan, tensors) for tensors in self._rows.values()]
        return [*bytes, *rows, *self._counted(plan.bounds), *map(address_of, tables)]

    def _counted(self, bounds: Mapping[int, Bound]) -> list[int]:
        """How often loops may run, and which numbers end a run."""
        most = [bounds[counter].iterations for counter in self._bounds.values()]
        return [*most, *(_end(bounds[counter]) for counter in self._ends.values())]

    def formulas_in(self, formulas: SizeFormulas) -> list[int]:
        """What these words are by formulas; 0 for addresses of tables."""
        shapes = formulas.shapes
        bytes = [formulas.bytes[tensor] for tensor in self._bytes.values()]
        rows = [shapes[tensors[0]][0] for tensors in self._rows.values()]
        return [*bytes, *rows, *self._counted(formulas.bounds), *[0] * len(self._tables)]

    def matrices_in(self, formulas: SizeFormulas) -> list[LoopMatrix]:
        """What makes the tables of loops whose sizes change, in the order of `tables_in`.

        Raises:
            OverflowError: A coefficient does not fit a word.
        """
        plan, found = self.slots.plan, list[LoopMatrix]()
        bounded = [(tensor, plan.source(tensor)) for tensor, most in enumerate(plan.room) if most < LARGEST_SIZE]
        loops = {loop.counter: loop for loop in formulas.loops}
        for counter in self._tables.values():
            table, loop = self.changing[counter], loops[counter]
            room = [
                [
                    (bytes_of(table.types[source], kind.shapes[source]), plan.room[tensor])
                    for tensor, source in bounded
                    if source in kind.shapes
                ]
                for kind in loop.kinds
            ]
            found.append(LoopMatrix(loop, [table.formulas(kind, formulas.shapes) for kind in loop.kinds], room))
        return found

    def tables_in(self, plan: Plan) -> list[Array]:
        """The tables of loops whose sizes change, for a plan with the same places; somebody has to keep them."""
        return [self.changing[each].rows(plan.iterations[each], plan.shapes) for each in self._tables.values()]

    def largest_in(self, plan: Plan) -> dict[int, int]:
        """The largest that each word becomes which changes with the iterations of a loop."""
        found: dict[int, int] = {}
        for counter, rows in zip(self._tables.values(), self.tables_in(plan), strict=True):
            found.update(zip(self.changing[counter].columns, rows.max(axis=0).tolist(), strict=True))
        return found

    def _add_bytes(self, tensor: int, around: IterationTable | None = None) -> None:
        word = self.slots.add(self.slots.plan.sizes[tensor])
        tensor = self.slots.plan.source(tensor)
        if around is None:
            self._bytes[word] = tensor
        else:
            around.add_bytes(word, tensor)

    def _add_descriptor(self, number: int, around: IterationTable | None) -> int:
        flat, slots = self.slots.plan.flow.loops[number], self.slots
        loop = flat.loop
        first = self._descriptors[number] = len(slots)
        self._around[number] = around
        for tensor in (loop.counter, loop.limit, loop.condition, loop.goes_on):
            if tensor is None:
                slots.add(0)
            else:
                slots.add_address(tensor)
        bound = slots.add(_least_rows(slots.plan, loop.rows))
        if loop.is_counted:
            self._bounds[bound] = loop.counter
            slots.words[bound] = slots.plan.bounds[loop.counter].iterations
        elif loop.rows and around is None:
            self._rows[bound] = tuple(loop.rows)
        elif loop.rows and around is not None:
            around.add_rows(bound, loop.rows)
        slots.add_address_of_word(self.left)
        # A step is a row, so that distances in the flow are distances in the table.
        slots.add(loop.ops, flat.end - flat.begin - 1)
        slots.add(*[0] * (first + LOOP_WORDS - len(slots)))
        return first

    def finish(self) -> None:
        """Add the records of what moves, when every other step has its words."""
        flow = self.slots.plan.flow
        # Records hold addresses, which an outer loop may move: all records come before the first list of words.
        records = [
            (tensor, word)
            for number, descriptor in self._descriptors.items()
            for tensor, word in self._add_records(flow.loops[number], descriptor, self._around[number])
        ]
        for tensor, word in records:
            self._set_words(word - 1, self.slots.moving.get(tensor, []))
        for number, descriptor in self._descriptors.items():
            counter = flow.loops[number].loop.counter
            if counter in self.changing:
                self._set_words(descriptor + LoopWord.SIZES, self.changing[counter].columns)
                self._tables[descriptor + LoopWord.SIZE_TABLE] = counter
        for word, array in zip(self._tables, self.tables_in(self.slots.plan), strict=True):
            self.slots.set_constant(word, array)

    def _set_words(self, word: int, words: Sequence[int]) -> None:
        """Say how many words there are, and where the list of their addresses is."""
        self.slots.words[word] = len(words)
        self._set_address(word + 1, len(self.slots))
        for each in words:
            self.slots.add_address_of_word(each)

    def _add_records(self, flat: FlatLoop, descriptor: int, around: IterationTable | None) -> list[tuple[int, int]]:
        """Add the records of a loop; what each moves, and the word for the address of its list."""
        slots, turns = self.slots, self.slots.plan.turns
        found: list[tuple[int, int]] = []
        self._set_list(descriptor + LoopWord.MOVES, len(flat.moves))
        for tensor, base in flat.moves:
            slots.add_address(base)
            self._add_bytes(tensor, around)
            slots.add(0)
            found.append((tensor, slots.add(0)))
        self._set_list(descriptor + LoopWord.TURNS, len(flat.turns))
        for tensor in flat.turns:
            # The functions swap these two words (condition 2 of `control`): no other record may use them.
            for offset in turns[tensor]:
                slots.add_offset(offset)
            slots.add(0)
            found.append((tensor, slots.add(0)))
        self._set_list(descriptor + LoopWord.STATES, len(flat.states))
        for tensor, initial, following in flat.states:
            slots.add_address(initial)
            slots.add_address(following)
            slots.add(0)
            found.append((tensor, slots.add(0)))
        return found

    def _set_list(self, word: int, count: int) -> None:
        """Say in a descriptor that so many records follow."""
        self.slots.words[word] = count
        self._set_address(word + 1, len(self.slots))

    def _set_address(self, word: int, number: int) -> None:
        self.slots.words[word] = number
        self.slots.in_slots.append(word)


def _end(bound: Bound) -> int:
    return bound.iterations if bound.ends_run else _NEVER


def _least_rows(plan: Plan, tensors: Sequence[int]) -> int:
    return least_rows([plan.shapes[tensor] for tensor in tensors])
