"""Long native calls that a signal ends.

Python sees a signal in its main thread, and only between two of its steps. A call that takes long is therefore made in
another thread, while the main thread waits where signals reach it. Who is interrupted leaves: the other thread is told
to stop, keeps all that it works on until it does, and nobody waits for it.
"""

import os
from collections.abc import Callable
from threading import Lock, Thread, current_thread, main_thread
from typing import TypeVar

_GLANCE = 0.2
"""Seconds after which the main thread looks for signals that have reached another thread."""

T = TypeVar("T")


def can_be_interrupted() -> bool:
    """Whether signals are handled in this thread."""
    return current_thread() is main_thread()


class _Helper:
    """A thread that runs one function after the other, as they come."""

    def __init__(self) -> None:
        """Start the thread.

        Raises:
            RuntimeError, MemoryError: There is no room for one.
        """
        self._has_task = Lock()
        self._has_task.acquire()
        self._task: Callable[[], object] | None = None
        # A daemon: a process ends in spite of what it does.
        Thread(target=self._work, name="fuse-call", daemon=True).start()

    def begin(self, task: Callable[[], object]) -> None:
        """Run a function that raises nothing."""
        self._task = task
        self._has_task.release()

    def _work(self) -> None:
        while True:
            self._has_task.acquire()
            task, self._task = self._task, None
            if task is not None:
                task()
            del task  # what it has worked on may go
            _idle.append(self)


_idle: list[_Helper] = []
"""Helpers without a task. Adding and taking one is one step for all threads."""


def run_interruptibly(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """What a function gives, or the error that it or a signal raises.

    Args:
        work: Is called in another thread.
        stop: Is called if a signal has raised an error, while `work` may still run.
    """
    done = Lock()
    done.acquire()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # it is raised where the call was made
            errors.append(error)
        finally:
            done.release()

    try:
        try:
            helper = _idle.pop() if _idle else _Helper()
        except (RuntimeError, MemoryError, IndexError):  # no thread can be started
            return work()
        helper.begin(run)
        while not done.acquire(timeout=_GLANCE):
            pass
    except BaseException:
        stop()
        raise
    if errors:
        raise errors[0]
    return results[0]


if hasattr(os, "register_at_fork"):
    # Threads do not survive a fork.
    os.register_at_fork(after_in_child=_idle.clear)
