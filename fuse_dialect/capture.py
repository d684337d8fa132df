"""Programs of JAX and PyTorch as modules, captured by the frameworks themselves; each needs an extra of its own."""

import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.diagnostics import FuseError


def from_jax(function: Callable[..., Any], *examples: Any) -> ModuleOp:
    """The StableHLO of a JAX function, as JAX prints it, with the places in the Python source.

    Args:
        function: What `jax.jit` takes or has returned.
        examples: Arguments, or `jax.ShapeDtypeStruct`s of them; trees of arrays become one argument an array. Those
            that nothing reads are arguments too, unless `function` is from `jax.jit`, which drops them.

    Returns:
        A verified module whose function is `main`. `fuse_dialect.run` and `compile` say it with `fuse` ops first, as
        the passes `inline` and `convert-stablehlo-to-fuse` do.

    Raises:
        FuseError: JAX is not installed, or what it prints cannot be read.
    """
    jax = _package("jax", "jax")
    from fuse_dialect.tools.module_file import module_of_text

    jitted: Any = function if hasattr(function, "lower") else jax.jit(function, keep_unused=True)
    text = jitted.lower(*examples).as_text(debug_info=True)
    return module_of_text(text, getattr(function, "__name__", "<jax>")).module


def from_torch(module: Any, *examples: Any) -> ModuleOp:
    """The module of a PyTorch network, by way of `torch.export` and ONNX.

    Args:
        module: A `torch.nn.Module`; it is exported as it behaves in evaluation.
        examples: Arguments, tensors mostly.

    Returns:
        A verified module of `fuse` ops whose function is `main`.

    Raises:
        FuseError: PyTorch is not installed, or an operator of the exported model is not supported.
    """
    torch, *_ = [_package(name, "torch") for name in ("torch", "onnx", "onnxscript")]
    from fuse_dialect.tools.module_file import read_module

    was_training = module.training
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{type(module).__name__}.onnx"
        try:
            torch.onnx.export(module.eval(), examples, str(path), dynamo=True, verbose=False)
        finally:
            module.train(was_training)
        return read_module(str(path)).module


def _package(name: str, extra: str) -> Any:
    """A package of an extra, imported; if it is missing, the error says which extra has it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise FuseError(
            f"this needs the '{extra}' extra: package '{name}' is not installed",
            hint=f'pip install "fuse_dialect[{extra}]"',
        ) from error
