"""`-t fuse`: the module compiled, as a file that `fuse_dialect.load` and `fuse-run` run."""

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from fuse_dialect.diagnostics import FuseError

if TYPE_CHECKING:
    from fuse_dialect.backends.runtime.program import Program


@dataclass(frozen=True)
class SavedProgramTarget(Target):
    """A saved program, see `docs/reference/saved-file.md`."""

    name = "fuse"

    entry: str = "main"
    """Name of the function."""
    threads: int = 1
    """Most threads that one call uses."""
    strategy: str | None = None
    """How operators are grouped that no pass has fused; by default `cost` does."""
    backend: str = "llvm"
    """What runs the program."""
    target_cpu: str = ""
    """Name of the machine; empty for that of `FUSE_TARGET_CPU`, or else the one at hand."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Refuse: the result is no text.

        Raises:
            FuseError: Always.
        """
        raise FuseError("-t fuse writes no text", hint="-o model.fuse names its file")

    def program(self, module: ModuleOp) -> "Program":
        """The program of a module, which changes.

        Raises:
            FuseError: There is no such strategy, backend or entry, or an extra is missing.
        """
        from fuse_dialect.backends.compile import compile_program
        from fuse_dialect.backends.options import CompileOptions
        from fuse_dialect.backends.threads import usable_threads, warn_of_threads
        from fuse_dialect.fusion.fuse_ops import FuseOpsPass

        options = CompileOptions(
            backend=self.backend,
            threads=usable_threads(self.threads, warn_of_threads),
            entry=self.entry,
            target_cpu=self.target_cpu or None,
            fuse=FuseOpsPass(strategy=self.strategy),
        )
        return compile_program(module, options, in_place=True)
