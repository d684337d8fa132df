"""A bar on a terminal: how many rows are done, how many a second, and how long the rest takes."""

import sys
from contextlib import suppress
from shutil import get_terminal_size
from time import monotonic
from typing import Protocol, TextIO

_PAUSE = 0.1
"""Seconds between two changes."""
_CLEAR = "\r\x1b[K"
_CELLS = 24


class RowsProgress(Protocol):
    """Is told how far a run has come."""

    def __call__(self, done: int, total: int, /) -> object:
        """So many rows of so many are done."""
        ...


class Bar:
    """The bar; a run that goes on has rows that were done before it."""

    def __init__(self, stream: TextIO):
        self._stream, self._start, self._next = stream, monotonic(), 0.0
        self._first: int | None = None

    def __call__(self, done: int, total: int) -> None:
        """Show it, if it is time."""
        now = monotonic()
        self._first = done if self._first is None else self._first
        if now < self._next and done < total:
            return
        self._next = now + _PAUSE
        seconds = now - self._start
        rate = (done - self._first) / seconds if seconds else 0.0
        share = done / total if total else 1.0
        filled = int(share * _CELLS)
        left = f", {(total - done) / rate:.0f} s left" if rate else ""
        text = f"[{'#' * filled}{'.' * (_CELLS - filled)}] {done} of {total} rows, {rate:.0f} a second{left}"
        with suppress(OSError, ValueError):
            self._stream.write(_CLEAR + text[: get_terminal_size().columns - 1])
            if done == total:
                self._stream.write("\n")
            self._stream.flush()


def terminal_bar() -> RowsProgress | None:
    """A bar on stderr; `None` if that is no terminal."""
    stream: TextIO | None = sys.stderr
    return Bar(stream) if stream is not None and not stream.closed and stream.isatty() else None
