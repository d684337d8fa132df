"""The functions of control rows, as machine code: they begin and end loops, and choose branches.

`control` says what the words of a descriptor are, and states the conditions (1) to (4) that comments here cite.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuse_dialect.backends.assembler.builder import Module, Parameter
from fuse_dialect.backends.assembler.values import I1, I8, I64, PTR, VOID, Value, constant
from fuse_dialect.backends.runtime.control import RECORD_WORDS, LoopWord
from fuse_dialect.backends.types import STOP
from fuse_dialect.process_wide import Once

if TYPE_CHECKING:
    from fuse_dialect.backends.assembler.engine import Code


@dataclass(frozen=True, slots=True)
class ControlCode:
    """Addresses of the functions, as rows of the driver's table have them."""

    begin: int
    end: int
    branch: int
    jump: int
    copy: int
    code: "Code"
    """Keeps the machine code."""


def control_text() -> str:
    """The functions as LLVM IR."""
    module = Module()
    _write_loop_begin(_Descriptor(module, "fuse_loop_begin"))
    _write_loop_end(_Descriptor(module, "fuse_loop_end"))
    _write_branch(_Descriptor(module, "fuse_branch"))
    _write_jump(_Descriptor(module, "fuse_jump"))
    _write_copy(module)
    return module.text()


class _Descriptor:
    """A function of a descriptor, which gives by how many rows of the table to go on."""

    def __init__(self, module: Module, name: str):
        """Begin the function."""
        self.f = module.function(name, [Parameter("d", PTR)], result=I64)
        self._start = self.f.parameters[0]

    def at(self, word: int) -> Value:
        """Where a word stands."""
        return self._place(self._start, self.f.i64(word))

    def word(self, word: int) -> Value:
        """The number that a word is."""
        return self.f.load(I64, self.at(word))

    def address(self, word: int) -> Value:
        """The address that a word is."""
        return self.f.load(PTR, self.at(word))

    def holds(self, word: int) -> Value:
        """Whether the i1 holds that a word has the address of; so it does without one."""
        f = self.f

        def read() -> list[Value]:
            return [f.compare("ne", f.load(I8, self.address(word)), constant(I8, 0))]

        return f.either(f.compare("ne", self.word(word), f.i64(0)), read, lambda: [constant(I1, 1)])[0]

    def move(self, iteration: Value) -> None:
        """Put what moves by a stride to where it is in an iteration (1)."""
        f = self.f
        with self._records(LoopWord.MOVES, LoopWord.MOVE_LIST) as record:
            base, stride = (f.load(I64, self._place(record, f.i64(word))) for word in range(2))
            self._spread(record, f.add(base, f.multiply(stride, iteration)))

    def turn(self) -> None:
        """Give everything that takes turns its other place (2)."""
        f = self.f
        with self._records(LoopWord.TURNS, LoopWord.TURN_LIST) as record:
            places = [self._place(record, f.i64(word)) for word in range(2)]
            this, other = (f.load(I64, place) for place in places)
            f.store(other, places[0])
            f.store(this, places[1])
            self._spread(record, other)

    def follow(self, which: int) -> None:
        """Put each state to the place in this word of its record (3)."""
        f = self.f
        with self._records(LoopWord.STATES, LoopWord.STATE_LIST) as record:
            self._spread(record, f.load(I64, self._place(record, f.i64(which))))

    def resize(self, iteration: Value) -> None:
        """Write the sizes that an iteration has (4)."""
        f = self.f
        count, slots = self.word(LoopWord.SIZES), self.address(LoopWord.SIZE_LIST)
        row = self._place(self.address(LoopWord.SIZE_TABLE), f.multiply(count, iteration))
        with f.loop(f.i64(0), count) as loop:
            size = f.load(I64, self._place(row, loop.index))
            f.store(size, f.load(PTR, self._place(slots, loop.index)))

    def charge(self) -> Value:
        """Take the ops of an iteration from those that are left: whether they are there."""
        f, left_at = self.f, self.address(LoopWord.LEFT)
        rest = f.subtract(f.load(I64, left_at), self.word(LoopWord.OPS))
        f.store(rest, left_at)
        return f.compare("sge", rest, f.i64(0))

    @contextmanager
    def _records(self, count: int, listed: int) -> Generator[Value]:
        """What the `with` block writes is done with each record of a list."""
        f, start = self.f, self.address(listed)
        with f.loop(f.i64(0), self.word(count)) as loop:
            yield self._place(start, f.multiply(loop.index, f.i64(RECORD_WORDS)))

    def _spread(self, record: Value, value: Value) -> None:
        """Write a value to all slots of a record, which has their number at 2 and their list at 3."""
        f = self.f
        count, slots = f.load(I64, self._place(record, f.i64(2))), f.load(PTR, self._place(record, f.i64(3)))
        with f.loop(f.i64(0), count) as loop:
            f.store(value, f.load(PTR, self._place(slots, loop.index)))

    def _place(self, start: Value, index: Value) -> Value:
        return self.f.offset(start, index, I64)


def _write_loop_begin(d: _Descriptor) -> None:
    f = d.f
    f.store(f.i64(0), d.address(LoopWord.COUNTER))
    bound, limit_at = d.word(LoopWord.BOUND), d.address(LoopWord.LIMIT)
    is_limited = f.compare("ne", d.word(LoopWord.LIMIT), f.i64(0))
    (count,) = f.either(is_limited, lambda: [f.least(f.load(I64, limit_at), bound)], lambda: [bound])
    f.store(count, d.at(LoopWord.COUNT))
    d.move(f.i64(0))
    d.turn()
    d.follow(0)
    d.resize(f.i64(0))
    begins = f.binary("and", d.holds(LoopWord.BEGINS), f.compare("sgt", count, f.i64(0)))
    behind = f.add(d.word(LoopWord.ROWS), f.i64(2))
    f.ret(f.select(begins, f.i64(1), behind))


def _write_loop_end(d: _Descriptor) -> None:
    f = d.f
    pay, leave, back, stop = map(f.label, ("pay", "leave", "back", "stop"))
    goes_on = d.holds(LoopWord.GOES_ON)
    d.follow(1)
    counter = d.address(LoopWord.COUNTER)
    iteration = f.add(f.load(I64, counter), f.i64(1))
    f.store(iteration, counter)
    f.branch(f.binary("and", goes_on, f.compare("slt", iteration, d.word(LoopWord.COUNT))), pay, leave)
    f.start(leave)
    f.ret(f.i64(1))
    f.start(pay)
    f.branch(d.charge(), back, stop)
    f.start(stop)
    f.ret(f.i64(STOP))
    f.start(back)
    d.turn()
    d.move(iteration)
    d.resize(iteration)
    f.ret(f.subtract(f.i64(0), d.word(LoopWord.ROWS)))


def _write_branch(d: _Descriptor) -> None:
    d.f.ret(d.f.select(d.holds(0), d.f.i64(1), d.word(1)))


def _write_jump(d: _Descriptor) -> None:
    d.f.ret(d.word(0))


def _write_copy(module: Module) -> None:
    """A kernel: its slots are the address of the copy, that of what is copied, and the number of bytes."""
    f = module.function("fuse_copy", [Parameter("slots", PTR), Parameter("part", I64), Parameter("parts", I64)])
    slots = f.parameters[0]
    target, source = (f.load(PTR, f.offset(slots, f.i64(slot), I64)) for slot in range(2))
    bytes = f.load(I64, f.offset(slots, f.i64(2), I64))
    f.call("llvm.memmove.p0.p0.i64", VOID, [target, source, bytes, constant(I1, 0)])
    f.ret()


@Once
def native_control() -> ControlCode:
    """The functions for this processor, compiled once per process.

    Raises:
        ModuleNotFoundError: llvmlite is not installed.
    """
    from fuse_dialect.backends.assembler.engine import compile_object, load

    names = ("fuse_loop_begin", "fuse_loop_end", "fuse_branch", "fuse_jump", "fuse_copy")
    code = load(compile_object(control_text()), names)
    begin, end, branch, jump, copy = (code.addresses[name] for name in names)
    return ControlCode(begin, end, branch, jump, copy, code)
