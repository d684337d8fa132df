"""Networks of the sizes that people use, with random weights, for `networks.small`: 5 to 134 million parameters.

They are exported only if they are named: each is up to 540 MB.
"""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

from collections.abc import Callable

from torch import nn

from networks.small import (
    OPEN_BATCH,
    OPEN_IDS,
    OPEN_TEXT,
    First,
    Ids,
    Text,
    image,
    network,
    tokens,
    transformers,
    vision,
)

_BATCH = ({"batch": 1}, {"batch": 1}, {"batch": 2})
_TEXT = ({"batch": 2, "seq": 16}, {"batch": 1, "seq": 9}, {"batch": 2, "seq": 24})


@network("bert_base", tokens(30000, mask=False), OPEN_IDS, _TEXT, large=True)
def _bert_base() -> nn.Module:
    t = transformers()
    return Ids(t.BertModel(t.BertConfig()), "last_hidden_state")


@network("gpt2_base", tokens(50000, mask=True), OPEN_TEXT, _TEXT, large=True)
def _gpt2_base() -> nn.Module:
    t = transformers()
    return Text(t.GPT2LMHeadModel(t.GPT2Config(use_cache=False)), "logits")


@network("llama_134m", tokens(30000, mask=True), OPEN_TEXT, _TEXT, large=True)
def _llama_134m() -> nn.Module:
    t = transformers()
    config = t.LlamaConfig(
        hidden_size=768, intermediate_size=2048, num_hidden_layers=12, num_attention_heads=12, use_cache=False
    )
    return Text(t.LlamaForCausalLM(config), "logits")


@network("efficientnet_b0_transformers", image(224), OPEN_BATCH, _BATCH, large=True)
def _efficientnet_b0() -> nn.Module:
    t = transformers()
    config = t.EfficientNetConfig(image_size=224, width_coefficient=1.0, depth_coefficient=1.0, hidden_dim=1280)
    return First(t.EfficientNetForImageClassification(config), "logits")


def _of_torchvision(name: str) -> Callable[[], nn.Module]:
    return lambda: getattr(vision(), name)()


for _name in ("resnet50", "mobilenet_v2", "efficientnet_b0", "convnext_tiny", "swin_t"):
    network(f"{_name}_224", image(224), OPEN_BATCH, _BATCH, large=True)(_of_torchvision(_name))
