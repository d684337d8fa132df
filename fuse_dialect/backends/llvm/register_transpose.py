"""A tile of vectors transposed in registers: element `i` of vector `j` becomes element `j` of vector `i`.

Vectors consist of chunks of 16 bytes, because shuffles within chunks, and those of whole chunks, are one instruction
each on every processor. A square tile takes log2(lanes) instructions for each vector.
"""

from collections.abc import Sequence

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import Value

_CHUNK = 128
"""Bits within which shuffles are cheapest."""


def transposed(f: Function, rows: Sequence[Value]) -> list[Value]:
    """The columns of a tile; the numbers of its rows and of its columns are powers of two."""
    height, width = len(rows), rows[0].type.lanes
    if height >= width:
        squares = [_transposed_square(f, rows[start : start + width]) for start in range(0, height, width)]
        return [_joined(f, parts) for parts in zip(*squares, strict=True)]
    columns: list[Value] = []
    for start in range(0, width, height):
        places = list(range(start, start + height))
        columns += _transposed_square(f, [f.shuffle(row, row, places) for row in rows])
    return columns


def _transposed_square(f: Function, rows: Sequence[Value]) -> list[Value]:
    lanes = len(rows)
    # A square of fewer lanes than a chunk is one chunk.
    chunk = min(lanes, max(_CHUNK // rows[0].type.bits, 1))
    groups = [_transposed_in_chunks(f, rows[start : start + chunk], chunk) for start in range(0, lanes, chunk)]
    columns = [_transposed_chunks(f, members, chunk) for members in zip(*groups, strict=True)]
    return [column[number] for number in range(lanes // chunk) for column in columns]


def _transposed_in_chunks(f: Function, rows: Sequence[Value], chunk: int) -> list[Value]:
    """Transpose each square of as many rows as a chunk has elements: perfect shuffles, until each is back in order."""
    low = [
        place + side
        for start in range(0, rows[0].type.lanes, chunk)
        for place in range(start, start + chunk // 2)
        for side in (0, rows[0].type.lanes)
    ]
    high = [place + chunk // 2 for place in low]
    moved, half = list(rows), chunk // 2
    # A perfect shuffle moves the bits of places round by one; after log2(n) of them rows have become columns.
    for _ in range(chunk.bit_length() - 1):
        moved = [f.shuffle(moved[row], moved[row + half], places) for row in range(half) for places in (low, high)]
    return moved


def _transposed_chunks(f: Function, rows: Sequence[Value], chunk: int) -> list[Value]:
    """Transpose a square of chunks: even and odd chunks of neighbours part, until each row has those of one column."""
    lanes, count = rows[0].type.lanes, len(rows)
    even = [place for start in range(0, 2 * lanes, 2 * chunk) for place in range(start, start + chunk)]
    odd = [place + chunk for place in even]
    moved = list(rows)
    for _ in range(count.bit_length() - 1):
        moved = [f.shuffle(moved[row], moved[row + 1], places) for places in (even, odd) for row in range(0, count, 2)]
    return moved


def _joined(f: Function, parts: Sequence[Value]) -> Value:
    """The vectors one after the other in one; their number is a power of two."""
    joined = list(parts)
    while len(joined) > 1:
        places = list(range(2 * joined[0].type.lanes))
        joined = [f.shuffle(joined[at], joined[at + 1], places) for at in range(0, len(joined), 2)]
    return joined[0]


def interleaved(f: Function, rows: Sequence[Value]) -> Value:
    """Rows element by element side by side: `a0 b0 c0 a1 b1 c1 ...`."""
    lanes, count = rows[0].type.lanes, len(rows)
    wide = list(rows)
    # Shuffles join two at a time; what is repeated is left out by the last one.
    while len(wide) & (len(wide) - 1):
        wide.append(wide[-1])
    joined = _joined(f, wide)
    return f.shuffle(joined, joined, [lane + row * lanes for lane in range(lanes) for row in range(count)])
