"""Changes of a plan in the making: what candidates are, and what is known of those that are allowed."""

from enum import IntEnum
from typing import NamedTuple

from fuse_dialect.loops.joins import Join

NOTHING = 1e-12
"""Seconds that rounding may add up to."""


class Change(IntEnum):
    """What a candidate does; the order decides between candidates that save the same."""

    INTO_READERS = 0
    """A producer is computed in all of its readers, and stored no more."""
    INTO_ONE = 1
    """A producer and one of its readers become one, which still stores what others read."""
    SIBLINGS = 2
    """Two kernels that read one value become one."""


class Judged(NamedTuple):
    """A candidate that is allowed."""

    apart: float
    """Seconds as it is."""
    together: float
    """Seconds after the change."""
    joins: tuple[tuple[int, Join], ...]
    """How what goes becomes part of other kernels, by their numbers."""
    ways: tuple[set[int], set[int]] | None = None
    """See `StepOrder.ways`; `None` if no search was needed, or none was made."""

    @property
    def saved(self) -> float:
        """Seconds."""
        return self.apart - self.together
