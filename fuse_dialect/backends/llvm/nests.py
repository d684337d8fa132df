"""A nest of loops as code, for one row: see `kernels/schedule.py` for what a nest is."""

from dataclasses import replace

from fuse_dialect.backends.llvm.accumulators import accumulate, accumulators, finish, keep_running, neutral_accumulators
from fuse_dialect.backends.llvm.elements import to_memory
from fuse_dialect.backends.llvm.nest_code import (
    NestCode,
    Row,
    analyse,
    around,
    bounds_of,
    caption,
    keep_value,
    result_of,
    with_axes,
    write_cells,
)
from fuse_dialect.backends.llvm.turning import strip_of
from fuse_dialect.backends.llvm.values import Value
from fuse_dialect.backends.llvm.vector_loops import vector_loop
from fuse_dialect.kernels.program import Stage
from fuse_dialect.kernels.schedule import Nest
from fuse_dialect.kernels.scheduling import STRIP, has_rest


def write_nest(nest: Nest, row: Row) -> None:
    """Write the code of a nest."""
    code = NestCode(nest, row, env=dict(row.env))
    for stage in nest.stages:
        row.frame.f.comment(caption(stage))
    analyse(code)
    _descend(code, 0, ())


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
    f, loop, lanes = code.row.frame.f, code.nest.loops[depth], code.segment.lanes
    is_whole = lanes > 0 and code.segment.mask is None
    start, stop = bounds_of(code, depth)
    saved, segment = code.env, code.segment
    # Tiles are turned in registers and need all lanes; a masked rest goes vector by vector.
    tiles = code.nest.tiles if is_whole else ()
    for height in (*tiles, 1) if has_rest(tiles, loop.size.number) else tiles:
        # A tile that has all of a short axis may be read and written in one piece.
        is_strip = height == loop.size.number and height < STRIP
        last = f.subtract(stop, f.remainder(f.subtract(stop, start), height))
        with f.loop(start, last, height, hints=["unroll.disable"]) as loop_code:
            code.env = with_axes(saved, loop, loop_code.index, f.i64(0))
            if height > 1:
                code.segment = replace(segment, unroll=height, across=loop.axes[-1], is_strip=is_strip)
            _descend(code, depth + 1, ())
        code.env, code.segment = saved, segment
        start = last


def _plain_loop(code: NestCode, depth: int, carried: tuple[Value, ...]) -> tuple[Value, ...]:
    f, loop = code.row.frame.f, code.nest.loops[depth]
    start, stop = bounds_of(code, depth)
    with f.loop(start, stop, carried=carried) as loop_code:
        saved = code.env
        code.env = with_axes(saved, loop, loop_code.index, f.i64(0))
        loop_code.following = _descend(code, depth + 1, loop_code.carried)
        code.env = saved
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
    if code.segment.is_strip and _store_strip(code, number, stage):
        return
    for copy in range(code.segment.unroll):
        near = around(code, stage, copy, code.segment.lanes)
        value = near.scalars.wide(result_of(code, number, copy))
        if stage.scatter is not None:
            near.scatter(value, stage.buffer, near.place(stage.buffer, stage.store), stage.scatter)
            continue
        near.store(value, stage.buffer, near.place(stage.buffer, stage.store), streams=code.streams)


def _store_strip(code: NestCode, number: int, stage: Stage) -> bool:
    """Store the vectors of a tile element by element side by side, if that is where they belong."""
    axis, segment = code.vector_axis, code.segment
    near = around(code, stage, 0, segment.lanes)
    place = near.place(stage.buffer, stage.store)
    if axis is None or segment.across is None or place.stride(segment.across) != 1:
        return False
    # Only then are elements of one tile one run of memory, row after row.
    if place.stride(axis) != segment.unroll:
        return False
    f = code.row.frame.f
    values = [near.scalars.wide(result_of(code, number, copy)) for copy in range(segment.unroll)]
    f.store(strip_of(f, [to_memory(f, value) for value in values]), near.address(stage.buffer, place))
    return True
