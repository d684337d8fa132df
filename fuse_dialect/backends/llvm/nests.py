"""A nest of loops as code, for one row: see `kernels/schedule.py` for what a nest is."""

from fuse_dialect.backends.llvm.accumulators import accumulate, accumulators, finish, neutral_accumulators
from fuse_dialect.backends.llvm.nest_code import (
    NestCode,
    Row,
    analyse,
    around,
    caption,
    result_of,
    with_axes,
    write_cells,
)
from fuse_dialect.backends.llvm.values import Value
from fuse_dialect.backends.llvm.vector_loops import vector_loop
from fuse_dialect.kernels.program import Stage
from fuse_dialect.kernels.schedule import Nest


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
    begins = depth == nest.reduced and any(stage.reduction is not None for stage in nest.stages)
    if begins:
        carried = neutral_accumulators(code)
    if depth == len(nest.loops):
        carried = _at_point(code, carried)
    elif depth == nest.vector:
        carried = vector_loop(code, depth, carried, _descend)
    else:
        carried = _plain_loop(code, depth, carried)
    if begins:
        finish(code, carried)
        return ()
    return carried


def _plain_loop(code: NestCode, depth: int, carried: tuple[Value, ...]) -> tuple[Value, ...]:
    frame, loop = code.row.frame, code.nest.loops[depth]
    f = frame.f
    start, stop = f.i64(0), frame.count(loop.size)
    if loop.is_inside:
        start = code.env[loop.axes[-1]]
        stop = f.least(f.add(start, f.i64(loop.block)), stop)
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
            following.extend(accumulate(code, number, stage, own))
    return tuple(following)


def _store_map(code: NestCode, number: int, stage: Stage) -> None:
    if not code.nest.loops:
        code.row.values[stage.buffer] = result_of(code, number, 0)
    if stage.buffer not in code.row.frame.pointers:
        return
    for copy in range(code.segment.unroll):
        near = around(code, stage, copy, code.segment.lanes)
        value = near.scalars.wide(result_of(code, number, copy))
        near.memory.store(value, stage.buffer, near.place(stage.buffer, stage.store), streams=code.streams)
