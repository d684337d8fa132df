"""Threads that walk a table of kernels together with the caller; one team for the whole process.

Workers are Python threads that live in native code while work comes, and wait for an event otherwise. A caller that
finds the team busy runs alone: two callers at once use two processors already.
"""

import ctypes
import os
import sys
from collections.abc import Callable
from ctypes import c_int64
from threading import Event, Lock, Thread
from typing import Any, cast

from fuse_dialect.backends.runtime.arrays import address_of, aligned_bytes
from fuse_dialect.backends.runtime.driver import (
    AWAY,
    BARRIER_BYTES,
    SPINS_BEFORE_YIELD,
    WORKER_BYTES,
    YIELD_AT,
    native_driver,
)

MAX_WORKERS = 255
READY_ROUNDS = 4 * SPINS_BEFORE_YIELD
"""Rounds for which a worker waits for more work before it goes to sleep; a fraction of a millisecond."""
CALL_ROUNDS = SPINS_BEFORE_YIELD
"""Rounds for which a caller waits for workers that are on their way from their last work."""
WAKE_ROUNDS = 4 * SPINS_BEFORE_YIELD
"""Rounds for which a caller waits for workers that it has just woken."""


class Team:
    """Worker threads, as many as were ever asked for."""

    def __init__(self) -> None:
        self._memory = aligned_bytes(BARRIER_BYTES + MAX_WORKERS * WORKER_BYTES, 128)
        self._memory[:] = 0
        self._address = address_of(self._memory)
        c_int64.from_address(self._address + YIELD_AT).value = _yield_address()
        self._states: list[c_int64] = []
        self._alarms: list[Event] = []
        self._busy = Lock()

    def run(self, rows: int, stride: int, count: int, threads: int) -> None:
        """Walk a table of kernels.

        Args:
            rows: Address of the table for part 0.
            stride: Bytes from the table of one part to that of the next.
            count: Rows in each.
            threads: Most threads to use, the caller's included; the table has so many parts.
        """
        driver = native_driver()
        if threads < 2 or not self._busy.acquire(blocking=False):
            driver.drive(rows, count, 0, 1, 0)
            return
        try:
            workers = min(threads - 1, MAX_WORKERS)
            patience = WAKE_ROUNDS if self._wake(workers) else CALL_ROUNDS
            driver.run(self._address, workers, rows, stride, count, patience)
        finally:
            self._busy.release()

    def _wake(self, workers: int) -> bool:
        """Call those of the first workers that sleep; whether there were any."""
        while len(self._states) < workers:
            self._start()
        woken = False
        for state, alarm in zip(self._states[:workers], self._alarms, strict=False):
            if state.value == AWAY:
                alarm.set()
                woken = True
        return woken

    def _start(self) -> None:
        number, alarm = len(self._states), Event()
        loop = native_driver().worker_loop
        self._states.append(c_int64.from_address(self._address + BARRIER_BYTES + number * WORKER_BYTES))
        self._alarms.append(alarm)
        work = _worker(loop, self._address, number, alarm)
        Thread(target=work, name=f"fuse-worker-{number}", daemon=True).start()


def _worker(loop: Callable[[int, int, int], None], team: int, number: int, alarm: Event) -> Callable[[], None]:
    def work() -> None:
        while True:
            alarm.wait()
            alarm.clear()
            loop(team, number, READY_ROUNDS)

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
    lock = Lock()


def team() -> Team:
    """The team of this process, made when first asked for."""
    with _Process.lock:
        if _Process.team is None:
            _Process.team = Team()
        return _Process.team


def _forget() -> None:
    """Threads do not survive a fork: the child starts a team of its own."""
    _Process.team = None
    _Process.lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
