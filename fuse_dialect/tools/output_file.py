"""Writes a result where the user wants it: whole, or not at all."""

import os
import stat
from collections.abc import Callable
from typing import BinaryIO

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.tools.streams import write_stdout


def write_output(path: str | None, text: str) -> None:
    """Write `text` to a file, or to stdout when `path` is `None` or `-`.

    A file gets a temporary sibling first, which then takes its place; an interrupted run leaves the old file.

    Raises:
        FuseError: The file cannot be written.
    """
    if path is None or path == "-":
        write_stdout(text)
        return

    def write(stream: BinaryIO) -> None:
        stream.write(text.encode("utf-8", "backslashreplace"))

    write_file(path, write)


def write_file(path: str, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill the file at `path`: whole, or not at all.

    Raises:
        FuseError: The file cannot be written.
    """
    try:
        _replace(os.path.realpath(path), write)
    except (OSError, ValueError) as error:
        reason = error.strerror or "unknown reason" if isinstance(error, OSError) else str(error)
        raise FuseError(f"cannot write the output: {reason.lower()}", SourceLocation(path)) from error


def _replace(path: str, write: Callable[[BinaryIO], object]) -> None:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        # A device or a pipe cannot be replaced; opening a directory raises the error to report.
        with open(path, "wb") as stream:
            write(stream)
        return
    if mode is not None and not os.access(path, os.W_OK):
        raise PermissionError(13, os.strerror(13))
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:100]}.{os.getpid()}.tmp")
    try:
        with open(temporary, "xb") as stream:
            write(stream)
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
