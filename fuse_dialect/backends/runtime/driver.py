"""The native driver: a loop over a table of kernels, and what threads need to walk it together.

1. A *row* of the table is three i64: address of the kernel, address of its slots, flags.
2. A kernel that is not `PARALLEL` is run by part 0 alone, as part 0 of 1.
3. After a row that is marked `WAIT` every part waits until all have come so far: what a kernel wrote is then seen by
   the next. The last row is always marked, so that the caller returns after everything is done.
4. A worker thread stays in `worker_loop`, and so without Python, as long as work comes quickly. The caller takes those
   workers that are there, and never waits for one that is away: an interrupted or slow thread costs speed only.

States of a worker: 0 away, 1 ready, 2 has work, 3 taken. Away to ready and back is the worker's step, all others are
the caller's.
"""

import platform
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_int64, c_void_p
from dataclasses import dataclass
from functools import cache
from string import Template
from typing import Any, cast

PARALLEL = 1
WAIT = 2
ROW = 3
"""Numbers in a row."""
BARRIER_BYTES = 256
"""Bytes of a team before its workers: arrivals, generation and the address of `sched_yield`, 64 bytes apart."""
YIELD_AT = 128
WORKER_BYTES = 128
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

define internal void @barrier(ptr %team, i64 %parts) {
  %generation = getelementptr i8, ptr %team, i64 64
  %mine = load atomic i64, ptr %generation acquire, align 8
  %before = atomicrmw add ptr %team, i64 1 acq_rel
  %missing = sub i64 %parts, 1
  %last = icmp eq i64 %before, %missing
  br i1 %last, label %open, label %wait
open:
  store atomic i64 0, ptr %team monotonic, align 8
  %next = add i64 %mine, 1
  store atomic i64 %next, ptr %generation release, align 8
  ret void
wait:
  %round = phi i64 [ 0, %0 ], [ %more, %again ]
  %now = load atomic i64, ptr %generation acquire, align 8
  %opened = icmp ne i64 %now, %mine
  br i1 %opened, label %done, label %again
again:
  call void @pause(ptr %team, i64 %round)
  %more = add i64 %round, 1
  br label %wait
done:
  ret void
}

define void @fuse_drive(ptr %rows, i64 %count, i64 %part, i64 %parts, ptr %team) {
  %first = icmp eq i64 %part, 0
  %several = icmp sgt i64 %parts, 1
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %row, label %done
row:
  %index = phi i64 [ 0, %0 ], [ %next, %after ]
  %at = getelementptr [3 x i64], ptr %rows, i64 %index
  %slots_at = getelementptr i64, ptr %at, i64 1
  %flags_at = getelementptr i64, ptr %at, i64 2
  %kernel = load ptr, ptr %at
  %slots = load ptr, ptr %slots_at
  %flags = load i64, ptr %flags_at
  %parallel_bit = and i64 %flags, 1
  %parallel = icmp ne i64 %parallel_bit, 0
  %mine = or i1 %parallel, %first
  br i1 %mine, label %run, label %meet
run:
  %shares = select i1 %parallel, i64 %parts, i64 1
  call void %kernel(ptr %slots, i64 %part, i64 %shares)
  br label %meet
meet:
  %wait_bit = and i64 %flags, 2
  %waits = icmp ne i64 %wait_bit, 0
  %meets = and i1 %waits, %several
  br i1 %meets, label %wait, label %after
wait:
  call void @barrier(ptr %team, i64 %parts)
  br label %after
after:
  %next = add i64 %index, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %row, label %done
done:
  ret void
}

define i64 @fuse_run(ptr %team, i64 %workers, ptr %rows, i64 %stride, i64 %count, i64 %patience) {
entry:
  br label %take
take:
  %worker = phi i64 [ 0, %entry ], [ %worker_next, %taken_next ]
  %parts = phi i64 [ 1, %entry ], [ %parts_next, %taken_next ]
  %round = phi i64 [ 0, %entry ], [ %round_next, %taken_next ]
  %has = icmp slt i64 %worker, %workers
  br i1 %has, label %try, label %give
try:
  %tries = phi i64 [ %round, %take ], [ %tries_next, %retry ]
  %offset = mul i64 %worker, $worker_bytes
  %start = add i64 %offset, $barrier_bytes
  %state = getelementptr i8, ptr %team, i64 %start
  %swap = cmpxchg ptr %state, i64 1, i64 3 acq_rel monotonic
  %got = extractvalue { i64, i1 } %swap, 1
  br i1 %got, label %got_it, label %missed
got_it:
  %part_at = getelementptr i64, ptr %state, i64 1
  store i64 %parts, ptr %part_at
  %with = add i64 %parts, 1
  br label %taken_next
missed:
  %patient = icmp slt i64 %tries, %patience
  br i1 %patient, label %retry, label %taken_next
retry:
  call void @pause(ptr %team, i64 %tries)
  %tries_next = add i64 %tries, 1
  br label %try
taken_next:
  %parts_next = phi i64 [ %with, %got_it ], [ %parts, %missed ]
  %round_next = phi i64 [ %tries, %got_it ], [ %tries, %missed ]
  %worker_next = add i64 %worker, 1
  br label %take
give:
  %g = phi i64 [ 0, %take ], [ %g_next, %given ]
  %g_has = icmp slt i64 %g, %workers
  br i1 %g_has, label %look, label %go
look:
  %g_offset = mul i64 %g, $worker_bytes
  %g_start = add i64 %g_offset, $barrier_bytes
  %g_state = getelementptr i8, ptr %team, i64 %g_start
  %s = load atomic i64, ptr %g_state acquire, align 8
  %taken = icmp eq i64 %s, 3
  br i1 %taken, label %assign, label %given
assign:
  %g_part_at = getelementptr i64, ptr %g_state, i64 1
  %g_part = load i64, ptr %g_part_at
  %g_parts_at = getelementptr i64, ptr %g_state, i64 2
  store i64 %parts, ptr %g_parts_at
  %skip = mul i64 %g_part, %stride
  %g_rows = getelementptr i8, ptr %rows, i64 %skip
  %g_rows_at = getelementptr i64, ptr %g_state, i64 3
  store ptr %g_rows, ptr %g_rows_at
  %g_count_at = getelementptr i64, ptr %g_state, i64 4
  store i64 %count, ptr %g_count_at
  store atomic i64 2, ptr %g_state release, align 8
  br label %given
given:
  %g_next = add i64 %g, 1
  br label %give
go:
  call void @fuse_drive(ptr %rows, i64 %count, i64 0, i64 %parts, ptr %team)
  ret i64 %parts
}

define void @fuse_worker_loop(ptr %team, i64 %worker, i64 %patience) {
entry:
  %offset = mul i64 %worker, $worker_bytes
  %start = add i64 %offset, $barrier_bytes
  %state = getelementptr i8, ptr %team, i64 %start
  store atomic i64 1, ptr %state release, align 8
  br label %wait
wait:
  %round = phi i64 [ 0, %entry ], [ 0, %work ], [ %more, %again ]
  %now = load atomic i64, ptr %state acquire, align 8
  switch i64 %now, label %again [ i64 2, label %work
                                  i64 1, label %ready ]
ready:
  %patient = icmp slt i64 %round, %patience
  br i1 %patient, label %again, label %leave
again:
  call void @pause(ptr %team, i64 %round)
  %more = add i64 %round, 1
  br label %wait
leave:
  %swap = cmpxchg ptr %state, i64 1, i64 0 acq_rel monotonic
  %left = extractvalue { i64, i1 } %swap, 1
  br i1 %left, label %done, label %again
work:
  %part_at = getelementptr i64, ptr %state, i64 1
  %part = load i64, ptr %part_at
  %parts_at = getelementptr i64, ptr %state, i64 2
  %parts = load i64, ptr %parts_at
  %rows_at = getelementptr i64, ptr %state, i64 3
  %rows = load ptr, ptr %rows_at
  %count_at = getelementptr i64, ptr %state, i64 4
  %count = load i64, ptr %count_at
  call void @fuse_drive(ptr %rows, i64 %count, i64 %part, i64 %parts, ptr %team)
  store atomic i64 1, ptr %state release, align 8
  br label %wait
done:
  ret void
}
""")

_PAUSES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "amd64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
    "arm64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}
"""How a processor is told that a loop waits, by `platform.machine`: a declaration and a call."""


@dataclass(frozen=True, slots=True)
class Driver:
    """The functions of the driver; each releases Python's lock while it runs."""

    drive: Callable[[int, int, int, int, int], None]
    """`(rows, count, part, parts, team)`: walk a table."""
    run: Callable[[int, int, int, int, int, int], int]
    """`(team, workers, rows, stride, count, patience)`: walk it with those workers that are ready; how many walked."""
    worker_loop: Callable[[int, int, int], None]
    """`(team, worker, patience)`: do what comes, until nothing has come for a while."""
    _code: Any
    """Keeps the machine code."""


def driver_text(machine: str) -> str:
    """The driver as LLVM IR for a kind of processor, as `platform.machine` calls it."""
    declarations, pause = _PAUSES.get(machine.lower(), ("", ""))
    return _TEXT.substitute(
        declarations=declarations,
        pause=pause,
        spins=SPINS_BEFORE_YIELD,
        yield_at=YIELD_AT,
        worker_bytes=WORKER_BYTES,
        barrier_bytes=BARRIER_BYTES,
    )


@cache
def native_driver() -> Driver:
    """The driver for this processor, compiled once per process.

    Raises:
        ModuleNotFoundError: llvmlite is not installed.
    """
    from fuse_dialect.backends.llvm.engine import compile_object, load

    code = load(compile_object(driver_text(platform.machine())), ("fuse_drive", "fuse_run", "fuse_worker_loop"))
    number, pointer = c_int64, c_void_p
    drive = CFUNCTYPE(None, pointer, number, number, number, pointer)
    run = CFUNCTYPE(number, pointer, number, pointer, number, number, number)
    loop = CFUNCTYPE(None, pointer, number, number)
    return Driver(
        cast(Any, drive(code.addresses["fuse_drive"])),
        cast(Any, run(code.addresses["fuse_run"])),
        cast(Any, loop(code.addresses["fuse_worker_loop"])),
        code,
    )
