"""Rows: reductions with whatever they read and whatever reads them; a softmax or a layer norm is one kernel.

A row stays in the first cache while all stages run over it; see `kernels/schedule.py`.
"""

from fuse_dialect.backends.llvm.family import Request, Written
from fuse_dialect.backends.llvm.phases import write_schedule
from fuse_dialect.kernels.scheduling import schedule


def write_rows(request: Request) -> Written | None:
    """The kernel of a program with a reduction."""
    if all(stage.reduction is None for stage in request.program.stages):
        return None
    return write_schedule(request, schedule(request.program, request.machine))
