"""Runs a recursive function on a stack that is deep enough for deeply nested input.

xDSL's parser, verifier and printer recurse over nested regions, types and attributes. Python's default limit stops
them at some 120 nested regions; the main thread's stack (8 MiB) would not carry a much greater limit, so the second
attempt runs on a thread of its own.

Python has one limit and one size of new stacks for all threads. The size is put back as soon as the thread has
started, the limit when the last call that needs it ends.
"""

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.process_wide import EXCLUSIVE

_FRAMES = 60_000
"""Python frames; a nested region takes about eight of them in the parser."""
_STACK_BYTES = 512 * 1024 * 1024
"""Address space, not memory: pages that are not touched cost nothing."""

_Result = TypeVar("_Result")


class _Limit:
    """The limit of recursion, raised while calls with a deep stack run."""

    calls = 0
    before = 0
    """The limit that the first of them found."""

    @classmethod
    def enter(cls) -> None:
        with EXCLUSIVE:
            if not cls.calls:
                cls.before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(cls.before, _FRAMES))
            cls.calls += 1

    @classmethod
    def leave(cls) -> None:
        with EXCLUSIVE:
            cls.calls -= 1
            if not cls.calls:
                sys.setrecursionlimit(cls.before)


def call_with_deep_stack(function: Callable[[], _Result], file: str | None = None) -> _Result:
    """The result of `function()`, with room for some thousand levels of nesting.

    Args:
        function: What to call.
        file: Name of the input for the error message.

    Raises:
        FuseError: The recursion is deeper than that too.
        BaseException: Whatever `function` raises.
    """
    place = None if file is None else SourceLocation(file)
    results: list[_Result] = []
    errors: list[BaseException] = []

    def target() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=target, daemon=True)
    _Limit.enter()
    try:
        _start(thread)
        thread.join()
    except RuntimeError as error:
        raise FuseError("input is nested too deeply, and no larger stack can be had", place) from error
    finally:
        _Limit.leave()
    if errors:
        if isinstance(errors[0], RecursionError):
            raise FuseError("input is nested too deeply", place) from errors[0]
        raise errors[0]
    return results[0]


def _start(thread: threading.Thread) -> None:
    """Start a thread with the large stack.

    Raises:
        RuntimeError: There is no memory for it.
    """
    with EXCLUSIVE:
        size = threading.stack_size(_STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(size)
