"""The native driver: a loop over a table of kernels, and what threads need to share its parallel rows.

Its text is the file of LLVM IR of the same name, which cites these conditions.

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
7. A `CONTROL` row calls `i64 function(ptr slots)`, which says how many rows to go on by: the end of a loop goes back.
   `STOP` ends the run: a loop has run too often, or a kernel has found a fault. After a jump back the walk may *pause*,
   so that Python sees signals: once every `PAUSE` ticks.
"""

import platform
from collections.abc import Callable, Mapping
from ctypes import CFUNCTYPE, c_int64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from fuse_dialect.backends.types import STOP
from fuse_dialect.process_wide import Once

PARALLEL = 1
CONTROL = 2
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
PAUSE_TICKS = {"x86_64": 1 << 27, "amd64": 1 << 27}
"""Ticks of the counter until a walk that goes in circles pauses: some hundredths of a second."""
_SLOW_TICKS = 1 << 21
"""The same for counters that count at some ten MHz."""
SPINS_BEFORE_YIELD = 4096
"""Rounds of a waiting loop until the thread offers its processor to others."""

_X86 = ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()", "llvm.readcyclecounter")
_ARM = ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)", "llvm.readsteadycounter")
_UNKNOWN = ("", "", "llvm.readcyclecounter")
_PROCESSORS = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}
"""By processor: how it is told that a loop waits, a declaration and a call, and its counter of time."""


@dataclass(frozen=True, slots=True)
class Driver:
    """The functions of the driver; each releases Python's lock while it runs.

    Who keeps one of the functions keeps the driver: they are addresses, and the code goes with the driver.
    """

    drive: Callable[[int, int, int], int]
    """`(rows, first, count)`: run rows from `first` on, on this thread.

    Gives `count` in the end; a smaller number where it pauses and wants to be called again from there; -1 - row where a
    loop ended the run because it may run no more.
    """
    run: Callable[[int, int, int, int, int, int, int], int]
    """`(team, parts, rows, stride, first, count, times)`: the same, with the team's workers if nobody else has them.

    `times` is 0, or the address of `count` i64, to which the ticks of each row are added; nothing is written if another
    caller has the workers.
    """
    worker_loop: Callable[[int, int, int], None]
    """`(team, worker, patience)`: do what comes, until nothing has come for a while."""
    stop: int
    """Address of the function of a row that ends a run; it may be called as a kernel, too."""
    _code: Any
    """Keeps the machine code."""


def clock_of(machine: str) -> str:
    """The function of LLVM that reads a counter of time on a kind of processor, as `platform.machine` calls it."""
    return _PROCESSORS.get(machine.lower(), _UNKNOWN)[2]


def driver_text(machine: str) -> str:
    """The driver as LLVM IR for a kind of processor, as `platform.machine` calls it."""
    # Imported where the driver is written: who loads a program needs its functions alone.
    from string import Template

    declarations, pause, _ = _PROCESSORS.get(machine.lower(), _UNKNOWN)
    clock = clock_of(machine)
    template = Path(__file__).with_suffix(".ll").read_text(encoding="utf-8")
    return Template(template).substitute(
        stop=STOP,
        pause_ticks=PAUSE_TICKS.get(machine.lower(), _SLOW_TICKS),
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


_STOP_FUNCTION = "fuse_stop"
DRIVER_FUNCTIONS = ("fuse_drive", "fuse_run", "fuse_worker_loop", _STOP_FUNCTION)


@Once
def driver_object() -> bytes:
    """The driver for this processor as an object file, compiled once per process.

    Raises:
        ModuleNotFoundError: llvmlite is not installed.
    """
    from fuse_dialect.backends.assembler.engine import compile_object

    return compile_object(driver_text(platform.machine()))


@Once
def native_driver() -> Driver:
    """The driver for this processor, loaded once per process.

    Raises:
        ModuleNotFoundError: llvmlite is not installed.
    """
    from fuse_dialect.backends.assembler.engine import load

    code = load(driver_object(), DRIVER_FUNCTIONS)
    return driver_at(code.addresses, code)


def driver_at(addresses: Mapping[str, int], owner: Any) -> Driver:
    """The driver whose functions are at some addresses, as long as `owner` exists."""
    number, pointer = c_int64, c_void_p
    drive = CFUNCTYPE(number, pointer, number, number)
    run = CFUNCTYPE(number, pointer, number, pointer, number, number, number, pointer)
    loop = CFUNCTYPE(None, pointer, number, number)
    functions = [form(addresses[name]) for form, name in zip((drive, run, loop), DRIVER_FUNCTIONS, strict=False)]
    return Driver(*cast("tuple[Any, Any, Any]", tuple(functions)), addresses[_STOP_FUNCTION], owner)
