"""Accesses outside of arrays, as checked kernels report them: a few words that machine code writes and Python reads.

Kernels go on after a report, because they cannot raise; whoever has called them asks for it.
"""

from ctypes import addressof, c_int64
from threading import Lock

from fuse_dialect.checked import CheckError

REPORT_WORDS = 5
"""How many there are; of the first one its site, where it begins in its array, its bytes, and those of the array."""
_REPORT = (c_int64 * REPORT_WORDS)()
_SITES: list[str] = []
_LOCK = Lock()


def report_address() -> int:
    """Where kernels write."""
    return addressof(_REPORT)


def new_site(text: str) -> int:
    """The number of an instruction, with what people are told of it."""
    with _LOCK:
        _SITES.append(text)
        return len(_SITES) - 1


def raise_violations() -> None:
    """Raise what kernels have reported since the last time.

    Raises:
        CheckError: One has read or written outside of its arrays.
    """
    with _LOCK:
        count, site, start, size, room = _REPORT
        if not count:
            return
        _REPORT[0] = 0
    others = f", and {count - 1} more" if count > 1 else ""
    raise CheckError(f"{_SITES[site]}: {size} bytes at {start} of an array of {room}{others}")
