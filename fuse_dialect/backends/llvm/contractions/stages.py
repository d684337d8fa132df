"""A kernel of sums as code: its stages, one after the other."""

from collections.abc import Sequence
from dataclasses import replace

from fuse_dialect.backends.assembler.values import VOID, Value
from fuse_dialect.backends.llvm.contractions.convolution import write_convolution
from fuse_dialect.backends.llvm.contractions.gemm import write_gemm
from fuse_dialect.backends.llvm.contractions.windows import write_windows
from fuse_dialect.backends.llvm.contractions.winograd import write_winograd
from fuse_dialect.backends.llvm.request import KERNEL_PARAMETERS, Request
from fuse_dialect.loops.convolution_schedule import ConvolutionPlan
from fuse_dialect.loops.kernel_schedule import StagePlan, Sums
from fuse_dialect.loops.matrix_schedule import Matrices
from fuse_dialect.loops.winograd_schedule import WinogradPlan


def write_sums(request: Request, sums: Sums) -> None:
    """Write a kernel of products and windows."""
    if sums.gate is not None:
        gate = sums.gate
        request = replace(request, kept={gate.buffer: 0}, kept_bytes=gate.bytes)
        if not gate.is_shared:
            f = request.entry
            with f.when(f.compare("eq", f.parameters[1], f.i64(0))):
                _write_stages(request, sums, (f.parameters[0], f.i64(0), f.i64(1)))
            f.ret()
            return
    elif len(sums.stages) == 1:
        _write_stage(request, sums.stages[0].plan)
        return
    _write_stages(request, sums, request.entry.parameters)
    request.entry.ret()


def _write_stages(request: Request, sums: Sums, parameters: Sequence[Value]) -> None:
    """Call a function for each stage, which shares its work by itself.

    Args:
        request: What is wanted; the caller ends its function.
        sums: Its stages.
        parameters: What the functions get.
    """
    f = request.entry
    for number, stage in enumerate(sums.stages):
        inner = request.module.function(
            f"{f.name}_{number}", KERNEL_PARAMETERS, linkage="internal", attributes="noinline"
        )
        _write_stage(replace(request, entry=inner), stage.plan)
        f.call(inner.name, VOID, parameters)


def _write_stage(request: Request, plan: StagePlan) -> None:
    match plan:
        case Matrices():
            write_gemm(replace(request, program=plan.program), plan)
        case ConvolutionPlan():
            write_convolution(replace(request, program=plan.program), plan)
        case WinogradPlan():
            write_winograd(replace(request, program=plan.plain.program), plan)
        case _:
            write_windows(replace(request, program=plan.program), plan)
