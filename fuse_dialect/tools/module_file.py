"""Reading a module from a file, by the file's extension: `.onnx` is an ONNX model, anything else is MLIR text."""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.frontends.mlir.source_map import SourceMap
from fuse_dialect.tools.failure import located_errors
from fuse_dialect.tools.source import Source, read_sources
from fuse_dialect.tools.verification import verify_module


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A verified module, and where its operations stand in the file."""

    module: ModuleOp
    source_map: SourceMap


def read_module(path: str, frontend: str | None = None, *, allow_unregistered: bool = False) -> ModuleFile:
    """The verified module in a file, or on standard input when the path is `-`.

    Args:
        path: The file.
        frontend: Its format, `mlir` or `onnx`; by default that of its extension.
        allow_unregistered: Whether ops of unknown dialects are read, in their generic form.

    Raises:
        FuseError: The file cannot be read, is malformed, or holds an invalid module.
    """
    (source,) = read_sources(path, frontend, split=False)
    file = _read_onnx(source) if source.frontend == "onnx" else _read_mlir(source, allow_unregistered)
    with located_errors(file.source_map, " in the verifier"):
        verify_module(file.module)
    return file


def _read_onnx(source: Source) -> ModuleFile:
    from fuse_dialect.tools.onnx_source import read_onnx

    return ModuleFile(read_onnx(source, allow_unsupported=False), SourceMap(source.name, ""))


def _read_mlir(source: Source, allow_unregistered: bool) -> ModuleFile:
    from fuse_dialect.frontends.mlir.deep_stack import call_with_deep_stack
    from fuse_dialect.frontends.mlir.dense_resources import embed_resources
    from fuse_dialect.frontends.mlir.reader import context, read_mlir

    ctx = context(allow_unregistered=allow_unregistered)
    try:
        file = ModuleFile(*read_mlir(source.data, source.name, ctx))
    except RecursionError:
        ctx = context(allow_unregistered=allow_unregistered)
        file = ModuleFile(*call_with_deep_stack(lambda: read_mlir(source.data, source.name, ctx)))
    embed_resources(file.module, ctx)
    return file
