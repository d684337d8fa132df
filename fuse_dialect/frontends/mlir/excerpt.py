"""The line of a source text that an error is about, and a line of carets below it."""

from collections.abc import Iterator

_WIDTH = 120
"""Columns of source shown; a line that holds a large constant may have millions."""
_TAIL = 40
"""Columns shown after the place of an error in a long line."""


def excerpt(text: str, start: int, end: int) -> Iterator[str]:
    """Two lines, the source and carets; at the end of a text its last line, with a caret behind it.

    Args:
        text: The whole source.
        start: Offset of the first character that the error is about.
        end: Offset behind the last.
    """
    if start >= len(text.rstrip()):
        start = end = len(text.rstrip())
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", start)
    line = text[begin : stop if stop >= 0 else len(text)].removesuffix("\r")
    column = min(start - begin, len(line))
    width = max(1, min(end - begin, len(line)) - column)
    if len(line) > _WIDTH:
        first = max(0, column + _TAIL - _WIDTH)
        line, column = line[first : first + _WIDTH], column - first
        width = min(width, _TAIL)
    if not line.strip():
        return
    yield "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in line)
    yield "".join("\t" if char == "\t" else " " for char in line[:column]) + "^" * width
