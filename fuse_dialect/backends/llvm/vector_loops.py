"""The vector loop of a nest as code, in the forms that `loops/nest_forms.py` says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from fuse_dialect.backends.assembler.values import I64, Type, Value, constant
from fuse_dialect.backends.llvm.nest_code import NestCode, Reciprocal, Vectors, around, bounds_of
from fuse_dialect.loops.byte_rounding import GREATEST_DIVISOR, LEAST_DIVISOR
from fuse_dialect.loops.functions import BOUND
from fuse_dialect.loops.nest_forms import Cell, Divisor, Streams, VectorLoop
from fuse_dialect.machines.machine import Unit

Inside: TypeAlias = Callable[[NestCode, int, tuple[Value, ...]], tuple[Value, ...]]
"""Writes what is in a loop: the nest, the depth, and what is carried into it; gives what comes out."""


@dataclass(frozen=True, slots=True)
class _Range:
    """Indices from `start` to before `last`; masks leave out what is not before `end`."""

    start: Value
    last: Value
    end: Value


def vector_loop(code: NestCode, depth: int, carried: tuple[Value, ...], inside: Inside) -> tuple[Value, ...]:
    """The vector loop; for maps it may be there several times, and what is known of a row says which one runs."""
    if not code.form.divisors:
        return _cached_or_streamed(code, depth, carried, inside)
    reciprocals, is_safe = _reciprocals(code, code.form.divisors)

    def fast() -> Sequence[Value]:
        return _cached_or_streamed(replace(code, reciprocals=reciprocals), depth, carried, inside)

    return code.row.frame.f.either(is_safe, fast, lambda: _plain_vector_loop(code, depth, carried, inside))


def _cached_or_streamed(code: NestCode, depth: int, carried: tuple[Value, ...], inside: Inside) -> tuple[Value, ...]:
    match code.form.streams:
        case Streams.TILES:
            return _streaming_tiles(code, depth, inside)
        case Streams.VECTORS:
            return _streaming_loop(code, depth, inside)
        case Streams.NONE:
            return _plain_vector_loop(code, depth, carried, inside)


def _streaming_loop(code: NestCode, depth: int, inside: Inside) -> tuple[Value, ...]:
    """The vector loop of a map with large results: it begins with as many elements as make the stores aligned."""
    frame = code.row.frame
    f = frame.f
    start, stop = code.row.bounds or (f.i64(0), frame.count(code.nest.loops[depth].size))
    addresses = _result_addresses(code, start)
    element = frame.machine.vector_bytes // code.nest.lanes
    # A store past the caches must be aligned, so elements up to the first such address go the ordinary way.
    off = f.binary("and", addresses[0], f.i64(frame.machine.vector_bytes - 1))
    missing = f.binary("and", f.subtract(f.i64(frame.machine.vector_bytes), off), f.i64(frame.machine.vector_bytes - 1))
    first = f.least(f.add(start, f.quotient(missing, element)), stop)
    apart = f.i64(0)
    # Results that lie differently to each other cannot all be aligned.
    for address in addresses[1:]:
        apart = f.binary("or", apart, f.binary("xor", address, addresses[0]))
    differ = f.binary("and", apart, f.i64(frame.machine.vector_bytes - 1))
    may = f.binary("or", differ, f.remainder(missing, element))

    def streaming() -> Sequence[Value]:
        # Fewer elements than a vector: one masked vector, or one by one.
        lanes = code.nest.lanes if Unit.MASKS in frame.machine.units else 0
        head = VectorLoop(lanes, 1, is_masked=bool(lanes))
        _part_loop(code, depth, (), inside, _Range(start, first, first), head)
        _plain_vector_loop(replace(code, streams=True), depth, (), inside, first)
        return ()

    return f.either(f.compare("eq", may, f.i64(0)), streaming, lambda: _plain_vector_loop(code, depth, (), inside))


def _streaming_tiles(code: NestCode, depth: int, inside: Inside) -> tuple[Value, ...]:
    """The vector loop of a large transpose: stores pass the caches where results begin with a line."""
    f = code.row.frame.f
    off = f.i64(0)
    for stage in code.nest.stages:
        if stage.buffer in code.row.frame.pointers:
            off = f.binary("or", off, f.cast("ptrtoint", code.row.frame.pointers[stage.buffer], I64))

    def streaming() -> Sequence[Value]:
        return _plain_vector_loop(replace(code, streams=True), depth, (), inside)

    # Half a line past the caches would be read back from memory for its other half.
    is_aligned = f.compare("eq", f.binary("and", off, f.i64(code.row.frame.machine.line_bytes - 1)), f.i64(0))
    return f.either(is_aligned, streaming, lambda: _plain_vector_loop(code, depth, (), inside))


def _reciprocals(code: NestCode, divisors: Mapping[Cell, Divisor]) -> tuple[dict[Cell, Reciprocal], Value]:
    """The reciprocals, and whether products with them are as good as quotients: divisors are neither huge nor tiny."""
    f = code.row.frame.f
    reciprocals: dict[Cell, Reciprocal] = {}
    is_safe = constant(Type("i1"), 1)
    for cell, divisor in divisors.items():
        (value,) = code.cells[divisor.cell]
        # The product differs from the quotient by its last place; where the reciprocal is denormal it would by more.
        reciprocal = f.fdiv(constant(value.type, 1), value, "")
        exact = (value, f.fmul(value, constant(value.type, BOUND), "")) if divisor.is_exact else None
        reciprocals[cell] = Reciprocal(reciprocal, exact)
        # An exact one is of a positive number.
        magnitude = value if divisor.is_exact else f.intrinsic("fabs", value.type, [value])
        least, greatest = (LEAST_DIVISOR, GREATEST_DIVISOR) if divisor.is_exact else (2.0**-100, 2.0**100)
        conditions = [
            f.compare("oge", magnitude, constant(value.type, least)),
            f.compare("ole", magnitude, constant(value.type, greatest)),
        ]
        if divisor.zero_point is not None:
            (zero,) = code.cells[divisor.zero_point]
            added = f.intrinsic("fabs", zero.type, [zero])
            conditions.append(f.compare("ole", added, constant(zero.type, BOUND / 2)))
        for condition in conditions:
            is_safe = f.binary("and", is_safe, condition)
    return reciprocals, is_safe


def _result_addresses(code: NestCode, start: Value) -> list[Value]:
    """Where the results of the vector loop begin, as i64."""
    f = code.row.frame.f
    found: list[Value] = []
    at_start = code.inside(code.nest.loops[-1], start)
    for stage in code.nest.stages:
        if stage.buffer in code.row.frame.pointers:
            near = around(at_start, stage, 0, 0)
            address = near.address(stage.buffer, near.place(stage.buffer, stage.store))
            found.append(f.cast("ptrtoint", address, I64))
    return found


def _plain_vector_loop(
    code: NestCode, depth: int, carried: tuple[Value, ...], inside: Inside, start: Value | None = None
) -> tuple[Value, ...]:
    f = code.row.frame.f
    first, stop = bounds_of(code, depth)
    start = first if start is None else start
    for segment in code.form.segments:
        low = f.greatest(start, f.i64(segment.first))
        high = f.greatest(f.least(stop, f.i64(segment.stop)), low)
        inner = replace(code, within=(segment.first, segment.stop))
        carried = _parts(inner, depth, carried, inside, (low, high), segment.vector_loops)
    if not code.form.segments:
        carried = _parts(code, depth, carried, inside, (start, stop), code.form.vector_loops)
    return carried


def _parts(
    code: NestCode,
    depth: int,
    carried: tuple[Value, ...],
    inside: Inside,
    bounds: tuple[Value, Value],
    loops: Sequence[VectorLoop],
) -> tuple[Value, ...]:
    """The loops that a vector loop, or a segment of it, consists of."""
    f, (start, stop) = code.row.frame.f, bounds
    for part in loops:
        step = max(part.lanes, 1) * part.unroll
        last = stop if part.is_masked or step == 1 else f.subtract(stop, f.remainder(f.subtract(stop, start), step))
        # Sizes that are known leave out loops that would not run.
        if start.number is not None and start.number == last.number:
            continue
        carried = _part_loop(code, depth, carried, inside, _Range(start, last, stop), part)
        start = last
    return carried


def _part_loop(
    code: NestCode, depth: int, carried: tuple[Value, ...], inside: Inside, over: _Range, part: VectorLoop
) -> tuple[Value, ...]:
    """One of the loops that the vector loop consists of."""
    f = code.row.frame.f
    lanes, unroll = part.lanes, part.unroll
    with f.loop(over.start, over.last, max(lanes, 1) * unroll, carried=carried) as loop_code:
        inner = code.inside(code.nest.loops[depth], loop_code.index)
        mask = f.first_lanes(f.subtract(over.end, loop_code.index), lanes) if part.is_masked else None
        inner = replace(inner, at_once=Vectors(lanes, unroll, mask))
        loop_code.following = inside(inner, depth + 1, loop_code.carried)
    return loop_code.carried
