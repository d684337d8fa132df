"""A way to run modules that is in doubt, and how its results differ from those of the interpreter."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, InterpretationError

from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.options import CompileOptions, Layout
from fuse_dialect.backends.table import engine_of, layout_of
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.op import Array
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.comparison import Tolerance, difference, layout_mismatch


@dataclass(frozen=True, slots=True)
class Way:
    """How a module is compiled and run."""

    options: CompileOptions = field(default_factory=CompileOptions)
    tolerance: Tolerance = field(default_factory=Tolerance)

    @property
    def fuse(self) -> FuseOpsPass:
        """How operators are grouped."""
        return (self.options.fuse or FuseOpsPass()).to_compile()

    @property
    def layout(self) -> Layout:
        """Of images, as the backend wants it."""
        return layout_of(engine_of(self.options))

    def outputs(self, module: ModuleOp, inputs: Sequence[Array], fuse: FuseOpsPass, entry: str) -> list[Array]:
        """What a module, which is not changed, gives.

        Raises:
            FuseError: It cannot be compiled or run; errors of passes and ops come as they are.
        """
        program = compile_program(module, replace(self.options, fuse=fuse, entry=entry, specialize=False))
        return list(program(*inputs))

    def disagreement(
        self,
        module: ModuleOp,
        inputs: Sequence[Array],
        expected: Sequence[Array],
        fuse: FuseOpsPass | None = None,
        entry: str | None = None,
    ) -> str:
        """How what a module gives differs from what it should give, in words; empty where it does not.

        Args:
            module: The module, which is not changed.
            inputs: Of its entry.
            expected: What the interpreter gives.
            fuse: How operators are grouped, if not as the way says.
            entry: The function, if it is another.
        """
        try:
            outputs = self.outputs(module, inputs, fuse or self.fuse, entry or self.options.entry)
        except (FuseError, DiagnosticException, InterpretationError) as error:
            return f"it fails: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        if len(outputs) != len(expected):
            return f"there are {len(outputs)} results, expected {len(expected)}"
        parts = (
            self._difference(number, output, reference)
            for number, (output, reference) in enumerate(zip(outputs, expected, strict=True))
        )
        return next((part for part in parts if part), "")

    def _difference(self, number: int, output: Array, reference: Array) -> str:
        if (mismatch := layout_mismatch(output, reference)) is not None:
            return f"result {number} cannot be compared: {mismatch}"
        tolerance = self.tolerance
        found = difference(output, reference, atol=tolerance.absolute(reference), rtol=tolerance.rtol)
        if found.is_within:
            return ""
        return f"{found.beyond} of {output.size} elements of result {number} differ, by up to {found.absolute:.3g}"
