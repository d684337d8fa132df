"""What a compiled program depends on besides its model and its options, as one text.

1. *The processor*, with what the system lets programs use of it, and all numbers of the machine that the user has named
   in its place.
2. *This package*, by size and time of each of its files, as Python decides whether a module is to be compiled again.
3. *Other packages*, by the names under which they are installed, which have their versions; and the interpreter.

To read all that takes some milliseconds, and imports none of it.
"""

import os
import platform
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256

from fuse_dialect.backends.runtime.own_files import own_files
from fuse_dialect.machines.environment import NATIVE, PROCESSOR_FILE, VARIABLE
from fuse_dialect.machines.tiles import usable

_OF_PROCESSOR = ("vendor_id", "cpu family", "model", "stepping", "flags")
_OF_PACKAGES = (".dist-info", ".egg-info", ".egg-link", ".pth")


@cache
def environment() -> str:
    """A hash of all that stands above; what changes while the process runs is not looked at again."""
    digest = sha256()
    for part in (sys.version, platform.machine(), *_processor(), *_own_files(), *_installed()):
        digest.update(part.encode(errors="surrogateescape") + b"\0")
    return digest.hexdigest()


def processor() -> list[str]:
    """What describes the processor at hand: `flags : ...` among it; nothing where the system does not say."""
    try:
        return list(_processor())
    except OSError:
        return []


def machines_in(names: Iterable[str]) -> list[str]:
    """What the machines of some names are, and that which the environment names: a name may be of another one tomorrow.

    Raises:
        FuseError: There is no such machine.
    """
    # The processor at hand is a part of `environment`.
    named = [name for name in (*names, os.environ.get(VARIABLE, "")) if name not in ("", NATIVE)]
    if not named:
        return []
    from fuse_dialect.machines.description import with_rates
    from fuse_dialect.machines.names import find_machine

    return [repr(with_rates(find_machine(name))) for name in named]


def _processor() -> Iterator[str]:
    """The lines that describe the first processor; all of a machine can do the same."""
    with open(PROCESSOR_FILE, encoding="utf-8") as stream:
        for line in stream:
            if not line.strip():
                return
            name, _, value = line.partition(":")
            if name.strip() in _OF_PROCESSOR:
                # Whoever runs kept code has asked for tiles, if it may use them.
                yield f"{name.strip()}: {' '.join(usable(value.split()))}" if "amx" in value else line.strip()


def _own_files() -> Iterator[str]:
    for item in own_files():
        status = item.stat()
        yield f"{item.path} {status.st_size} {status.st_mtime_ns}"


def _installed() -> list[str]:
    found: set[str] = set()
    # Not the folders themselves: the first is that of the script that runs.
    for folder in sys.path:
        try:
            found.update(name for name in os.listdir(folder or ".") if name.endswith(_OF_PACKAGES))
        except OSError:  # an archive, or nothing
            continue
    return sorted(found)
