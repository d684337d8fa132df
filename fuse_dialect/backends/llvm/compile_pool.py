"""Machine code for several kernels at once: their text is written in this thread, and compiled in others.

1. LLVM leaves the interpreter's lock while it works, and kernels share nothing in it: as many are compiled side by side
   as there are processors, while the next text is written.
2. Results come in the order of the requests, and are those of one thread: a text depends on its request alone.
3. An error stops what has not begun; what has begun is waited for.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self, TypeVar

from fuse_dialect.backends.runtime.team import processors
from fuse_dialect.process_wide import short_turns

MOST_THREADS = 8
"""Writing takes a third of the time that compiling does: more would wait."""

_Made = TypeVar("_Made")


class CompilePool:
    """Threads that compile; a context manager."""

    def __init__(self, count: int):
        """For at most `count` kernels; one kernel, or one processor, needs no thread."""
        threads = min(count, processors(), MOST_THREADS)
        self._pool = ThreadPoolExecutor(threads, "fuse-compile") if threads > 1 else None
        self._turns = short_turns()

    def __enter__(self) -> Self:
        """The pool."""
        self._turns.__enter__()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        """End the threads."""
        try:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=kind is not None)
        finally:
            self._turns.__exit__(None, None, None)

    def submit(self, work: Callable[[], _Made]) -> Callable[[], _Made]:
        """Let a thread do some work; the result is what waits for it, and raises what it has raised."""
        if self._pool is None:
            made = work()
            return lambda: made
        future: Future[_Made] = self._pool.submit(work)
        return future.result
