"""Completion of command lines by the shell: a script for bash, zsh or tcsh, made by shtab. Imported when asked for."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, cast

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.extras import install_hint

_FILE_METAVARS = ("FILE", "input", "MODULE", "OTHER")
"""Arguments that name files, by what the help calls them."""


def completion_script(
    parser: argparse.ArgumentParser, shell: str, flags: Iterable[str] = (), targets: Sequence[str] = ()
) -> str:
    """The script.

    Args:
        parser: Of the tool; it is changed.
        shell: As `--print-completion` takes it.
        flags: Options that the parser does not know, such as passes.
        targets: What `--target` may be; the parser takes more, with options of their own.

    Raises:
        FuseError: There is no package that makes it.
    """
    try:
        import shtab
    except ImportError as error:
        hint = install_hint("completion")
        raise FuseError("completion needs the package shtab", hint=hint) from error
    for name in flags:
        parser.add_argument(f"--{name}", action="store_true")
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if action.metavar in _FILE_METAVARS:
            cast(Any, action).complete = shtab.FILE
        if action.dest == "target" and targets:
            action.choices = targets
    return shtab.complete(parser, shell=shell)
