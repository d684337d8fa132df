"""Windows: stages that combine a few neighbours of each position. Depthwise convolutions and pools. Pure data.

1. The *lane axis* is that along which results lie side by side: the channels, or the pixels of a row. In at
   least one read they are contiguous too, or nearly so.
2. The *tile axis* is the next parallel axis that has windows: neighbouring results along it share what they read.
3. A guard that depends on one parallel axis holds in an interval of it at all taps. Where all guards hold, elements
   are read without asking. Where the interval ends follows from the size of what is read, which may be open.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fuse_dialect.loops.bodies import indices_of
from fuse_dialect.loops.contraction import shapes_of, store_place
from fuse_dialect.loops.indices import Guard, Index, Loop, axes_of, loop
from fuse_dialect.loops.iteration_space import split_axes, without_single_points
from fuse_dialect.loops.packing import Packing, Strided
from fuse_dialect.loops.places import flat_place, index_place
from fuse_dialect.loops.program import Body, Inside, Instruction, LoopProgram, Read, Stage

CLOSE = 3
"""Distance in elements up to which lanes are worth gathering: windows that move by so much."""


@dataclass(frozen=True, slots=True)
class OpenEnd:
    """The end of an interval that follows from an open size: `(size - reach) / step`, rounded up; 0 if that is less."""

    size: str
    reach: int
    step: int


@dataclass(frozen=True, slots=True)
class Interval:
    """Values of an axis from `first` on, below `stop`."""

    first: int
    stop: int | OpenEnd


@dataclass(frozen=True, slots=True)
class Windowing:
    """A reduction over windows."""

    stage: Stage
    """Without axes of one element."""
    lane_axis: int
    tile_axis: int | None
    outer: tuple[int, ...]
    """The other parallel axes."""
    taps: tuple[int, ...]
    """Reduced axes; their sizes are known."""
    inside: dict[int, Interval] | None
    """For some parallel axes the interval in which every guard holds; `None` if some guard is of another form."""


def windowing_of(program: LoopProgram, stage: Stage) -> Windowing | None:
    """The stage as windows; `None` if it has none, or no read is contiguous where the result is."""
    if stage.reduction is None or stage.is_scan:
        return None
    stage = split_axes(without_single_points(stage))
    place = store_place(program, stage)
    taps = tuple(axis for axis, each in enumerate(stage.axes) if each.is_reduced)
    if place is None or not taps or not all(isinstance(stage.axes[axis].size, int) for axis in taps):
        return None
    parallel = [axis for axis, each in enumerate(stage.axes) if not each.is_reduced]
    # (1) Lanes are stored as vectors, so they run along what is contiguous in the result.
    unit = [axis for axis in parallel if place.strides[axis].number == 1]
    if len(unit) != 1 or not _is_close(program, stage, unit[0]):
        return None
    # (2) Of the axes with windows the nearest in memory: its neighbours are still in the cache.
    shared = [axis for axis in parallel if axis != unit[0] and _has_window(stage, axis, taps)]
    tile = min(shared, key=lambda axis: place.strides[axis].number or 1 << 60, default=None)
    outer = tuple(axis for axis in parallel if axis not in (unit[0], tile))
    return Windowing(stage, unit[0], tile, outer, taps, _inside(stage, parallel))


def _is_close(program: LoopProgram, stage: Stage, axis: int) -> bool:
    """Whether neighbours along an axis are close to each other in some read, and all are flat."""
    shapes, found = shapes_of(program), False
    for instruction in stage.body:
        if isinstance(instruction, Read):
            place = flat_place(instruction.indices, shapes[instruction.buffer], len(stage.axes))
            if place is None:
                return False
            stride = place.strides[axis].number
            found = found or (stride is not None and 0 < stride <= CLOSE)
    return found


def _has_window(stage: Stage, axis: int, taps: tuple[int, ...]) -> bool:
    return any(axis in axes_of(index) and axes_of(index) & set(taps) for index in indices_of(stage.body))


def with_packed_constants(
    program: LoopProgram, windowing: Windowing, constants: frozenset[str]
) -> tuple[LoopProgram, Windowing, dict[str, Packing]]:
    """The same computation on constants whose elements lie side by side where lanes do.

    Args:
        program: The program.
        windowing: Its stage as windows.
        constants: Names of buffers whose values are known.

    Returns:
        The program with other shapes of the constants that are packed, its windows, and how they are packed.
    """
    stage = windowing.stage
    reads = [each for each in (*stage.body, *stage.finish) if isinstance(each, Read)]
    packings: dict[str, Packing] = {}
    for read in stage.body:
        if isinstance(read, Read) and read.buffer in constants and sum(r.buffer == read.buffer for r in reads) == 1:
            packing = _lane_packing(program, windowing, read)
            if packing is not None:
                axes = _packed_axes(windowing, read)
                moved = replace(read, indices=tuple(loop(axis) for axis in axes))
                stage = replace(stage, body=tuple(moved if each is read else each for each in stage.body))
                packings[read.buffer] = packing
                shape = tuple(stage.axes[axis].size for axis in axes)
                buffers = (replace(b, shape=shape) if b.name == read.buffer else b for b in program.buffers)
                program = replace(program, buffers=tuple(buffers), stages=(stage,))
    return program, replace(windowing, stage=stage), packings


def _packed_axes(windowing: Windowing, read: Read) -> tuple[int, ...]:
    """The axes on which a read depends: parallel ones, taps, and the lane axis last."""
    used = frozenset(axis for index in indices_of((read,)) for axis in axes_of(index))
    parallel = [axis for axis, each in enumerate(windowing.stage.axes) if not each.is_reduced]
    outer = tuple(axis for axis in parallel if axis in used and axis != windowing.lane_axis)
    return (*outer, *(axis for axis in windowing.taps if axis in used), windowing.lane_axis)


def _lane_packing(program: LoopProgram, windowing: Windowing, read: Read) -> Packing | None:
    """How a constant is packed; `None` if it need not or cannot be."""
    stage, lane = windowing.stage, windowing.lane_axis
    place = flat_place(read.indices, shapes_of(program)[read.buffer], len(stage.axes))
    if read.guards or place is None or place.constant.number is None:
        return None
    # Lanes that lie side by side, or are one element, are read well as they are.
    if place.strides[lane].number in (0, 1):
        return None
    axes: list[Strided] = []
    for axis in _packed_axes(windowing, read):
        size, stride = stage.axes[axis].size, place.strides[axis].number
        if not isinstance(size, int) or stride is None:
            return None
        axes.append(Strided(size, stride))
    element = next(buffer.element for buffer in program.buffers if buffer.name == read.buffer)
    return Packing(element, place.constant.number, (), axes[-1], tuple(axes[:-1]), axes[-1].size)


def decided(body: Body, held: frozenset[int], known: Mapping[int, int]) -> Body:
    """The body without guards that are decided; what is not read then is a literal.

    Args:
        body: Whose guards are of the form that `Windowing.inside` asks for.
        held: Parallel axes along which all guards hold.
        known: Values of axes.
    """
    instructions: list[Instruction] = []
    for instruction in body:
        if isinstance(instruction, Read):
            truths = {guard: _truth(guard, held, known) for guard in instruction.guards}
            guards = tuple(guard for guard, truth in truths.items() if truth is None)
            if False in truths.values():
                assert instruction.otherwise is not None, "a read with guards has a value for where they fail"
                instruction = instruction.otherwise
            else:
                instruction = replace(instruction, guards=guards, otherwise=instruction.otherwise if guards else None)
        instructions.append(instruction)
    return tuple(instructions)


def common_guards(body: Body, axes: frozenset[int]) -> tuple[Guard, ...]:
    """The guards on some axes alone, if all reads that have guards have the same of them; else none."""
    found = {
        tuple(guard for guard in each.guards if axes_of(guard.index) <= axes)
        for each in body
        if isinstance(each, Read) and each.guards
    }
    return found.pop() if len(found) == 1 else ()


def split_by(body: Body, guards: Sequence[Guard]) -> tuple[Body, Body]:
    """The body where some guards hold, and that where they do not, of `common_guards`."""
    holds: list[Instruction] = []
    fails: list[Instruction] = []
    for each in body:
        inside = outside = each
        if isinstance(each, Read) and each.guards:
            assert each.otherwise is not None, "a read with guards has a value for where they fail"
            kept = tuple(guard for guard in each.guards if guard not in guards)
            inside = replace(each, guards=kept, otherwise=each.otherwise if kept else None)
            outside = each.otherwise
        holds.append(inside)
        fails.append(outside)
    return tuple(holds), tuple(fails)


def _truth(guard: Guard, held: frozenset[int], known: Mapping[int, int]) -> bool | None:
    """Whether a guard holds; `None` if that is not known."""
    axes = axes_of(guard.index)
    if not axes.isdisjoint(held):
        return True
    if not axes <= known.keys() or not isinstance(guard.size, int):
        return None
    value = guard.index.constant
    for atom, factor in guard.index.terms:
        assert isinstance(atom, Loop), "guards are sums of axes"
        value += known[atom.axis] * factor
    return 0 <= value < guard.size


def _inside(stage: Stage, parallel: list[int]) -> dict[int, Interval] | None:
    found: dict[int, Interval] = {}
    for instruction in stage.body:
        if isinstance(instruction, Inside):
            return None
        for guard in instruction.guards if isinstance(instruction, Read) else ():
            interval = _interval(stage, guard.index, guard.size, parallel)
            if interval is None:
                return None
            axis, own = interval
            common = _common(found.get(axis, own), own)
            if common is None:
                return None
            found[axis] = common
    return found


def _common(one: Interval, other: Interval) -> Interval | None:
    """What is in both intervals; `None` if that is not known."""
    first = max(one.first, other.first)
    if isinstance(one.stop, int) and isinstance(other.stop, int):
        return Interval(first, min(one.stop, other.stop))
    return Interval(first, one.stop) if one.stop == other.stop else None


def _interval(stage: Stage, index: Index, size: int | str, parallel: list[int]) -> tuple[int, Interval] | None:
    """The axis and the interval in which an index is below a size at all taps."""
    place = index_place(index, len(stage.axes))
    factors = [stride.number or 0 for stride in place.strides]
    moving = [axis for axis in parallel if factors[axis]]
    if place.odd or len(moving) != 1 or factors[moving[0]] < 0:
        return None
    least = greatest = index.constant
    for axis, each in enumerate(stage.axes):
        if each.is_reduced and factors[axis]:
            assert isinstance(each.size, int)
            reach = factors[axis] * (each.size - 1)
            # (3) All taps count: the interval is that of the window, not of one read.
            least, greatest = least + min(reach, 0), greatest + max(reach, 0)
    # (3) From 0 <= factor * axis + least and factor * axis + greatest < size, both solved for the axis.
    factor = factors[moving[0]]
    stop = (size - 1 - greatest) // factor + 1 if isinstance(size, int) else OpenEnd(size, greatest, factor)
    return moving[0], Interval(-(least // factor), stop)
