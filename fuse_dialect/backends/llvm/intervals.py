"""The interval of columns of a strip as code; see `loops/bands.py`."""

from collections.abc import Callable
from typing import TypeAlias

from fuse_dialect.backends.assembler.values import Value
from fuse_dialect.backends.llvm.kernel import Frame
from fuse_dialect.loops.bands import End
from fuse_dialect.loops.one_pass import BLOCK_FIRST, BLOCK_STOP
from fuse_dialect.loops.strip_schedule import Skipped, Strips

IntervalOf: TypeAlias = Callable[[Frame], tuple[Value, Value]]
"""The first column that a step needs, and the one behind the last, in a function of the step."""


def step_interval(strips: Strips) -> IntervalOf:
    """What steps of strips run over that leave columns out, or take them block by block."""

    def interval(frame: Frame) -> tuple[Value, Value]:
        if strips.blocks is not None:
            return frame.sizes[BLOCK_FIRST], frame.sizes[BLOCK_STOP]
        assert strips.skipped is not None, "a step that has an interval is one of strips that leave columns out"
        return interval_of(frame, strips.skipped, (frame.part, frame.parts))

    return interval


def interval_of(frame: Frame, skipped: Skipped, rows: tuple[Value, Value]) -> tuple[Value, Value]:
    """The first column that a strip needs and the one behind the last: `Band.interval`, of rows that the call says.

    Args:
        frame: Of the function.
        skipped: What strips leave out.
        rows: The first row and the one behind the last, counted through all outer points.
    """
    f, band, unit = frame.f, skipped.band, skipped.unit
    _, first = frame.divided(rows[0], frame.size(skipped.rows))
    last = f.subtract(f.add(first, f.subtract(rows[1], rows[0])), f.i64(1))

    def at(end: End, row: Value) -> Value:
        return f.add(f.multiply(row, f.i64(end.factor)), f.i64(end.constant))

    def larger(one: Value, other: Value) -> Value:
        return f.intrinsic("smax", one.type, [one, other])

    columns = frame.size(band.columns)
    low, stop = f.i64(0), columns
    for end in band.lows:
        low = larger(low, at(end, first if end.factor >= 0 else last))
    for end in band.stops:
        stop = f.least(stop, at(end, last if end.factor >= 0 else first))
    low = f.multiply(f.quotient(low, unit), f.i64(unit))
    stop = f.multiply(f.quotient(f.add(larger(stop, f.i64(0)), f.i64(unit - 1)), unit), f.i64(unit))
    stop = f.least(stop, columns)
    # A row that sees nothing is all nan, so one of its columns is needed at least.
    is_empty = f.compare("sge", low, stop)
    if band.must_see:
        # One that sees nothing needs all, and rows between two that see something see something.
        for row in (first, last):
            ends = [(at(low_end, row), at(stop_end, row)) for low_end in band.lows for stop_end in band.stops]
            for begin, end in ends:
                for less, more in ((begin, end), (begin, columns), (f.i64(0), end)):
                    is_empty = f.binary("or", is_empty, f.compare("sge", less, more))
    return f.select(is_empty, f.i64(0), low), f.select(is_empty, columns, stop)
