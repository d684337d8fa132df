"""Which schedule a contraction gets.

1. Matrices if rows merge and lie at equal distances.
2. Else a convolution, if the neighbours that its windows share lie side by side; in fewer products where that pays.
3. Else matrices whose rows are copied.
"""

from fuse_dialect.loops.bounds import FEW_ROWS
from fuse_dialect.loops.contraction import Contraction, as_matrices, unit_axis
from fuse_dialect.loops.convolution import Convolution, convolution_of
from fuse_dialect.loops.convolution_schedule import ConvolutionPlan, convolution_plan
from fuse_dialect.loops.matrix_schedule import Matrices, matrices_of
from fuse_dialect.loops.program import LoopProgram, Read, Stage, Value
from fuse_dialect.loops.winograd_schedule import WinogradPlan, winograd_plan
from fuse_dialect.machines.machine import Machine


def is_served(stage: Stage) -> bool:
    """Whether the reads of a stage are of the form that these kernels have code for."""
    sizes = [axis.size for axis in stage.axes]
    if 0 in sizes:  # tiles of nothing have no size; families of loops need none
        return False
    for body in (stage.body, stage.finish):
        for instruction in body:
            if isinstance(instruction, Read) and any(isinstance(index, Value) for index in instruction.indices):
                return False
    return stage.reduction is not None


def contraction_schedule(
    program: LoopProgram, contraction: Contraction, machine: Machine, constants: frozenset[str]
) -> Matrices | ConvolutionPlan | WinogradPlan | None:
    """Matrices if rows merge and lie at equal distances, else a convolution if its channels lie side by side."""
    matrices = matrices_of(program, as_matrices(program, contraction), machine, constants)
    # (1) Matrices without padding have the shortest loops; windows are worth a strip only where rows overlap.
    if matrices is not None and matrices.is_plain:
        return None if _is_row_sums(program, matrices) else matrices
    convolution = convolution_of(program, contraction)
    if convolution is not None and _has_strips(program, convolution):
        plan = convolution_plan(program, convolution, machine, constants)
        if plan is not None:
            return winograd_plan(plan) or plan
    return matrices


def _is_row_sums(program: LoopProgram, matrices: Matrices) -> bool:
    """Whether packing costs more than it saves, and columns are contiguous along the sums."""
    if matrices.packing is not None or matrices.lying is not None:
        return False
    return is_row_sums(program, matrices.contraction)


def is_row_sums(program: LoopProgram, matrices: Contraction) -> bool:
    """Whether a contraction, as matrices, has few rows, and columns that are contiguous along the sums."""
    unit = unit_axis(program, matrices.columns.body, len(matrices.stage.axes))
    return has_few_rows(matrices) and unit == matrices.reduced[-1]


def has_few_rows(matrices: Contraction) -> bool:
    """Whether a contraction, as matrices, has fewer rows than columns are packed for; an open number counts as many."""
    size = matrices.stage.axes[matrices.row_axes[-1]].size if matrices.row_axes else 1
    return isinstance(size, int) and size < FEW_ROWS


def _has_strips(program: LoopProgram, convolution: Convolution) -> bool:
    """Whether rows of input positions lie side by side in memory, so that strips are copied fast."""
    # (2) A strip is copied in runs, and read along them: that pays if they are contiguous in the input.
    axis = convolution.innermost
    axis = len(convolution.contraction.stage.axes) + 1 if axis is None else axis
    return unit_axis(program, convolution.by_position, len(convolution.contraction.stage.axes) + 2) == axis
