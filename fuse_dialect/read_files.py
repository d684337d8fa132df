"""Files that are read, told to who wants to know what they were then.

A file may change, or another may take its name, as soon as it has been read. So who reads one tells of it while the
file is open and before its first byte is read: what is found out then, by the descriptor, is true of these bytes.
"""

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
