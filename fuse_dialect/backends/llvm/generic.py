"""Any program, stage by stage and element by element: slow, and too simple to be wrong.

No other family needs it to be complete; tests compare them with it.
"""

from fuse_dialect.backends.llvm.family import Request, Written
from fuse_dialect.backends.llvm.phases import write_schedule
from fuse_dialect.kernels.scheduling import plain_schedule


def write_generic(request: Request) -> Written | None:
    """The kernel of any program."""
    return write_schedule(request, plain_schedule(request.program))
