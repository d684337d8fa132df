"""Which kernel serves a stage of this family; one entry for the backend."""

from dataclasses import dataclass, field

from fuse_dialect.backends.llvm.builder import Function, Module
from fuse_dialect.backends.llvm.contractions.convolution import ConvolutionPlan, convolution_plan, write_convolution
from fuse_dialect.backends.llvm.contractions.gemm import Matrices, matrices_of, write_gemm
from fuse_dialect.backends.llvm.contractions.operands import unit_axis
from fuse_dialect.backends.llvm.host import Host
from fuse_dialect.kernels.contraction import Contraction, as_matrices, contraction_of
from fuse_dialect.kernels.convolution import Convolution, convolution_of
from fuse_dialect.kernels.packing import Packing
from fuse_dialect.kernels.program import LoopProgram, Role


@dataclass(frozen=True, slots=True)
class Written:
    """What the caller of a kernel must know about it."""

    workspace_bytes: int
    packings: dict[int, Packing] = field(default_factory=dict[int, Packing])
    """Arguments by position that must be passed packed."""


def write_contraction(
    module: Module, f: Function, program: LoopProgram, constants: frozenset[int], host: Host
) -> Written | None:
    """Write the kernel of a program of one stage that adds up products.

    Args:
        module: What `f` belongs to; it gets further functions.
        f: A function of `slots`, `part` and `parts` without code.
        program: The program.
        constants: Positions of arguments that may be packed at compile time.
        host: The processor.

    Returns:
        `None` if the program is not of this family; then nothing was written.
    """
    if len(program.stages) != 1:
        return None
    contraction = contraction_of(program, program.stages[0])
    if contraction is None:
        return None
    arguments = [buffer.name for buffer in program.buffers if buffer.role is Role.ARGUMENT]
    names = frozenset(arguments[position] for position in constants)
    plan = _plan(program, contraction, host, names)
    if plan is None:
        return None
    if isinstance(plan, ConvolutionPlan):
        write_convolution(module, plan, f)
    else:
        write_gemm(module, plan, f)
    read = plan.contraction.columns.constant_read
    packings: dict[int, Packing] = {}
    if plan.packing is not None and read is not None:
        packings[arguments.index(read.buffer)] = plan.packing
    return Written(plan.workspace_bytes, packings)


def _plan(
    program: LoopProgram, contraction: Contraction, host: Host, constants: frozenset[str]
) -> Matrices | ConvolutionPlan | None:
    """Matrices if rows merge and lie at equal distances, else a convolution if its channels lie side by side."""
    matrices = matrices_of(program, as_matrices(program, contraction), host, constants)
    if matrices is not None and matrices.is_plain:
        return matrices
    convolution = convolution_of(program, contraction)
    if convolution is not None and _has_strips(program, convolution):
        plan = convolution_plan(program, convolution, host, constants)
        if plan is not None:
            return plan
    return matrices


def _has_strips(program: LoopProgram, convolution: Convolution) -> bool:
    """Whether rows of input positions lie side by side in memory, so that strips are copied fast."""
    axis = convolution.innermost
    axis = len(convolution.contraction.stage.axes) + 1 if axis is None else axis
    return unit_axis(program, convolution.by_position, len(convolution.contraction.stage.axes) + 2) == axis
