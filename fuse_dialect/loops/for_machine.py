"""A program in the form that a machine computes it in: the same elements, by functions that the machine is fast on.

What each step changes, and why that is the same, says its module. They run in this order: a table takes the place of
a chain before its end is made one function, and quotients are marked when it is known what is approximated.
"""

from fuse_dialect.loops.byte_rounding import with_rounding
from fuse_dialect.loops.byte_tables import with_tables
from fuse_dialect.loops.collapsing import with_collapsed_rows
from fuse_dialect.loops.empty_spaces import without_empty_reads
from fuse_dialect.loops.packed_dots import rounds_to_bytes
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.quotients import with_rough_quotients
from fuse_dialect.loops.softmaxes import with_falling_exponents
from fuse_dialect.loops.streamed_rows import with_streamed_rows_computed_again
from fuse_dialect.machines.machine import Machine, Unit


def for_machine(program: LoopProgram, machine: Machine, *, fast_math: bool = False) -> LoopProgram:
    """The program for a machine.

    Args:
        program: Simplified.
        machine: Where it is to run.
        fast_math: Whether every quotient may be a product with a reciprocal.

    Complexity: linear in the number of instructions.
    """
    changed = with_rounding(with_tables(without_empty_reads(program)), machine)
    changed = with_streamed_rows_computed_again(with_collapsed_rows(changed), machine)
    # Where powers of two cost a multiplication with several instructions, they are left to the quotients of a row.
    changed = with_falling_exponents(changed, lifts=Unit.SCALING not in machine.units)
    # What is rounded to bytes is exact: halfway between two of them a quotient that is off changes the result.
    if rounds_to_bytes(program) and not fast_math:
        return changed
    return with_rough_quotients(changed, all=fast_math)
