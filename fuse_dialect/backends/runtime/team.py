"""Threads that share parallel rows with the caller; one team for the whole process.

Workers are Python threads that live in native code while work comes, and wait for an event otherwise. Who has the
workers, and which part is whose, is settled in native code (`driver`): an interrupt between two steps of Python leaves
nothing behind, and a worker that is missing, asleep or without a processor costs speed only.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from ctypes import addressof, c_int64
from threading import Lock, Thread
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


class _Alarm:
    """Wakes a worker, at once or when it next sleeps.

    An `Event` holds a lock while it is set: an exception of a signal handler may come between, and nobody would ever
    get that lock again. Here each step is one call into C, which no signal cuts in two.
    """

    def __init__(self) -> None:
        self._is_off = Lock()
        self._is_off.acquire()

    def set(self) -> None:
        """Wake the worker."""
        with suppress(RuntimeError):  # it is set already
            self._is_off.release()

    def wait(self) -> None:
        """Sleep until somebody sets the alarm; then it is off again."""
        self._is_off.acquire()


class Team:
    """Worker threads, as many as were ever asked for and could be started."""

    def __init__(self) -> None:
        # 128 bytes: two lines, because processors fetch the neighbour of a line along with it.
        self._memory = aligned_bytes(CELLS_AT + MAX_WORKERS * CELL_BYTES, 128)
        self._memory[:] = 0
        self._address = address_of(self._memory)
        self._has_caller = c_int64.from_address(self._address)
        c_int64.from_address(self._address + YIELD_AT).value = _yield_address()
        self._driver = native_driver()
        self._states: list[c_int64] = []
        self._alarms: list[_Alarm] = []
        self._starting = Lock()
        self._most = min(MAX_WORKERS, processors() - 1)

    def run(self, rows: int, stride: int, count: int, threads: int, first: int = 0) -> int:
        """Run the kernels of a table. Between two calls of the driver Python sees signals, so that Ctrl-C works.

        Args:
            rows: Address of the table for part 0.
            stride: Bytes from the table of one part to that of the next.
            count: Rows in each.
            threads: Most threads to use, the caller's included; the table has so many parts.
            first: The first row to run.

        Returns:
            `count`, or -1 - row where a loop ended the run because it may run no more.
        """
        reached = first
        # It stops early where a loop runs long, to go on from there, and below 0 where a loop may run no more.
        while 0 <= reached < count:
            # Reading the flag without a lock may be wrong by a moment: `run` then runs alone, as `drive` does.
            if threads < 2 or self._has_caller.value:
                reached = self._driver.drive(rows, reached, count)
            else:
                # Not waited for: a part that no worker claims is run by the caller.
                self._wake(min(threads - 1, self._most))
                reached = self._driver.run(self._address, threads, rows, stride, reached, count, 0)
        return reached

    def run_timed(self, rows: int, stride: int, count: int, threads: int) -> tuple[Sequence[float], int]:
        """Run a table as `run` does; seconds of each row, as they are in such a run, and what `run` gives.

        Timed one by one, a row would also wait for Python and wake its workers. So the counter of the processor is read
        between rows, and their shares of the time of all of them count.
        """
        times = (c_int64 * count)()
        reached = 0
        start = perf_counter()
        while 0 <= reached < count:
            if threads > 1:
                self._wake(min(threads - 1, self._most))
            reached = self._driver.run(self._address, threads, rows, stride, reached, count, addressof(times))
        seconds = perf_counter() - start
        total = sum(times)
        # Another caller has the workers, or there is no counter: nothing is known of single rows.
        shares = [seconds * each / total for each in times] if total > 0 else [seconds / count] * count
        return shares, reached

    def _wake(self, workers: int) -> None:
        """Call those of the first workers that sleep; nobody waits until they come."""
        if len(self._states) < workers:
            self._start(workers)
        for state, alarm in zip(self._states[:workers], self._alarms, strict=False):
            # Who waits in the native loop sees its cell open; an alarm costs a call into the system.
            if state.value == AWAY:
                alarm.set()

    def _start(self, workers: int) -> None:
        """Start workers until there are so many; without room for more threads those that there are must do."""
        with self._starting:
            while len(self._states) < min(workers, self._most):
                number, alarm = len(self._states), _Alarm()
                work = _worker(self._driver, self._memory, number, alarm)
                try:
                    # A daemon: workers wait for ever, and a process must end in spite of them.
                    Thread(target=work, name=f"fuse-worker-{number}", daemon=True).start()
                # Fewer threads give the same results: what nobody claims the caller runs itself.
                except (RuntimeError, MemoryError):
                    self._most = number
                    return
                state = c_int64.from_address(self._address + CELLS_AT + number * CELL_BYTES + STATE_AT)
                # The alarm first: `_wake` counts the states without the lock, and takes an alarm for each.
                self._alarms.append(alarm)
                self._states.append(state)


def _worker(driver: Driver, memory: Any, number: int, alarm: _Alarm) -> Callable[[], None]:
    """What a worker thread does; it keeps the code that it runs in, and the memory that it looks at."""

    def work() -> None:
        team = address_of(memory)
        while True:
            # It is off before the worker looks: an alarm that comes later wakes it again, so none is lost.
            alarm.wait()
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
            # Asked again, as another thread may have made it while this one waited for the lock.
            if _Process.team is None:
                _Process.team = Team()
            made = _Process.team
    return made


def _forget() -> None:
    """Threads do not survive a fork: the child starts a team of its own."""
    _Process.team = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
