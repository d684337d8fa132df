"""Which kernel serves a stage of this family; one entry for the backend."""

from dataclasses import dataclass, field

from fuse_dialect.backends.llvm.builder import Function, Module
from fuse_dialect.backends.llvm.contractions.gemm import matrices_of, write_gemm
from fuse_dialect.backends.llvm.host import Host
from fuse_dialect.kernels.contraction import as_matrices, contraction_of
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
    matrices = matrices_of(program, as_matrices(program, contraction), host, names)
    if matrices is None:
        return None
    write_gemm(module, f.name, matrices, f)
    read = matrices.contraction.columns.constant_read
    packings = {}
    if matrices.packing is not None and read is not None:
        packings = {arguments.index(read.buffer): matrices.packing}
    return Written(matrices.workspace_bytes, packings)
