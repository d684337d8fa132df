"""Inputs of a tool: files or stdin, whole or split at `// -----`."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.read_files import read_file

SEPARATOR = "// -----\n"
"""Stands between the parts of a split input, and between their results."""
_SPLIT_AT = b"// -----"
_STDIN = "<stdin>"
_SHOWN = 60
"""Characters of a text that was given for a path."""


@dataclass(frozen=True, slots=True)
class Source:
    """One input, or a part of one."""

    name: str
    """Path, or a name for messages."""
    frontend: str
    """Format: `mlir` or `onnx`."""
    data: bytes
    """The content; empty for a format that is read from its path."""
    line_offset: int = 0
    """Lines that stand before this part in the file."""
    is_stdin: bool = False
    """Whether the name does not name a file."""


def is_onnx_path(path: str) -> bool:
    """Whether a file is an ONNX model, by its extension; all others are MLIR text."""
    return os.path.splitext(path)[1].lower() == ".onnx"


def read_sources(path: str | None, frontend: str | None, *, split: bool) -> list[Source]:
    """The input at `path`, in parts if it is to be split.

    Args:
        path: A file; `None` or `-` is stdin.
        frontend: Format; by default ONNX for `*.onnx`, and MLIR for everything else.
        split: Divide MLIR text at `// -----`.

    Raises:
        FuseError: The file cannot be read.
    """
    is_stdin = path in (None, "-")
    name = path if path is not None and not is_stdin else _STDIN
    frontend = frontend or ("onnx" if is_onnx_path(name) else "mlir")
    if frontend == "onnx":
        if split:
            raise FuseError("an ONNX model cannot be split", SourceLocation(name))
        if not is_stdin:
            return [Source(name, frontend, b"")]
    if "\n" in name:
        first = next((line.strip() for line in name.splitlines() if line.strip()), "")
        raise FuseError(
            f"expected a path, got text: {first[:_SHOWN]}...", hint="`fuse_dialect.parse` makes a module of text"
        )
    try:
        data = _read_stdin() if is_stdin else read_file(name)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FuseError(f"cannot read the input: {reason.lower()}", SourceLocation(name)) from error
    return list(_parts(name, data)) if split else [Source(name, frontend, data, is_stdin=is_stdin)]


def _read_stdin() -> bytes:
    return sys.stdin.buffer.read()


def _parts(name: str, data: bytes) -> Iterator[Source]:
    offset = 0
    for part in data.split(_SPLIT_AT):
        yield Source(name, "mlir", part, offset)
        offset += part.count(b"\n")
