"""What the commands `fuse-opt` and `fuse-run` start; it imports almost nothing, so Ctrl-C is quiet from here on."""

from importlib import import_module

_INTERRUPTED = 128 + 2
"""As a shell reports a process that SIGINT ended."""


def fuse_opt() -> int:
    """Run `fuse-opt` with the command line of the process; returns the exit code."""
    return _main_of("fuse_dialect.tools.fuse_opt")


def fuse_run() -> int:
    """Run `fuse-run` with the command line of the process; returns the exit code."""
    return _main_of("fuse_dialect.tools.fuse_run")


def _main_of(module: str) -> int:
    try:
        return import_module(module).main()
    except KeyboardInterrupt:
        return _INTERRUPTED
