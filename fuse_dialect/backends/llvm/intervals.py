"""The interval of columns of a strip as code; see `loops/bands.py`."""

from fuse_dialect.backends.assembler.values import Value
from fuse_dialect.backends.llvm.kernel import Frame
from fuse_dialect.loops.bands import End
from fuse_dialect.loops.strip_schedule import Skipped


def interval_of(frame: Frame, skipped: Skipped) -> tuple[Value, Value]:
    """The first column that a strip needs and the one behind the last: `Band.interval`, of rows that the call says.

    Args:
        frame: Of a step, whose part and number of parts are the first row and the one behind the last, counted through
            all outer points.
        skipped: What strips leave out.
    """
    f, band, unit = frame.f, skipped.band, skipped.unit
    _, first = frame.divided(frame.part, f.i64(skipped.rows))
    last = f.subtract(f.add(first, f.subtract(frame.parts, frame.part)), f.i64(1))

    def at(end: End, row: Value) -> Value:
        return f.add(f.multiply(row, f.i64(end.factor)), f.i64(end.constant))

    def larger(one: Value, other: Value) -> Value:
        return f.intrinsic("smax", one.type, [one, other])

    low, stop = f.i64(0), f.i64(band.columns)
    for end in band.lows:
        low = larger(low, at(end, first if end.factor >= 0 else last))
    for end in band.stops:
        stop = f.least(stop, at(end, last if end.factor >= 0 else first))
    low = f.multiply(f.quotient(low, unit), f.i64(unit))
    stop = f.multiply(f.quotient(f.add(larger(stop, f.i64(0)), f.i64(unit - 1)), unit), f.i64(unit))
    stop = f.least(stop, f.i64(band.columns))
    # A row that sees nothing is all nan, so one of its columns is needed at least.
    is_empty = f.compare("sge", low, stop)
    if band.must_see:
        # One that sees nothing needs all, and rows between two that see something see something.
        for row in (first, last):
            ends = [(at(low_end, row), at(stop_end, row)) for low_end in band.lows for stop_end in band.stops]
            for begin, end in ends:
                for less, more in ((begin, end), (begin, f.i64(band.columns)), (f.i64(0), end)):
                    is_empty = f.binary("or", is_empty, f.compare("sge", less, more))
    return f.select(is_empty, f.i64(0), low), f.select(is_empty, f.i64(band.columns), stop)
