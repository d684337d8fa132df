"""Reading a module from a file, by the file's extension: `.onnx` is an ONNX model, anything else is MLIR text."""

import sys
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.frontends.source_map import SourceMap
from fuse_dialect.tools.failure import located_errors

STDIN = "-"
"""The path that stands for MLIR text on standard input."""


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A verified module, and where its operations stand in the file."""

    module: ModuleOp
    source_map: SourceMap


def read_module(path: str) -> ModuleFile:
    """The verified module in a file.

    Raises:
        FuseError: The file cannot be read, is malformed, or holds an invalid module.
    """
    file = _read_onnx(path) if path.endswith(".onnx") else _read_mlir(path)
    with located_errors(file.source_map, " in the verifier"):
        file.module.verify()
    return file


def _read_onnx(path: str) -> ModuleFile:
    try:
        from fuse_dialect.frontends.onnx import load_onnx_module
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("fuse_dialect"):
            raise
        message = f"reading ONNX needs the package '{error.name}'"
        raise FuseError(message, SourceLocation(path), hint="pip install 'fuse_dialect[onnx]'") from error
    return ModuleFile(load_onnx_module(path), SourceMap(path, ""))


def _read_mlir(path: str) -> ModuleFile:
    from fuse_dialect.frontends.deep_stack import call_with_deep_stack
    from fuse_dialect.frontends.mlir import context, read_mlir

    name = "<stdin>" if path == STDIN else path
    data = _read_bytes(path, name)
    try:
        return ModuleFile(*read_mlir(data, name, context()))
    except RecursionError:
        return ModuleFile(*call_with_deep_stack(lambda: read_mlir(data, name, context())))


def _read_bytes(path: str, name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FuseError(f"cannot read the file: {reason}", SourceLocation(name)) from error
