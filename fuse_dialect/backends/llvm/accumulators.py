"""Accumulators of the reductions of a nest: what loops carry, and what becomes of it.

They begin neutral; the start of the reduction is combined once, at the end. A reduction has one for each vector of the
vector loop, and one scalar more if the rest of a loop whose lanes are one result goes element by element.
"""

from fuse_dialect.backends.assembler.values import Value, constant
from fuse_dialect.backends.llvm.combining import accumulator_type, across, combine, neutral
from fuse_dialect.backends.llvm.nest_code import NestCode, around, keep_value, result_of
from fuse_dialect.backends.llvm.scalars import Scalars, emit_body
from fuse_dialect.loops.program import Keep, Stage
from fuse_dialect.loops.schedule import Direction
from fuse_dialect.machines.machine import Unit


def accumulators(code: NestCode) -> int:
    """How many a reduction has: one for each vector, and a scalar if the rest of the loop goes element by element."""
    nest = code.nest
    if nest.vector is None:
        return 1
    # Along, each lane is a result, so the rest of the loop has accumulators of its own: it is another segment.
    if nest.direction is Direction.ALONG:
        return code.at_once.unroll
    return nest.unroll + (Unit.MASKS not in code.row.frame.machine.units)


def neutral_accumulators(code: NestCode) -> tuple[Value, ...]:
    nest = code.nest
    values: list[Value] = []
    for stage in nest.stages:
        if stage.reduction is None:
            continue
        if nest.vector is None:
            values.append(neutral(stage.reduction, 0))
        elif nest.direction is Direction.ALONG:
            values += [neutral(stage.reduction, code.at_once.lanes)] * code.at_once.unroll
        else:
            values += [neutral(stage.reduction, nest.lanes)] * nest.unroll
            if Unit.MASKS not in code.row.frame.machine.units:
                values.append(neutral(stage.reduction, 0))
    return tuple(values)


def accumulate(code: NestCode, number: int, stage: Stage, own: list[Value]) -> list[Value]:
    assert stage.reduction is not None
    frame, at_once = code.row.frame, code.at_once
    scalars = Scalars(frame.f, frame.machine, at_once.lanes, frame.fast_math)
    # Without masks the rest goes element by element, into the scalar behind the vectors.
    is_rest = code.nest.direction is Direction.ACROSS and code.nest.vector is not None and not at_once.lanes
    places = [len(own) - 1] if is_rest else list(range(at_once.unroll))
    following = list(own)
    for copy, place in enumerate(places):
        value = scalars.wide(result_of(code, number, copy))
        combined = combine(scalars, stage.reduction, own[place], value)
        # Lanes that the mask leaves out hold anything; they must not reach the sum.
        if at_once.mask is not None and code.nest.direction is Direction.ACROSS:
            combined = frame.f.select(at_once.mask, combined, own[place])
        following[place] = combined
    return following


def keep_running(code: NestCode, stage: Stage, before: list[Value], through: list[Value]) -> None:
    """Store what a scan keeps at a point, from its accumulators before and after the point."""
    assert stage.reduction is not None
    is_exclusive = stage.reduction.keep is Keep.BEFORE
    for copy, value in enumerate(before if is_exclusive else through):
        # Accumulators begin neutral, but what nothing is combined with is the start.
        _store_total(code, stage, copy, _started(code, stage, value) if is_exclusive else value)


def finish(code: NestCode, carried: tuple[Value, ...]) -> None:
    """Combine the accumulators of each reduction, run its `finish` and store the results."""
    left = iter(carried)
    for stage in code.nest.stages:
        if stage.reduction is None:
            continue
        own = [next(left) for _ in range(accumulators(code))]
        if stage.is_scan:
            continue  # it has stored at each point
        for copy, value in enumerate(_totals(code, stage, own)):
            _store_total(code, stage, copy, value)


def _totals(code: NestCode, stage: Stage, own: list[Value]) -> list[Value]:
    """The combined values: one, or one for each vector of results."""
    assert stage.reduction is not None
    nest, frame = code.nest, code.row.frame
    if nest.direction is Direction.ACROSS and nest.vector is not None:
        wide = Scalars(frame.f, frame.machine, nest.lanes, frame.fast_math)
        # Vectors are added before lanes: shuffles are needed once, for the last vector.
        while nest.unroll > 1 and len(own) > 1 and own[1].type.lanes:
            own[:2] = [combine(wide, stage.reduction, own[0], own[1])]
        total = across(wide, stage.reduction, own[0])
        single = Scalars(frame.f, frame.machine, 0, frame.fast_math)
        for rest in own[1:]:
            total = combine(single, stage.reduction, total, rest)
        own = [total]
    # The start counts once, while there are many accumulators: so those begin neutral.
    return [_started(code, stage, value) for value in own]


def _started(code: NestCode, stage: Stage, value: Value) -> Value:
    """The start of a reduction combined with an accumulator."""
    assert stage.reduction is not None
    frame, lanes = code.row.frame, value.type.lanes
    scalars = Scalars(frame.f, frame.machine, lanes, frame.fast_math)
    start = constant(accumulator_type(stage.reduction, lanes), stage.reduction.start.value)
    return combine(scalars, stage.reduction, start, value)


def _store_total(code: NestCode, stage: Stage, copy: int, value: Value) -> None:
    near = around(code, stage, copy, value.type.lanes)
    result = emit_body(near.scalars, near, stage.finish, [value])[-1]
    keep_value(code, stage, result)
    if stage.buffer in code.row.frame.pointers:
        near.store(result, stage.buffer, near.place(stage.buffer, stage.store))
