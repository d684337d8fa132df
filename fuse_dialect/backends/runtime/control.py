"""Native loops and branches: the functions of control rows, and the words that they work on.

A control row stands in the driver's table between the kernels of a loop or a branch. Its slots are a *descriptor*:

    loop begin, loop end:  LOOP_WORDS words, see `LoopWord`
    branch:                address of an i1, rows to go on by if it is false
    jump:                  rows to go on by

What *moves* with the iterations is an address that many slots hold: a row of a tensor, a row of a stack, a state. The
descriptor lists these slots, and the functions write them:

1. An element or a row of a stack is at its base plus the iteration times a stride.
2. A value that becomes a state is written to one of two places in turn, because the kernels of the next iteration read
   the old one while they write the new one.
3. A state is where the first iteration finds it, and then where the value is that became it. That is never another
   state of the loop: such a value is a copy (condition 5 of `flow`). So no record holds an address that another moves.
"""

from ctypes import c_int64, sizeof
from dataclasses import dataclass
from enum import IntEnum, auto
from string import Template
from typing import TYPE_CHECKING

from fuse_dialect.backends.types import STOP
from fuse_dialect.process_wide import Once

if TYPE_CHECKING:
    from fuse_dialect.backends.assembler.engine import Code

WORD = sizeof(c_int64)
ENDLESS = (1 << 63) - 1
"""The bound of a loop that only a condition ends."""


class LoopWord(IntEnum):
    """Words of a loop's descriptor, in order; an address of 0 is that of nothing."""

    COUNTER = 0
    """Address of the i64 that tells the body its iteration."""
    LIMIT = auto()
    """Address of an i64: most iterations."""
    BEGINS = auto()
    """Address of an i1: whether to begin."""
    GOES_ON = auto()
    """Address of an i1: whether to go on."""
    BOUND = auto()
    """Most iterations by the number of rows."""
    LEFT = auto()
    """Address of an i64: ops that loops of this run may still run."""
    OPS = auto()
    """Ops of one iteration."""
    ROWS = auto()
    """Rows of the table between begin and end."""
    COUNT = auto()
    """Written by begin: most iterations."""
    MOVES = auto()
    """How many addresses move by a stride."""
    MOVE_LIST = auto()
    """Address of their records: base, stride, number of slots, address of the list of their addresses."""
    TURNS = auto()
    """How many addresses take turns."""
    TURN_LIST = auto()
    """Address of their records: this place, the other one, number of slots, address of the list."""
    STATES = auto()
    """How many states there are."""
    STATE_LIST = auto()
    """Address of their records: first place, place of the value that becomes it, number of slots, address of the
    list."""


LOOP_WORDS = len(LoopWord)
RECORD_WORDS = 4
"""Of every record: two that tell its kind, then the number of slots, and the address of the list of their addresses."""

_TEXT = Template("""\
define internal i64 @word(ptr %d, i64 %index) alwaysinline {
  %at = getelementptr i64, ptr %d, i64 %index
  %value = load i64, ptr %at
  ret i64 %value
}

define internal ptr @address(ptr %d, i64 %index) alwaysinline {
  %value = call i64 @word(ptr %d, i64 %index)
  %pointer = inttoptr i64 %value to ptr
  ret ptr %pointer
}

; Whether the i1 holds that a word has the address of; so it does without one.
define internal i1 @holds(ptr %d, i64 %index) alwaysinline {
  %at = call ptr @address(ptr %d, i64 %index)
  %given = icmp ne ptr %at, null
  br i1 %given, label %look, label %yes
look:
  %byte = load i8, ptr %at
  %set = icmp ne i8 %byte, 0
  ret i1 %set
yes:
  ret i1 1
}

; Writes a value to all slots of a record, which has their number at 2 and their list at 3.
define internal void @spread(ptr %record, i64 %value) alwaysinline {
entry:
  %n = call i64 @word(ptr %record, i64 2)
  %list = call ptr @address(ptr %record, i64 3)
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %write ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %write, label %done
write:
  %slot = call ptr @address(ptr %list, i64 %i)
  store i64 %value, ptr %slot
  %i1 = add i64 %i, 1
  br label %next
done:
  ret void
}

; Puts what moves by a stride to where it is in an iteration.
define internal void @move(ptr %d, i64 %iteration) {
entry:
  %n = call i64 @word(ptr %d, i64 $moves)
  %list = call ptr @address(ptr %d, i64 $move_list)
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %one ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %done
one:
  %record = getelementptr [4 x i64], ptr %list, i64 %i
  %base = call i64 @word(ptr %record, i64 0)
  %stride = call i64 @word(ptr %record, i64 1)
  %offset = mul i64 %stride, %iteration
  %value = add i64 %base, %offset
  call void @spread(ptr %record, i64 %value)
  %i1 = add i64 %i, 1
  br label %next
done:
  ret void
}

; Gives everything that takes turns its other place.
define internal void @turn(ptr %d) {
entry:
  %n = call i64 @word(ptr %d, i64 $turns)
  %list = call ptr @address(ptr %d, i64 $turn_list)
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %one ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %done
one:
  %record = getelementptr [4 x i64], ptr %list, i64 %i
  %other_at = getelementptr i64, ptr %record, i64 1
  %this = load i64, ptr %record
  %other = load i64, ptr %other_at
  store i64 %other, ptr %record
  store i64 %this, ptr %other_at
  call void @spread(ptr %record, i64 %other)
  %i1 = add i64 %i, 1
  br label %next
done:
  ret void
}

; Puts each state to the place in word `which` of its record (condition 3).
define internal void @follow(ptr %d, i64 %which) {
entry:
  %n = call i64 @word(ptr %d, i64 $states)
  %list = call ptr @address(ptr %d, i64 $state_list)
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %one ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %done
one:
  %record = getelementptr [4 x i64], ptr %list, i64 %i
  %value = call i64 @word(ptr %record, i64 %which)
  call void @spread(ptr %record, i64 %value)
  %i1 = add i64 %i, 1
  br label %next
done:
  ret void
}

; Takes the ops of an iteration from those that are left: whether they are there.
define internal i1 @charge(ptr %d) alwaysinline {
  %left_at = call ptr @address(ptr %d, i64 $left)
  %ops = call i64 @word(ptr %d, i64 $ops)
  %left = load i64, ptr %left_at
  %rest = sub i64 %left, %ops
  store i64 %rest, ptr %left_at
  %there = icmp sge i64 %rest, 0
  ret i1 %there
}

define i64 @fuse_loop_begin(ptr %d) {
entry:
  %counter = call ptr @address(ptr %d, i64 $counter)
  store i64 0, ptr %counter
  %bound = call i64 @word(ptr %d, i64 $bound)
  %limit_at = call ptr @address(ptr %d, i64 $limit)
  %limited = icmp ne ptr %limit_at, null
  br i1 %limited, label %look, label %set
look:
  %limit = load i64, ptr %limit_at
  %less = icmp slt i64 %limit, %bound
  %least = select i1 %less, i64 %limit, i64 %bound
  br label %set
set:
  %count = phi i64 [ %bound, %entry ], [ %least, %look ]
  %count_at = getelementptr i64, ptr %d, i64 $count
  store i64 %count, ptr %count_at
  call void @move(ptr %d, i64 0)
  call void @turn(ptr %d)
  call void @follow(ptr %d, i64 0)
  %begins = call i1 @holds(ptr %d, i64 $begins)
  %some = icmp sgt i64 %count, 0
  %enters = and i1 %begins, %some
  br i1 %enters, label %enter, label %skip
enter:
  ret i64 1
skip:
  %rows = call i64 @word(ptr %d, i64 $rows)
  %behind = add i64 %rows, 2
  ret i64 %behind
}

define i64 @fuse_loop_end(ptr %d) {
entry:
  %goes_on = call i1 @holds(ptr %d, i64 $goes_on)
  call void @follow(ptr %d, i64 1)
  %counter = call ptr @address(ptr %d, i64 $counter)
  %last = load i64, ptr %counter
  %iteration = add i64 %last, 1
  store i64 %iteration, ptr %counter
  %count = call i64 @word(ptr %d, i64 $count)
  %some = icmp slt i64 %iteration, %count
  %again = and i1 %goes_on, %some
  br i1 %again, label %pay, label %leave
pay:
  %there = call i1 @charge(ptr %d)
  br i1 %there, label %back, label %stop
back:
  call void @turn(ptr %d)
  call void @move(ptr %d, i64 %iteration)
  %rows = call i64 @word(ptr %d, i64 $rows)
  %jump = sub i64 0, %rows
  ret i64 %jump
stop:
  ret i64 $stop
leave:
  ret i64 1
}

define i64 @fuse_branch(ptr %d) {
  %holds = call i1 @holds(ptr %d, i64 0)
  %otherwise = call i64 @word(ptr %d, i64 1)
  %next = select i1 %holds, i64 1, i64 %otherwise
  ret i64 %next
}

define i64 @fuse_jump(ptr %d) {
  %rows = call i64 @word(ptr %d, i64 0)
  ret i64 %rows
}

declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)

; A kernel: its slots are the address of the copy, that of what is copied, and the number of bytes.
define void @fuse_copy(ptr %slots, i64 %part, i64 %parts) {
  %target = call ptr @address(ptr %slots, i64 0)
  %source = call ptr @address(ptr %slots, i64 1)
  %bytes = call i64 @word(ptr %slots, i64 2)
  call void @llvm.memmove.p0.p0.i64(ptr %target, ptr %source, i64 %bytes, i1 0)
  ret void
}
""")


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
    words = {word.name.lower(): int(word) for word in LoopWord}
    return _TEXT.substitute(words, stop=STOP)


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
