"""PyTorch's FX graphs of ATen operators as `AtenGraph`, and its tensors as NumPy's arrays."""

# PyTorch is no dependency of the checks.
# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

from fuse_dialect.backends.runtime.tensors import array_of
from fuse_dialect.dialect.types import element_dtype
from fuse_dialect.frontends.aten.graph import Argument, AtenGraph, Call, Ref, TensorMeta
from fuse_dialect.frontends.torch_stacks import user_line

_FACTORS_KEPT = frozenset(("aten._linalg_det.default", "aten._linalg_slogdet.default"))
"""Operators that give factors to their gradient: those of the transpose where PyTorch sees a contiguous matrix."""
_NO_ARGUMENTS = frozenset(("device", "layout", "pin_memory", "memory_format", "non_blocking", "generator"))
"""Arguments by name that say how a tensor is stored, not what it is."""


def _bfloat16() -> "np.dtype[Any]":
    from xdsl.dialects.builtin import bf16

    return element_dtype(bf16)


_DTYPES: Mapping[torch.dtype, "np.dtype[Any]"] = {
    getattr(torch, name): np.dtype("bool" if name == "bool" else name)
    for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64")
} | {torch.complex64: np.dtype(np.complex64), torch.complex128: np.dtype(np.complex128)}


def dtype_of(dtype: torch.dtype) -> "np.dtype[Any] | None":
    """The element type as NumPy's; `None` for quantized numbers and the like."""
    return _bfloat16() if dtype == torch.bfloat16 else _DTYPES.get(dtype)


def given_array(tensor: torch.Tensor) -> "np.ndarray[Any, Any]":
    """The array of an argument; of complex numbers their parts, as pairs along a last axis."""
    return array_of(torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor)


def tensor_of(array: "np.ndarray[Any, Any]", dtype: torch.dtype, stride: Sequence[int]) -> torch.Tensor:
    """The tensor of an array, in its memory unless PyTorch expects other strides; each element has its own place."""
    if not array.size:  # NumPy's strides mean nothing then, and PyTorch takes them at their word
        return torch.empty_strided(array.shape[: len(stride)], tuple(stride), dtype=dtype)
    if dtype == torch.bfloat16:
        tensor = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    elif dtype.is_complex:
        tensor = torch.view_as_complex(torch.from_numpy(np.ascontiguousarray(array)))
    else:
        tensor = torch.from_numpy(array)
    if _lies_as(tensor.shape, tensor.stride(), stride) or 0 in stride:
        return tensor
    wanted = torch.empty_strided(tensor.shape, tuple(stride), dtype=dtype)
    return wanted.copy_(tensor)


def _lies_as(shape: Sequence[int], one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether elements lie alike; the stride of an axis of one element means nothing."""
    return 0 in shape or all(size == 1 or left == right for size, left, right in zip(shape, one, other, strict=True))


def _is_same_view(node: fx.Node) -> bool:
    """Whether `as_strided` gives its operand as it is: PyTorch writes it for strides of axes of one element."""
    source, result = cast(fx.Node, node.args[0]).meta.get("val"), node.meta.get("val")
    if not isinstance(source, torch.Tensor) or not isinstance(result, torch.Tensor):
        return False
    return (
        source.shape == result.shape
        and source.storage_offset() == result.storage_offset()
        and _lies_as(source.shape, source.stride(), result.stride())
    )


def meta_of(value: Any) -> TensorMeta | None:
    """What is known of a traced value; `None` unless it is a dense tensor on the processor of static shape."""
    if not isinstance(value, torch.Tensor) or value.device.type != "cpu" or value.layout != torch.strided:
        return None
    kind = dtype_of(value.dtype)
    if kind is None or any(not isinstance(size, int) for size in value.shape):
        return None
    return TensorMeta(tuple(value.shape), kind)


def _metas(node: fx.Node) -> tuple[TensorMeta | None, ...]:
    value = node.meta.get("val")
    if isinstance(value, list | tuple):
        return tuple(meta_of(each) for each in cast(Sequence[Any], value))
    return (meta_of(value),)


def is_number(node: fx.Node) -> bool:
    """Whether the node is a number: a size, most of the time."""
    return isinstance(node.meta.get("val"), bool | int | float)


def ref_of(node: fx.Node) -> Ref:
    """The value that a node stands for."""
    if node.op == "call_function" and node.target is operator.getitem:
        return Ref(cast(fx.Node, node.args[0]).name, cast(int, node.args[1]))
    return Ref(node.name)


def _argument(value: Any) -> Argument:
    match value:
        case fx.Node():
            return value.meta["val"] if is_number(value) else ref_of(value)
        case torch.dtype():
            return dtype_of(value)
        case torch.device() | torch.layout() | torch.memory_format():
            return None
        case list() | tuple():
            return [_argument(each) for each in cast(Sequence[Any], value)]
        case _:
            return value


def _lies_in_rows(node: fx.Node) -> bool:
    """Whether a matrix is contiguous as PyTorch sees it."""
    value = node.meta.get("val")
    return not isinstance(value, torch.Tensor) or value.is_contiguous()


def call_of(node: fx.Node) -> Call:
    """A call of an ATen operator."""
    kwargs = {name: _argument(value) for name, value in node.kwargs.items() if name not in _NO_ARGUMENTS}
    target, args = str(node.target), tuple(_argument(value) for value in node.args)
    if target == "aten.as_strided.default" and _is_same_view(node):
        target, args, kwargs = "aten.alias.default", args[:1], {}
    if target in _FACTORS_KEPT and not _lies_in_rows(cast(fx.Node, node.args[0])):
        kwargs = {**kwargs, "of_transpose": False}
    return Call(node.name, target, args, kwargs, _metas(node), _path(node), _line(node))


def _path(node: fx.Node) -> str:
    """The path of the innermost module, `encoder.layer.0`."""
    stack = node.meta.get("nn_module_stack") or (node.meta.get("fwd_nn_module_stack") or {})
    if not stack:
        return ""
    path = str(list(stack.values())[-1][0])
    path = path.removeprefix("L['self']").removeprefix("self").replace("['", ".").replace("']", "")
    return re.sub(r"\._modules\b|\[|\]", lambda found: "." if found[0] == "[" else "", path).strip(".")


def _line(node: fx.Node) -> tuple[str, int] | None:
    """The innermost line of the user's program."""
    return user_line(node.meta.get("stack_trace") or "")


def is_read(node: fx.Node) -> bool:
    """Whether anybody would notice that a call is gone: its result is read, or it changes an operand."""
    schema = getattr(node.target, "_schema", None)
    return bool(node.users) or (schema is not None and schema.is_mutable)


def is_call(node: fx.Node) -> bool:
    """Whether a node applies an operator, and not only names a field of results."""
    return node.op == "call_function" and node.target is not operator.getitem


def aten_graph(module: fx.GraphModule) -> AtenGraph:
    """The graph of a module all of whose operators can be read, with what it holds as constants."""
    graph = AtenGraph()
    for node in module.graph.nodes:
        match node.op:
            case "placeholder":
                meta = meta_of(node.meta.get("val"))
                if meta is not None:
                    graph.inputs.append((node.name, meta))
            case "get_attr" if isinstance(held := _attribute(module, cast(str, node.target)), torch.Tensor):
                with unset_fake_temporarily():  # PyTorch is tracing still, and constants have elements
                    graph.constants[node.name] = array_of(held)
            case "call_function" if is_call(node) and not is_number(node) and node.users:
                graph.calls.append(call_of(node))
            case "output":
                results = cast(Any, node.args[0])
                graph.outputs = [
                    ref_of(each)
                    for each in (results if isinstance(results, list | tuple) else [results])
                    if isinstance(each, fx.Node) and not is_number(each)
                ]
            case _:
                pass
    return graph


def _attribute(module: fx.GraphModule, name: str) -> Any:
    """A tensor, or the graph of a branch."""
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part)
    return value
