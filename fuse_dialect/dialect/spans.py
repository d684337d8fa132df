"""What a slice takes of an axis, by arithmetic alone: traced sizes know it, and `slice.indices` asks for integers."""

from typing import cast


def span(begin: int | None, end: int | None, step: int, size: int) -> tuple[int, int]:
    """The first index of a slice and how many it has.

    Args:
        begin: Of the slice; counted from the end where it is negative, `None` for the first.
        end: Behind the last index.
        step: Not 0.
        size: Of the axis.

    Source: `slice.indices` of Python.
    """
    least, most = (0, size) if step > 0 else (-1, size - 1)
    first = _bounded(begin, size, least, most, least if step > 0 else most)
    last = _bounded(end, size, least, most, most if step > 0 else least)
    way = last - first if step > 0 else first - last
    return first, 0 if way <= 0 else (way + (abs(step) - 1)) // abs(step)


def _bounded(index: int | None, size: int, least: int, most: int, default: int) -> int:
    """A bound of a slice, counted from the front and within the axis."""
    if index is None:
        return default
    # Traced sizes are no integers, but their difference may be: then nothing is compared, which would be noted.
    beyond = cast("object", index - most)
    if isinstance(beyond, int) and beyond >= 0:
        return most
    if index < 0:
        index = index + size
        return least if index < least else index
    return most if index > most else index
