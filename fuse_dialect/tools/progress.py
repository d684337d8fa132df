"""A line on a terminal that says how far compiling has come; nothing where stderr is no terminal."""

import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from shutil import get_terminal_size
from time import monotonic
from typing import TextIO

from fuse_dialect.backends.progress import Progress
from fuse_dialect.diagnostics import printable

QUIET_SECONDS = 1.0
"""For so long nothing is said: most programs are compiled by then."""
PAUSE = 0.1
"""Seconds between two changes of the line."""
_CLEAR = "\r\x1b[K"
"""Back to the start of the line, and erase it."""


class ProgressLine:
    """The line; it is erased when nothing more comes."""

    def __init__(self, stream: TextIO, quiet_seconds: float = QUIET_SECONDS):
        self._stream = stream
        self._start = monotonic()
        self._next = self._start + quiet_seconds
        self._is_shown = False

    def __call__(self, done: int, total: int, name: str) -> None:
        """Show it, if it is time; see `Progress`."""
        now = monotonic()
        if now >= self._next and name:
            self._next = now + PAUSE
            left = f", {(now - self._start) / done * (total - done):.0f} s left" if done else ""
            text = f"kernel {done + 1} of {total}{left}: {printable(name)}"
            self._write(_CLEAR + text[: get_terminal_size().columns - 1])
            self._is_shown = True

    def erase(self) -> None:
        """Leave the terminal as it was."""
        if self._is_shown:
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        # A terminal that is gone is no reason to stop.
        with suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()


@contextmanager
def progress_line() -> Generator[Progress | None]:
    """What shows progress on stderr while the body runs; `None` if stderr is no terminal."""
    stream: TextIO | None = sys.stderr
    if stream is None or stream.closed or not stream.isatty():
        yield None
        return
    line = ProgressLine(stream)
    try:
        yield line
    finally:
        line.erase()
