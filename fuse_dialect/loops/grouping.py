"""Which stages run row by row together, and which element by element: the numbered rules 1 and 2 of `schedule`."""

from collections.abc import Mapping, Sequence

from fuse_dialect.counts import Size
from fuse_dialect.loops.bounds import common_rows, is_one_space
from fuse_dialect.loops.indices import Index, Loop, loop
from fuse_dialect.loops.program import Combiner, Read, Stage


def reads_of(stage: Stage) -> list[Read]:
    """The reads of a stage's body, of its finish, and of the places of a scatter."""
    found = [inner for inner in (*stage.body, *stage.finish) if isinstance(inner, Read)]
    if stage.scatter is not None:
        found.append(Read(stage.scatter.places, stage.scatter.indices, "i64"))
    return found


def parallel_sizes(stage: Stage) -> list[Size]:
    """Sizes of the parallel axes."""
    return [axis.size for axis in stage.axes if not axis.is_reduced]


def is_order(stage: Stage) -> bool:
    """Whether the stage sorts."""
    return stage.reduction is not None and stage.reduction.combiner is Combiner.ORDER


def _is_same_order(one: Stage, other: Stage) -> bool:
    """Whether two stages sort the same lines in the same way: once is enough."""
    return is_order(one) and (one.axes, one.body, one.reduction) == (other.axes, other.body, other.reduction)


def shared_rows(stages: Sequence[Stage]) -> int:
    """How many leading parallel axes all stages share, so that each row of a buffer is written and read in one row."""
    common = parallel_sizes(stages[0])
    for stage in stages[1:]:
        common = common[: common_rows(common, parallel_sizes(stage))]  # (1)
    rows = len(common)
    writers: dict[str, list[Stage]] = {}
    for stage in stages:
        for read in reads_of(stage):
            for writer in writers.get(read.buffer, ()):
                # (1) What is read must lie in the row that is written, else another row would have to run first. That
                # holds of every piece of a buffer that several stages write.
                rows = min(rows, _rows_in_step(writer.store, read))
        writers.setdefault(stage.buffer, []).append(stage)
    return rows


def _rows_in_step(store: Sequence[Index], read: Read) -> int:
    """The number of leading axes that a store and a read use alike."""
    rows = 0
    while loop(rows) in store and read.indices[store.index(loop(rows))] == loop(rows):
        rows += 1
    return rows


def cut_in_phases(stages: Sequence[Stage]) -> list[tuple[list[Stage], int]]:
    """The stages in groups that share rows, each as large as possible, with the number of shared axes."""
    phases: list[tuple[list[Stage], int]] = []
    for stage in stages:
        # What a scan or a scatter stores at one point may be read at any other: nothing runs between its points.
        if phases and _is_same_order(phases[-1][0][0], stage):
            phases[-1][0].append(stage)
            continue
        if phases and not stage.is_ordered and not phases[-1][0][-1].is_ordered:
            # Stages run in order, so a phase can only grow at its end; a stage that it loses is lost to it for good.
            grown = [*phases[-1][0], stage]
            rows = shared_rows(grown)
            if rows or _is_one_row(grown):
                phases[-1] = (grown, rows)
                continue
        phases.append(([stage], len(parallel_sizes(stage))))
    return phases


def _is_one_row(stages: Sequence[Stage]) -> bool:
    """Whether all stages run over one space, of which nothing is a row: a softmax of one row."""
    writers = {stage.buffer for stage in stages}
    if len(writers) < len(stages):
        return False
    first, *others = ([axis.size for axis in stage.axes] for stage in stages)
    return any(not parallel_sizes(stage) for stage in stages) and all(is_one_space(first, other) for other in others)


def cut_in_nests(stages: Sequence[Stage], rows: int) -> list[list[Stage]]:
    """The stages of a phase in groups that run element by element."""
    nests: list[list[Stage]] = []
    for stage in stages:
        if nests and _may_join(nests[-1], stage, rows):
            nests[-1].append(stage)
        else:
            nests.append([stage])
    return nests


def _may_join(nest: Sequence[Stage], stage: Stage, rows: int) -> bool:
    members = [*nest, stage]
    if any([axis.size for axis in member.axes] != [axis.size for axis in stage.axes] for member in nest):
        return False
    has_reduction = any(member.reduction is not None for member in members)
    if has_reduction and any(len(parallel_sizes(member)) != rows for member in members if member.reduction is not None):
        return False  # a reduction with parallel axes of its own needs other loops than a map
    written: Mapping[str, Stage] = {member.buffer: member for member in nest}
    # (2) A register holds the value of this point alone: whoever reads another point needs it in memory.
    return all(_is_in_step(written[read.buffer], read) for read in reads_of(stage) if read.buffer in written)


def _is_in_step(writer: Stage, read: Read) -> bool:
    """Whether the read needs just the element that was written at the same point."""
    return writer.reduction is None and not read.guards and tuple(read.indices) == writer.store and _is_plain(writer)


def is_whole(stage: Stage, shape: Sequence[Size]) -> bool:
    """Whether the stage writes all of its buffer of that shape, each element once, and not only a piece of it."""
    sizes = parallel_sizes(stage)
    # An index that is 0 at every point stands for an axis of one element; others must cover their axes whole.
    written = [1 if index == Index() else sizes[_axis(index)] for index in stage.store] if _is_plain(stage) else None
    return written == list(shape)


def _is_plain(stage: Stage) -> bool:
    """Whether the store has each axis by itself, in order."""
    axes = [atom.axis for index in stage.store for atom, _ in index.terms if isinstance(atom, Loop)]
    plain = all(_is_loop(index) or index == Index() for index in stage.store)
    return plain and axes == list(range(len(parallel_sizes(stage))))


def _axis(index: Index) -> int:
    (atom, _), *_ = index.terms
    assert isinstance(atom, Loop)
    return atom.axis


def _is_loop(index: Index) -> bool:
    match index:
        case Index(((Loop(), 1),), 0):
            return True
        case _:
            return False
