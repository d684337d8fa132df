"""How many threads a program may use."""

import warnings
from collections.abc import Callable
from numbers import Integral

from fuse_dialect.backends.runtime.team import processors
from fuse_dialect.diagnostics import FuseError

MAX_THREADS = 256


def usable_threads(threads: int, say: Callable[[str], object]) -> int:
    """At most as many threads as there are processors for this process; where that is fewer, `say` gets a sentence.

    Raises:
        FuseError: It is no integer from 1 to `MAX_THREADS`.
    """
    if isinstance(threads, bool) or not isinstance(threads, Integral) or not 1 <= threads <= MAX_THREADS:
        raise FuseError(f"expected 1 to {MAX_THREADS} threads, got {threads!r}")
    available = processors()
    if threads <= available:
        return int(threads)
    say(f"{threads} threads were asked for, {available} are used: this process may use no more processors")
    return available


def warn_of_threads(text: str) -> None:
    """Say it as a warning at the line that has called the caller of `usable_threads`."""
    warnings.warn(text, RuntimeWarning, stacklevel=4)
