"""What `fuse-opt` shows of a pipeline: the module around passes, the pipeline, and a file that reproduces an error.

The flags have the names of `mlir-opt`'s.
"""

import shlex
from argparse import Namespace
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec

from fuse_dialect.loading.output_file import write_output
from fuse_dialect.loading.pipeline import option_name
from fuse_dialect.loading.streams import tell


class IRDumps:
    """Prints the module to stderr before and after the passes that the command line names."""

    def __init__(self, arguments: Namespace, text_of: Callable[[ModuleOp], str]):
        self._arguments = arguments
        self._text_of = text_of
        self._text_before = ""

    def before(self, name: str, module: ModuleOp) -> None:
        """Called before a pass runs."""
        if self._arguments.mlir_print_ir_before_all or name in self._arguments.mlir_print_ir_before:
            self._dump(f"Before {name}", self._text_of(module))
        if self._arguments.mlir_print_ir_after_change:
            self._text_before = self._text_of(module)

    def after(self, name: str, module: ModuleOp, *, is_last: bool) -> None:
        """Called after a pass has run."""
        arguments = self._arguments
        if arguments.mlir_print_ir_after_change:
            # It restricts the other flags if there are any, and stands for all passes otherwise.
            wanted = name in arguments.mlir_print_ir_after or not arguments.mlir_print_ir_after
            text = self._text_of(module)
            if wanted and text != self._text_before:
                self._dump(f"After {name}", text)
            return
        is_between = arguments.print_between_passes and not is_last
        if is_between or arguments.mlir_print_ir_after_all or name in arguments.mlir_print_ir_after:
            self._dump(f"After {name}", self._text_of(module))

    def _dump(self, when: str, text: str) -> None:
        tell(f"// -----// IR Dump {when} //----- //\n{text}".rstrip("\n"))


def pipeline_text(passes: Sequence[ModulePass]) -> str:
    """The pipeline as `--pass-pipeline` takes it, with all options spelled out."""
    specs = [each.pipeline_pass_spec(include_default=True) for each in passes]
    named = (ArgSpec(spec.name, {option_name(key): value for key, value in spec.parameters.items()}) for spec in specs)
    return f"builtin.module({','.join(map(str, named))})"


def write_reproducer(path: str, text: str, passes: Sequence[ModulePass], flags: Sequence[str]) -> None:
    """Write a module and, as its first line, the command that runs the passes on it.

    Args:
        path: The file.
        text: The module before the first pass.
        passes: All passes of the run.
        flags: Other flags that the module needs.

    Raises:
        FuseError: The file cannot be written.
    """
    command = shlex.join(["fuse-opt", *flags, f"--pass-pipeline={pipeline_text(passes)}", path])
    write_output(path, f"// {command}\n{text}")
    tell(f"note: {path} reproduces the error that follows")
