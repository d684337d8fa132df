"""The native driver: a loop over a table of kernels, and what threads need to share its parallel rows.

1. A *row* of the table is three i64: address of the kernel, address of its slots, flags.
2. The caller runs all rows in order. A kernel that is not `PARALLEL` it runs alone, as part 0 of 1.
3. A `PARALLEL` row is *opened*: each part but the first becomes a cell that whoever has a processor claims. The caller
   runs part 0, then claims what nobody has claimed yet, and waits for parts that others are running. So nobody waits
   for a thread that is asleep, away or has no processor, except in the middle of a part.
4. Each part has a table of its own, because its slots name a workspace of its own. Who claims a part uses that table.
5. A cell holds twice the number of its row, plus one when it is claimed. Numbers of rows only grow, so a thread that
   looked at a cell long ago cannot claim a later row by mistake, and one that claimed a part knows that the table
   lives: the caller waits for that part.
6. One caller at a time has the workers; which one is settled here, because Python can be interrupted between any two
   of its steps. Others run their rows alone.
"""

import platform
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_int64, c_void_p
from dataclasses import dataclass
from string import Template
from typing import Any, cast

from fuse_dialect.process_wide import Once

PARALLEL = 1
ROW = 3
"""Numbers in a row."""
YIELD_AT = 64
"""Where a team has the address of `sched_yield`; before it, whether a caller has the workers."""
ROW_AT = 128
"""Where the open row is: its number, its address in the first table, bytes from one table to the next, its parts."""
DONE_AT = 192
"""How many parts of the row others than the caller have finished."""
CELLS_AT = 256
"""Where the first worker's cell is."""
CELL_BYTES = 128
"""Two lines of cache: what the worker says of itself is 64 bytes behind its cell."""
STATE_AT = 64
AWAY = 0
SPINS_BEFORE_YIELD = 4096
"""Rounds of a waiting loop until the thread offers its processor to others."""

_TEXT = Template("""\
$declarations

define internal void @pause(ptr %team, i64 %round) alwaysinline {
  %short = icmp slt i64 %round, $spins
  br i1 %short, label %relax, label %yield
relax:
  $pause
  ret void
yield:
  %place = getelementptr i8, ptr %team, i64 $yield_at
  %function = load ptr, ptr %place
  %known = icmp ne ptr %function, null
  br i1 %known, label %call, label %relax
call:
  %status = call i32 %function()
  ret void
}

define internal ptr @cell_of(ptr %team, i64 %worker) alwaysinline {
  %offset = mul i64 %worker, $cell_bytes
  %start = add i64 %offset, $cells_at
  %cell = getelementptr i8, ptr %team, i64 %start
  ret ptr %cell
}

define internal void @run_part(ptr %row, i64 %part, i64 %parts) {
  %slots_at = getelementptr i64, ptr %row, i64 1
  %kernel = load ptr, ptr %row
  %slots = load ptr, ptr %slots_at
  call void %kernel(ptr %slots, i64 %part, i64 %parts)
  ret void
}

; Claims the part of a worker's cell if that still is `open`, and runs it: 1 if so.
define internal i64 @claim(ptr %team, i64 %worker, i64 %open, ptr %row, i64 %stride, i64 %parts) {
  %cell = call ptr @cell_of(ptr %team, i64 %worker)
  %taken = or i64 %open, 1
  %swap = cmpxchg ptr %cell, i64 %open, i64 %taken acq_rel monotonic
  %got = extractvalue { i64, i1 } %swap, 1
  br i1 %got, label %run, label %lost
run:
  %part = add i64 %worker, 1
  %skip = mul i64 %part, %stride
  %own = getelementptr i8, ptr %row, i64 %skip
  call void @run_part(ptr %own, i64 %part, i64 %parts)
  ret i64 1
lost:
  ret i64 0
}

define internal void @share_row(ptr %team, ptr %row, i64 %stride, i64 %parts) {
entry:
  %number_at = getelementptr i8, ptr %team, i64 $row_at
  %address_at = getelementptr i64, ptr %number_at, i64 1
  %stride_at = getelementptr i64, ptr %number_at, i64 2
  %parts_at = getelementptr i64, ptr %number_at, i64 3
  %done_at = getelementptr i8, ptr %team, i64 $done_at
  %last = load i64, ptr %number_at
  %number = add i64 %last, 1
  %open = shl i64 %number, 1
  %others = sub i64 %parts, 1
  store i64 %number, ptr %number_at
  store ptr %row, ptr %address_at
  store i64 %stride, ptr %stride_at
  store i64 %parts, ptr %parts_at
  store atomic i64 0, ptr %done_at monotonic, align 8
  br label %cells
cells:
  %w = phi i64 [ 0, %entry ], [ %w_next, %open_cell ]
  %any = icmp slt i64 %w, %others
  br i1 %any, label %open_cell, label %own
open_cell:
  %cell = call ptr @cell_of(ptr %team, i64 %w)
  store atomic i64 %open, ptr %cell release, align 8
  %w_next = add i64 %w, 1
  br label %cells
own:
  call void @run_part(ptr %row, i64 0, i64 %parts)
  br label %rest
rest:
  %c = phi i64 [ 0, %own ], [ %c_next, %tried ]
  %mine = phi i64 [ 0, %own ], [ %mine_next, %tried ]
  %left = icmp slt i64 %c, %others
  br i1 %left, label %tried, label %wait
tried:
  %ran = call i64 @claim(ptr %team, i64 %c, i64 %open, ptr %row, i64 %stride, i64 %parts)
  %mine_next = add i64 %mine, %ran
  %c_next = add i64 %c, 1
  br label %rest
wait:
  %round = phi i64 [ 0, %rest ], [ %more, %again ]
  %done = load atomic i64, ptr %done_at acquire, align 8
  %all = add i64 %done, %mine
  %complete = icmp eq i64 %all, %others
  br i1 %complete, label %end, label %again
again:
  call void @pause(ptr %team, i64 %round)
  %more = add i64 %round, 1
  br label %wait
end:
  ret void
}

define void @fuse_drive(ptr %rows, i64 %count) {
entry:
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %row, label %done
row:
  %index = phi i64 [ 0, %entry ], [ %next, %row ]
  %at = getelementptr [3 x i64], ptr %rows, i64 %index
  call void @run_part(ptr %at, i64 0, i64 1)
  %next = add i64 %index, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %row, label %done
done:
  ret void
}

define internal void @stamp(ptr %times, i64 %index) alwaysinline {
  %asked = icmp ne ptr %times, null
  br i1 %asked, label %note, label %done
note:
  %now = call i64 @$clock()
  %at = getelementptr i64, ptr %times, i64 %index
  store i64 %now, ptr %at
  br label %done
done:
  ret void
}

define void @fuse_run(ptr %team, i64 %parts, ptr %rows, i64 %stride, i64 %count, ptr %times) {
entry:
  %swap = cmpxchg ptr %team, i64 0, i64 1 acq_rel monotonic
  %free = extractvalue { i64, i1 } %swap, 1
  br i1 %free, label %next_row, label %alone
alone:
  call void @fuse_drive(ptr %rows, i64 %count)
  ret void
next_row:
  %index = phi i64 [ 0, %entry ], [ %next, %after ]
  call void @stamp(ptr %times, i64 %index)
  %more = icmp slt i64 %index, %count
  br i1 %more, label %row, label %leave
row:
  %at = getelementptr [3 x i64], ptr %rows, i64 %index
  %flags_at = getelementptr i64, ptr %at, i64 2
  %flags = load i64, ptr %flags_at
  %parallel_bit = and i64 %flags, 1
  %parallel = icmp ne i64 %parallel_bit, 0
  br i1 %parallel, label %share, label %single
share:
  call void @share_row(ptr %team, ptr %at, i64 %stride, i64 %parts)
  br label %after
single:
  call void @run_part(ptr %at, i64 0, i64 1)
  br label %after
after:
  %next = add i64 %index, 1
  br label %next_row
leave:
  store atomic i64 0, ptr %team release, align 8
  ret void
}

define void @fuse_worker_loop(ptr %team, i64 %worker, i64 %patience) {
entry:
  %number_at = getelementptr i8, ptr %team, i64 $row_at
  %address_at = getelementptr i64, ptr %number_at, i64 1
  %stride_at = getelementptr i64, ptr %number_at, i64 2
  %parts_at = getelementptr i64, ptr %number_at, i64 3
  %done_at = getelementptr i8, ptr %team, i64 $done_at
  %cell = call ptr @cell_of(ptr %team, i64 %worker)
  %state = getelementptr i8, ptr %cell, i64 $state_at
  store atomic i64 1, ptr %state release, align 8
  br label %wait
wait:
  %round = phi i64 [ 0, %entry ], [ 0, %help_end ], [ 0, %lost ], [ %more, %again ]
  %now = load atomic i64, ptr %cell acquire, align 8
  %closed_bit = and i64 %now, 1
  %closed = icmp ne i64 %closed_bit, 0
  %empty = icmp eq i64 %now, 0
  %nothing = or i1 %closed, %empty
  br i1 %nothing, label %idle, label %try
idle:
  %patient = icmp slt i64 %round, %patience
  br i1 %patient, label %again, label %leave
again:
  call void @pause(ptr %team, i64 %round)
  %more = add i64 %round, 1
  br label %wait
try:
  %taken = or i64 %now, 1
  %swap = cmpxchg ptr %cell, i64 %now, i64 %taken acq_rel monotonic
  %got = extractvalue { i64, i1 } %swap, 1
  br i1 %got, label %work, label %lost
lost:
  br label %wait
work:
  %row = load ptr, ptr %address_at
  %stride = load i64, ptr %stride_at
  %parts = load i64, ptr %parts_at
  %part = add i64 %worker, 1
  %skip = mul i64 %part, %stride
  %own = getelementptr i8, ptr %row, i64 %skip
  call void @run_part(ptr %own, i64 %part, i64 %parts)
  br label %help
help:
  ; Until it counts its part as done, the row lives, and with it the parts that others left open.
  %h = phi i64 [ 0, %work ], [ %h_next, %helped ]
  %sum = phi i64 [ 1, %work ], [ %sum_next, %helped ]
  %others = sub i64 %parts, 1
  %left = icmp slt i64 %h, %others
  br i1 %left, label %helped, label %help_end
helped:
  %ran = call i64 @claim(ptr %team, i64 %h, i64 %now, ptr %row, i64 %stride, i64 %parts)
  %sum_next = add i64 %sum, %ran
  %h_next = add i64 %h, 1
  br label %help
help_end:
  %before = atomicrmw add ptr %done_at, i64 %sum acq_rel
  br label %wait
leave:
  store atomic i64 0, ptr %state release, align 8
  ret void
}
""")

_X86 = ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()", "llvm.readcyclecounter")
_ARM = ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)", "llvm.readsteadycounter")
_PROCESSORS = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}
"""By processor: how it is told that a loop waits, a declaration and a call, and its counter of time."""


@dataclass(frozen=True, slots=True)
class Driver:
    """The functions of the driver; each releases Python's lock while it runs.

    Who keeps one of the functions keeps the driver: they are addresses, and the code goes with the driver.
    """

    drive: Callable[[int, int], None]
    """`(rows, count)`: run all rows on this thread."""
    run: Callable[[int, int, int, int, int, int], None]
    """`(team, parts, rows, stride, count, times)`: the same, with the team's workers if no other caller has them.

    `times` is 0, or the address of `count` + 1 i64. They get the processor's counter before each row and after the
    last; nothing is written if another caller has the workers.
    """
    worker_loop: Callable[[int, int, int], None]
    """`(team, worker, patience)`: do what comes, until nothing has come for a while."""
    _code: Any
    """Keeps the machine code."""


def driver_text(machine: str) -> str:
    """The driver as LLVM IR for a kind of processor, as `platform.machine` calls it."""
    declarations, pause, clock = _PROCESSORS.get(machine.lower(), ("", "", "llvm.readcyclecounter"))
    return _TEXT.substitute(
        declarations=f"{declarations}\ndeclare i64 @{clock}()",
        pause=pause,
        clock=clock,
        spins=SPINS_BEFORE_YIELD,
        yield_at=YIELD_AT,
        row_at=ROW_AT,
        done_at=DONE_AT,
        cells_at=CELLS_AT,
        cell_bytes=CELL_BYTES,
        state_at=STATE_AT,
    )


@Once
def native_driver() -> Driver:
    """The driver for this processor, compiled once per process.

    Raises:
        ModuleNotFoundError: llvmlite is not installed.
    """
    from fuse_dialect.backends.llvm.engine import compile_object, load

    code = load(compile_object(driver_text(platform.machine())), ("fuse_drive", "fuse_run", "fuse_worker_loop"))
    number, pointer = c_int64, c_void_p
    drive = CFUNCTYPE(None, pointer, number)
    run = CFUNCTYPE(None, pointer, number, pointer, number, number, pointer)
    loop = CFUNCTYPE(None, pointer, number, number)
    return Driver(
        cast(Any, drive(code.addresses["fuse_drive"])),
        cast(Any, run(code.addresses["fuse_run"])),
        cast(Any, loop(code.addresses["fuse_worker_loop"])),
        code,
    )
