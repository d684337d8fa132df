"""Kernels as text of LLVM IR: what was chosen is written, and nothing is decided.

What writes a family is imported when a kernel is of it: most programs have few.
"""

from fuse_dialect.backends.assembler.builder import Module
from fuse_dialect.backends.llvm.phases import write_loops
from fuse_dialect.backends.llvm.request import KERNEL_PARAMETERS, Request
from fuse_dialect.checked import checks_plans
from fuse_dialect.loops.kernel_schedule import KernelSchedule
from fuse_dialect.loops.loop_nests import LoopNests
from fuse_dialect.loops.strip_schedule import Strips
from fuse_dialect.machines.machine import Machine


def write(schedule: KernelSchedule, machine: Machine, module: Module, symbol: str, *, fast_math: bool = False) -> None:
    """Write the function of a kernel, and those that it needs.

    Args:
        schedule: The kernel.
        machine: The machine that it was chosen for.
        module: Where it goes.
        symbol: Name of its function.
        fast_math: Whether nan and infinities may be ignored.

    Raises:
        CheckError: With `FUSE_CHECKED`, local arrays would be written over.
    """
    entry = module.function(symbol, KERNEL_PARAMETERS)
    request = Request(schedule.program, machine, module, entry, fast_math)
    match schedule.form:
        case LoopNests() as loops:
            if checks_plans():
                from fuse_dialect.backends.checking.kernel_memory import check_kernel_memory

                check_kernel_memory(loops.schedule, loops.places)
            write_loops(request, loops)
        case Strips() as strips:
            from fuse_dialect.backends.llvm.strips import write_strips

            write_strips(request, strips)
        case sums:
            from fuse_dialect.backends.llvm.contractions.stages import write_sums

            write_sums(request, sums)
