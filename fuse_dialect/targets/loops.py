"""`-t loops`: every primitive function as loops over elements, from which native kernels are made.

A module without primitive functions gives the loops of all its functions. A function that has none is a comment that
says why.
"""

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.target import Target

from fuse_dialect.fusion.outlining.regions import kernels_as_functions
from fuse_dialect.loops.printing import program_text
from fuse_dialect.loops.program import Refusal
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower


@dataclass(frozen=True)
class LoopsTarget(Target):
    """Loops over elements, one program for each primitive function."""

    name = "loops"

    function: str = ""
    """Name of the only function to print; empty for all."""
    simplified: bool = True
    """Whether to print the fewest stages, rather than one for each operator."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the programs, with an empty line between two.

        Raises:
            PassFailedException: The module has no function of the name that is asked for.
        """
        with kernels_as_functions(module) as outlined:
            output.write(self._text_of_all(outlined))

    def _text_of_all(self, module: ModuleOp) -> str:
        functions = [op for op in module.walk() if isinstance(op, func.FuncOp) and op.body.blocks]
        if self.function:
            chosen = [function for function in functions if function.sym_name.data == self.function]
            if not chosen:
                raise PassFailedException(f"the module has no function '@{self.function}' with a body")
        else:
            chosen = [function for function in functions if "primitive" in function.attributes] or functions
        return "\n".join(self._text(function) for function in chosen)

    def _text(self, function: func.FuncOp) -> str:
        program = lower(function)
        if isinstance(program, Refusal):
            return f"// @{function.sym_name.data} has no loops: {program.reason}\n"
        return program_text(simplify(program) if self.simplified else program)
