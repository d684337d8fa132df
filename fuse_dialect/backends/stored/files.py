"""The files that a program was compiled from, and whether they still are what they were when they were read.

1. What the system says of a file is taken from its descriptor before it is read: device, number, size, and the times of
   the last change of its bytes and of anything else. One that takes its name later, or has been written to, differs.
2. The clock of a file system moves in steps, up to two seconds long. A change within the step of the one before moves
   no time. So of a file that has changed just before it is read the digest is taken, too, and compared later.
3. A path is kept as the model names it, with its links: they may lead elsewhere later.
"""

import os
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fuse_dialect.backends.runtime.hashing import digest_of_descriptor

_CLOCK_STEP = 2_000_000_000
"""Nanoseconds: those of FAT, the longest there is."""


class ChangedError(OSError):
    """A file is no longer what was read."""


@dataclass(frozen=True, slots=True)
class _State:
    """A file while it was open."""

    identity: tuple[int, ...]
    digest: bytes | None
    """Of one that has changed just before: condition 2."""


class FilesRead:
    """Notes of the files that are read: see `read_files.noting_files`."""

    def __init__(self) -> None:
        self._states: dict[str, _State | None] = {}
        """By absolute path; `None` for what cannot be compared."""

    def note(self, path: str, descriptor: int) -> None:
        """Note what an open file is, before it is read."""
        name, state = absolute(path), _state(descriptor)
        # One that is opened twice must be the same both times.
        if self._states.setdefault(name, state) != state:
            self._states[name] = None

    def digests(self) -> dict[str, str]:
        """The digests of the files, by absolute path, in the order of reading.

        They are of what was read if all `are_unchanged` afterwards.

        Raises:
            OSError: A file cannot be read again, or is no longer the same.
        """
        return {path: _digest(path, state).hex() for path, state in self._states.items()}

    def are_unchanged(self) -> bool:
        """Whether all files are still what they were when they were read."""
        try:
            for path, state in self._states.items():
                with _opened(path) as descriptor:
                    _compare(descriptor, state)
                if state is not None and state.digest is not None:
                    _digest(path, state)
        except OSError:
            return False
        return True


def absolute(path: str) -> str:
    """The path from the root, by whatever links it leads: a `..` behind a link does not lead back."""
    try:
        return str(Path(path).absolute())
    except OSError:  # the folder of the process is gone
        return path


def _state(descriptor: int) -> _State | None:
    identity = _identity(descriptor)
    if identity is None:
        return None
    is_young = time.time_ns() - max(identity[3:]) < _CLOCK_STEP
    try:
        return _State(identity, digest_of_descriptor(descriptor) if is_young else None)
    except OSError:
        return None


def _identity(descriptor: int) -> tuple[int, ...] | None:
    """Condition 1; `None` for what is no regular file."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _digest(path: str, state: _State | None) -> bytes:
    with _opened(path) as descriptor:
        _compare(descriptor, state)
        # No other thread: none can be started while Python ends.
        digest = digest_of_descriptor(descriptor, alone=True)
    if state is not None and state.digest not in (None, digest):
        raise ChangedError(f"'{path}' has changed")
    return digest


def _compare(descriptor: int, state: _State | None) -> None:
    if state is None or _identity(descriptor) != state.identity:
        raise ChangedError("a file has changed")


@contextmanager
def _opened(path: str) -> Generator[int]:
    # Without blocking: a pipe may have taken the name, and would be waited for.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        yield descriptor
    finally:
        os.close(descriptor)
