"""Reading a module from a file, by the file's extension: `.onnx` is an ONNX model, anything else is MLIR text."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.pattern_kinds import op_name

STDIN = "-"
"""The path that stands for MLIR text on standard input."""


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A verified module, and where its operations stand in the file."""

    path: str
    module: ModuleOp
    locate: Callable[[Operation], SourceLocation]

    def diagnose(self, error: OpError) -> FuseError:
        """The error with the place of its op."""
        return FuseError(str(error), self.locate(error.op), hint=error.hint)


def read_module(path: str) -> ModuleFile:
    """The verified module in a file.

    Raises:
        FuseError: The file cannot be read, is malformed, or holds an invalid module.
    """
    file = _read_onnx(path) if path.endswith(".onnx") else _read_mlir(path)
    verify_module(file)
    return file


def _read_onnx(path: str) -> ModuleFile:
    if not Path(path).exists():
        raise FuseError("no such file", SourceLocation(path))
    try:
        from fuse_dialect.frontends.onnx import load_onnx_module
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("fuse_dialect"):
            raise
        message = f"reading ONNX needs the package '{error.name}'"
        raise FuseError(message, SourceLocation(path), hint="pip install 'fuse_dialect[onnx]'") from error
    return ModuleFile(path, load_onnx_module(path), lambda op: SourceLocation(path))


def _read_mlir(path: str) -> ModuleFile:
    from fuse_dialect.frontends.deep_stack import call_with_deep_stack
    from fuse_dialect.frontends.mlir import context, read_mlir

    name = "<stdin>" if path == STDIN else path
    data = _read_bytes(path, name)
    try:
        module, source_map = read_mlir(data, name, context())
    except RecursionError:
        module, source_map = call_with_deep_stack(lambda: read_mlir(data, name, context()))
    return ModuleFile(name, module, source_map.locate)


def _read_bytes(path: str, name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        raise FuseError(_reason(error), SourceLocation(name)) from error


def _reason(error: OSError) -> str:
    """What went wrong, as the operating system says it."""
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]


def verify_module(file: ModuleFile) -> None:
    """Verify each op on its own, so that the error knows which one is wrong.

    Raises:
        FuseError: An op is invalid, with its place.
    """
    for op in file.module.walk():
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            message = (str(error) or "is invalid").splitlines()[0]
            prefix = "" if message.startswith("'") else f"'{op_name(op)}' op "
            raise FuseError(f"{prefix}{message}", file.locate(op)) from error
