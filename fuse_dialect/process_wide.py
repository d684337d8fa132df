"""What the process has once, and how its threads share it.

1. One reentrant lock guards everything of that kind, ours and xDSL's: with several, two threads could each wait for
   the lock that the other holds.
2. It is free in a child process, whatever other threads did when the process forked: forking waits for it.
"""

import gc
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import RLock
from typing import Generic, TypeVar

EXCLUSIVE = RLock()
"""Held while something is changed that all threads see."""

_Made = TypeVar("_Made")


class Once(Generic[_Made]):
    """A function without arguments that is called once; every caller gets the same result.

    `functools.cache` runs the function in each thread that comes before the first result, and keeps the last one: the
    others are dropped while those threads still hold addresses in them.
    """

    def __init__(self, make: Callable[[], _Made]):
        """Wrap a function; it is called when somebody asks first, and again if it raised an error."""
        self.__doc__ = make.__doc__
        self._make = make
        self._made: list[_Made] = []

    def __call__(self) -> _Made:
        """The result of the only call."""
        if not self._made:
            with EXCLUSIVE:
                if not self._made:
                    self._made.append(self._make())
        return self._made[0]

    def supply(self, made: _Made) -> None:
        """Give the result, unless there is one: then the function is never called."""
        with EXCLUSIVE:
            if not self._made:
                self._made.append(made)


TURN = 1e-4
"""Seconds after which a thread that runs Python lets another one in, while `short_turns` says so."""


class _Turns:
    """Who has turns shortened."""

    count = 0
    before = 0.0


@contextmanager
def short_turns() -> Generator[None]:
    """Let threads wait less for each other meanwhile; for those that call much into a library and Python little.

    Whoever comes back from a library waits until the thread that runs Python has had its turn, 5 ms by default. A
    kernel takes dozens of calls into LLVM of a millisecond or less, so compiling would stand still while the next
    kernel is written.
    """
    with EXCLUSIVE:
        if not _Turns.count:
            _Turns.before = sys.getswitchinterval()
            sys.setswitchinterval(min(TURN, _Turns.before))
        _Turns.count += 1
    try:
        yield
    finally:
        with EXCLUSIVE:
            _Turns.count -= 1
            if not _Turns.count:
                sys.setswitchinterval(_Turns.before)


class _Pauses:
    """Who has the collector paused."""

    count = 0
    was_on = False


@contextmanager
def collector_paused() -> Generator[None]:
    """Let the collector of cycles not run by itself meanwhile.

    Importing and compiling make a hundred thousand objects that stay, and the collector looks through all of them again
    and again: a tenth of the time. It goes on when the last of several threads is done.
    """
    with EXCLUSIVE:
        if not _Pauses.count:
            _Pauses.was_on = gc.isenabled()
            gc.disable()
        _Pauses.count += 1
    try:
        yield
    finally:
        with EXCLUSIVE:
            _Pauses.count -= 1
            if not _Pauses.count and _Pauses.was_on:
                gc.enable()


def keep_what_exists() -> None:
    """Make objects that exist old for the collector: modules, of which it would find that all of them stay.

    After a pause it looks through all that is new: 80 ms in a process that has just imported the compiler, then 25.
    """
    # Objects that the process itself has frozen would not stay so.
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=EXCLUSIVE.acquire, after_in_parent=EXCLUSIVE.release, after_in_child=EXCLUSIVE.release)
