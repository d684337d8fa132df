"""The form of a loop program: what `forms` says of loops, read from the loops."""

from collections.abc import Collection, Sequence

from fuse_dialect.counts import Count, Size, product
from fuse_dialect.loops.bodies import cost
from fuse_dialect.loops.choosing import has_sums, tile_unit
from fuse_dialect.loops.contraction import Contraction, as_matrices, contraction_of, rows_of_product
from fuse_dialect.loops.contraction_schedule import has_few_rows
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.forms import ANCHORS, UNKNOWN_OPERATOR, Access, Form, Loops, OperatorForm, Order
from fuse_dialect.loops.grouping import cut_in_phases, reads_of
from fuse_dialect.loops.indices import Index, loop
from fuse_dialect.loops.iteration_space import without_single_points
from fuse_dialect.loops.one_pass import splits_before_product
from fuse_dialect.loops.program import Apply, Buffer, Instruction, Literal, LoopProgram, Read, Role, Stage, Value
from fuse_dialect.loops.read_orders import alone, indices_of_sizes, number_of, order_of
from fuse_dialect.machines.machine import Machine


def form_of_program(
    program: LoopProgram, arguments: int, machine: Machine, constants: frozenset[int], is_view: bool = False
) -> OperatorForm:
    """The form of an op, or of anything else that is one kernel.

    Args:
        program: Its loops, simplified.
        arguments: How many values it reads; the first arguments of the program.
        machine: What it runs on: not every product has a kernel of its own there.
        constants: Which arguments are constant; the kernel may have them in another order.
        is_view: Whether it only reshapes.
    """
    buffers = {buffer.name: buffer for buffer in program.buffers}
    # Whether operands are rejected is found beside the results; it is in nobody's way.
    results = [stage for stage in program.stages if buffers[stage.buffer].role is not Role.FAULT]
    stages = [without_single_points(stage) for stage in results]
    names = [buffer.name for buffer in program.buffers if buffer.role is Role.ARGUMENT][:arguments]
    # Nothing runs between the points of a scan or a scatter.
    if not stages or any(stage.is_ordered for stage in stages):
        return UNKNOWN_OPERATOR
    last = cut_in_phases(stages)[-1]
    loops, rows, contraction = _loops(program, results, stages, last[1])
    # What follows from positions alone is at hand where it is read, and takes no time there: a mask along a diagonal.
    is_free = loops is Loops.MAP and not any(reads_of(stage) for stage in stages)
    is_known = all(isinstance(axis.size, int) for stage in stages for axis in stage.axes)
    if loops in ANCHORS and is_known and not has_sums(program, machine, constants):
        # A product of few rows, or of nothing, is summed row by row. One of open size that has no kernel of its own
        # stays what it is: rows of open size have no room for what passes between loops.
        loops, rows, contraction = Loops.ROWS, last[1], None
    space = _sizes(max(stages, key=_points))
    is_cut = loops is Loops.MAP and any(stage.store != _plain_store(stage) for stage in stages)
    if is_cut:
        space = tuple(size for size in buffers[stages[0].buffer].shape if size != 1)
        rows = min(_covered(stage, space) for stage in stages)
    elif loops is Loops.ROWS:
        space = max((_sizes(stage) for stage in last[0]), key=len)
    work = Count()
    for stage in stages:
        points, parallel = _sizes(stage), [axis.size for axis in stage.axes if not axis.is_reduced]
        combining = 1 if stage.reduction is not None else 0
        work = work + product(points).times(cost(stage.body) + combining) + product(parallel).times(cost(stage.finish))
    # What an earlier phase reads has nothing to do with the rows of the last one; maps have no phases.
    counting = {id(stage) for stage in (stages if loops is Loops.MAP else last[0])}
    accesses = tuple(_access(name, stages, buffers, rows, counting) for name in names)
    if is_view:
        accesses = tuple(access._replace(order=Order.SAME) for access in accesses)
    form = Form(
        loops,
        space,
        rows,
        dict(enumerate(accesses)),
        dearest=0 if is_free else max(cost(stage.body) + cost(stage.finish) for stage in stages),
        is_view=is_view or is_free,
        pieces=len(stages) if is_cut else 1,
        columns=frozenset() if contraction is None else _columns(contraction, names),
        has_few_rows=contraction is not None and has_few_rows(as_matrices(program, contraction)),
        is_of_bytes=contraction is not None and any(element_bytes(buffers[name].element) == 1 for name in names),
        # Finding out whether an operand is rejected combines what it finds.
        reduces=any(stage.reduction is not None for stage in program.stages),
        finds_faults=program.finds_faults,
        splits=loops is Loops.ROWS and splits_before_product(program, stages, rows),
        scales=loops is Loops.MAP and _scales(stages, buffers),
        speed=machine.speed_of(tile_unit(program, machine, constants)) if loops in ANCHORS else 1.0,
    )
    return OperatorForm(form, Count() if is_free else work)


def _scales(stages: Sequence[Stage], buffers: dict[str, Buffer]) -> bool:
    """Whether one map multiplies what it reads by a number, or divides it."""
    if len(stages) != 1:
        return False
    match stages[0].body:
        case (Read(buffer), other, Apply("arith.mulf" | "arith.divf", (0, 1))):
            return _is_wide(buffers[buffer]) and _isnumber_of(other, buffers)
        case (other, Read(buffer), Apply("arith.mulf", (0, 1))):
            return _is_wide(buffers[buffer]) and _isnumber_of(other, buffers)
        case _:
            return False


def _is_wide(buffer: Buffer) -> bool:
    return any(size != 1 for size in buffer.shape)


def _isnumber_of(each: Instruction, buffers: dict[str, Buffer]) -> bool:
    return isinstance(each, Literal) or (isinstance(each, Read) and not _is_wide(buffers[each.buffer]))


def _loops(
    program: LoopProgram, results: Sequence[Stage], stages: Sequence[Stage], rows: int
) -> tuple[Loops, int, Contraction | None]:
    """What the loops are, how many leading axes are rows, and a product's operands.

    Args:
        program: The loops.
        results: Their stages.
        stages: The same without axes of one element.
        rows: How many leading axes are rows in the last phase.
    """
    if all(stage.reduction is None for stage in stages):
        written = {stage.buffer for stage in stages}
        if not any(buffer.role is Role.LOCAL and buffer.name in written for buffer in program.buffers):
            return Loops.MAP, min(len(stage.axes) for stage in stages), None
    elif len(stages) == 1:
        if any(_is_window(read) for read in reads_of(stages[0])):
            return Loops.WINDOWS, 0, None
        contraction = contraction_of(program, results[0])
        if contraction is not None:
            return Loops.PRODUCT, rows_of_product(program, stages[0], contraction), contraction
    # The op alone may take several phases, as a batch norm does. What reads it joins the last one.
    return Loops.ROWS, rows, None


def _columns(contraction: Contraction, names: Sequence[str]) -> frozenset[int]:
    """The arguments that a product reads as columns."""
    read = {each.buffer for each in contraction.columns.body if isinstance(each, Read)}
    return frozenset(place for place, name in enumerate(names) if name in read)


def _is_window(read: Read) -> bool:
    """Whether a position is more than one loop variable, or read under a condition."""
    return bool(read.guards) or any(isinstance(index, Index) and len(index.terms) > 1 for index in read.indices)


def _access(name: str, stages: Sequence[Stage], buffers: dict[str, Buffer], rows: int, last: Collection[int]) -> Access:
    """How all stages together read an argument; `last` are those whose rows count."""
    found: Access | None = None
    for stage in stages:
        for read in reads_of(stage):
            if read.buffer == name:
                own = _access_of(read, stage, buffers, rows)
                if id(stage) not in last:
                    own = Access(max(own.order, Order.GUARDED), 0, own.repeats)
                found = own if found is None else found.with_other(own)
    # What nobody reads is in nobody's way.
    return found or Access(Order.SAME, rows, 0.0)


def _access_of(read: Read, stage: Stage, buffers: dict[str, Buffer], rows: int) -> Access:
    buffer = buffers[read.buffer]
    sizes = _sizes(stage)
    if any(isinstance(index, Value) for index in read.indices):
        return Access(Order.ANYHOW, 0, float("inf"))
    indices, shape = indices_of_sizes(read, sizes, buffer.shape)
    in_step = 0
    while (
        in_step < min(rows, len(indices))
        and indices[in_step] == loop(in_step)
        and shape[in_step] == sizes[in_step]
        and _is_stored_in_step(stage, in_step, buffers)
    ):
        in_step += 1
    return Access(order_of(read, sizes, buffer.shape), in_step, _repeats(sizes, shape))


def _covered(stage: Stage, shape: Sequence[Size]) -> int:
    """How many leading axes of its result a stage covers whole, one after the other."""
    count = 0
    axes = [alone(index) for index in stage.store if index != Index()]
    while count < min(len(axes), len(shape)) and axes[count] == count and stage.axes[count].size == shape[count]:
        count += 1
    return count


def _is_stored_in_step(stage: Stage, axis: int, buffers: dict[str, Buffer]) -> bool:
    """Whether the stage covers its result along an axis: a piece of a concatenation does not."""
    shape = [size for size in buffers[stage.buffer].shape if size != 1]
    return not stage.store or stage.store == _plain_store(stage) or axis < _covered(stage, shape)


def _plain_store(stage: Stage) -> tuple[Index, ...]:
    """The store of a stage that writes all of a buffer in order; of `without_single_points`, so axes may be missing."""
    return tuple(index for index in stage.store if index == Index() or alone(index) is not None)


def _repeats(sizes: Sequence[Size], shape: Sequence[Size]) -> float:
    points, elements = number_of(sizes), number_of(shape)
    if points is None or not elements:
        return 1.0 if product(sizes) == product(shape) else float("inf")
    return max(1.0, points / elements)


def _sizes(stage: Stage) -> tuple[Size, ...]:
    return tuple(axis.size for axis in stage.axes)


def _points(stage: Stage) -> float:
    return number_of(_sizes(stage)) or float("inf")
