"""`-t onnx`: the module as a fused ONNX model, see `model`."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.extras import install_hint
from fuse_dialect.targets.weights import Weights


@dataclass(frozen=True)
class OnnxTarget(Target):
    """An ONNX model: groups are local functions, large constants initializers."""

    name = "onnx"

    text: bool = False
    """Whether to write ONNX's text form, which is for reading, instead of a model file."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the text form.

        Raises:
            OpError: An op has no ONNX operators.
            FuseError: The `onnx` extra is missing.
        """
        _check_extra()
        import onnx.printer

        from fuse_dialect.targets.onnx.model import onnx_model

        output.write(f"{onnx.printer.to_text(onnx_model(module)).rstrip()}\n")

    def model_bytes(self, module: ModuleOp, weights: Weights | None, weights_name: str) -> bytes:
        """The model file.

        Args:
            module: A verified module.
            weights: Constants that are in a file of their own.
            weights_name: Name of that file, in the folder of the model.

        Raises:
            OpError, FuseError: See `emit`.
        """
        _check_extra()
        from fuse_dialect.targets.onnx.model import onnx_model

        return onnx_model(module, weights, weights_name).SerializeToString(deterministic=True)


def _check_extra() -> None:
    if find_spec("onnx") is None:
        raise FuseError("writing ONNX needs the 'onnx' extra", hint=install_hint("onnx"))
