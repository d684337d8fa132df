"""Two forms of one op: versions of MLIR differ in how TOSA and `linalg.elementwise` print their attributes.

    tosa.reduce_sum %x {axis = 1 : i32}     braces, which older versions read
    tosa.reduce_sum %x axis(1)              clauses, which IREE 3.13 and the versions of MLIR behind it read alone

Both are read. Which of them is printed is a property of the printer.
"""

from dataclasses import dataclass, field

from xdsl.printer import Printer


@dataclass(eq=False, repr=False)
class ClausePrinter(Printer):
    """A printer that can be asked for clauses."""

    clauses: bool = field(default=False)
    """Print attributes as clauses where newer versions of MLIR read nothing else."""


def wants_clauses(printer: Printer) -> bool:
    """Whether attributes are printed as clauses."""
    return isinstance(printer, ClausePrinter) and printer.clauses
