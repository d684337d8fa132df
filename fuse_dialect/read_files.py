"""Files that are read, told to who wants to know what they were then.

A file may change, or another may take its name, as soon as it has been read. So who reads one tells of it while the
file is open and before its first byte is read: what is found out then, by the descriptor, is true of these bytes.
"""

import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike, fspath

Note = Callable[[str, int], None]
"""Takes the path of a file, as it is named where it is asked for, and a descriptor of the open file."""
_note: ContextVar[Note | None] = ContextVar("note", default=None)


@contextmanager
def noting_files(note: Note) -> Generator[None]:
    """Call a function for each file that this thread opens to read meanwhile."""
    token = _note.set(note)
    try:
        yield
    finally:
        _note.reset(token)


def note_file(path: "str | PathLike[str]", descriptor: int) -> None:
    """Tell of an open file."""
    note = _note.get()
    if note is not None:
        note(fspath(path), descriptor)


def read_file(path: "str | PathLike[str]") -> bytes:
    """All bytes of a file.

    Raises:
        OSError: It cannot be opened or read.
        ValueError: The path is none.
    """
    with open(path, "rb") as stream:
        note_file(path, stream.fileno())
        return stream.read()


def read_regular_file(path: "str | PathLike[str]", most_bytes: int) -> bytes:
    """All bytes of a file that is no device, pipe or folder, and has at most so many bytes.

    Raises:
        OSError: It cannot be opened or read.
        ValueError: The path is none, it is no regular file, or has more bytes.
    """
    # Without the flag, opening a pipe that nobody writes to would wait for ever.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("not a regular file")
        note_file(path, descriptor)
        data = stream.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise ValueError(f"more than {most_bytes} bytes")
    return data
