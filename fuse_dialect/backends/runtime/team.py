"""Threads that share parallel rows with the caller; one team for the whole process.

Workers are Python threads that live in native code while work comes, and wait for an event otherwise. Who has the
workers, and which part is whose, is settled in native code (`driver`): an interrupt between two steps of Python leaves
nothing behind, and a worker that is missing, asleep or without a processor costs speed only.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from ctypes import addressof, c_int64
from itertools import pairwise
from threading import Event, Lock, Thread
from time import perf_counter
from typing import Any, cast

from fuse_dialect.backends.runtime.arrays import address_of, aligned_bytes
from fuse_dialect.backends.runtime.driver import (
    AWAY,
    CELL_BYTES,
    CELLS_AT,
    SPINS_BEFORE_YIELD,
    STATE_AT,
    YIELD_AT,
    Driver,
    native_driver,
)
from fuse_dialect.process_wide import EXCLUSIVE

MAX_WORKERS = 255
READY_ROUNDS = 4 * SPINS_BEFORE_YIELD
"""Rounds for which a worker waits for more work before it goes to sleep; a fraction of a millisecond."""


def processors() -> int:
    """How many processors this process may use: more threads than that only wait for each other."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Team:
    """Worker threads, as many as were ever asked for and could be started."""

    def __init__(self) -> None:
        self._memory = aligned_bytes(CELLS_AT + MAX_WORKERS * CELL_BYTES, 128)
        self._memory[:] = 0
        self._address = address_of(self._memory)
        self._has_caller = c_int64.from_address(self._address)
        c_int64.from_address(self._address + YIELD_AT).value = _yield_address()
        self._driver = native_driver()
        self._states: list[c_int64] = []
        self._alarms: list[Event] = []
        self._starting = Lock()
        self._most = min(MAX_WORKERS, processors() - 1)

    def run(self, rows: int, stride: int, count: int, threads: int) -> None:
        """Run the kernels of a table.

        Args:
            rows: Address of the table for part 0.
            stride: Bytes from the table of one part to that of the next.
            count: Rows in each.
            threads: Most threads to use, the caller's included; the table has so many parts.
        """
        if threads < 2 or self._has_caller.value:
            self._driver.drive(rows, count)
            return
        self._wake(min(threads - 1, self._most))
        self._driver.run(self._address, threads, rows, stride, count, 0)

    def run_timed(self, rows: int, stride: int, count: int, threads: int) -> Sequence[float]:
        """Run the kernels of a table as `run` does; seconds of each row, as they are in such a run.

        Timed one by one, a row would also wait for Python and wake its workers. So the counter of the processor is read
        between rows, and their shares of the time of all of them count.
        """
        times = (c_int64 * (count + 1))()
        if threads > 1:
            self._wake(min(threads - 1, self._most))
        start = perf_counter()
        self._driver.run(self._address, threads, rows, stride, count, addressof(times))
        seconds = perf_counter() - start
        ticks = [after - before for before, after in pairwise(times)]
        total = sum(ticks)
        # Another caller has the workers, or there is no counter: nothing is known of single rows.
        return [seconds * each / total for each in ticks] if total > 0 else [seconds / count] * count

    def _wake(self, workers: int) -> None:
        """Call those of the first workers that sleep; nobody waits until they come."""
        if len(self._states) < workers:
            self._start(workers)
        for state, alarm in zip(self._states[:workers], self._alarms, strict=False):
            if state.value == AWAY:
                alarm.set()

    def _start(self, workers: int) -> None:
        """Start workers until there are so many; without room for more threads those that there are must do."""
        with self._starting:
            while len(self._states) < min(workers, self._most):
                number, alarm = len(self._states), Event()
                work = _worker(self._driver, self._memory, number, alarm)
                try:
                    Thread(target=work, name=f"fuse-worker-{number}", daemon=True).start()
                except (RuntimeError, MemoryError):
                    self._most = number
                    return
                state = c_int64.from_address(self._address + CELLS_AT + number * CELL_BYTES + STATE_AT)
                self._alarms.append(alarm)
                self._states.append(state)


def _worker(driver: Driver, memory: Any, number: int, alarm: Event) -> Callable[[], None]:
    """What a worker thread does; it keeps the code that it runs in, and the memory that it looks at."""

    def work() -> None:
        team = address_of(memory)
        while True:
            alarm.wait()
            alarm.clear()
            driver.worker_loop(team, number, READY_ROUNDS)

    return work


def _yield_address() -> int:
    """Address of a function that gives the processor to another thread; 0 if there is none that is known."""
    try:
        library = cast(Any, ctypes).WinDLL("kernel32") if sys.platform == "win32" else ctypes.CDLL(None)
        function = library.SwitchToThread if sys.platform == "win32" else library.sched_yield
    except (OSError, AttributeError):
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class _Process:
    """The team of this process."""

    team: Team | None = None


def team() -> Team:
    """The team of this process, made when first asked for."""
    made = _Process.team
    if made is None:
        with EXCLUSIVE:
            if _Process.team is None:
                _Process.team = Team()
            made = _Process.team
    return made


def _forget() -> None:
    """Threads do not survive a fork: the child starts a team of its own."""
    _Process.team = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
