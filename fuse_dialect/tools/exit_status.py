"""The outermost frame of every command-line tool: no exception leaves it, each becomes a message and an exit code."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from traceback import format_exception

from fuse_dialect import checked
from fuse_dialect.diagnostics import FuseError, internal_error
from fuse_dialect.loading.streams import tell

_ARGUMENT = re.compile(r"\b(max_ops|max_bytes|max_value_bytes)=")
"""Arguments of functions that are flags of the same name."""
OK = 0
DIAGNOSED = 1
USAGE = 2
INTERRUPTED = 128 + 2
"""As a shell reports a process that SIGINT ended."""
BROKEN_PIPE = 128 + 13
"""As a shell reports a process that SIGPIPE ended: `fuse-opt x.mlir | head -1`."""
DEBUG_VARIABLE = "FUSE_DEBUG"
"""Environment variable that asks for the traceback of an error, as `--debug` does."""


def exit_status(tool: Callable[[], None], debug: bool = False) -> int:
    """Run the tool, print what went wrong to stderr, and give the exit code.

    Args:
        tool: Raises `FuseError` for every mistake of the user, and `SystemExit` for wrong usage.
        debug: Print the traceback of an error too, and check plans before they run.
    """
    if debug:
        os.environ.setdefault(checked.VARIABLE, checked.PLANS)
    try:
        tool()
        return OK
    except FuseError as error:
        print_error(error, debug)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else OK if error.code is None else USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE
    except MemoryError as error:
        print_error(FuseError("out of memory"), debug, error)
    except RecursionError as error:
        print_error(FuseError("input is nested too deeply"), debug, error)
    except Exception as error:
        print_error(internal_error(error), debug, error)
    return DIAGNOSED


def print_error(error: FuseError, debug: bool, cause: BaseException | None = None) -> None:
    """Print an error to stderr.

    Args:
        error: What to say.
        debug: Print the traceback too.
        cause: Whose traceback, if not the error's own.
    """
    if debug or os.environ.get(DEBUG_VARIABLE):
        tell("".join(format_exception(cause or error)).rstrip("\n"))
    tell(replace(error.diagnostic, hint=_with_flags(error.hint)).format())


def _with_flags(hint: str | None) -> str | None:
    """A hint of the library, which names arguments of functions, with the flags that stand for them."""
    return None if hint is None else _ARGUMENT.sub(lambda match: "--" + match[1].replace("_", "-"), hint)
