"""Jobs for other processes: bytes until a worker opens them, and then once for each process.

A scheduler takes graphs apart in its own process. What stands in one must not open programs and files there.
"""

import pickle
from functools import lru_cache
from typing import Any

_MOST_OPEN = 8
"""Jobs that a process keeps open."""


def sent(job: object) -> bytes:
    """A job as bytes."""
    return pickle.dumps(job, pickle.HIGHEST_PROTOCOL)


@lru_cache(_MOST_OPEN)
def opened(job: bytes) -> Any:
    """What `sent` was given, opened in this process."""
    return pickle.loads(job)
