"""ONNX models as straight-line Python functions of NumPy, JAX or torch: what one would write by hand.

1. A function takes the model's inputs, then its weights, and returns the output. There is one line for each node.
2. An operator is one row of `_OPERATORS`: an expression for each library, where `{0}` is the first operand, `{args}`
   all of them, and `{name}` an attribute. Libraries share an expression where it means the same in each.
3. Scalars, shapes and the like, which the libraries want as Python numbers, are written into the text.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx.onnx_ml_pb2 import ModelProto

from . import numpy_layers
from .workloads import attributes_of, weights_of


class Library(StrEnum):
    """Who computes."""

    NUMPY = "numpy"
    JAX = "jax"
    TORCH = "torch"


@dataclass(frozen=True, slots=True)
class Expressions:
    """What an operator is in each library; empty where it is what NumPy's is."""

    numpy: str
    jax: str = ""
    torch: str = ""

    def of(self, library: Library) -> str:
        """The expression for a library."""
        return {Library.JAX: self.jax, Library.TORCH: self.torch}.get(library, "") or self.numpy


_OPERATORS = {
    "Abs": Expressions("np.abs({0})", "jnp.abs({0})", "torch.abs({0})"),
    "Add": Expressions("{0} + {1}"),
    "BatchNormalization": Expressions(
        "layers.batch_norm({args}, {epsilon})",
        "layers.batch_norm({args}, {epsilon})",
        "F.batch_norm({0}, {3}, {4}, {1}, {2}, eps={epsilon})",
    ),
    "Clip": Expressions("np.clip({args})", "jnp.clip({args})", "torch.clamp({args})"),
    "Conv": Expressions(
        "layers.conv([{args}], {strides}, {pads}, {group})",
        "layers.conv([{args}], {strides}, {pads}, {group})",
        "F.conv2d({args}, stride={strides}, padding={pads}[:2], groups={group})",
    ),
    "Div": Expressions("{0} / {1}"),
    "Flatten": Expressions("{0}.reshape({0}.shape[0], -1)"),
    "Gelu": Expressions("layers.gelu({0})", "jax.nn.gelu({0}, approximate=False)", "F.gelu({0})"),
    "GlobalAveragePool": Expressions("{0}.mean((2, 3), keepdims=True)", torch="{0}.mean((2, 3), keepdim=True)"),
    "LayerNormalization": Expressions(
        "layers.layer_norm({args}, {epsilon})",
        "layers.layer_norm({args}, {epsilon})",
        "F.layer_norm({0}, {0}.shape[-1:], {1}, {2}, {epsilon})",
    ),
    "MatMul": Expressions("{0} @ {1}"),
    "Max": Expressions("np.maximum({0}, {1})", "jnp.maximum({0}, {1})", "torch.maximum({0}, {1})"),
    "MaxPool": Expressions(
        "layers.max_pool({0}, {kernel_shape}, {strides}, {pads})",
        "layers.max_pool({0}, {kernel_shape}, {strides}, {pads})",
        "F.max_pool2d({0}, {kernel_shape}, {strides}, {pads}[:2])",
    ),
    "Mul": Expressions("{0} * {1}"),
    "Relu": Expressions("np.maximum({0}, 0)", "jnp.maximum({0}, 0)", "torch.relu({0})"),
    "Reshape": Expressions("{0}.reshape({1})"),
    "Sigmoid": Expressions("1 / (1 + np.exp(-{0}))", "jax.nn.sigmoid({0})", "torch.sigmoid({0})"),
    "Softmax": Expressions("layers.softmax({0}, {axis})", "jax.nn.softmax({0}, {axis})", "torch.softmax({0}, {axis})"),
    "Sub": Expressions("{0} - {1}"),
    "Tanh": Expressions("np.tanh({0})", "jnp.tanh({0})", "torch.tanh({0})"),
    "Transpose": Expressions("{0}.transpose({perm})", torch="{0}.permute({perm})"),
}
"""The operators that the workloads use, with the attributes that `Network` writes."""


@dataclass(frozen=True, slots=True)
class Function:
    """A model as a Python function."""

    call: Callable[..., Any]
    """Takes the inputs, then the weights."""
    weights: dict[str, NDArray[np.generic]]
    """The weights in the order of the arguments."""
    text: str


def translate(model: ModelProto, library: Library) -> Function:
    """The function that computes a model.

    Raises:
        KeyError: An operator of the model is not in the table.
    """
    all_weights = weights_of(model)
    literals = {name: text for name, array in all_weights.items() if (text := _literal(array)) is not None}
    weights = {name: array for name, array in all_weights.items() if name not in literals}
    arguments = [*(value.name for value in model.graph.input), *weights]
    lines = [f"def program({', '.join(arguments)}):"]
    for node in model.graph.node:
        operands = [literals.get(name, name) for name in node.input]
        template = _OPERATORS[node.op_type].of(library)
        expression = template.format(*operands, args=", ".join(operands), **attributes_of(node))
        lines.append(f"    {node.output[0]} = {expression}")
    lines.append(f"    return {model.graph.output[0].name}")
    text = "\n".join(lines) + "\n"
    namespace = _namespace(library)
    exec(compile(text, f"<{model.graph.name} for {library}>", "exec"), namespace)
    return Function(namespace["program"], weights, text)


def _literal(array: NDArray[np.generic]) -> str | None:
    """A scalar, or a list of integers, as Python text; `None` for what stays an array."""
    if array.ndim == 0:
        return repr(array.item())
    return repr(tuple(array.tolist())) if array.dtype == np.int64 else None


def _namespace(library: Library) -> dict[str, Any]:
    if library is Library.NUMPY:
        return {"np": np, "layers": numpy_layers}
    if library is Library.JAX:
        from . import jax_layers

        return {"jax": jax_layers.jax, "jnp": jax_layers.jnp, "layers": jax_layers}
    torch = import_module("torch")
    return {"torch": torch, "F": torch.nn.functional}


def reference_output(model: ModelProto, inputs: dict[str, NDArray[np.float32]]) -> NDArray[np.float64]:
    """The model's output, computed by NumPy in f64."""
    function = translate(model, Library.NUMPY)
    arrays = [np.asarray(array, np.float64) for array in (*inputs.values(), *function.weights.values())]
    with np.errstate(all="ignore"):
        return function.call(*arrays)
