"""Which kernel serves a program of this family; the entry of the table of families."""

from fuse_dialect.backends.llvm.contractions.convolution import ConvolutionPlan, convolution_plan, write_convolution
from fuse_dialect.backends.llvm.contractions.gemm import Matrices, matrices_of, write_gemm
from fuse_dialect.backends.llvm.contractions.operands import unit_axis
from fuse_dialect.backends.llvm.contractions.windows import window_plan, write_windows
from fuse_dialect.backends.llvm.contractions.winograd import WinogradPlan, winograd_plan, write_winograd
from fuse_dialect.backends.llvm.family import Request, Written
from fuse_dialect.backends.llvm.host import Host
from fuse_dialect.kernels.contraction import Contraction, as_matrices, contraction_of
from fuse_dialect.kernels.convolution import Convolution, convolution_of
from fuse_dialect.kernels.indices import Loop, range_of
from fuse_dialect.kernels.packing import Packing
from fuse_dialect.kernels.program import LoopProgram, Read, Role, Stage, Value
from fuse_dialect.kernels.reaxing import indices_of
from fuse_dialect.kernels.windowing import windowing_of, with_packed_constants

_WORTH_PACKING = 4
"""Rows for which columns are packed rather than left to the family that sums rows."""


def write_contraction(request: Request) -> Written | None:
    """The kernel of a program of one stage that adds up products, or combines windows.

    Returns:
        `None` if the program is not of this family; then nothing was written.
    """
    program = request.program
    if len(program.stages) != 1 or not _is_served(program.stages[0]):
        return None
    contraction = contraction_of(program, program.stages[0])
    if contraction is None:
        return _written_windows(request)
    arguments, names = _constants(request)
    plan = _plan(program, contraction, request.host, names)
    if plan is None:
        return None
    workspace_bytes = plan.workspace_bytes
    if isinstance(plan, WinogradPlan):
        write_winograd(request.module, plan, request.entry)
        plan = plan.plain
    elif isinstance(plan, ConvolutionPlan):
        write_convolution(request.module, plan, request.entry)
    else:
        write_gemm(request.module, plan, request.entry)
    read = plan.contraction.columns.constant_read
    packings: dict[int, Packing] = {}
    if plan.packing is not None and read is not None:
        packings[arguments.index(read.buffer)] = plan.packing
    return Written(workspace_bytes, True, packings)


def _written_windows(request: Request) -> Written | None:
    program = request.program
    windowing = windowing_of(program, program.stages[0])
    if windowing is None:
        return None
    arguments, names = _constants(request)
    program, windowing, packed = with_packed_constants(program, windowing, names)
    write_windows(request, window_plan(program, windowing, request.host))
    return Written(0, True, {arguments.index(name): packing for name, packing in packed.items()})


def _constants(request: Request) -> tuple[list[str], frozenset[str]]:
    """Names of the arguments, and of those that may be packed."""
    arguments = [buffer.name for buffer in request.program.buffers if buffer.role is Role.ARGUMENT]
    return arguments, frozenset(arguments[position] for position in request.constants)


def _is_served(stage: Stage) -> bool:
    """Whether the reads of a stage are of the form that these kernels have code for."""
    sizes = [axis.size for axis in stage.axes]
    if 0 in sizes:  # tiles of nothing have no size; families of loops need none
        return False
    for body in (stage.body, stage.finish):
        for instruction in body:
            if isinstance(instruction, Read) and any(isinstance(index, Value) for index in instruction.indices):
                return False
        for index in indices_of(body):
            for atom, _ in index.terms:
                low = 0 if isinstance(atom, Loop) else range_of(atom.of, sizes)[0]
                if low is None or low < 0:  # divisions of addresses are unsigned
                    return False
    return stage.reduction is not None


def _plan(
    program: LoopProgram, contraction: Contraction, host: Host, constants: frozenset[str]
) -> Matrices | ConvolutionPlan | WinogradPlan | None:
    """Matrices if rows merge and lie at equal distances, else a convolution if its channels lie side by side."""
    matrices = matrices_of(program, as_matrices(program, contraction), host, constants)
    if matrices is not None and matrices.is_plain:
        return None if _is_row_sums(program, matrices) else matrices
    convolution = convolution_of(program, contraction)
    if convolution is not None and _has_strips(program, convolution):
        plan = convolution_plan(program, convolution, host, constants)
        if plan is not None:
            return winograd_plan(plan) or plan
    return matrices


def _is_row_sums(program: LoopProgram, matrices: Matrices) -> bool:
    """Whether packing costs more than it saves, and columns are contiguous along the sums."""
    if matrices.packing is not None or matrices.lying is not None or matrices.rows is None:
        return False
    contraction = matrices.contraction
    unit = unit_axis(program, contraction.columns.body, len(contraction.stage.axes))
    return matrices.rows < _WORTH_PACKING and unit == contraction.reduced[-1]


def _has_strips(program: LoopProgram, convolution: Convolution) -> bool:
    """Whether rows of input positions lie side by side in memory, so that strips are copied fast."""
    axis = convolution.innermost
    axis = len(convolution.contraction.stage.axes) + 1 if axis is None else axis
    return unit_axis(program, convolution.by_position, len(convolution.contraction.stage.axes) + 2) == axis
