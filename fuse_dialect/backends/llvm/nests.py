"""A nest of loops as code, for one row: see `loops/schedule.py` for what a nest is."""

from dataclasses import replace

from fuse_dialect.backends.assembler.values import Value
from fuse_dialect.backends.llvm.accumulators import accumulate, accumulators, finish, keep_running, neutral_accumulators
from fuse_dialect.backends.llvm.elements import to_memory
from fuse_dialect.backends.llvm.nest_code import (
    NestCode,
    Row,
    around,
    bounds_of,
    caption,
    keep_value,
    result_of,
    write_cells,
)
from fuse_dialect.backends.llvm.register_transpose import interleaved
from fuse_dialect.backends.llvm.vector_loops import vector_loop
from fuse_dialect.loops.nest_forms import NestForm
from fuse_dialect.loops.program import Stage
from fuse_dialect.loops.schedule import Nest
from fuse_dialect.loops.scheduling import STRIP, has_rest


def write_nest(nest: Nest, form: NestForm, row: Row) -> None:
    """Write the code of a nest."""
    for stage in nest.stages:
        row.frame.f.comment(caption(stage))
    _descend(NestCode(nest, form, row, row.env), 0, ())


def _descend(code: NestCode, depth: int, carried: tuple[Value, ...]) -> tuple[Value, ...]:
    """Write what belongs to a depth, and the loops in it; gives the accumulators that come out."""
    nest = code.nest
    write_cells(code, depth)
    # Accumulators live as long as the loops that are reduced, and are finished where those end.
    begins = depth == nest.reduced and any(stage.reduction is not None for stage in nest.stages)
    if begins:
        carried = neutral_accumulators(code)
    if depth == len(nest.loops):
        carried = _at_point(code, carried)
    elif depth == nest.vector:
        carried = vector_loop(code, depth, carried, _descend)
    elif nest.tiles:
        _tile_loops(code, depth)
    else:
        carried = _plain_loop(code, depth, carried)
    if begins:
        finish(code, carried)
        return ()
    return carried


def _tile_loops(code: NestCode, depth: int) -> None:
    """The loop inside the vector loop of a transpose: tiles of each height, and the rest one by one."""
    f, loop, at_once = code.row.frame.f, code.nest.loops[depth], code.at_once
    is_whole = at_once.lanes > 0 and at_once.mask is None
    start, stop = bounds_of(code, depth)
    # Tiles are transposed in registers and need all lanes; a masked rest goes vector by vector.
    tiles = code.nest.tiles if is_whole else ()
    for height in (*tiles, 1) if has_rest(tiles, loop.size.number) else tiles:
        # A tile that has all of a short axis may be read and written in one piece.
        is_strip = height == loop.size.number and height < STRIP
        last = f.subtract(stop, f.remainder(f.subtract(stop, start), height))
        with f.loop(start, last, height, hints=["unroll.disable"]) as loop_code:
            tile = replace(at_once, unroll=height, across=loop.axes[-1], is_strip=is_strip) if height > 1 else at_once
            _descend(replace(code.inside(loop, loop_code.index), at_once=tile), depth + 1, ())
        start = last


def _plain_loop(code: NestCode, depth: int, carried: tuple[Value, ...]) -> tuple[Value, ...]:
    f, loop = code.row.frame.f, code.nest.loops[depth]
    start, stop = bounds_of(code, depth)
    with f.loop(start, stop, carried=carried) as loop_code:
        loop_code.following = _descend(code.inside(loop, loop_code.index), depth + 1, loop_code.carried)
    return loop_code.carried


def _at_point(code: NestCode, carried: tuple[Value, ...]) -> tuple[Value, ...]:
    """Store what maps computed, and combine what reductions did."""
    left = iter(carried)
    following: list[Value] = []
    for number, stage in enumerate(code.nest.stages):
        if stage.reduction is None:
            _store_map(code, number, stage)
        else:
            own = [next(left) for _ in range(accumulators(code))]
            through = accumulate(code, number, stage, own)
            following.extend(through)
            if stage.is_scan:
                keep_running(code, stage, own, through)
    return tuple(following)


def _store_map(code: NestCode, number: int, stage: Stage) -> None:
    if not code.nest.loops:
        keep_value(code, stage, result_of(code, number, 0))
    if stage.buffer not in code.row.frame.pointers:
        return
    if code.at_once.is_strip and _store_strip(code, number, stage):
        return
    for copy in range(code.at_once.unroll):
        near = around(code, stage, copy, code.at_once.lanes)
        value = near.scalars.wide(result_of(code, number, copy))
        if stage.scatter is not None:
            near.scatter(value, stage.buffer, near.place(stage.buffer, stage.store), stage.scatter)
            continue
        near.store(value, stage.buffer, near.place(stage.buffer, stage.store), streams=code.streams)


def _store_strip(code: NestCode, number: int, stage: Stage) -> bool:
    """Store the vectors of a tile element by element side by side, if that is where they belong."""
    axis, segment = code.nest.vector_axis, code.at_once
    near = around(code, stage, 0, segment.lanes)
    place = near.place(stage.buffer, stage.store)
    if axis is None or segment.across is None or place.stride(segment.across) != 1:
        return False
    # Only then are elements of one tile one run of memory, row after row.
    if place.stride(axis) != segment.unroll:
        return False
    f = code.row.frame.f
    values = [near.scalars.wide(result_of(code, number, copy)) for copy in range(segment.unroll)]
    f.store(interleaved(f, [to_memory(f, value) for value in values]), near.address(stage.buffer, place))
    return True
