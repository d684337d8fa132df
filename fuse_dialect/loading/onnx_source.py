"""ONNX models as inputs of the tools; the reader is an optional part of the package."""

from importlib import import_module

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.budget import Limits
from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.extras import install_hint
from fuse_dialect.loading.source import Source
from fuse_dialect.process_wide import keep_what_exists

_EXTRA = ("onnx", "onnx_ir", "ml_dtypes")
"""Modules that the `onnx` extra installs."""


def read_onnx(source: Source, *, allow_unsupported: bool, limits: Limits) -> ModuleOp:
    """The module of an ONNX model.

    Args:
        source: An `.onnx` file, or the bytes of one that came from stdin.
        allow_unsupported: Keep operators that are not supported as opaque operations.
        limits: How much the model may expand to.

    Raises:
        FuseError: The file cannot be read, or the `onnx` extra is not installed.
    """
    try:
        reader = import_module("fuse_dialect.frontends.onnx.reader")
        keep_what_exists()
        if source.is_stdin:
            return reader.read_onnx_module(source.data, source.name, allow_unsupported=allow_unsupported, limits=limits)
        return reader.load_onnx_module(source.name, allow_unsupported=allow_unsupported, limits=limits)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise FuseError(
            "reading ONNX needs the 'onnx' extra",
            SourceLocation(source.name),
            hint=install_hint("onnx"),
        ) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FuseError(f"cannot read the input: {reason}", SourceLocation(source.name)) from error
