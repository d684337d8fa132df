"""A plan bound to kernels and constants: the table that the driver walks, and the steps that NumPy runs.

The conditions are those of `walk`.
"""

from collections.abc import Callable, Mapping, Sequence
from ctypes import c_int64, c_uint8
from math import prod
from typing import Any, NoReturn

import numpy as np

from fuse_dialect.backends.backend import Kernel, Packing
from fuse_dialect.backends.runtime.arena import rounded_up
from fuse_dialect.backends.runtime.arrays import address_of, own_arrays
from fuse_dialect.backends.runtime.constants import Constants
from fuse_dialect.backends.runtime.control_layout import ControlLayout
from fuse_dialect.backends.runtime.count_words import COUNT_WORDS
from fuse_dialect.backends.runtime.counting import iterations_counter
from fuse_dialect.backends.runtime.driver import CONTROL, PARALLEL, ROW
from fuse_dialect.backends.runtime.entry_graph import Branch, Call, EntryGraph, How, Loop
from fuse_dialect.backends.runtime.flow import Begin, Choice, Copy, CountIterations, End, Jump
from fuse_dialect.backends.runtime.iteration_matrix import LoopMatrix
from fuse_dialect.backends.runtime.iteration_table import IterationTable
from fuse_dialect.backends.runtime.moves import longest_record
from fuse_dialect.backends.runtime.plan import Home, Plan
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.shapes import Resolved, bytes_of, late_tensors
from fuse_dialect.backends.runtime.size_formulas import FoundSizes, SizeFormulas
from fuse_dialect.backends.runtime.size_table import Sizes, SizeTable
from fuse_dialect.backends.runtime.slots import Slots
from fuse_dialect.backends.runtime.stepwise import run_control
from fuse_dialect.backends.runtime.team import team
from fuse_dialect.backends.runtime.traced_sizes import is_known
from fuse_dialect.backends.runtime.walk import WORD, CountsDifferError, Frame, Segment, Table, Walk
from fuse_dialect.backends.types import Shape
from fuse_dialect.budget import LARGEST_SIZE
from fuse_dialect.dialect.op import Array

WORTH_A_THREAD = 200_000
"""Bytes moved plus arithmetic operations from which a segment is shared with other threads; about 20 microseconds."""
WORTH_A_PART = 50_000
"""The same for one kernel of a loop's body: its workers wait already."""
SOME_ITERATIONS = 8
"""How often a loop is taken to run whose number of iterations is not known."""


class Executable(Walk):
    """A function that runs on arrays of given shapes."""

    def __init__(
        self,
        graph: EntryGraph,
        plan: Plan,
        primitives: Sequence[Compiled],
        constants: Constants,
        threads: int,
        *,
        is_only: bool = False,
        most_atoms: int = 0,
    ):
        """Lay out slots and table.

        Args:
            graph: The function.
            plan: Where its tensors are.
            primitives: What runs each primitive.
            constants: Their elements.
            threads: Parts that kernels are split into at most.
            is_only: Whether there will be no other executable of the same constants.
            most_atoms: How many formulas may have, where calls count.
        """
        self.graph, self.primitives, self.constants = graph, primitives, constants
        self._plan: Plan | None = plan
        self._laid_out = plan
        """What the table was made for, which may be other sizes."""
        self._found: FoundSizes | None = None
        """Formulas that the plan follows from, where nobody has asked for it."""
        self._tables: dict[int, SizeTable | None] = {}
        self.settled_arrays: Sequence[Array] = ()
        """Keeps what kernels read."""
        self.threads = threads
        self.segments: list[Segment] = []
        self._slots = Slots(plan, constants)
        changing = {counter: IterationTable(graph.tensors) for counter in plan.iterations}
        self._around: dict[int, IterationTable] = {
            step: changing[flat.loop.counter]
            for flat in plan.flow.loops
            if flat.loop.counter in changing
            for step in range(flat.begin + 1, flat.end + 1)
        }
        """Tables of sizes that change with iterations, by the steps inside."""
        self._control = ControlLayout(self._slots, changing) if plan.flow.has_control else None
        self._atoms_at = self._slots.add(*[0] * most_atoms)
        sizes = sum(len(plan.shapes[tensor]) for tensor in graph.outputs) if most_atoms else 0
        self._output_sizes = range(len(self._slots), len(self._slots) + sizes)
        """Words that hold the sizes of the results, where calls count."""
        self._slots.add(*[0] * sizes)
        late = late_tensors(graph, primitives) if most_atoms else set[int]()
        for tensor in sorted(late & plan.values.keys()):
            if plan.values[tensor].dtype == np.int64:
                self._slots.own[tensor] = self._slots.add(*plan.values[tensor].reshape(-1).tolist())
        for flat in plan.flow.loops:
            for tensor in flat.loop.told if flat.loop.counter in changing else ():
                numbers = plan.values[tensor].reshape(-1).tolist()
                self._slots.told[tensor] = self._slots.add(*numbers)
                changing[flat.loop.counter].add_value(self._slots.told[tensor], tensor, len(numbers))
        self._sections: list[int] = []
        """Words that hold the address of a section, in the order of calls that count."""
        self._times = self._repetitions()
        self._rows: list[tuple[int, int, int]] = []
        self._sized: list[tuple[int, int, int]] = []
        """Words of sizes: the first result of the call, the first word, how many."""
        self.workspace_bytes = rounded_up(max((c.kernel.workspace_bytes for c in self._native()), default=0))
        # Before any address is asked for: that makes a constant's form, and the last form drops the elements.
        self._want_constants(is_only=is_only)
        self._lay_out()
        if self._control is not None:
            # Behind the slots of all kernels: what moves is a list of every word that holds its address.
            self._control.finish()
        self.bound = self._slots.bound
        super().__init__(self._table())
        sized = [word for _, start, room in self._sized for word in range(start, start + room)]
        controlled = [] if self._control is None else self._control.sized
        atoms = range(self._atoms_at, self._atoms_at + most_atoms)
        own = [
            word for tensor, first in self._slots.own.items() for word in range(first, first + plan.values[tensor].size)
        ]
        said = [*own, *self._output_sizes, *self._sections, *atoms]
        self.set_varying([*sized, *controlled, *said, *self._slots.settled])
        self._most_atoms = most_atoms
        self.writes_all = self.writes_all and not self._sections

    def _table(self) -> Table:
        plan, slots = self.plan, self._slots
        steps = enumerate(plan.flow.steps)
        return Table(
            words=slots.words,
            in_arena=slots.in_arena,
            in_slots=slots.in_slots,
            in_constants=slots.in_constants,
            rows=self._rows,
            segments=self.segments,
            inputs=self._slots_of(Home.INPUT),
            outputs=self._slots_of(Home.OUTPUT),
            forms=_forms(self.graph, plan),
            memory_bytes=rounded_up(plan.arena_bytes) + self.workspace_bytes * self.threads,
            threads=self.threads,
            left=None if self._control is None else self._control.left,
            most_ops=self.primitives[0].limits.ops if self.primitives else 0,
            work=min(sum(self._work(index) for index, step in steps if isinstance(step, Call)), LARGEST_SIZE),
        )

    def _native(self) -> list[Any]:
        # Control steps are native too, but have no kernel.
        steps = zip(self.plan.flow.steps, self.plan.is_native, strict=True)
        return [self.primitives[step.kernel] for step, native in steps if native and isinstance(step, Call)]

    def _repetitions(self) -> list[int]:
        """How often each step runs, about."""
        times = [1] * len(self.plan.flow.steps)
        # Loops inside others come later in the list, so their steps are multiplied once for each loop around them.
        for loop in self.plan.flow.loops:
            count = min((self.plan.shapes[rows][0] for rows in loop.loop.rows), default=SOME_ITERATIONS)
            # The begin and the copies behind the end run once; the end does nothing that counts.
            for step in range(loop.begin + 1, loop.end):
                times[step] *= count
        return times

    def _lay_out(self) -> None:
        runs: list[list[int]] = []
        for index, native in enumerate(self.plan.is_native):
            if native and runs and self.plan.is_native[runs[-1][-1]]:  # goes on with the segment
                runs[-1].append(index)
            else:
                runs.append([index])
        # Each part has a table of its own, because workspaces differ; tables of all parts are laid out alike.
        for part in range(self.threads):
            for run in runs:
                if self.plan.is_native[run[0]]:
                    self._lay_out_segment(run, part)
                elif part == 0:
                    self.segments.append(Segment(run[0], 0, 0))

    def _want_constants(self, *, is_only: bool) -> None:
        """Keep constants that Python reads; if this is the only executable, drop others when kernels have theirs."""
        forms: dict[int, set[Any]] = {}
        python = list(self.graph.outputs)
        for index, (step, native) in enumerate(zip(self.plan.flow.steps, self.plan.is_native, strict=True)):
            packings: Mapping[int, Packing] = {}
            if not isinstance(step, Call):
                tensors = list(self.plan.flow.looked_up(step))
            elif native:
                packings, tensors = self._kernel(index).packings, step.arguments
                python += step.arguments if self._kernel(index).checked else ()
            else:
                python += self._read_in(step)
                continue
            for position, tensor in enumerate(tensors):
                place = self.plan.places[tensor]
                if place.home is Home.CONSTANT:
                    forms.setdefault(place.at, set()).add(packings.get(position))
        # Constants that NumPy reads stay as they are; of others only the forms stay that kernels read.
        for place in (self.plan.places[tensor] for tensor in python):
            if place.home is Home.CONSTANT:
                self.constants.want(place.at)
        if is_only:
            self.constants.expect(forms)
        self.constants.pack(forms)

    def _read_in(self, call: Call) -> list[int]:
        """Constants that a call which Python runs may read, those of calls inside it included."""
        read = list(call.arguments)
        for part in call.parts:
            for inner in part:
                read += self._read_in(inner)
        control = call.control
        if isinstance(control, Loop):
            read += [*control.following, *control.stacked, *([] if control.goes_on is None else [control.goes_on])]
        elif isinstance(control, Branch):
            read += [tensor for yielded in control.yielded for tensor in yielded]
        return read

    def _lay_out_segment(self, run: Sequence[int], part: int) -> None:
        start = len(self._rows)
        shared: list[int] = []
        for index in run:
            step = self.plan.flow.steps[index]
            if isinstance(step, Call):
                kernel = self._kernel(index)
                is_parallel = kernel.parallel and self._is_worth_a_part(index)
                shared += [index] * is_parallel
                # A kernel that may find a fault ends the run as loops do: it runs as one part, and says so.
                flags = CONTROL if kernel.checked else PARALLEL * is_parallel
                self._rows.append((kernel.checked or kernel.address, self._add_slots(index, part), flags))
            elif part == 0:
                self._rows.append(self._control_row(step, self._around.get(index)))
            else:
                self._rows.append((0, 0, CONTROL))  # only the caller's own table is walked
        if part == 0:
            # Waking a team costs as much as a small kernel: only the work that can be shared counts.
            is_shared = self.threads > 1 and sum(map(self._work, shared)) >= WORTH_A_THREAD
            self.segments.append(Segment(run[0], start, len(run), is_shared))

    def _is_worth_a_part(self, index: int) -> bool:
        """Whether a kernel is shared where others are; outside of loops, all are."""
        return self._times[index] == 1 or self._work(index) >= WORTH_A_PART * self._times[index]

    def _kernel(self, index: int) -> Kernel:
        kernel = self.primitives[self.plan.call_at(index).kernel].kernel
        assert kernel is not None, "a native call has a kernel"
        return kernel

    def _work(self, index: int) -> int:
        """A rough measure of the time of a call's runs: bytes that it moves, and its arithmetic operations."""
        call, shapes = self.plan.call_at(index), self.plan.shapes
        bytes, flops = self.primitives[call.kernel].cost_at(
            [shapes[tensor] for tensor in call.arguments], [shapes[tensor] for tensor in call.results]
        )
        if bytes is None:
            bytes = sum(self.plan.sizes[tensor] for tensor in (*call.arguments, *call.results))
        return (bytes + (flops or 0)) * self._times[index]

    def _add_slots(self, index: int, part: int) -> int:
        """Place of the first slot of a call."""
        call, kernel, slots = self.plan.call_at(index), self._kernel(index), self._slots
        compiled = self.primitives[call.kernel]
        start = len(slots)
        if compiled.leading_words:
            # The record lies behind the addresses and the word of a workspace.
            slots.add(compiled.leading_words + len(call.arguments) + len(call.results) + 1)
        if compiled.how is How.COUNT:
            self._add_section(is_new=part == 0)
        for position, tensor in enumerate((*call.arguments, *call.results)):
            packing = kernel.packings.get(position) if position < len(call.arguments) else None
            if packing is None:
                slots.add_address(tensor)
            else:
                slots.add_constant(self.constants.packed(self.plan.places[tensor].at, packing))
        # Workspaces of the parts lie behind the arena: parts run at once, kernels of a part do not.
        slots.add_offset(rounded_up(self.plan.arena_bytes) + part * self.workspace_bytes)
        # Sizes are known here, once; a kernel reads them from its slots at each call.
        words = self.plan.words.get(call.results[0], ()) if call.results else ()
        room = self._most_words(call) if compiled.how is How.MOVE else len(words)
        if room and index in self._around:
            self._around[index].add_call(len(slots), call.results[0], room)
        elif room:
            self._sized.append((call.results[0], len(slots), room))
        slots.add(*words, *[0] * (room - len(words)))
        return start

    def _control_row(
        self, step: Begin | End | CountIterations | Choice | Jump | Copy, around: IterationTable | None
    ) -> tuple[int, int, int]:
        """Function, first word and flags of a step that is no call, see `ControlLayout.row`."""
        assert self._control is not None, "a plan with control steps has their layout"
        if isinstance(step, CountIterations):
            return iterations_counter(), self._add_count(step), CONTROL
        return self._control.row(step, around)

    def _add_count(self, step: CountIterations) -> int:
        """Place of the first slot of a step that counts iterations."""
        assert self._control is not None, "a loop has a layout"
        start = self._slots.add(COUNT_WORDS)
        self._add_section(is_new=True)
        self._control.add_count(step)
        return start

    def _add_section(self, *, is_new: bool) -> None:
        """Add the words of what counts between its first word and its addresses."""
        slots = self._slots
        if is_new:
            self._sections.append(len(slots))
        slots.add(0)
        slots.add_address_of_word(0)
        slots.add_address_of_word(self._atoms_at)

    def _most_words(self, call: Call) -> int:
        """How long the record of a move may be, whatever the sizes are."""
        rank = max(len(self.plan.shapes[tensor]) for tensor in (*call.arguments, *call.results))
        # Of operands, not of arguments: an op may join one array with itself.
        moving = self.primitives[call.kernel].only_op
        assert moving is not None, "a move is one op"
        return longest_record(max(len(moving.operands), len(call.results)), rank)

    @property
    def largest_words(self) -> Mapping[int, int]:
        """Words that change with the iterations of loops, each with the largest that it becomes."""
        return {} if self._control is None else self._control.largest_in(self.plan)

    @property
    def settled_words(self) -> Mapping[int, int]:
        """Words that hold the address of a settled value, with the number of the tensor."""
        return self._slots.settled

    @property
    def own_words(self) -> Mapping[int, int]:
        """Settled values that follow from counts or change with iterations, with the first word of each."""
        return {**self._slots.own, **self._slots.told}

    @property
    def plan(self) -> Plan:
        """How the function runs for these sizes."""
        if self._plan is None:
            assert self._found is not None, "the plan follows from formulas"
            resolved = self._found.resolved(self.graph)
            # Formulas behind a count say nothing of iterations: these are over then, and nobody asks for their sizes.
            resolved.iterations = resolved.iterations or {**self._laid_out.iterations}
            self._plan = self._laid_out.resized(resolved)
            assert self._plan is not None, "these sizes fit"
        return self._plan

    def sizes_by(self, number: int, found: FoundSizes) -> Sizes | None:
        """What the table needs of other sizes, by formulas.

        Args:
            number: Of the formulas, each of which has a table of sizes here.
            found: What they say of the sizes.

        Returns:
            `None` if the formulas are not for these sizes, or they need a table of their own.
        """
        if number not in self._tables:
            self._tables[number] = self._size_table(found.formulas, len(found.atoms))
        table = self._tables[number]
        if table is None or (self._sections and len(found.atoms) + len(self.forms) > self._most_atoms):
            return None
        return table.sizes(found)

    def resized_by(self, found: FoundSizes, sizes: Sizes) -> "Executable":
        """The same table for other sizes that fit, with frames in common."""
        other = self._copied()
        other._plan, other._found = None, found
        outputs = iter(sizes.outputs)
        other.forms = [None if form is None else (next(outputs), form[1]) for form in self.forms]
        other.variables = sizes.variables
        other.settled_arrays = sizes.tables
        # Behind the sizes stand addresses: of tables, of sections with the atoms, of settled values.
        end = len(sizes.variables) - len(self._slots.settled)
        if self._sections:
            end -= self._most_atoms
            known = [*found.atoms, *map(prod, sizes.outputs)]
            other.variables[end : end + len(known)] = known
            end -= len(self._sections)
            other.variables[end : end + len(self._sections)] = list(map(address_of, sizes.sections))
            end -= len(self._output_sizes) + sum(self._laid_out.values[tensor].size for tensor in self._slots.own)
        if sizes.tables:
            other.variables[end - len(sizes.tables) : end] = list(map(address_of, sizes.tables))
        if self._slots.settled:
            arrays = {
                tensor: found.value_of(self.graph, tensor) for tensor in dict.fromkeys(self._slots.settled.values())
            }
            other.settled_arrays = [*sizes.tables, *arrays.values()]
            # They are read-only: `address_of` would ask for their buffer, and be refused.
            places = {tensor: int(array.__array_interface__["data"][0]) for tensor, array in arrays.items()}
            addresses = [places[tensor] for tensor in self._slots.settled.values()]
            other.variables[len(sizes.variables) - len(addresses) :] = addresses
        return other

    def _copied(self) -> "Executable":
        """What `copy.copy` gives, in a tenth of its time."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def _size_table(self, formulas: SizeFormulas, atoms: int) -> SizeTable | None:
        plan = self._laid_out
        if not any(plan.is_native):
            return None  # sizes cost little beside what Python runs
        if formulas.values.keys() != plan.values.keys() or {loop.counter for loop in formulas.loops} != {
            *plan.iterations
        }:
            return None
        words: list[int] = []
        for tensor, _, room in self._sized:
            own = formulas.words[tensor]
            words += [*own, *[0] * (room - len(own))]
        loops: list[LoopMatrix] = []
        if self._control is not None:
            words += self._control.formulas_in(formulas)
        # What follows from a count is written to words of the frame, to no table of iterations and no settled value.
        has_late = any(map(formulas.is_late, self._slots.settled.values()))
        if len(formulas.late.counts) != len(self._sections) or has_late:
            return None
        for tensor in self._slots.own:
            value = formulas.values[tensor]
            if value is None:
                return None
            words += value.reshape(-1).tolist()
        if self._output_sizes:
            words += [size for tensor in self.graph.outputs for size in formulas.shapes[tensor]]
        words += [0] * (len(self._sections) + self._most_atoms + len(self._slots.settled))
        room = [
            (count, most)
            for count, most in zip(plan.with_copies(formulas.bytes), plan.room, strict=True)
            if most < LARGEST_SIZE and not (is_known(count) and count <= most)
        ]
        shapes = [formulas.shapes[tensor] for tensor, form in zip(self.graph.outputs, self.forms, strict=True) if form]
        try:
            if self._control is not None:
                loops = self._control.matrices_in(formulas)
            return SizeTable(formulas, words, room, shapes, loops, self.varying.tolist(), atoms)
        except OverflowError:
            return None

    def resized(self, resolved: Resolved) -> "Executable | None":
        """The same table for other sizes, with frames in common; `None` if they need one of their own."""
        plan = self._laid_out.resized(resolved)
        if plan is None:
            return None
        other = self._copied()
        other._plan = plan
        other.forms = _forms(self.graph, plan)
        told: list[int] = []
        for tensor, _, room in self._sized:
            words = plan.words[tensor]
            told += words
            told += [0] * (room - len(words))
        if self._control is not None:
            tables = self._control.tables_in(plan)
            told += self._control.sizes_in(plan, tables)
            other.settled_arrays = tables
        told += [address_of(plan.values[tensor]) for tensor in self._slots.settled.values()]
        other.variables = np.array(told, np.int64)
        return other

    def _slots_of(self, home: Home) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Numbers of inputs or outputs with the slots that their addresses go to."""
        return tuple((number, tuple(slots)) for (where, number), slots in self.bound.items() if where is home)

    def end_run(self, frame: Frame, row: int, ended: int) -> NoReturn:
        """See `Walk.end_run`."""
        (first,) = (segment.first for segment in self.segments if segment.row == row and segment.rows)
        step = self._laid_out.flow.steps[first + ended]
        if isinstance(step, Call):
            if self.primitives[step.kernel].how is How.COUNT:
                raise CountsDifferError
            # What runs in a loop whose sizes change follows from no count; only the plan for most rows has its sizes.
            told = self if first + ended in self._around else self.after(frame)
            told._raise_fault(
                step, int(frame.table[row + ended, 1]), told._shapes_at(frame, first + ended, row - first)
            )
        if isinstance(step, CountIterations):
            raise CountsDifferError
        assert isinstance(step, Begin | End), "loops and kernels with faults alone end a run"
        raise self.primitives[self.plan.flow.loops[step.loop].call.kernel].too_long()

    def _shapes_at(self, frame: Frame, step: int, rows: int) -> Callable[[int], Shape]:
        """What tells the sizes of tensors while a step runs; `rows` is the distance from steps to rows of the table."""
        plan = self.plan
        for flat in plan.flow.loops:
            if flat.begin < step <= flat.end and flat.loop.counter in plan.iterations:
                # The descriptor says where the number of the iteration is.
                counter = c_int64.from_address(int(frame.table[flat.begin + rows, 1]))
                own = plan.iterations[flat.loop.counter].shapes[c_int64.from_address(counter.value).value]
                return lambda tensor: own[tensor] if tensor in own else plan.shapes[tensor]
        return lambda tensor: plan.shapes[tensor]

    @property
    def is_counted(self) -> bool:
        """Whether sizes follow from what calls count."""
        return bool(self._sections)

    @property
    def most_bytes(self) -> int:
        """What memory and results take if as many rows are counted as there can be."""
        return self.memory_bytes + sum(prod(form[0]) * form[1].itemsize for form in self.forms if form is not None)

    def counted_in(self, frame: Frame) -> list[int]:
        """What calls have counted in the last run of a frame, in order; of those that did not run, something else."""
        assert self._found is not None, "what counts has formulas"
        atoms = np.frombuffer(frame.slots, np.int64)[self._atoms_at :]
        return [int(atoms[atom]) for atom in self._found.formulas.late.counts]

    def after(self, frame: Frame) -> "Executable":
        """What it is with the counts of the run that the frame has just made."""
        if not self._sections:
            return self
        assert self._found is not None, "what counts has formulas"
        atoms = np.frombuffer(frame.slots, np.int64)[self._atoms_at :][: len(self._found.atoms)]
        other = self._copied()
        other._plan, other._found = None, self._found.counted(atoms.tolist())
        return other

    def _raise_fault(self, call: Call, slots: int, shape_of: Callable[[int], Shape]) -> NoReturn:
        """Run a call by its meaning, which rejects what the kernel has found a fault with.

        Args:
            call: The call, in a loop or outside.
            slots: Address of the kernel's slots; they hold the addresses of what it has just read.
            shape_of: The sizes that tensors have by now.

        Raises:
            FuseError: An op rejects the values of its operands.
        """
        arguments: list[Array] = []
        addresses = (c_int64 * len(call.arguments)).from_address(slots)
        for tensor, address in zip(call.arguments, addresses, strict=True):
            place, shape = self.plan.places[tensor], shape_of(tensor)
            if place.home is Home.CONSTANT:
                arguments.append(self.constants.elements(place.at).reshape(shape))
                continue
            if place.home is Home.SETTLED:
                arguments.append(self.plan.values[place.at].reshape(shape))
                continue
            type = self.graph.tensors[tensor]
            memory = memoryview((c_uint8 * bytes_of(type, shape)).from_address(address))
            arguments.append(np.ndarray(shape, type.dtype, memory))
        self.primitives[call.kernel].evaluate(arguments)
        raise AssertionError("the meaning of a kernel with a fault rejects the same operands")

    def run_segment_timed(self, frame: Frame, segment: Segment) -> Sequence[float]:
        """Run a segment of native calls; seconds of each."""
        threads = self.threads if segment.is_shared else 1
        seconds, reached = team().run_timed(frame.rows + segment.row * ROW * WORD, self.stride, segment.rows, threads)
        if reached < 0:
            self.end_run(frame, segment.row, -1 - reached)
        return seconds

    def run_numpy(
        self, frame: Frame, index: int, inputs: Sequence[Array], outputs: Sequence[Array], held: dict[int, Array]
    ) -> None:
        """Run one call by its NumPy meaning, and hold its results."""
        call = self.plan.call_at(index)
        arguments = [self.array(frame, tensor, inputs, outputs, held) for tensor in call.arguments]
        compiled = self.primitives[call.kernel]
        if compiled.how is How.MIXED:
            # Kernels inside read arguments where they are: a constant that repeats one element is written out for them.
            for number, tensor in enumerate(call.arguments):
                place = self.plan.places[tensor]
                if place.home is Home.CONSTANT:
                    arguments[number] = self.constants.dense(place.at).reshape(self.plan.shapes[tensor])
            results = run_control(self.graph, call, self.primitives, self.constants, arguments)
        else:
            results = compiled.evaluate(arguments)
        if compiled.direct is None:
            # Results of NumPy may show memory of the arena, which the next kernel writes: they get memory of their own.
            results = own_arrays(results, arguments)
        for tensor, array in zip(call.results, results, strict=True):
            held[tensor] = array
            # Condition 2: the kernels of later segments find the array by these slots.
            for place in self.bound.get((Home.HELD, tensor), ()):
                frame.slots[place] = address_of(array)
        # Held arrays go with their last reader: NumPy's memory is not planned, so it must not pile up.
        for tensor in self.plan.last_reads[index]:
            held.pop(tensor, None)

    def delivered(
        self, frame: Frame, inputs: Sequence[Array], outputs: Sequence[Array], held: dict[int, Array]
    ) -> list[Array]:
        """See `Walk.delivered`."""
        if self._sections:
            sizes = iter(frame.slots[self._output_sizes.start : self._output_sizes.stop])
            shapes = [tuple([next(sizes) for _ in self.graph.tensors[tensor].shape]) for tensor in self.graph.outputs]
            outputs = [
                _first(each, shape) if written else each
                for each, shape, written in zip(outputs, shapes, self._laid_out.written, strict=True)
            ]
            if all(self._laid_out.written):
                return [*outputs]
            return self.after(frame)._delivered(frame, inputs, outputs, held)
        return self._delivered(frame, inputs, outputs, held)

    def _delivered(
        self, frame: Frame, inputs: Sequence[Array], outputs: Sequence[Array], held: dict[int, Array]
    ) -> list[Array]:
        results: list[Array] = []
        handed: set[int] = set()
        for tensor, output, written in zip(self.graph.outputs, outputs, self._laid_out.written, strict=True):
            place = self._laid_out.places[tensor]
            array = output if written else self.array(frame, tensor, inputs, outputs, held)
            if place.home is Home.CONSTANT:
                self.constants.check(place.at)
            if not written and (place.home is not Home.HELD or place.at in handed):
                array = np.array(array, order="C", copy=True)
            handed.add(place.at if place.home is Home.HELD else -1)
            results.append(array)
        return results

    @property
    def output_shapes(self) -> Sequence[Shape]:
        """See `Walk.output_shapes`."""
        return [self.plan.shapes[tensor] for tensor in self.graph.outputs]

    @property
    def peak_bytes(self) -> int:
        """See `Walk.peak_bytes`; with what NumPy holds."""
        return self.memory_bytes + self.plan.held_bytes

    def array(
        self,
        frame: Frame,
        tensor: int,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        held: Mapping[int, Array],
    ) -> Array:
        """A tensor as a read-only array; its memory may be used again later."""
        place, shape = self._laid_out.places[tensor], self._shape_of(tensor)
        match place.home:
            case Home.INPUT:
                array = inputs[place.at].reshape(shape)
            case Home.OUTPUT:
                array = outputs[place.at].reshape(shape)
            case Home.CONSTANT:
                return self.constants.elements(place.at).reshape(shape)
            case Home.SETTLED:
                return self.plan.values[place.at].reshape(shape)
            case Home.HELD:
                return held[place.at].reshape(shape)
            case Home.ARENA:
                return self._arena_view(frame, tensor, place.at)
            case Home.MOVING | Home.INSIDE:
                raise AssertionError("values of a loop's body are seen by its steps alone")
        # What NumPy is given is a caller's or planned memory: nobody but a kernel writes there.
        array.flags.writeable = False
        return array

    def _shape_of(self, tensor: int) -> Shape:
        """The sizes of a tensor of the function; by formulas, where nobody has asked for the plan that follows."""
        if self._plan is None and self._found is not None:
            return self._found.shape(tensor)
        return self.plan.shapes[tensor]

    def _arena_view(self, frame: Frame, tensor: int, offset: int) -> Array:
        view = frame.views.get(tensor)
        if view is None:
            part = frame.memory[offset : offset + self.plan.sizes[tensor]]
            view = part.view(self.graph.tensors[tensor].dtype).reshape(self.plan.shapes[tensor])
            view.flags.writeable = False
            frame.views[tensor] = view
        return view


def _first(array: Array, shape: Shape) -> Array:
    """The first elements of memory that has room for the most there may be, as an array of this shape."""
    count = prod(shape)
    if count == array.size:
        return array.reshape(shape)
    first = array.reshape(-1)[:count].reshape(shape)
    # A result keeps all of its memory: much that nobody uses is let go.
    return first.copy() if 2 * count < array.size else first


def _forms(graph: EntryGraph, plan: Plan) -> list[tuple[Shape, np.dtype[Any]] | None]:
    """Shape and dtype of each output that a kernel writes; `None` for others."""
    return [
        (plan.shapes[tensor], graph.tensors[tensor].dtype) if written else None
        for tensor, written in zip(graph.outputs, plan.written, strict=True)
    ]
