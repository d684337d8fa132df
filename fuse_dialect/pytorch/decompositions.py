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


def decompositions() -> dict[Any, Any]:
    """How PyTorch writes operators in core ATen, less those that are better as they are."""
    table = {**core_aten_decompositions(), **get_decompositions(_WRITTEN_OUT)}
    table[torch.ops.aten._transformer_encoder_layer_fwd.default] = _encoder_layer
    return {op: rule for op, rule in table.items() if op.overloadpacket.__name__ not in _KEPT_WHOLE}
