"""Python's garbage collector in a process that builds one large module and ends."""

import gc
from collections.abc import Generator
from contextlib import contextmanager

_YOUNG_OBJECTS = 100_000
"""Objects between two looks at the youngest generation; Python's default is 700."""


@contextmanager
def rare_collection() -> Generator[None]:
    """Collect rarely: IR is a graph of live objects, and every look at all of them finds next to nothing.

    With the default, the time of making thousands of functions doubles. Memory of what does become garbage is still
    given back.
    """
    threshold = gc.get_threshold()
    gc.set_threshold(_YOUNG_OBJECTS, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
