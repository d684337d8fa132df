"""Maps: every stage computes its elements one by one, none combines values.

One nest for stages over the same space: intermediate values stay in registers, operands that do not change along the
vector axis are read once a row, transposes run in blocks.
"""

from fuse_dialect.backends.llvm.family import Request, Written
from fuse_dialect.backends.llvm.phases import write_schedule
from fuse_dialect.kernels.scheduling import schedule


def write_map(request: Request) -> Written | None:
    """The kernel of a program without reductions."""
    if any(stage.reduction is not None for stage in request.program.stages):
        return None
    return write_schedule(request, schedule(request.program, request.machine))
