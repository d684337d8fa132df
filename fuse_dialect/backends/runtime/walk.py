"""What the driver walks, laid out for inputs of given sizes: words, rows and segments. No IR is needed to run it.

1. A *frame* is the memory of one call that runs: arena, workspaces, slots of all kernels, the driver's table. Frames
   are made when needed and used again, so any number of threads may call at once.
2. Slots hold addresses. Those of constants and of the arena are filled in when the frame is made, those of inputs,
   outputs and held tensors in every call.
3. Native calls that follow each other are one *segment*, for which Python calls the driver once.
"""

import ctypes
from collections.abc import Sequence
from ctypes import addressof, c_int64, sizeof
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fuse_dialect.backends.runtime.arrays import address_of, aligned_bytes
from fuse_dialect.backends.runtime.driver import CONTROL, ROW, native_driver
from fuse_dialect.backends.runtime.interrupts import can_be_interrupted, run_interruptibly
from fuse_dialect.backends.runtime.team import team
from fuse_dialect.budget import spelled
from fuse_dialect.checked import checks_accesses
from fuse_dialect.diagnostics import FuseError

if TYPE_CHECKING:
    from fuse_dialect.backends.types import Shape
    from fuse_dialect.dialect.op import Array

WORD = sizeof(c_int64)
LONG_WORK = 1 << 29
"""Bytes and operations from which a run is made in a thread of its own: some milliseconds on a fast machine."""


class CountsDifferError(Exception):
    """A call has counted rows, and the formulas of sizes are not for so many: the function runs step by step."""


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

    memory: "Array"
    """Arena, then the workspaces of the parts."""
    slots: Any
    """A ctypes array of i64."""
    table: "Array"
    """The driver's table of each part."""
    rows: int
    """Address of the table."""
    views: "dict[int, Array]" = field(default_factory=dict[int, "Array"])
    """Arrays on the arena, for steps that NumPy runs, by tensor."""
    is_abandoned: bool = False
    """Whether a thread that nobody waits for may still use it."""
    sized_for: "Walk | None" = None
    """Whose sizes the slots hold."""


@dataclass(frozen=True, slots=True)
class Table:
    """The words and rows of a function. Numbers of words and offsets, until a frame has addresses."""

    words: Sequence[int]
    """What slots hold when a frame is new."""
    in_arena: Sequence[int]
    """Words that the start of the frame's memory is added to."""
    in_slots: Sequence[int]
    """Words that hold the number of a word, and become its address."""
    in_constants: "Sequence[tuple[int, Array]]"
    """Words that hold the address of a constant, with the constant."""
    rows: Sequence[tuple[int, int, int]]
    """Of all parts: kernel, place of its first slot, flags."""
    segments: Sequence[Segment]
    inputs: Sequence[tuple[int, Sequence[int]]]
    """Numbers of inputs with the words that their addresses go to."""
    outputs: Sequence[tuple[int, Sequence[int]]]
    """The same for outputs."""
    forms: "Sequence[tuple[Shape, np.dtype[Any]] | None]"
    """Shape and dtype of each output that a kernel writes; `None` for others."""
    memory_bytes: int
    """Of the arena and the workspaces of all parts."""
    threads: int
    """Parts that kernels are split into at most."""
    left: int | None
    """The word with the ops that loops may still run, if there are loops."""
    most_ops: int
    """Ops that loops of a run may run."""
    work: int = 0
    """A rough measure of the time of a run: bytes that are moved, and arithmetic operations."""


class Walk:
    """A function that runs on arrays of given shapes."""

    def __init__(self, table: Table):
        """Take over a table."""
        self.table = table
        self.segments, self.threads, self.memory_bytes = table.segments, table.threads, table.memory_bytes
        self.stride = len(table.rows) // table.threads * ROW * WORD
        """Bytes from the table of one part to that of the next."""
        (only,) = table.segments if len(table.segments) == 1 else (None,)
        # Then a call costs one call of the driver, and nothing of Python between kernels.
        self._only_rows = only.rows if only is not None and not only.is_shared else 0
        """Rows of the table if one call of the driver does everything on one thread."""
        self._driver = native_driver() if self._only_rows else None
        self.forms = table.forms
        self.writes_all = all(form is not None for form in table.forms)
        """Whether kernels write every output."""
        self.spare: list[Frame] = []
        """Frames that nobody uses; those for other sizes of the same function may have them in common."""
        self.varying: Any = ()
        """Words that other sizes fill in otherwise, in order."""
        self.variables: Any = ()
        """What they hold for these sizes."""
        self._reports = checks_accesses()
        """Whether kernels report accesses outside of arrays."""
        # What Python runs in between sees signals as it is.
        self._is_long = table.work >= LONG_WORK and self.is_native

    @property
    def is_native(self) -> bool:
        """Whether no step runs on NumPy."""
        return all(segment.rows for segment in self.segments)

    @property
    def is_counted(self) -> bool:
        """Whether a run counts rows, so that results are no larger than they are here."""
        return False

    @property
    def output_shapes(self) -> "Sequence[Shape]":
        """Of all outputs."""
        return [form[0] for form in self.forms if form is not None]

    @property
    def peak_bytes(self) -> int:
        """Of intermediate values and workspaces while a call runs."""
        return self.memory_bytes

    def new_frame(self) -> Frame:
        """A frame of its own memory.

        Raises:
            FuseError: There is not enough memory.
        """
        try:
            memory = aligned_bytes(self.memory_bytes)
        except (MemoryError, ValueError, OverflowError) as error:  # NumPy refuses in all these ways
            needed = spelled(self.memory_bytes)
            raise FuseError(f"out of memory: {needed} bytes are needed for intermediate values") from error
        slots = self.words()
        # Slots hold offsets until a frame has memory; addresses differ from frame to frame, offsets never.
        slots[self.table.in_arena] += address_of(memory)
        # A ctypes array: one address is written faster there than into an array of NumPy.
        holder = (c_int64 * len(slots))()
        first = addressof(holder)
        slots[self.table.in_slots] = slots[self.table.in_slots] * WORD + first
        ctypes.memmove(holder, slots.ctypes.data, slots.nbytes)
        table = np.array(self.table.rows, np.int64).reshape(-1, ROW)
        table[:, 1] = table[:, 1] * WORD + first
        return Frame(memory, holder, table, address_of(table), sized_for=self)

    def words(self) -> "Array":
        """What slots hold for these sizes when a frame is new."""
        words = np.array(self.table.words if len(self.table.words) else [0], np.int64)
        if len(self.varying):
            words[self.varying] = self.variables
        return words

    def set_varying(self, words: Sequence[int]) -> None:
        """Note which words other sizes fill in otherwise; the table has those for these sizes."""
        self.varying = np.array(words, np.int64)
        self.variables = np.array([self.table.words[word] for word in words], np.int64)

    def suit(self, frame: Frame) -> None:
        """Let a frame hold these sizes."""
        if frame.sized_for is not self:
            np.frombuffer(frame.slots, np.int64)[self.varying] = self.variables
            frame.views.clear()
            frame.sized_for = self

    def run(self, frame: Frame, inputs: "Sequence[Array]", outputs: "Sequence[Array]") -> "dict[int, Array]":
        """Run everything.

        Args:
            frame: Memory that no other call uses.
            inputs: Dense arrays.
            outputs: Dense arrays; those that kernels write are written.

        Returns:
            The held tensors that are outputs.
        """
        self.bind(frame, inputs, outputs)
        if self._is_long and can_be_interrupted():
            # The function keeps all arrays, should it run on after a signal.
            held = run_interruptibly(lambda: self._run(frame, inputs, outputs), lambda: self._stop(frame))
        else:
            held = self._run(frame, inputs, outputs)
        if self._reports:
            from fuse_dialect.backends.checking.violations import raise_violations

            raise_violations()
        return held

    def _run(self, frame: Frame, inputs: "Sequence[Array]", outputs: "Sequence[Array]") -> "dict[int, Array]":
        if self._driver is not None:
            # The driver comes back early only where a loop ran long, so that Python sees signals; the team goes on.
            reached = self._driver.drive(frame.rows, 0, self._only_rows)
            if reached != self._only_rows:
                self.run_rows(frame, 0, self._only_rows, 1, reached)
            return {}
        held: dict[int, Array] = {}
        # Condition 3: only between segments Python runs, and only there it can hold or drop an array.
        for segment in self.segments:
            if segment.rows:
                self.run_rows(frame, segment.row, segment.rows, self.threads if segment.is_shared else 1)
            else:
                self.run_numpy(frame, segment.first, inputs, outputs, held)
        return held

    def _stop(self, frame: Frame) -> None:
        """End a run in another thread after the row that it runs; nobody uses the frame again."""
        frame.is_abandoned = True
        rows = len(frame.table) // self.threads
        # The function first: as a kernel, while its row still says so, it does nothing.
        frame.table[:rows, 0] = native_driver().stop
        frame.table[:rows, 2] = CONTROL

    def bind(self, frame: Frame, inputs: "Sequence[Array]", outputs: "Sequence[Array]") -> None:
        """Fill in the addresses of inputs and outputs, and what loops may run."""
        slots, table = frame.slots, self.table
        if table.left is not None:
            # A frame is used again, and its loops have counted down what they may run.
            slots[table.left] = table.most_ops
        for number, places in table.inputs:
            address = address_of(inputs[number])
            for place in places:
                slots[place] = address
        for number, places in table.outputs:
            address = address_of(outputs[number])
            for place in places:
                slots[place] = address

    def run_at(self, frame: Frame, addresses: Sequence[int], outputs: Sequence[int]) -> None:
        """Run a function of native steps that write all outputs, on dense arrays at these addresses.

        Args:
            frame: Memory that no other call uses.
            addresses: Of the inputs; who calls keeps them and the outputs alive.
            outputs: Addresses of what is written.
        """
        slots, table = frame.slots, self.table
        if table.left is not None:
            slots[table.left] = table.most_ops
        for number, places in table.inputs:
            for place in places:
                slots[place] = addresses[number]
        for number, places in table.outputs:
            for place in places:
                slots[place] = outputs[number]
        self._run(frame, (), ())

    @property
    def may_run_at(self) -> bool:
        """Whether `run_at` is for this function: a long run looks for signals, and a checked one for faults."""
        return self.is_native and self.writes_all and not self._is_long and not self._reports

    def run_rows(self, frame: Frame, row: int, rows: int, threads: int, first: int = 0) -> None:
        """Run native steps that follow each other, from the one with number `first` on."""
        reached = team().run(frame.rows + row * ROW * WORD, self.stride, rows, threads, first)
        if reached < 0 and not frame.is_abandoned:
            # The driver says -1 - row, which no number of a row is.
            self.end_run(frame, row, -1 - reached)

    def end_run(self, frame: Frame, row: int, ended: int) -> None:
        """Raise what a loop or a kernel has to say that ended the run of the rows from `row` on.

        Args:
            frame: What was run.
            row: Where the rows begin.
            ended: The number of the row that ended the run, from there.

        Raises:
            FuseError: A loop has run too often, or an op rejects the values of its operands.
        """
        raise NotImplementedError

    def delivered(
        self, frame: Frame, inputs: "Sequence[Array]", outputs: "Sequence[Array]", held: "dict[int, Array]"
    ) -> "list[Array]":
        """All outputs after a run, those that no kernel has written as arrays of their own."""
        raise NotImplementedError

    def run_numpy(
        self,
        frame: Frame,
        index: int,
        inputs: "Sequence[Array]",
        outputs: "Sequence[Array]",
        held: "dict[int, Array]",
    ) -> None:
        """Run one call by its NumPy meaning, and hold its results."""
        raise NotImplementedError
