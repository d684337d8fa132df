"""The schedule of a program for a machine: rules 3 to 6 of `schedule`."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from fuse_dialect.counts import Count
from fuse_dialect.loops.bounds import CHAINS
from fuse_dialect.loops.byte_rounding import joined_places, joins_vectors
from fuse_dialect.loops.elements import register_bytes
from fuse_dialect.loops.functions import ScalarFunction, scalar_function
from fuse_dialect.loops.grouping import cut_in_nests, cut_in_phases, is_order, parallel_sizes, reads_of
from fuse_dialect.loops.iteration_space import without_single_points
from fuse_dialect.loops.places import Place, guard_axes, index_place, place_of
from fuse_dialect.loops.program import (
    Apply,
    Body,
    Buffer,
    Extent,
    Inside,
    Literal,
    LoopProgram,
    Position,
    Role,
    Stage,
)
from fuse_dialect.loops.schedule import Direction, LoopAxis, Nest, Phase, Schedule
from fuse_dialect.machines.machine import Machine

TILE = 16
"""Most lanes of a tile of a transpose: as many vectors are in registers at once."""
STRIP = 8
"""A transposed axis of fewer elements is one strip, if its elements lie side by side."""
TABLE = 4096
"""Most elements of what each thread computes for itself rather than waits for."""
SHORT = 4
"""An axis with fewer elements is not worth a vector."""
_FEW_REGISTERS = 16
"""With so many, long bodies that are stored and combined leave none for constants, which are read again and again."""


def schedule(
    program: LoopProgram, machine: Machine, *, keeps_rows: bool = False, most_rows: int | None = None
) -> Schedule:
    """How a program runs on a machine.

    Args:
        program: What is computed.
        machine: Where.
        keeps_rows: Whether no shared axis is the vector loop: what lies between stages then has a place for one row.
        most_rows: How many axes may be rows, if not all that can.
    """
    shapes = {buffer.name: buffer for buffer in program.buffers}
    stages = [without_single_points(stage) for stage in program.stages]
    cut = [(members, rows if most_rows is None else min(rows, most_rows)) for members, rows in cut_in_phases(stages)]
    tables = [_are_tables(members, shapes) for members, _ in cut]
    phases = tuple(
        replace(_phase(members, rows, shapes, machine, keeps_rows=keeps_rows), is_everyones=is_table)
        for (members, rows), is_table in zip(cut, tables, strict=True)
    )
    written = [
        set[str]() if is_table else {stage.buffer for stage in members}
        for (members, _), is_table in zip(cut, tables, strict=True)
    ]
    # (1) Threads do not wait for each other between phases, so none may read what another thread wrote.
    is_parallel = not any(
        read.buffer in earlier
        for position, (members, _) in enumerate(cut)
        for stage in members
        for read in reads_of(stage)
        for earlier in written[:position]
    )
    return Schedule(program, phases, is_parallel)


def _are_tables(stages: list[Stage], buffers: dict[str, Buffer]) -> bool:
    """Whether stages are so little work, and read so little, that each thread may do it for itself."""
    for stage in stages:
        sizes = [axis.size for axis in stage.axes]
        known = [size for size in sizes if isinstance(size, int)]
        is_small = len(known) == len(sizes) and prod(known) <= TABLE
        if not is_small or stage.is_ordered or buffers[stage.buffer].role is not Role.LOCAL or reads_of(stage):
            return False
    return True


def plain_schedule(program: LoopProgram) -> Schedule:
    """How a program runs without any cleverness: stage by stage, on scalars."""
    phases: list[Phase] = []
    for old in program.stages:
        stage = without_single_points(old)
        loops = tuple(LoopAxis((axis,), Count.of(item.size)) for axis, item in enumerate(stage.axes))
        parallel = len(parallel_sizes(stage))
        rows = parallel if is_order(stage) else 0 if stage.scatter is not None else min(parallel, 1)
        nest = Nest((stage,), loops[rows:], None, parallel - rows, Direction.ALONG, 0, 1)
        phases.append(Phase(loops[:rows], (nest,), splits_rows=rows > 0))
    return Schedule(program, tuple(phases), is_parallel=len(phases) == 1)


def places_of(stage: Stage, buffers: dict[str, Buffer]) -> list[Place]:
    """Places of a stage's reads, then that of its store."""
    rank = len(stage.axes)
    reads = [place_of(read.indices, buffers[read.buffer].shape, rank) for read in reads_of(stage)]
    return [*reads, place_of(stage.store, buffers[stage.buffer].shape, rank)]


def _scan_phase(stages: list[Stage], buffers: dict[str, Buffer], machine: Machine) -> Phase:
    """A scan: its lines are rows, or lanes of the vector loop where they lie side by side."""
    stage, parallel = stages[0], len(parallel_sizes(stages[0]))
    line = LoopAxis((parallel,), Count.of(stage.axes[parallel].size))
    lanes, order = _lanes(stages, machine), range(parallel)
    beside = [axis for axis in order if places_of(stage, buffers)[-1].stride(axis) == 1]
    if is_order(stage) or not beside or lanes <= 1:
        nest = Nest(tuple(stages), (line,), None, 0, Direction.ALONG, 0, 1)
        return Phase(_merged(order, stages, buffers), (nest,), splits_rows=parallel > 0)
    loops = _merged([*(axis for axis in order if axis != beside[-1]), beside[-1]], stages, buffers)
    unroll = _unroll(stages, loops[-1], machine, Direction.ALONG)
    nest = Nest(tuple(stages), (loops[-1], line), 0, 1, Direction.ALONG, lanes, unroll)
    return Phase(loops[:-1], (nest,), splits_rows=_has_enough_rows(loops))


def _scatter_phase(stage: Stage, buffers: dict[str, Buffer], machine: Machine) -> Phase:
    """A scatter: points in their order, those of a slice that lies side by side in vectors."""
    loops = _merged(range(len(stage.axes)), [stage], buffers)
    *reads, store = places_of(stage, buffers)
    lanes, places = _lanes([stage], machine), reads[-1]
    is_vector = bool(loops) and lanes > 1 and store.stride(loops[-1].axes[-1]) == 1
    # Lanes that go to places of their own might go to one, so the place must be that of all lanes.
    is_vector = is_vector and not any(places.depends_on(axis) for axis in loops[-1].axes)
    nest = Nest((stage,), loops, len(loops) - 1 if is_vector else None, len(loops), Direction.ALONG, lanes, 1)
    return Phase((), (nest,), splits_rows=False)


def _phase(stages: list[Stage], rows: int, buffers: dict[str, Buffer], machine: Machine, *, keeps_rows: bool) -> Phase:
    if stages[0].is_scan:
        return _scan_phase(stages, buffers, machine)
    if stages[0].scatter is not None:
        return _scatter_phase(stages[0], buffers, machine)
    only_maps = all(stage.reduction is None for stage in stages)
    if rows and not keeps_rows and (only_maps or _wants_along(stages, rows, buffers, machine)):
        rows -= 1  # the last of the shared axes is the vector loop
        if only_maps and len(cut_in_nests(stages, rows)) == 1:
            return _map_phase(stages, buffers, machine)
    nests = cut_in_nests(stages, rows)
    return Phase(
        _merged(range(rows), stages, buffers),
        tuple(_nest(members, rows, buffers, machine) for members in nests),
        splits_rows=rows > 0,
    )


def _map_phase(stages: list[Stage], buffers: dict[str, Buffer], machine: Machine) -> Phase:
    """Stages without reductions over one space: all loops but the vector loop are rows."""
    stage = stages[0]
    places = [place for member in stages for place in places_of(member, buffers)]
    order = _store_order(stages, buffers)
    lanes = _lanes(stages, machine)
    last = order[-1]
    stores = [places_of(member, buffers)[-1] for member in stages]
    has_vectors = all(store.stride(last) == 1 for store in stores) and lanes > 1
    # (5) Tiles are stored as vectors; where results do not lie side by side there is nothing to turn for.
    across = _transposed_axis(places, order, stage) if has_vectors else None
    if across is not None:
        return _transposed_phase(stages, order, across, buffers, machine)
    loops = _merged(order, stages, buffers)
    # (6) Few vectors of a row would wait for each other.
    beside = _rows_beside(stages, loops, lanes, machine) if has_vectors else None
    if beside is not None:
        return _transposed_phase(stages, order, beside, buffers, machine, height=CHAINS)
    unroll = _together(stages, loops[-1], lanes, machine) if has_vectors else 1
    nest = Nest(tuple(stages), loops[-1:], 0 if has_vectors else None, 1, Direction.ALONG, lanes, unroll)
    return Phase(loops[:-1], (nest,), splits_rows=_has_enough_rows(loops))


def _rows_beside(stages: list[Stage], loops: Sequence[LoopAxis], lanes: int, machine: Machine) -> int | None:
    """The axis along which rows run side by side, where a row has too few vectors for a long body (6)."""
    size = loops[-1].size.number
    if len(loops) < 2 or size is None or size % lanes or size // lanes >= CHAINS:
        return None
    axes, rows = loops[-2].axes, loops[-2].size.number
    if rows is None or rows % CHAINS or len(axes) != 1:
        return None
    whole = LoopAxis(loops[-1].axes, Count.of(CHAINS * lanes))
    return axes[0] if _together(stages, whole, lanes, machine) > 1 else None


def halves(lanes: int, size: int | None) -> tuple[int, ...]:
    """The widths of tiles that an axis of a size needs, down to `SHORT`; fewer elements are left over."""
    widths: list[int] = []
    least = min(SHORT, lanes)
    # Widths halve, so each is needed once at most, and what is left over is less than the least of them.
    while lanes >= least:
        if size is None or size >= lanes:
            widths.append(lanes)
            size = None if size is None else size % lanes
        lanes //= 2
    return tuple(widths)


def has_rest(widths: Sequence[int], size: int | None) -> bool:
    """Whether an axis may have elements that are in no tile."""
    if size is None:
        return True
    for width in widths:
        size %= width
    return size > 0


def _transposed_phase(
    stages: list[Stage],
    order: Sequence[int],
    across: int,
    buffers: dict[str, Buffer],
    machine: Machine,
    height: int | None = None,
) -> Phase:
    """Blocks are the rows, tiles the inside of their two loops; of a height that divides them, if one is given."""
    lanes = min(_lanes(stages, machine), TILE, 1 << machine.registers.bit_length() - 1)
    last = order[-1]
    strip = _strip(stages, last, across, buffers)
    if strip == last:  # the results are the strip: vectors run along what is read
        last, across = across, last
    rest = [axis for axis in order if axis not in (across, last)]
    # (4) What merges with the vector axis belongs to its loop; only the others are rows.
    vector = _merged([*rest, last], stages, buffers)[-1]
    rest = [axis for axis in rest if axis not in vector.axes]
    inside = LoopAxis((across,), Count.of(stages[0].axes[across].size))
    # (5) A strip is an axis by itself: merged with others it would not be short any more.
    if strip is None:
        inside = _merged([*rest, across], stages, buffers)[-1]
    outer = _merged([axis for axis in rest if axis not in inside.axes], stages, buffers)
    tall = inside.size.number
    tiles = (tall,) if strip is not None and tall is not None else _heights(stages, lanes, tall)
    if height is not None and strip is None:
        tiles = (height,)
    blocks = _block_sizes(tall, machine)
    cut = [replace(loop, block=block) for loop, block in zip((vector, inside), blocks, strict=True)]
    inner = tuple(replace(loop, is_inside=True) for loop in cut)
    nest = Nest(tuple(stages), inner, 0, 2, Direction.ALONG, lanes, 1, tiles)
    return Phase((*outer, *cut), (nest,), splits_rows=True)


def _heights(stages: Sequence[Stage], lanes: int, height: int | None) -> tuple[int, ...]:
    """Heights of tiles: low ones for long bodies, whose code is there once for each vector of each tile."""
    body = [inner for stage in stages for inner in stage.body if isinstance(inner, Apply)]
    is_long = len(body) > TILE or is_heavy(stages)
    return halves(min(lanes, SHORT) if is_long else lanes, height)


def _block_sizes(height: int | None, machine: Machine) -> tuple[int, int]:
    """Sizes of a block along the vector loop and across it: what one axis is short of, the other has more."""
    # (5) half of the first cache, in f32, so that lines of both sides stay until they are full
    most = max(1, machine.first_cache.bytes // 2 // (TILE * 4))
    tall = max(1, min(most, most if height is None else height))
    return TILE * (most // tall), tall


def _strip(stages: list[Stage], last: int, across: int, buffers: dict[str, Buffer]) -> int | None:
    """Which of the axes of a transpose is a strip; `None` if none is."""
    places = [place for stage in stages for place in places_of(stage, buffers)]
    stores = [places_of(stage, buffers)[-1] for stage in stages]
    size = stages[0].axes[last].size
    if isinstance(size, int) and 1 < size < STRIP and all(store.stride(across) == size for store in stores):
        return last
    size = stages[0].axes[across].size
    is_short = isinstance(size, int) and 1 < size < STRIP
    is_read = any((place.stride(across), place.stride(last)) == (1, size) for place in places)
    return across if is_short and is_read else None


def _has_enough_rows(loops: Sequence[LoopAxis]) -> bool:
    """Whether threads should share the rows instead of each row's elements."""
    counts = [loop.size.number for loop in loops[:-1]]
    # A size that is not known is taken for large: then threads share rows, whose number costs nothing.
    rows = prod(count for count in counts if count is not None)
    return bool(counts) and (None in counts or rows >= 8 or rows >= (loops[-1].size.number or 0))


def _store_order(stages: list[Stage], buffers: dict[str, Buffer]) -> list[int]:
    """The axes, with the one along which results lie side by side last."""
    order = list(range(len(stages[0].axes)))
    store = places_of(stages[0], buffers)[-1]
    unit = [axis for axis in order if store.stride(axis) == 1]
    return [axis for axis in order if axis != unit[-1]] + unit[-1:] if unit else order


def _transposed_axis(places: Sequence[Place], order: Sequence[int], stage: Stage) -> int | None:
    """The axis along which a read runs that jumps along the vector axis; `None` if there is none worth a block."""
    last = order[-1]
    for place in places[:-1]:
        # (5) Turning pays for reads that jump along the vector axis. What a body computes has no axis to run along.
        if place.stride(last) in (0, 1) or place.computed:
            continue
        for axis in order[:-1]:
            size = stage.axes[axis].size
            is_strip = 1 < size == place.stride(last) if isinstance(size, int) else False
            if place.stride(axis) == 1 and not (isinstance(size, int) and size < SHORT and not is_strip):
                return axis
    return None


def _wants_along(stages: list[Stage], rows: int, buffers: dict[str, Buffer], machine: Machine) -> bool:
    """Whether the last shared parallel axis should be the vector loop of the phase's reductions.

    It should if reads run along it and not along the last reduced axis, or if there is little to reduce.
    """
    reductions = [stage for stage in stages if stage.reduction is not None]
    if any(len(parallel_sizes(stage)) != rows for stage in reductions):
        return False
    return all(_is_along(stage, rows - 1, buffers, machine) for stage in reductions)


def _is_along(stage: Stage, axis: int, buffers: dict[str, Buffer], machine: Machine) -> bool:
    """Whether lanes along a parallel axis are better than lanes along the last reduced one."""
    parallel = len(parallel_sizes(stage))
    runs = _merged(range(parallel, len(stage.axes)), [stage], buffers)
    if not runs:
        return True
    size = stage.axes[axis].size
    if isinstance(size, int) and size < SHORT:
        return False
    reads = places_of(stage, buffers)[:-1]
    along = [place.stride(axis) for place in reads]
    across = [place.stride(runs[-1].axes[-1]) for place in reads]
    run = runs[-1].size.number
    # (3) Across needs a vector of elements to reduce; along, lanes are results, however short the sum is.
    if run is not None and run < _lanes([stage], machine):
        return run <= SHORT or all(stride in (0, 1) for stride in along)
    # (3) Contiguous reads decide: each that is not contiguous is a gather.
    return along.count(1) > across.count(1)


def _nest(stages: list[Stage], rows: int, buffers: dict[str, Buffer], machine: Machine) -> Nest:
    first = stages[0]
    lanes = _lanes(stages, machine)
    parallel = len(parallel_sizes(first))
    inner = range(rows, parallel)
    has_reduction = any(stage.reduction is not None for stage in stages)
    if not has_reduction:
        loops = _merged(inner, stages, buffers)
        stores = [places_of(stage, buffers)[-1] for stage in stages]
        is_vector = bool(loops) and lanes > 1 and all(store.stride(loops[-1].axes[-1]) == 1 for store in stores)
        vector = len(loops) - 1 if is_vector else None
        unroll = _together(stages, loops[-1], lanes, machine) if is_vector else 1
        return Nest(tuple(stages), loops, vector, len(loops), Direction.ALONG, lanes, unroll)
    # (2) Maps and reductions of one nest share all axes, so parallel loops of its own has only a nest of one stage.
    spaces = _merged(inner, stages, buffers) if parallel == len(first.axes) or len(stages) == 1 else ()
    reduced = _merged(range(parallel, len(first.axes)), stages, buffers)
    if len(stages) > 1:  # the maps of the nest run along the axes that its reductions reduce
        spaces, reduced = (), _merged(range(rows, len(first.axes)), stages, buffers)
    loops = (*spaces, *reduced)
    if spaces and _is_along(first, spaces[-1].axes[-1], buffers, machine) and lanes > 1:
        unroll = _unroll(stages, spaces[-1], machine, Direction.ALONG)
        return Nest(tuple(stages), loops, len(spaces) - 1, len(spaces), Direction.ALONG, lanes, unroll)
    if not reduced or lanes <= 1:
        return Nest(tuple(stages), loops, None, len(spaces), Direction.ACROSS, lanes, 1)
    unroll = _unroll(stages, reduced[-1], machine, Direction.ACROSS)
    return Nest(tuple(stages), loops, len(loops) - 1, len(spaces), Direction.ACROSS, lanes, unroll)


def _unroll(stages: Sequence[Stage], loop: LoopAxis, machine: Machine, direction: Direction) -> int:
    """Vectors at once: enough to hide the latency of a combination, and no more than there are.

    Along, each vector is a piece of a line that is left for the next one far away: short bodies take more of them.
    """
    body = [inner for stage in stages for inner in stage.body]
    # One combination waits for the one before: several vectors at once keep the units busy meanwhile.
    wanted = CHAINS
    if direction is Direction.ALONG and len(body) <= SHORT:
        wanted = 16
    is_mixed = any(stage.reduction is None for stage in stages)
    if is_mixed and is_heavy(stages) and machine.registers <= _FEW_REGISTERS:
        wanted = CHAINS // 2
    size = loop.size.number
    return wanted if size is None else max(1, min(wanted, size // _lanes(stages, machine)))


def _together(stages: Sequence[Stage], loop: LoopAxis, lanes: int, machine: Machine) -> int:
    """Vectors of a map at once: several where the body is a long chain of instructions, each waiting for the last.

    So it is where several are one vector of bytes.
    """
    is_of_bytes = joins_vectors(machine, lanes) and any(joined_places(stage.body, 0) for stage in stages)
    # A branch, or a call, ends what may run side by side: copies would only be more code.
    if not is_of_bytes and not any(row.is_long and row.is_straight(element) for row, element in _functions(stages)):
        return 1
    size = loop.size.number
    return CHAINS if size is None else max(1, min(CHAINS, size // lanes))


def is_heavy(stages: Sequence[Stage]) -> bool:
    """Whether a body computes a function that is a long chain of instructions."""
    return any(row.is_long for row, _ in _functions(stages))


def _functions(stages: Sequence[Stage]) -> list[tuple[ScalarFunction, str]]:
    """The functions of the bodies, with their element types."""
    body = [inner for stage in stages for inner in stage.body if isinstance(inner, Apply)]
    return [(scalar_function(inner.function), inner.element) for inner in body]


def _lanes(stages: Sequence[Stage], machine: Machine) -> int:
    """Elements of the widest type that a vector holds."""
    elements = [each for stage in stages for each in (*_elements(stage.body, 0), *_elements(stage.finish, 1))]
    widest = max((register_bytes(element) for element in elements), default=4)
    return machine.lanes(widest)


def _elements(body: Body, first: int) -> list[str]:
    """The types of what is computed at each point: not of sizes and numbers alone, which are no vectors."""
    alike, found = set[int](), list[str]()
    for place, each in enumerate(body, first):
        match each:
            case Literal() | Extent():
                alike.add(place)
            case Apply(operands=operands) if alike.issuperset(operands):
                alike.add(place)
            case Inside():
                pass
            case _:
                found.append(each.element)
    return found or [each.element for each in body if not isinstance(each, Inside)]


def _merged(axes: Sequence[int], stages: Sequence[Stage], buffers: dict[str, Buffer]) -> tuple[LoopAxis, ...]:
    """Loops over axes in this order; neighbours that every place runs through without a gap are one loop."""
    sizes = [axis.size for axis in stages[0].axes]
    places = [place for stage in stages for place in places_of(stage, buffers)]
    apart = frozenset(axis for stage in stages for axis in _single_axes(stage)).union(
        *(place.odd_axes for place in places)
    )
    # (4) A merged loop counts elements and no axis: what asks for the value of one axis keeps it apart.
    loops: list[LoopAxis] = []
    for axis in axes:
        own = Count.of(sizes[axis])
        if (
            loops
            and axis not in apart
            and not apart & set(loops[-1].axes)
            and _is_gapless(places, loops[-1], axis, own)
        ):
            loops[-1] = LoopAxis((*loops[-1].axes, axis), loops[-1].size * own)
        else:
            loops.append(LoopAxis((axis,), own))
    return tuple(loops)


def _is_gapless(places: Sequence[Place], outer: LoopAxis, axis: int, size: Count) -> bool:
    rank = max(outer.axes[-1], axis)
    return all(
        place.strides[outer.axes[-1]] == place.strides[axis] * size for place in places if len(place.strides) > rank
    )


def _single_axes(stage: Stage) -> set[int]:
    """Axes that stand in guards and positions, which need their values one by one."""
    found: set[int] = set()
    for inner in (*stage.body, *stage.finish):
        match inner:
            case Inside():
                found |= guard_axes(inner.guards)
            case Position():
                found |= {
                    axis
                    for axis in range(len(stage.axes))
                    if index_place(inner.index, len(stage.axes)).depends_on(axis)
                }
            case _:
                found |= guard_axes(getattr(inner, "guards", ()))
    return found
