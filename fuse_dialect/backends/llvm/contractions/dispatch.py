"""Which kernel serves a program of this family; the entry of the table of families."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fuse_dialect.backends.backend import Packing as AnyPacking
from fuse_dialect.backends.llvm.contractions.convolution import write_convolution
from fuse_dialect.backends.llvm.contractions.gemm import write_gemm
from fuse_dialect.backends.llvm.contractions.windows import write_windows
from fuse_dialect.backends.llvm.contractions.winograd import write_winograd
from fuse_dialect.backends.llvm.family import KERNEL_PARAMETERS, Request, Written
from fuse_dialect.backends.llvm.kernel import ALIGNMENT
from fuse_dialect.backends.llvm.values import VOID, Value
from fuse_dialect.counts import product
from fuse_dialect.kernels.contraction import contraction_of, is_gate
from fuse_dialect.kernels.contraction_schedule import contraction_schedule, is_served
from fuse_dialect.kernels.convolution_schedule import ConvolutionPlan
from fuse_dialect.kernels.elements import element_bytes
from fuse_dialect.kernels.grouping import reads_of
from fuse_dialect.kernels.matrix_schedule import Matrices
from fuse_dialect.kernels.packing import Packing
from fuse_dialect.kernels.program import LoopProgram, Role
from fuse_dialect.kernels.window_schedule import window_plan
from fuse_dialect.kernels.windowing import windowing_of, with_packed_constants
from fuse_dialect.kernels.winograd_schedule import WinogradPlan
from fuse_dialect.kernels.words import PAIR_DOT, in_pairs, in_words
from fuse_dialect.machines.machine import Unit


def write_contraction(request: Request) -> Written | None:
    """The kernel of a program of stages that add up products, or combine windows.

    They do not read each other, or one product ends with what another one gives at the same point: a gate.

    Returns:
        `None` if the program is not of this family; then nothing was written, or what was is for the caller to forget.
    """
    stages = request.program.stages
    if not all(map(is_served, stages)):
        return None
    written = {stage.buffer for stage in stages}
    if any(read.buffer in written for stage in stages for read in reads_of(stage)):
        return _written_gate(request) if is_gate(request.program) else None
    if len(stages) == 1:
        return _written_stage(request)
    return _written_stages(request) if len(written) == len(stages) else None


def _written_gate(request: Request) -> Written | None:
    """A kernel of two products, the first of which stays in the workspace.

    Parts need what they have computed themselves alone, if both products are cut alike; else one part computes all.
    """
    program, f = request.program, request.entry
    passed = program.stages[0].buffer
    buffer = next(buffer for buffer in program.buffers if buffer.name == passed)
    elements = product(buffer.shape).number
    assert elements is not None, "a gate is of known size"
    room = -(-elements * element_bytes(buffer.element) // ALIGNMENT) * ALIGNMENT
    request = replace(request, kept={passed: 0}, kept_bytes=room)
    plans = [_planned(replace(request, program=replace(program, stages=(stage,))))[0] for stage in program.stages]
    if _are_cut_alike(plans):
        written = _written_stages(request)
        return None if written is None else replace(written, workspace_bytes=written.workspace_bytes + room)
    with f.when(f.compare("eq", f.parameters[1], f.i64(0))):
        written = _written_stages(request, (f.parameters[0], f.i64(0), f.i64(1)))
    f.ret()
    return written and replace(written, workspace_bytes=written.workspace_bytes + room, parallel=False)


def _are_cut_alike(plans: Sequence[Matrices | ConvolutionPlan | WinogradPlan | None]) -> bool:
    """Whether parts of several products get the same elements of the results."""
    cuts: list[object] = []
    for plan in plans:
        if not isinstance(plan, Matrices):
            return False
        contraction = plan.contraction
        sizes = [axis.size for axis in contraction.stage.axes if not axis.is_reduced]
        axes = (contraction.outer, contraction.row_axes, contraction.column_axes)
        cuts.append((sizes, axes, plan.tile, plan.lanes, plan.splits_columns, plan.most_panels, plan.most_tiles))
    return all(cut == cuts[0] for cut in cuts)


def _written_stages(request: Request, parameters: Sequence[Value] = ()) -> Written | None:
    """A kernel that runs one stage after the other, each in a function of its own that shares its work by itself.

    Args:
        request: What is wanted.
        parameters: What the functions get instead of what the kernel gets; the caller then ends the function.
    """
    workspace_bytes = 0
    packings: dict[int, AnyPacking] = {}
    constants = [buffer.name for buffer in request.program.buffers if buffer.role is Role.ARGUMENT]
    f = request.entry
    for number, stage in enumerate(request.program.stages):
        inner = request.module.function(
            f"{f.name}_{number}", KERNEL_PARAMETERS, linkage="internal", attributes="noinline"
        )
        # An argument that several stages read is not packed: each would want it in an order of its own.
        others = {read.buffer for other in request.program.stages if other is not stage for read in reads_of(other)}
        own = frozenset(place for place in request.constants if constants[place] not in others)
        program = replace(request.program, stages=(stage,))
        written = _written_stage(replace(request, program=program, entry=inner, constants=own))
        if written is None:
            return None
        f.call(inner.name, VOID, parameters or f.parameters)
        workspace_bytes = max(workspace_bytes, written.workspace_bytes)
        packings.update(written.packings)
    if not parameters:
        f.ret()
    return Written(workspace_bytes, True, packings)


def _written_stage(request: Request) -> Written | None:
    """The kernel of a program of one stage; of products of bytes, on words if their factors lie so."""
    arguments, _ = _constants(request)
    plan, program = _planned(request)
    if plan is None:
        is_product = contraction_of(program, program.stages[0]) is not None
        return None if is_product else _written_windows(request)
    request = replace(request, program=program)
    workspace_bytes = plan.workspace_bytes
    if isinstance(plan, WinogradPlan):
        write_winograd(request, plan)
        plan = plan.plain
    elif isinstance(plan, ConvolutionPlan):
        write_convolution(request, plan)
    else:
        write_gemm(request, plan)
    read = plan.contraction.columns.constant_read
    packings: dict[int, Packing] = {}
    if plan.packing is not None and read is not None:
        packings[arguments.index(read.buffer)] = plan.packing
    return Written(workspace_bytes, True, packings)


def _planned(request: Request) -> tuple[Matrices | ConvolutionPlan | WinogradPlan | None, LoopProgram]:
    """The schedule of a program of one stage, of the fastest form of the program that has one, and that form."""
    _, names = _constants(request)
    for each in _forms(request, names):
        contraction = contraction_of(each, each.stages[0])
        if contraction is None:
            continue
        plan = contraction_schedule(each, contraction, request.machine, names)
        # Constants that are no pairs in memory must be packed as such.
        if plan is not None and (contraction.product != PAIR_DOT or _packing(plan) is not None):
            return plan, each
    return None, request.program


def _packing(plan: Matrices | ConvolutionPlan | WinogradPlan) -> Packing | None:
    return plan.plain.packing if isinstance(plan, WinogradPlan) else plan.packing


def _forms(request: Request, constants: frozenset[str]) -> Iterator[LoopProgram]:
    """The forms of a program that there may be kernels for, the fastest first."""
    program, units = request.program, request.machine.units
    if Unit.PAIR_DOTS in units and Unit.BYTE_DOTS not in units:
        pairs = in_pairs(program, constants)
        if pairs is not None:
            yield pairs
    words = in_words(program)
    if words is not None:
        yield words
    yield program


def _written_windows(request: Request) -> Written | None:
    program = request.program
    windowing = windowing_of(program, program.stages[0])
    if windowing is None:
        return None
    arguments, names = _constants(request)
    program, windowing, packed = with_packed_constants(program, windowing, names)
    write_windows(replace(request, program=program), window_plan(program, windowing, request.machine))
    return Written(0, True, {arguments.index(name): packing for name, packing in packed.items()})


def _constants(request: Request) -> tuple[list[str], frozenset[str]]:
    """Names of the arguments, and of those that may be packed."""
    arguments = [buffer.name for buffer in request.program.buffers if buffer.role is Role.ARGUMENT]
    return arguments, frozenset(arguments[position] for position in request.constants)
