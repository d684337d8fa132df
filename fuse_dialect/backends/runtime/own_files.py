"""The source of this package: what it is decides what a program becomes, so it is part of every key of the cache."""

import os
from collections.abc import Iterator
from pathlib import Path

from fuse_dialect.diagnostics import FuseError

PACKAGE = Path(__file__).resolve().parents[2]


def own_files(package: Path = PACKAGE) -> "Iterator[os.DirEntry[str]]":
    """The modules of a package, its LLVM IR and its machines, in an order that depends on their names alone.

    Raises:
        FuseError: There are none: without their source a changed package would meet what another one has kept.
    """
    pending, is_empty = [str(package)], True
    while pending:
        try:
            with os.scandir(pending.pop()) as listing:
                # Sorted, because folders list their files in any order and keys depend on it.
                items = sorted(listing, key=lambda item: item.name)
        except OSError as error:
            raise _error(package) from error
        for item in items:
            if item.is_dir():
                pending.append(item.path)
            elif item.name.endswith((".py", ".ll", ".toml")):
                is_empty = False
                yield item
    if is_empty:
        raise _error(package)


def _error(package: Path) -> FuseError:
    hint = "compile with cache=False, or --no-cache"
    return FuseError(f"cannot read the source of the package in '{package}', which the cache goes by", hint=hint)
