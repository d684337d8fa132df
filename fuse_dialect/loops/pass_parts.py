"""Which stages of a program run before, in and after blocks of columns, and why some programs have no such blocks.

The numbers are those of `one_pass`. Pure data.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fuse_dialect.counts import Size
from fuse_dialect.loops.bodies import reads
from fuse_dialect.loops.cascades import Rule, Split
from fuse_dialect.loops.contraction import Contraction, contraction_of
from fuse_dialect.loops.grouping import reads_of
from fuse_dialect.loops.program import Combiner, LoopProgram, Refusal, Role, Stage
from fuse_dialect.loops.splits import Applied, Expression, Number, Side, Total

COMBINE = {Combiner.ADD: "arith.addf", Combiner.MAXIMUM: "arith.maximumf", Combiner.MINIMUM: "arith.minimumf"}
"""The functions of two totals."""


def columns_of(stages: Sequence[Stage], rows: int) -> Size | Refusal:
    """The size of the column axis (1)."""
    open = {axis.size: None for stage in stages for axis in stage.axes[rows:] if axis.is_reduced}
    found = [size for size in open if isinstance(size, str)]
    return found[0] if len(found) == 1 else Refusal(f"{len(found)} axes of open size are reduced")


def is_twice(stage: Stage, rows: int, columns: Size) -> bool:
    return sum(axis.size == columns for axis in stage.axes[rows:]) > 1


def column_axis(stage: Stage, rows: int, columns: Size) -> int | None:
    return next((axis for axis in range(rows, len(stage.axes)) if stage.axes[axis].size == columns), None)


@dataclass(frozen=True, slots=True)
class Parts:
    """The stages of a program by when they run."""

    stages: Sequence[Stage]
    """All of them, without axes of one element."""
    rows: int
    columns: Size
    opening: tuple[Stage, ...]
    feeding: tuple[Stage, ...]
    chain: tuple[Stage, ...]
    """What is a cascade (3)."""
    late: tuple[Stage, ...]
    """Stages without columns that need totals (8)."""


def parts_of(program: LoopProgram, stages: Sequence[Stage], rows: int, columns: Size) -> Parts | Refusal:
    """The stages by when they run, or why there are no such parts."""
    opening, feeding, chain, late = list[Stage](), list[Stage](), list[Stage](), list[Stage]()
    roles = {buffer.name: buffer.role for buffer in program.buffers}
    needing: set[str] = set()
    """Buffers that need columns."""
    for stage in stages:
        axis = column_axis(stage, rows, columns)
        read = {read.buffer for read in reads_of(stage)}
        if axis is None and not read & needing:
            opening.append(stage)
            continue
        needing.add(stage.buffer)
        if axis is None:
            late.append(stage)
            if len(stage.axes) == rows:
                chain.append(stage)
        elif not stage.axes[axis].is_reduced and roles[stage.buffer] is not Role.LOCAL:
            return Refusal(f"'{stage.name}' stores all columns")
        elif stage.reduction is None or stage.axes[axis].is_reduced:
            chain.append(stage)
        elif read & {each.buffer for each in chain}:
            return Refusal(f"'{stage.name}' combines what other stages have at its column")
        else:
            feeding.append(stage)
    return Parts(stages, rows, columns, tuple(opening), tuple(feeding), tuple(chain), tuple(late))


def refused(program: LoopProgram, parts: Parts, splits: Sequence[Split]) -> Refusal | None:
    """Why splits are none that blocks are written for (4); `None` if they are."""
    late = {stage.buffer for stage in parts.late}
    totals = {split.stage.buffer for split in splits}
    maxima = {split.stage.buffer for split in splits if is_maximum(split, parts.rows)}
    elements = {split.stage.reduction.start.element for split in splits if split.stage.reduction is not None}
    if len(elements) != 1 or not elements <= {"f32", "f64"}:
        return Refusal("totals are of several types")
    for split in splits:
        stage = split.stage
        read = {read.buffer for read in reads(stage.body)}
        if split.rule not in (Rule.SAME, Rule.SCALED) or not _is_power(split.factor):
            return Refusal(f"'{stage.name}': its correction may be larger than 1")
        if read & late or not read & totals <= maxima:
            return Refusal(f"'{stage.name}' reads a total that is not finished before all columns are there")
        own = stage.axes[parts.rows :]
        if not all(axis.is_reduced or isinstance(axis.size, int) for axis in own):
            return Refusal(f"'{stage.name}' has another axis of open size")
        if len(own) > 1 and weighted_product(program, stage, parts.rows, parts.columns) is None:
            return Refusal(f"'{stage.name}' is no product of rows and columns")
        if split.combiner not in COMBINE:
            return Refusal(f"'{stage.name}' is no sum, maximum or minimum")
    return None


def is_maximum(split: Split, rows: int) -> bool:
    plain = len(split.stage.axes) == rows + 1 and not split.stage.finish
    return plain and split.combiner is Combiner.MAXIMUM and split.rule is Rule.SAME


def _is_power(factor: Expression) -> bool:
    """Whether a factor is 1, or `exp(old - new)` to a power that is not negative, or a product of such (4)."""
    match factor:
        case Number(1.0):
            return True
        case Applied("math.exp" | "math.exp2", (inner,)):
            return _falls(inner)
        case Applied("arith.mulf", (one, other)):
            return _is_power(one) and _is_power(other)
        case _:
            return False


def _falls(shift: Expression) -> bool:
    match shift:
        case Applied("arith.subf", (Total(one, Side.OLD), Total(other, Side.NEW))):
            return one == other
        case Applied("arith.mulf", (Number(value), inner)) | Applied("arith.mulf", (inner, Number(value))):
            return value > 0 and _falls(inner)
        case Applied("arith.divf", (inner, Number(value))):
            return value > 0 and _falls(inner)
        case _:
            return False


def weighted_product(program: LoopProgram, stage: Stage, rows: int, columns: Size) -> Contraction | None:
    """A product of weights, that depend on rows and columns, and a factor that all own axes have."""
    found = contraction_of(program, stage)
    if found is None or found.stage.axes != stage.axes or column_axis(stage, rows, columns) is None:
        return None
    column = column_axis(stage, rows, columns)
    return found if found.rows.axes <= {*range(rows), column} and found.reduced == (column,) else None
