"""A plan bound to kernels and constants: what is needed to make frames, and how a frame is run.

1. A *frame* is the memory of one call that runs: arena, workspaces, slots of all kernels, the driver's table. Frames
   are made when needed and used again, so any number of threads may call at once.
2. Slots hold addresses. Those of constants and of the arena are filled in when the frame is made, those of inputs,
   outputs and held tensors in every call.
3. Native calls that follow each other are one *segment*, for which Python calls the driver once.
"""

from collections.abc import Mapping, Sequence
from ctypes import addressof, c_int64, sizeof
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from fuse_dialect.backends.backend import Kernel, symbols_of
from fuse_dialect.backends.runtime.arena import ALIGNMENT, rounded_up
from fuse_dialect.backends.runtime.arrays import address_of, aligned_bytes, is_dense
from fuse_dialect.backends.runtime.constants import Constants
from fuse_dialect.backends.runtime.driver import PARALLEL, ROW, native_driver
from fuse_dialect.backends.runtime.entry_graph import EntryGraph
from fuse_dialect.backends.runtime.plan import Home, Place, Plan
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.shapes import bind_sizes
from fuse_dialect.backends.runtime.team import team
from fuse_dialect.budget import spelled
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.op import Array

_WORD = sizeof(c_int64)
WORTH_A_THREAD = 200_000
"""Bytes moved plus arithmetic operations from which a segment is shared with other threads; about 20 microseconds."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Native calls that follow each other, or one call that NumPy runs."""

    first: int
    """The first call."""
    row: int
    """The first row in the driver's table."""
    rows: int
    """How many rows; 0 for a call that NumPy runs."""
    is_shared: bool = False
    """Whether other threads are asked to help."""


@dataclass(eq=False, slots=True)
class Frame:
    """The memory of one call that runs."""

    memory: Array
    """Arena, then the workspaces of the parts."""
    slots: Any
    """A ctypes array of i64."""
    table: Array
    """The driver's table of each part."""
    rows: int
    """Address of the table."""
    views: dict[int, Array] = field(default_factory=dict[int, Array])
    """Arrays on the arena, for steps that NumPy runs, by tensor."""


class Executable:
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
    ):
        """Lay out slots and table.

        Args:
            graph: The function.
            plan: Where its tensors are.
            primitives: What runs each primitive.
            constants: Their elements.
            threads: Parts that kernels are split into at most.
            is_only: Whether there will be no other executable of the same constants.
        """
        self.graph, self.plan, self.primitives, self.constants = graph, plan, primitives, constants
        self.threads = threads
        self.segments: list[Segment] = []
        self.bound: dict[tuple[Home, int], list[int]] = {}
        """Slots to fill in every call, by input, output or held tensor."""
        self._template: list[int] = []
        self._in_arena: list[int] = []
        """Slots that the start of the frame's memory is added to."""
        self._rows: list[tuple[int, int, int]] = []
        """Of all parts: kernel, place of its first slot, flags."""
        self.workspace_bytes = rounded_up(max((c.kernel.workspace_bytes for c in self._native()), default=0))
        self.memory_bytes = rounded_up(plan.arena_bytes) + self.workspace_bytes * threads
        self._want_constants(is_only=is_only)
        self._lay_out()
        self._inputs = self._slots_of(Home.INPUT)
        self._outputs = self._slots_of(Home.OUTPUT)
        (only,) = self.segments if len(self.segments) == 1 else (None,)
        self._only_rows = only.rows if only is not None and not only.is_shared else 0
        """Rows of the table if one call of the driver does everything on one thread."""
        self._driver = native_driver() if self._only_rows else None
        self.writes_all = all(plan.written)
        """Whether kernels write every output."""
        self.forms = [
            (plan.shapes[tensor], graph.tensors[tensor].dtype) if written else None
            for tensor, written in zip(graph.outputs, plan.written, strict=True)
        ]
        """Shape and dtype of each output that a kernel writes."""
        self.spare: list[Frame] = []
        """Frames that nobody uses."""

    def _native(self) -> list[Any]:
        calls = zip(self.plan.calls, self.plan.is_native, strict=True)
        return [self.primitives[call.kernel] for call, native in calls if native]

    def _lay_out(self) -> None:
        runs: list[list[int]] = []
        for index, native in enumerate(self.plan.is_native):
            if native and runs and self.plan.is_native[runs[-1][-1]]:  # goes on with the segment
                runs[-1].append(index)
            else:
                runs.append([index])
        for part in range(self.threads):
            for run in runs:
                if self.plan.is_native[run[0]]:
                    self._lay_out_segment(run, part)
                elif part == 0:
                    self.segments.append(Segment(run[0], 0, 0))
        self.stride = len(self._rows) // self.threads * ROW * _WORD

    def _want_constants(self, *, is_only: bool) -> None:
        """Keep constants that Python reads; if this is the only executable, drop others when kernels have theirs."""
        forms: dict[int, set[Any]] = {}
        python = list(self.graph.outputs)
        for index, (call, native) in enumerate(zip(self.plan.calls, self.plan.is_native, strict=True)):
            if not native:
                python += call.arguments
                continue
            packings = self._kernel(index).packings
            for position, tensor in enumerate(call.arguments):
                place = self.plan.places[tensor]
                if place.home is Home.CONSTANT:
                    forms.setdefault(place.at, set()).add(packings.get(position))
        for place in (self.plan.places[tensor] for tensor in python):
            if place.home is Home.CONSTANT:
                self.constants.want(place.at)
        if is_only:
            self.constants.expect(forms)

    def _lay_out_segment(self, run: Sequence[int], part: int) -> None:
        start = len(self._rows)
        parallel = [self._kernel(index).parallel for index in run]
        for place, index in enumerate(run):
            flags = PARALLEL * parallel[place]
            self._rows.append((self._kernel(index).address, self._add_slots(index, part), flags))
        if part == 0:
            split = [index for index, is_parallel in zip(run, parallel, strict=True) if is_parallel]
            is_shared = self.threads > 1 and sum(map(self._work, split)) >= WORTH_A_THREAD
            self.segments.append(Segment(run[0], start, len(run), is_shared))

    def _kernel(self, index: int) -> Kernel:
        kernel = self.primitives[self.plan.calls[index].kernel].kernel
        assert kernel is not None, "a native call has a kernel"
        return kernel

    def _work(self, index: int) -> int:
        """A rough measure of a call's time: bytes that it moves, and its arithmetic operations."""
        call, shapes = self.plan.calls[index], self.plan.shapes
        bytes, flops = self.primitives[call.kernel].cost_at(
            [shapes[tensor] for tensor in call.arguments], [shapes[tensor] for tensor in call.results]
        )
        if bytes is None:
            bytes = sum(self._bytes(tensor) for tensor in (*call.arguments, *call.results))
        return bytes + (flops or 0)

    def _bytes(self, tensor: int) -> int:
        return prod(self.plan.shapes[tensor]) * self.graph.tensors[tensor].dtype.itemsize

    def _add_slots(self, index: int, part: int) -> int:
        """Place of the first slot of a call."""
        call, kernel = self.plan.calls[index], self._kernel(index)
        compiled = self.primitives[call.kernel]
        start = len(self._template)
        for position, tensor in enumerate((*call.arguments, *call.results)):
            packing = kernel.packings.get(position) if position < len(call.arguments) else None
            if packing is None:
                self._add_address(self.plan.places[tensor], tensor)
            else:
                self._template.append(address_of(self.constants.packed(self.plan.places[tensor].at, packing)))
        self._in_arena.append(len(self._template))
        self._template.append(rounded_up(self.plan.arena_bytes) + part * self.workspace_bytes)
        assert compiled.program is not None, "a native call has loops"
        sizes = bind_sizes(compiled.program, [self.plan.shapes[tensor] for tensor in call.arguments])
        assert sizes is not None, "shapes were resolved with these sizes"
        self._template.extend(sizes[symbol] for symbol in symbols_of(compiled.program))
        return start

    def _add_address(self, place: Place, tensor: int) -> None:
        slot = len(self._template)
        match place.home:
            case Home.ARENA:
                self._in_arena.append(slot)
                self._template.append(place.at)
            case Home.CONSTANT:
                self._template.append(address_of(self.constants.dense(place.at)))
            case Home.INPUT | Home.OUTPUT | Home.HELD:
                self.bound.setdefault((place.home, place.at), []).append(slot)
                self._template.append(0)

    def _slots_of(self, home: Home) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Numbers of inputs or outputs with the slots that their addresses go to."""
        return tuple((number, tuple(slots)) for (where, number), slots in self.bound.items() if where is home)

    def new_frame(self) -> Frame:
        """A frame of its own memory.

        Raises:
            FuseError: There is not enough memory.
        """
        try:
            memory = aligned_bytes(self.memory_bytes, ALIGNMENT)
        except (MemoryError, ValueError, OverflowError) as error:  # NumPy refuses in all these ways
            needed = spelled(self.memory_bytes)
            raise FuseError(f"out of memory: {needed} bytes are needed for intermediate values") from error
        slots = np.array(self._template, np.int64)
        slots[self._in_arena] += address_of(memory)
        holder = (c_int64 * max(1, len(self._template))).from_buffer_copy(
            slots.tobytes() if len(self._template) else bytes(_WORD)
        )
        table = np.array(self._rows, np.int64).reshape(-1, ROW)
        first = addressof(holder)
        table[:, 1] = table[:, 1] * _WORD + first
        return Frame(memory, holder, table, address_of(table))

    def run(self, frame: Frame, inputs: Sequence[Array], outputs: Sequence[Array]) -> dict[int, Array]:
        """Run everything.

        Args:
            frame: Memory that no other call uses.
            inputs: Dense arrays.
            outputs: Dense arrays; those that the plan says kernels write are written.

        Returns:
            The held tensors that are outputs.
        """
        self.bind(frame, inputs, outputs)
        if self._driver is not None:
            self._driver.drive(frame.rows, self._only_rows)
            return {}
        held: dict[int, Array] = {}
        for segment in self.segments:
            if segment.rows:
                self.run_rows(frame, segment.row, segment.rows, self.threads if segment.is_shared else 1)
            else:
                self.run_numpy(frame, segment.first, inputs, outputs, held)
        return held

    def bind(self, frame: Frame, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Fill in the addresses of inputs and outputs."""
        slots = frame.slots
        for number, places in self._inputs:
            address = address_of(inputs[number])
            for place in places:
                slots[place] = address
        for number, places in self._outputs:
            address = address_of(outputs[number])
            for place in places:
                slots[place] = address

    def run_rows(self, frame: Frame, row: int, rows: int, threads: int) -> None:
        """Run native calls that follow each other."""
        team().run(frame.rows + row * ROW * _WORD, self.stride, rows, threads)

    def run_segment_timed(self, frame: Frame, segment: Segment) -> Sequence[float]:
        """Run a segment of native calls; seconds of each."""
        threads = self.threads if segment.is_shared else 1
        return team().run_timed(frame.rows + segment.row * ROW * _WORD, self.stride, segment.rows, threads)

    def run_numpy(
        self, frame: Frame, index: int, inputs: Sequence[Array], outputs: Sequence[Array], held: dict[int, Array]
    ) -> None:
        """Run one call by its NumPy meaning, and hold its results."""
        call = self.plan.calls[index]
        arguments = [self.array(frame, tensor, inputs, outputs, held) for tensor in call.arguments]
        results = self.primitives[call.kernel].evaluate(arguments)
        for tensor, array in zip(call.results, own_arrays(results, arguments), strict=True):
            held[tensor] = array
            for place in self.bound.get((Home.HELD, tensor), ()):
                frame.slots[place] = address_of(array)
        for tensor in self.plan.last_reads[index]:
            held.pop(tensor, None)

    def array(
        self,
        frame: Frame,
        tensor: int,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        held: Mapping[int, Array],
    ) -> Array:
        """A tensor as a read-only array; its memory may be used again later."""
        place, shape = self.plan.places[tensor], self.plan.shapes[tensor]
        match place.home:
            case Home.INPUT:
                array = inputs[place.at].reshape(shape)
            case Home.OUTPUT:
                array = outputs[place.at].reshape(shape)
            case Home.CONSTANT:
                return self.constants.elements(place.at).reshape(shape)
            case Home.HELD:
                return held[place.at].reshape(shape)
            case Home.ARENA:
                return self._arena_view(frame, tensor, place.at)
        array.flags.writeable = False
        return array

    def _arena_view(self, frame: Frame, tensor: int, offset: int) -> Array:
        view = frame.views.get(tensor)
        if view is None:
            part = frame.memory[offset : offset + self._bytes(tensor)]
            view = part.view(self.graph.tensors[tensor].dtype).reshape(self.plan.shapes[tensor])
            view.flags.writeable = False
            frame.views[tensor] = view
        return view


def own_arrays(results: Sequence[Array], arguments: Sequence[Array]) -> list[Array]:
    """Each result as `own_array`; one array that is two results becomes two."""
    own: list[Array] = []
    for result in results:
        own.append(own_array(result, [*arguments, *own]))
    return own


def own_array(result: Array, arguments: Sequence[Array]) -> Array:
    """The result as a dense array with memory of its own, which nothing else shows."""
    is_own = result.flags.owndata and result.flags.writeable and is_dense(result)
    if is_own and not any(result is argument for argument in arguments):
        return result
    return np.array(result, order="C", copy=True)
