"""The outermost frame of every command-line tool: no exception leaves it, each becomes a message and an exit code."""

import os
import sys
from collections.abc import Callable
from traceback import format_exception

from fuse_dialect.diagnostics import FuseError

OK = 0
DIAGNOSED = 1
USAGE = 2
INTERRUPTED = 128 + 2
"""As a shell reports a process that SIGINT ended."""
BROKEN_PIPE = 128 + 13
"""As a shell reports a process that SIGPIPE ended: `fuse-opt x.mlir | head -1`."""
DEBUG_VARIABLE = "FUSE_DEBUG"
"""Environment variable that asks for the traceback of an error, as `--debug` does."""
REPORT_HINT = "this is a bug, please report it; --debug shows where it happened"


def exit_status(tool: Callable[[], None], debug: bool = False) -> int:
    """Run the tool, print what went wrong to stderr, and give the exit code.

    Args:
        tool: Raises `FuseError` for every mistake of the user, and `SystemExit` for wrong usage.
        debug: Print the traceback of an error too.
    """
    try:
        tool()
        return OK
    except FuseError as error:
        _print_error(error, error, debug)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else OK if error.code is None else USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return BROKEN_PIPE
    except MemoryError as error:
        _print_error(FuseError("out of memory"), error, debug)
    except RecursionError as error:
        _print_error(FuseError("input is nested too deeply"), error, debug)
    except Exception as error:
        _print_error(internal_error(error), error, debug)
    return DIAGNOSED


def internal_error(error: Exception, where: str = "") -> FuseError:
    """The message for an exception that nobody expected.

    Args:
        error: The exception.
        where: Where it came from, as in ` in pass 'cse'`.
    """
    summary = " ".join(str(error).split())[:300]
    detail = f"{type(error).__name__}: {summary}" if summary else type(error).__name__
    return FuseError(f"internal error{where}: {detail}", hint=REPORT_HINT)


def _print_error(error: FuseError, cause: BaseException, debug: bool) -> None:
    if debug or os.environ.get(DEBUG_VARIABLE):
        print("".join(format_exception(cause)), file=sys.stderr, end="")
    print(error.diagnostic.format(), file=sys.stderr)


def _silence_stdout() -> None:
    """Let the interpreter flush stdout at exit without a second error."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
