"""Programs of JAX and PyTorch as modules, captured by the frameworks themselves; each needs an extra of its own."""

import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.diagnostics import FuseError

if TYPE_CHECKING:
    import torch


def from_jax(function: Callable[..., Any], *examples: Any) -> ModuleOp:
    """The StableHLO of a JAX function, as JAX prints it, with the places in the Python source.

    Args:
        function: What `jax.jit` takes or has returned.
        examples: Arguments, or `jax.ShapeDtypeStruct`s of them; trees of arrays become one argument an array.

    Returns:
        A verified module whose function is `main`. `fuse_dialect.run` and `compile` say it with `fuse` ops first, as
        the passes `inline` and `convert-stablehlo-to-fuse` do.

    Raises:
        FuseError: JAX is not installed, or what it prints cannot be read.
    """
    with _extra("jax", "jax"):
        import jax
    from fuse_dialect.tools.module_file import module_of_text

    jitted: Any = function if hasattr(function, "lower") else jax.jit(function)  # pyright: ignore
    text = jitted.lower(*examples).as_text(debug_info=True)
    return module_of_text(text, getattr(function, "__name__", "<jax>")).module


def from_torch(module: "torch.nn.Module", *examples: Any) -> ModuleOp:
    """The module of a PyTorch network, by way of `torch.export` and ONNX.

    Args:
        module: A network; it is exported as it behaves in evaluation.
        examples: Arguments, tensors mostly.

    Returns:
        A verified module of `fuse` ops whose function is `main`.

    Raises:
        FuseError: PyTorch is not installed, or an operator of the exported model is not supported.
    """
    with _extra("torch", "torch", "onnx", "onnxscript"):
        import onnx as _onnx  # pyright: ignore  # noqa: F401
        import onnxscript as _onnxscript  # pyright: ignore  # noqa: F401
        import torch
    from fuse_dialect.tools.module_file import read_module

    was_training = module.training
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{type(module).__name__}.onnx"
        try:
            torch.onnx.export(module.eval(), examples, str(path), dynamo=True, verbose=False)  # pyright: ignore
        finally:
            module.train(was_training)
        return read_module(str(path)).module


@contextmanager
def _extra(extra: str, *packages: str) -> Generator[None]:
    """Say which extra is missing if one of its packages is."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in packages:
            raise
        raise FuseError(
            f"this needs the '{extra}' extra: package '{error.name}' is not installed",
            hint=f'pip install "fuse_dialect[{extra}]"',
        ) from error
