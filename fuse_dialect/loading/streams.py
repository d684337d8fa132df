"""Standard output and standard error. A result that cannot be written is an error; a message is dropped.

A message is less than the result: `fuse-opt ... -o out.mlir 2>&1 | head -1` closes stderr while remarks are printed,
and the file must be written all the same.
"""

import os
import sys
from typing import TextIO

from fuse_dialect.diagnostics import FuseError, SourceLocation

STDOUT = SourceLocation("<stdout>")


def write_stdout(result: str | bytes) -> None:
    """Write a result to stdout; text as UTF-8 whatever the terminal's encoding is: MLIR is UTF-8.

    Raises:
        FuseError: It cannot be written, because stdout is full or closed.
        BrokenPipeError: Nobody reads it any more.
    """
    # A process that was started with `>&-` has no stdout at all.
    stream: TextIO | None = sys.stdout
    if stream is None or stream.closed:
        raise FuseError("cannot write the output: stdout is closed", STDOUT)
    try:
        buffer = getattr(stream, "buffer", None)
        if buffer is None:
            stream.write(result if isinstance(result, str) else result.decode("latin-1"))
        else:
            stream.flush()
            buffer.write(result if isinstance(result, bytes) else result.encode("utf-8", "backslashreplace"))
        stream.flush()
    except BrokenPipeError:
        _drop(stream)
        raise
    except OSError as error:
        _drop(stream)
        raise FuseError(f"cannot write the output: {(error.strerror or str(error)).lower()}", STDOUT) from error


def tell(text: str) -> None:
    """Write a line to stderr; when that fails, this line and all later ones are dropped."""
    # `print(file=None)` would print to stdout, so a missing stderr needs a test of its own.
    stream: TextIO | None = sys.stderr
    if stream is None or stream.closed:
        return
    try:
        stream.write(f"{text}\n")
        stream.flush()
    except UnicodeEncodeError:
        stream.write(f"{text.encode('ascii', 'backslashreplace').decode('ascii')}\n")
    except OSError:
        _drop(stream)


def _drop(stream: TextIO) -> None:
    """Lead a stream nowhere, so that the interpreter's flush at exit does not fail a second time."""
    try:
        descriptor = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
        stream.flush()
    except (OSError, ValueError):
        return
