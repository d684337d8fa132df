"""How operators of PyTorch are written in those that are read here: PyTorch's own table, less some, and one more."""

# PyTorch is no dependency of the checks.
# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from typing import Any

import torch
from torch._decomp import core_aten_decompositions, get_decompositions
from torch.nn import functional

_KEPT_WHOLE = (
    "silu",
    "hardswish",
    "hardsigmoid",
    "softplus",
    "upsample_nearest2d",
    "addmm",
    "baddbmm",
    "_scaled_dot_product_flash_attention_for_cpu",
)
"""Operators that have an equal here, and are not written out by PyTorch. Attention, as it is written out there, gives
weights where its gradient wants logarithms of sums."""
_WRITTEN_OUT = [
    torch.ops.aten._native_batch_norm_legit_functional,
    torch.ops.aten._native_batch_norm_legit,
    torch.ops.aten.native_batch_norm,
    torch.ops.aten.native_batch_norm_backward,
    torch.ops.aten.native_group_norm_backward,
    torch.ops.aten.native_dropout,
]
"""Operators that are none of the core, or stay in it, and that PyTorch knows to write out."""


def _encoder_layer(
    src: Any,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Any,
    norm_bias_1: Any,
    norm_weight_2: Any,
    norm_bias_2: Any,
    ffn_weight_1: Any,
    ffn_bias_1: Any,
    ffn_weight_2: Any,
    ffn_bias_2: Any,
    mask: Any = None,
    mask_type: int | None = None,
) -> Any:
    """A layer of `nn.TransformerEncoder`, which is one operator where no gradients are asked for.

    Source: aten/src/ATen/native/transformers/transformer.cpp.
    """

    def attention(x: Any) -> Any:
        qkv = functional.linear(x, qkv_weight, qkv_bias).unflatten(-1, (3, num_heads, embed_dim // num_heads))
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        weights = query / (embed_dim // num_heads) ** 0.5 @ key.transpose(-1, -2)
        if mask is not None:
            hidden = (mask[:, None, None] if mask_type == 1 else mask).to(torch.bool)
            weights = weights.masked_fill(hidden, -torch.inf)
        return functional.linear((weights.softmax(-1) @ value).transpose(1, 2).flatten(2), proj_weight, proj_bias)

    def forward(x: Any) -> Any:
        hidden = functional.linear(x, ffn_weight_1, ffn_bias_1)
        return functional.linear(
            functional.gelu(hidden) if use_gelu else functional.relu(hidden), ffn_weight_2, ffn_bias_2
        )

    def first(x: Any) -> Any:
        return functional.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(x: Any) -> Any:
        return functional.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = src + attention(first(src))
        return x + forward(second(x))
    x = first(src + attention(src))
    return second(x + forward(x))


def _weight_norm_backward(grad_w: Any, saved_v: Any, saved_g: Any, saved_norms: Any, dim: int) -> Any:
    """Gradients of the direction and the length of a weight.

    Source: aten/src/ATen/native/WeightNorm.cpp.
    """
    others = [axis for axis in range(grad_w.dim()) if axis != dim % grad_w.dim()]
    along = (grad_w * saved_v).sum(others, keepdim=True)
    return saved_g / saved_norms * (grad_w - saved_v * (along / saved_norms**2)), along / saved_norms


def _distances_backward(grad: Any, x1: Any, x2: Any, p: float, distances: Any) -> Any:
    """The gradient of the first points of distances by the norm of order 1 or 2; of equal points it is 0.

    Source: aten/src/ATen/native/cpu/DistanceOpsKernel.cpp.
    """
    if p not in (1, 2):
        return NotImplemented
    between = x1[..., :, None, :] - x2[..., None, :, :]
    if p == 1:
        return (grad[..., None] * between.sign()).sum(-2)
    return (torch.where(distances == 0, 0, grad / distances)[..., None] * between).sum(-2)


def _diagonal_written(x: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A tensor with other elements on a diagonal of two of its axes."""
    places = torch.arange(src.shape[-1], device=x.device)
    rows, columns = places + max(-offset, 0), places + max(offset, 0)
    written = x.movedim((dim1, dim2), (0, 1)).index_put((rows, columns), src.movedim(-1, 0))
    return written.movedim((0, 1), (dim1, dim2))


_OWN = {
    "_transformer_encoder_layer_fwd": _encoder_layer,
    "_weight_norm_interface_backward": _weight_norm_backward,
    "_cdist_backward": _distances_backward,
    "diagonal_scatter": _diagonal_written,
}
"""Operators that PyTorch does not write out."""
_OF_LISTS = (
    "abs", "acos", "asin", "atan", "ceil", "clamp_max", "clamp_min", "cos", "cosh", "erf", "erfc", "exp", "expm1",
    "floor", "frac", "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid",
    "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "add", "sub", "mul", "div", "maximum", "minimum",
    "pow", "lerp", "addcmul", "addcdiv",
)  # fmt: skip
"""Functions that optimizers apply to lists of tensors: `torch._foreach_add` and so on."""


def _for_each(function: Any) -> Any:
    """A function of tensors as one of lists; what is no list is the same for all."""

    def of_lists(*given: Any, **options: Any) -> list[Any]:
        count = next(len(each) for each in given if isinstance(each, list | tuple))
        rows = zip(*(each if isinstance(each, list | tuple) else [each] * count for each in given), strict=True)
        return [function(*row, **options) for row in rows]

    return of_lists


def _scaled_third(function: Any) -> Any:
    """`addcmul` and `addcdiv`, whose factor comes by place in a list."""
    return lambda x, one, other, value=1: function(x, one, other, value=value)


def _of_lists() -> dict[Any, Any]:
    found = dict[Any, Any]()
    for name in _OF_LISTS:
        packet, function = getattr(torch.ops.aten, f"_foreach_{name}"), getattr(torch, name)
        of_lists = _for_each(_scaled_third(function) if name in ("addcmul", "addcdiv") else function)
        for overload in packet.overloads():
            # A tensor that holds the factors of all is not written out.
            if "out" not in overload and not (overload == "Tensor" and name.startswith("addc")):
                found[getattr(packet, overload)] = of_lists
    for name, of_numbers in (("maximum", torch.clamp_min), ("minimum", torch.clamp_max)):
        packet = getattr(torch.ops.aten, f"_foreach_{name}")
        found[packet.Scalar] = found[packet.ScalarList] = _for_each(of_numbers)
    found[torch.ops.aten._foreach_copy.default] = lambda lists, sources, _=False: [
        source.to(each.dtype).expand_as(each).clone() for each, source in zip(lists, sources, strict=True)
    ]
    return found


def decompositions() -> dict[Any, Any]:
    """How PyTorch writes operators in core ATen, less those that are better as they are."""
    table = {**core_aten_decompositions(), **get_decompositions(_WRITTEN_OUT), **_of_lists()}
    table |= {getattr(torch.ops.aten, name).default: rule for name, rule in _OWN.items()}
    return {op: rule for op, rule in table.items() if op.overloadpacket.__name__ not in _KEPT_WHOLE}
