"""What the commands `fuse-opt` and `fuse-run` start; it imports almost nothing, so Ctrl-C is quiet from here on."""

from collections.abc import Sequence
from importlib import import_module

_INTERRUPTED = 128 + 2
"""As a shell reports a process that SIGINT ended."""


def fuse_opt(arguments: Sequence[str] | None = None) -> int:
    """Run `fuse-opt`, with the command line of the process if no other is given; returns the exit code."""
    return _main_of("fuse_dialect.tools.fuse_opt", arguments)


def fuse_run(arguments: Sequence[str] | None = None) -> int:
    """Run `fuse-run`, with the command line of the process if no other is given; returns the exit code."""
    return _main_of("fuse_dialect.tools.fuse_run", arguments)


def _main_of(module: str, arguments: Sequence[str] | None) -> int:
    try:
        return import_module(module).main(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
