"""Reading a module from a file, by the file's extension: `.onnx` is an ONNX model, anything else is MLIR text."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect

from fuse_dialect.budget import Limits
from fuse_dialect.frontends.mlir.source_map import SourceMap
from fuse_dialect.loading.failure import located_errors
from fuse_dialect.loading.source import read_sources
from fuse_dialect.loading.verification import verify_module

_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A verified module, and where its operations stand in the file."""

    module: ModuleOp
    source_map: SourceMap


def read_module(
    path: str,
    frontend: str | None = None,
    *,
    dialects: Sequence[Dialect] = (),
    allow_unregistered: bool = False,
    allow_unsupported_onnx: bool = False,
    limits: Limits = _LIMITS,
    weights: str | None = None,
) -> ModuleFile:
    """The verified module in a file, or on standard input when the path is `-`.

    Args:
        path: The file.
        frontend: Its format, `mlir` or `onnx`; by default that of its extension.
        dialects: Known besides those that xDSL and its plug-ins provide.
        allow_unregistered: Whether ops of unknown dialects are read, in their generic form.
        allow_unsupported_onnx: Whether ONNX operators that are not supported are kept as opaque ops.
        limits: How much an ONNX model may expand to.
        weights: A safetensors file with the elements of constants that the text keeps elsewhere.

    Raises:
        FuseError: The file cannot be read, is malformed, or holds an invalid module.
    """
    (source,) = read_sources(path, frontend, split=False)
    if source.frontend != "onnx":
        return module_of_text(
            source.data, source.name, dialects=dialects, allow_unregistered=allow_unregistered, weights=weights
        )

    from fuse_dialect.loading.onnx_source import read_onnx

    module = read_onnx(source, allow_unsupported=allow_unsupported_onnx, limits=limits)
    return _verified(ModuleFile(module, SourceMap(source.name, "")))


def read_weights(module: ModuleOp, source_map: SourceMap, ctx: Context, path: str | None) -> None:
    """Give constants the elements that the text keeps at its end, and those of a weights file.

    Raises:
        FuseError: The file cannot be read, or does not fit the module.
    """
    from fuse_dialect.frontends.mlir.dense_resources import embed_resources

    embed_resources(module, ctx)
    if path is None:
        return
    from fuse_dialect.frontends.mlir.weights_file import open_weights, resolve_weights

    weights = open_weights(path)
    with located_errors(source_map, " while weights are read"):
        resolve_weights(module, weights)


def module_of_text(
    text: str | bytes,
    name: str,
    *,
    dialects: Sequence[Dialect] = (),
    allow_unregistered: bool = False,
    weights: str | None = None,
) -> ModuleFile:
    """The verified module that MLIR text spells.

    Raises:
        FuseError: The text is malformed, the module is invalid, or the weights do not fit it.
    """
    from fuse_dialect.frontends.mlir.deep_stack import call_with_deep_stack
    from fuse_dialect.frontends.mlir.reader import context, read_mlir

    def fresh_context() -> Context:
        ctx = context(allow_unregistered=allow_unregistered)
        for dialect in dialects:
            ctx.load_dialect(dialect)
        return ctx

    ctx = fresh_context()
    try:
        file = ModuleFile(*read_mlir(text, name, ctx))
    except RecursionError:
        ctx = fresh_context()
        file = ModuleFile(*call_with_deep_stack(lambda: read_mlir(text, name, ctx)))
    read_weights(file.module, file.source_map, ctx, weights)
    return _verified(file)


def _verified(file: ModuleFile) -> ModuleFile:
    with located_errors(file.source_map, " in the verifier"):
        verify_module(file.module)
    return file
