"""The nine light models inside the onnx wheel, and what the NumPy interpreter makes of them, once a run of the tests.

Many tests compare what a pass leaves of a model with the model as it was read, or as it is without its batch norms.
What the interpreter says of these is the same every time, and takes longer than the pass.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
import onnx
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.dialect.op import Array
from fuse_dialect.frontends.onnx.reader import load_onnx_module
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.transforms.simplify_inference import SimplifyInferencePass

LIGHT_MODELS = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def light_model(name: str) -> ModuleOp:
    """A model as it is read."""
    return load_onnx_module(LIGHT_MODELS / f"{name}.onnx")


def simplified_model(name: str) -> ModuleOp:
    """A model whose batch norms are products and sums."""
    module = light_model(name)
    SimplifyInferencePass().apply(Context(), module)
    return module


def main_of(module: ModuleOp) -> func.FuncOp:
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    return function


def ramp_for(module: ModuleOp) -> Array:
    """The input of a model of one, as onnx's own runner makes it."""
    (type,) = main_of(module).function_type.inputs
    shape = type.get_shape()
    return (np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)).astype(np.float32)


@dataclass(frozen=True)
class LightResults:
    """The output of each model for its ramp, by the NumPy interpreter."""

    folder: Path
    """Where processes that share a run of the tests keep them."""

    def read(self, name: str) -> Array:
        """That of a model as it is read."""
        return self._kept(f"{name}.npy", lambda: light_model(name))

    def simplified(self, name: str) -> Array:
        """That of a model whose batch norms are products and sums."""
        return self._kept(f"{name}-simplified.npy", lambda: simplified_model(name))

    def _kept(self, file: str, build: Callable[[], ModuleOp]) -> Array:
        path = self.folder / file
        if not path.exists():
            module = build()
            (result,) = run_module(module, [ramp_for(module)])
            # Another process may do the same: whoever is last replaces equal bytes.
            with NamedTemporaryFile(dir=self.folder, suffix=".npy", delete=False) as written:
                np.save(written, result)
            os.replace(written.name, path)
        return np.load(path)
