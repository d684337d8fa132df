"""The vector loop of a nest, in the forms that pay.

1. It is up to three loops: whole groups of `unroll` vectors, single vectors, and the rest. The rest is one vector with
   a mask where the processor has masks, else it goes element by element.
2. A map may have it twice, and a test before it says which one runs: with products in place of quotients, where the
   divisor is the same for the row and neither huge nor tiny; with stores past the caches, where results are large.
3. In a transpose it is as wide as the tiles: a loop for each width, and the rest as in 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fuse_dialect.backends.llvm.nest_code import Cell, NestCode, Segment, around, bounds_of, with_axes
from fuse_dialect.backends.llvm.values import I64, Type, Value, constant
from fuse_dialect.counts import product
from fuse_dialect.kernels.elements import element_bytes
from fuse_dialect.kernels.places import place_of
from fuse_dialect.kernels.program import Apply, Buffer, Literal
from fuse_dialect.kernels.quotients import ROUGH
from fuse_dialect.kernels.scheduling import halves, has_rest
from fuse_dialect.machines.machine import Unit

_TILES_SHARE = 4
"""Results as large as the last cache are written past it: nothing would be left there for who reads them. Those of a
transpose are from this part of it on: their lines are far apart, and to fetch them first takes most of the time."""
LONG = 64
"""Fewer elements are not worth a second form of their loop."""
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
    f = code.row.frame.f
    # (2) Two forms of a reduction would need their accumulators joined; its quotients come later anyhow.
    if any(stage.reduction is not None or stage.scatter is not None for stage in code.nest.stages):
        return _plain_vector_loop(code, depth, carried, inside)
    divisors = _divisors(code, depth)
    if divisors and not code.reciprocals:
        reciprocals, is_safe = _reciprocals(code, divisors)

        def fast() -> Sequence[Value]:
            code.reciprocals = reciprocals
            vector_loop(code, depth, carried, inside)
            return ()

        def exact() -> Sequence[Value]:
            code.reciprocals = {}
            _plain_vector_loop(code, depth, carried, inside)
            return ()

        return f.either(is_safe, fast, exact)
    if code.nest.tiles and _may_stream_tiles(code, depth):
        return _streaming_tiles(code, depth, inside)
    if _may_stream(code, depth):
        return _streaming_loop(code, depth, inside)
    return _plain_vector_loop(code, depth, carried, inside)


def _streaming_loop(code: NestCode, depth: int, inside: Inside) -> tuple[Value, ...]:
    """The vector loop of a map with large results: it begins with as many elements as make the stores aligned."""
    frame = code.row.frame
    f = frame.f
    start, stop = code.row.bounds or (f.i64(0), frame.count(code.nest.loops[depth].size))
    addresses = _result_addresses(code, start)
    element = frame.machine.vector_bytes // code.nest.lanes
    # (2) A store past the caches must be aligned, so elements up to the first such address go the ordinary way.
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
        _segment_loop(code, depth, (), inside, _Range(start, first, first), (lanes, 1, bool(lanes)))
        code.streams = True
        _plain_vector_loop(code, depth, (), inside, first)
        code.streams = False
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
        code.streams = True
        _plain_vector_loop(code, depth, (), inside)
        code.streams = False
        return ()

    # (2) Half a line past the caches would be read back from memory for its other half.
    is_aligned = f.compare("eq", f.binary("and", off, f.i64(code.row.frame.machine.line_bytes - 1)), f.i64(0))
    return f.either(is_aligned, streaming, lambda: _plain_vector_loop(code, depth, (), inside))


def _may_stream_tiles(code: NestCode, depth: int) -> bool:
    """Whether every vector of the large results is a line, if the first one is: parts of lines must not pass by."""
    nest, frame = code.nest, code.row.frame
    axis, lanes = nest.loops[depth].axes[-1], nest.lanes
    if Unit.STREAMS not in frame.machine.units or (nest.loops[depth].size.number or 1) % lanes:
        return False
    for stage in nest.stages:
        if stage.buffer not in frame.pointers:
            continue
        buffer = frame.buffers[stage.buffer]
        store = place_of(stage.store, buffer.shape, len(stage.axes))
        bytes = element_bytes(buffer.element)
        # Whatever the other axes are, each vector begins a line if all steps are whole lines.
        steps = [store.constant, *(stride for number, stride in enumerate(store.strides) if number != axis)]
        is_large = _is_large(buffer, frame.machine.last_cache.bytes // _TILES_SHARE)
        if lanes * bytes != frame.machine.line_bytes or store.stride(axis) != 1 or store.odd or not is_large:
            return False
        if any(step.number is None or step.number % lanes for step in steps):
            return False
    return True


def _is_large(buffer: Buffer, bytes: int) -> bool:
    elements = product(buffer.shape).number
    return elements is not None and elements * element_bytes(buffer.element) >= bytes


def _divisors(code: NestCode, depth: int) -> dict[Cell, Cell]:
    """Rough quotients of vectors by what is the same in the whole vector loop, with the cells of the divisors."""
    size = code.nest.loops[depth].size.number
    if size is not None and size < LONG:
        return {}
    found: dict[Cell, Cell] = {}
    for number, stage in enumerate(code.nest.stages):
        for place, inner in enumerate(stage.body):
            if isinstance(inner, Apply) and inner.function == ROUGH and inner.element in ("f32", "f64"):
                divisor = (number, inner.operands[1])
                is_known = code.depths[divisor] <= depth and divisor not in code.vectors
                if is_known and (number, place) in code.vectors and not isinstance(stage.body[divisor[1]], Literal):
                    found[number, place] = divisor
    return found


def _reciprocals(code: NestCode, divisors: Mapping[Cell, Cell]) -> tuple[dict[Cell, Value], Value]:
    """The reciprocals, and whether products with them are as good as quotients: divisors are neither huge nor tiny."""
    f = code.row.frame.f
    reciprocals: dict[Cell, Value] = {}
    is_safe = constant(Type("i1"), 1)
    for cell, divisor in divisors.items():
        (value,) = code.cells[divisor]
        # The product differs from the quotient by its last place; where the reciprocal is denormal it would by more.
        reciprocals[cell] = f.fdiv(constant(value.type, 1), value, "")
        magnitude = f.intrinsic("fabs", value.type, [value])
        is_large = f.compare("oge", magnitude, constant(value.type, 2.0**-100))
        is_small = f.compare("ole", magnitude, constant(value.type, 2.0**100))
        is_safe = f.binary("and", is_safe, f.binary("and", is_large, is_small))
    return reciprocals, is_safe


def _may_stream(code: NestCode, depth: int) -> bool:
    """Whether results are so large that they would only push other things out of the caches."""
    nest, frame = code.nest, code.row.frame
    if depth != len(nest.loops) - 1 or Unit.STREAMS not in frame.machine.units:
        return False
    for stage in nest.stages:
        buffer = frame.buffers[stage.buffer]
        # Narrow results of wide computations are stored in halves of vectors, which are not streamed.
        whole = nest.lanes * element_bytes(buffer.element) == frame.machine.vector_bytes
        if stage.buffer in frame.pointers and not (_is_large(buffer, frame.machine.last_cache.bytes) and whole):
            return False
    return True


def _result_addresses(code: NestCode, start: Value) -> list[Value]:
    """Where the results of the vector loop begin, as i64."""
    f = code.row.frame.f
    axis = code.vector_axis
    assert axis is not None
    saved = code.env
    code.env = with_axes(saved, code.nest.loops[-1], start, f.i64(0))
    found: list[Value] = []
    for stage in code.nest.stages:
        if stage.buffer in code.row.frame.pointers:
            near = around(code, stage, 0, 0)
            address = near.address(stage.buffer, near.place(stage.buffer, stage.store))
            found.append(f.cast("ptrtoint", address, I64))
    code.env = saved
    return found


def _plain_vector_loop(
    code: NestCode, depth: int, carried: tuple[Value, ...], inside: Inside, start: Value | None = None
) -> tuple[Value, ...]:
    f = code.row.frame.f
    first, stop = bounds_of(code, depth)
    start = first if start is None else start
    for form in _segments(code):
        lanes, unroll, is_masked = form
        step = max(lanes, 1) * unroll
        last = stop if is_masked or step == 1 else f.subtract(stop, f.remainder(f.subtract(stop, start), step))
        # Sizes that are known leave out loops that would not run.
        if start.number is not None and start.number == last.number:
            continue
        carried = _segment_loop(code, depth, carried, inside, _Range(start, last, stop), form)
        start = last
    return carried


def _segment_loop(
    code: NestCode, depth: int, carried: tuple[Value, ...], inside: Inside, over: _Range, form: tuple[int, int, bool]
) -> tuple[Value, ...]:
    """One of the loops that the vector loop consists of."""
    f = code.row.frame.f
    lanes, unroll, is_masked = form
    with f.loop(over.start, over.last, max(lanes, 1) * unroll, carried=carried) as loop_code:
        saved, segment = code.env, code.segment
        code.env = with_axes(saved, code.nest.loops[depth], loop_code.index, f.i64(0))
        mask = f.first_lanes(f.subtract(over.end, loop_code.index), lanes) if is_masked else None
        code.segment = Segment(lanes, unroll, mask)
        loop_code.following = inside(code, depth + 1, loop_code.carried)
        code.env, code.segment = saved, segment
    return loop_code.carried


def _segments(code: NestCode) -> list[tuple[int, int, bool]]:
    """Lanes, unrolling and whether there is a mask, for each part of the vector loop."""
    nest = code.nest
    parts: list[tuple[int, int, bool]] = []
    if nest.tiles and nest.vector is not None:
        size = nest.loops[nest.vector].size.number
        # (3) Whole tiles of each width first; the rest is less than the least.
        widths = halves(nest.lanes, size)
        rest = (nest.lanes, 1, True) if Unit.MASKS in code.row.frame.machine.units else (0, 1, False)
        return [*((width, 1, False) for width in widths), *([rest] if has_rest(widths, size) else [])]
    if nest.unroll > 1:
        parts.append((nest.lanes, nest.unroll, False))
    if Unit.MASKS in code.row.frame.machine.units:
        return [*parts, *([] if parts else [(nest.lanes, 1, False)]), (nest.lanes, 1, True)]
    return [*parts, (nest.lanes, 1, False), (0, 1, False)]
