"""Writes a result where the user wants it: whole, or not at all."""

import os
import stat
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import BinaryIO, TypeAlias

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.loading.streams import write_stdout

_CHUNK = 1 << 24
"""Characters that are encoded at a time: a text of GBs is not there twice."""
Writer: TypeAlias = Callable[[BinaryIO], object]
"""Fills a file that is open."""


def is_stdout(path: str | None) -> bool:
    """Whether a result goes to stdout."""
    return path is None or path == "-"


def write_output(path: str | None, text: str) -> None:
    """Write `text` to a file, or to stdout when `path` is `None` or `-`.

    A file gets a temporary sibling first, which then takes its place; an interrupted run leaves the old file.

    Raises:
        FuseError: The file cannot be written.
    """
    if path is None or is_stdout(path):
        write_stdout(text)
    else:
        write_file(path, writer_of(text))


def writer_of(result: str | bytes) -> Writer:
    """Writes a result; text as UTF-8."""

    def write(stream: BinaryIO) -> None:
        if isinstance(result, bytes):
            stream.write(result)
            return
        for start in range(0, len(result), _CHUNK):
            stream.write(result[start : start + _CHUNK].encode("utf-8", "backslashreplace"))

    return write


def check_outputs(outputs: Mapping[str, str | None], inputs: Mapping[str, str | None]) -> None:
    """Refuse to write a file that is read, or to write one twice, whatever its names are.

    Args:
        outputs: Paths by the options that name them; `None` and `-` name no file.
        inputs: Files that are read, likewise.

    Raises:
        FuseError: Two options name one file.
    """
    known = [(option, path) for option, path in inputs.items() if not is_stdout(path) and path]
    for option, path in outputs.items():
        if path is None or not path or is_stdout(path):
            continue
        for other, taken in known:
            if _is_one_file(path, taken):
                what = "read from it" if other in inputs else "write to it"
                raise FuseError(
                    f"{option} would overwrite the file of {other}",
                    SourceLocation(path),
                    hint=f"name another file: {other} is to {what}",
                )
        known.append((option, path))


def _is_one_file(one: str, other: str) -> bool:
    """Whether two paths name one file that can be replaced; a device or a pipe cannot."""
    try:
        return os.path.samefile(one, other) and stat.S_ISREG(os.stat(one).st_mode)
    except (OSError, ValueError):  # one of them is yet to be made, or no path
        return os.path.realpath(one) == os.path.realpath(other)


def write_file(path: str, write: Writer) -> None:
    """Let `write` fill the file at `path`: whole, or not at all.

    Raises:
        FuseError: The file cannot be written.
    """
    write_files([(path, write)])


def write_files(files: Sequence[tuple[str, Writer]]) -> None:
    """Fill several files that belong together: all of them whole before the first takes its place, or none at all.

    Raises:
        FuseError: A file cannot be written.
    """
    with ExitStack() as drafts:
        finished: list[_Draft] = []
        for path, write in files:
            with _named_errors(path):
                draft = _Draft(os.path.realpath(path))
                drafts.callback(draft.discard)
                draft.fill(write)
                finished.append(draft)
        for draft, (path, _) in zip(finished, files, strict=True):
            with _named_errors(path):
                draft.publish()


@contextmanager
def _named_errors(path: str) -> Generator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror or "unknown reason" if isinstance(error, OSError) else str(error)
        raise FuseError(f"cannot write the output: {reason.lower()}", SourceLocation(path)) from error


class _Draft:
    """What will take the place of a file: a sibling of it. A device or a pipe cannot be replaced, and is written to."""

    def __init__(self, path: str):
        self._path = path
        folder, name = os.path.split(path)
        self._temporary = os.path.join(folder, f".{name[:100]}.{os.getpid()}.tmp")
        self._is_left = False
        try:
            self._mode = os.stat(path).st_mode
        except FileNotFoundError:
            self._mode = None

    def fill(self, write: Writer) -> None:
        """Write the content."""
        if self._mode is not None and not stat.S_ISREG(self._mode):
            # Opening a directory raises the error to report.
            with open(self._path, "wb") as stream:
                write(stream)
            return
        if self._mode is not None and not os.access(self._path, os.W_OK):
            raise PermissionError(13, os.strerror(13))
        with open(self._temporary, "xb") as stream:
            self._is_left = True
            write(stream)
        if self._mode is not None:
            os.chmod(self._temporary, stat.S_IMODE(self._mode))

    def publish(self) -> None:
        """Take the place of the file."""
        if self._is_left:
            os.replace(self._temporary, self._path)
            self._is_left = False

    def discard(self) -> None:
        """Remove what did not take its place."""
        if self._is_left and os.path.exists(self._temporary):
            os.unlink(self._temporary)
