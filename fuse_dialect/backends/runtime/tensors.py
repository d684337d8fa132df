"""Tensors of PyTorch as arrays, and values that JAX traces, without importing either: who has one has imported it."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fuse_dialect.dialect.op import Array


def is_torch_tensor(value: object) -> bool:
    """Whether a value is a tensor of PyTorch."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def are_traced(values: Iterable[object]) -> bool:
    """Whether one of the values has no elements yet, because JAX is tracing the function that has it."""
    core: Any = sys.modules.get("jax.core")
    return core is not None and any(isinstance(value, core.Tracer) for value in values)


def array_of(tensor: Any) -> "Array":
    """The elements of a tensor of PyTorch on the processor, in its own memory; gradients do not follow them.

    Raises:
        TypeError: It is on another device, is not dense, or has elements that NumPy has not.
        RuntimeError: The same, for some kinds of tensors.
        ImportError: It is of bf16, and `ml_dtypes` is not installed.
    """
    torch = sys.modules["torch"]
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        return tensor.view(torch.int16).numpy().view(np.dtype(ml_dtypes.bfloat16))
    return tensor.numpy()
