"""`-t llvm`: the LLVM IR of every primitive function's kernel, as the native backend compiles it.

Each loop nest begins with a comment that names the ops it comes from. A function without a kernel is a comment that
says why. A module without any `func.func` goes to xDSL's target of the same name, which prints the `llvm` dialect.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import IO

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.target import Target

from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.extras import install_hint
from fuse_dialect.fusion.outlining.regions import kernels_as_functions
from fuse_dialect.loops.program import Refusal
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower


@dataclass(frozen=True)
class KernelTarget(Target):
    """LLVM IR of kernels, one module for all."""

    name = "llvm"

    function: str = ""
    """Name of the only function to print; empty for all."""
    fast_math: bool = False
    """Whether kernels may ignore nan and infinities."""
    target_cpu: str = ""
    """Name of the machine; empty for that of `FUSE_TARGET_CPU`, or else the one at hand."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the kernels.

        Raises:
            FuseError: llvmlite is missing.
            PassFailedException: The module has no function of the name that is asked for.
        """
        if find_spec("llvmlite") is None:
            raise FuseError("-t llvm needs the 'native' extra", hint=install_hint("native"))
        if not _functions(module):
            # Needs llvmlite, too.
            from xdsl.backend.llvm.convert import LLVMTarget

            LLVMTarget().emit(ctx, module, output)
            return
        with kernels_as_functions(module) as outlined:
            output.write(self._text(_functions(outlined)))

    def _text(self, functions: list[func.FuncOp]) -> str:
        if self.function:
            functions = [function for function in functions if function.sym_name.data == self.function]
            if not functions:
                raise PassFailedException(f"the module has no function '@{self.function}' with a body")
        else:
            functions = [function for function in functions if "primitive" in function.attributes] or functions
        return _text(functions, self.fast_math, self.target_cpu)


def _functions(module: ModuleOp) -> list[func.FuncOp]:
    return [op for op in module.walk() if isinstance(op, func.FuncOp) and op.body.blocks]


def _text(functions: list[func.FuncOp], fast_math: bool, target_cpu: str) -> str:
    from fuse_dialect.backends.llvm.backend import LLVMBackend
    from fuse_dialect.backends.llvm.processors import named

    backend = LLVMBackend(fast_math=fast_math, target=named(target_cpu) if target_cpu else None)
    module = backend.module()
    refusals: list[str] = []
    for function in functions:
        program = lower(function)
        kernel = program if isinstance(program, Refusal) else backend.emit(KernelRequest(simplify(program)), module)
        if isinstance(kernel, Refusal):
            refusals.append(f"; @{function.sym_name.data} has no kernel: {kernel.reason}\n")
    return "".join(refusals) + module.text()
