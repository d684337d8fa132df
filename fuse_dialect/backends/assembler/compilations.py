"""How often code was compiled, by thread: so that a program can say what its calls have done."""

from threading import local


class _Count(local):
    """Of one thread."""

    number = 0


_COUNT = _Count()


def note_compilation() -> None:
    """One more module is compiled by this thread."""
    _COUNT.number += 1


def compilations() -> int:
    """How many modules this thread has compiled."""
    return _COUNT.number
