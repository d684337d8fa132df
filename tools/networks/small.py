"""Networks of torch with random weights and tiny sizes, each with the axes that its exported model leaves open.

Every entry of `NETWORKS` gives the module, its inputs for given sizes, and which axes of the inputs have names. Nothing
is downloaded: `transformers` and `torchvision` are used for their classes alone.
"""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

with suppress(ImportError, RuntimeError):
    import torchvision  # noqa: F401  # defines its operators itself, where it can

OPERATORS = torch.library.Library("torchvision", "FRAGMENT")
for _name in ("nms", "qnms"):
    # A torchvision that was built for another torch cannot load its own operators, and then cannot be imported, nor can
    # models of transformers.
    if not hasattr(torch.ops.torchvision, _name):
        OPERATORS.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

Inputs = dict[str, Tensor]
"""Inputs by name, in the order of the module's arguments."""


@dataclass(frozen=True)
class Network:
    """A network to export."""

    build: Callable[[], nn.Module]
    """The module, in evaluation mode."""
    inputs: Callable[[Mapping[str, int]], Inputs]
    """Inputs for sizes of the named axes."""
    axes: Mapping[str, Mapping[int, str]]
    """Name of each open axis, by input and number of the axis."""
    sizes: tuple[Mapping[str, int], ...]
    """Sizes to export with, then two others to run with."""
    large: bool = False
    """Whether it has the size that people use, and is exported only if named."""


NETWORKS: dict[str, Network] = {}
"""By name."""

# Sizes to export with, then two others, and which axes are open.
BATCH = ({"batch": 2}, {"batch": 1}, {"batch": 5})
TEXT = ({"batch": 2, "seq": 7}, {"batch": 1, "seq": 5}, {"batch": 3, "seq": 12})


def image(size: int, channels: int = 3) -> Callable[[Mapping[str, int]], Inputs]:
    return lambda sizes: {"x": torch.randn(sizes["batch"], channels, size, size)}


def sequence(width: int) -> Callable[[Mapping[str, int]], Inputs]:
    return lambda sizes: {"x": torch.randn(sizes["batch"], sizes["seq"], width)}


def tokens(vocabulary: int, *, mask: bool) -> Callable[[Mapping[str, int]], Inputs]:
    def inputs(sizes: Mapping[str, int]) -> Inputs:
        shape = sizes["batch"], sizes["seq"]
        given = {"input_ids": torch.randint(0, vocabulary, shape)}
        if mask:
            attended = torch.ones(shape, dtype=torch.int64)
            attended[0, -2:] = 0
            given["attention_mask"] = attended
        return given

    return inputs


def _lively(module: nn.Module) -> nn.Module:
    """The module with convolutions and batch norms as if trained: as made, deep ones give nothing but zeros."""
    for part in module.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight)
        elif isinstance(part, nn.BatchNorm2d):
            for tensor in (part.weight, part.running_var):
                nn.init.uniform_(tensor, 0.5, 1.5)
            for tensor in (part.bias, part.running_mean):
                nn.init.normal_(tensor, std=0.2)
    return module


def network(
    name: str,
    inputs: Callable[[Mapping[str, int]], Inputs],
    axes: Mapping[str, Mapping[int, str]],
    sizes: tuple[Mapping[str, int], ...],
    *,
    large: bool = False,
) -> Callable[[Callable[[], nn.Module]], Callable[[], nn.Module]]:
    def register(build: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
        def prepared() -> nn.Module:
            torch.manual_seed(0)
            return _lively(build()).eval()

        NETWORKS[name] = Network(prepared, inputs, axes, sizes, large)
        return build

    return register


OPEN_BATCH = {"x": {0: "batch"}}
OPEN_SEQUENCE = {"x": {0: "batch", 1: "seq"}}
OPEN_IDS = {"input_ids": {0: "batch", 1: "seq"}}
OPEN_TEXT = {**OPEN_IDS, "attention_mask": {0: "batch", 1: "seq"}}


class First(nn.Module):
    """A model of `transformers` that gives a plain tensor."""

    def __init__(self, model: nn.Module, result: str):
        super().__init__()
        self.model = model
        self.result = result

    def forward(self, x: Tensor) -> Tensor:
        return getattr(self.model(x), self.result)


class Text(nn.Module):
    """A model of `transformers` on tokens that gives a plain tensor."""

    def __init__(self, model: nn.Module, result: str):
        super().__init__()
        self.model = model
        self.result = result

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return getattr(self.model(input_ids=input_ids, attention_mask=attention_mask), self.result)


class Ids(Text):
    """The same without a mask."""

    def forward(self, input_ids: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return getattr(self.model(input_ids=input_ids), self.result)


def transformers() -> Any:
    import transformers

    return transformers


def vision() -> Any:
    import torchvision

    return torchvision.models


@network("mlp", lambda sizes: {"x": torch.randn(sizes["batch"], 16)}, OPEN_BATCH, BATCH)
def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4), nn.Softmax(-1))


@network("transformer_encoder_batch", lambda sizes: {"x": torch.randn(sizes["batch"], 7, 16)}, OPEN_BATCH, BATCH)
@network("transformer_encoder", sequence(16), OPEN_SEQUENCE, TEXT)
def _encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


SMALL_TEXT = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}


@network("bert", tokens(50, mask=False), OPEN_IDS, TEXT)
def _bert() -> nn.Module:
    t = transformers()
    return Ids(t.BertModel(t.BertConfig(**SMALL_TEXT, intermediate_size=32)), "last_hidden_state")


@network("bert_mask", tokens(50, mask=True), OPEN_TEXT, TEXT)
def _bert_mask() -> nn.Module:
    t = transformers()
    return Text(t.BertModel(t.BertConfig(**SMALL_TEXT, intermediate_size=32)), "last_hidden_state")


def _gpt2_model() -> nn.Module:
    t = transformers()
    config = t.GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=4, n_positions=32, use_cache=False)
    return t.GPT2LMHeadModel(config)


@network("gpt2", tokens(50, mask=False), OPEN_IDS, TEXT)
def _gpt2() -> nn.Module:
    return Ids(_gpt2_model(), "logits")


@network("gpt2_mask", tokens(50, mask=True), OPEN_TEXT, TEXT)
def _gpt2_mask() -> nn.Module:
    return Text(_gpt2_model(), "logits")


@network("llama", tokens(50, mask=True), OPEN_TEXT, TEXT)
def _llama() -> nn.Module:
    t = transformers()
    config = t.LlamaConfig(**SMALL_TEXT, intermediate_size=32, num_key_value_heads=2, use_cache=False)
    return Text(t.LlamaForCausalLM(config), "logits")


@network("vit", image(16), OPEN_BATCH, BATCH)
def _vit() -> nn.Module:
    t = transformers()
    config = t.ViTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32, image_size=16, patch_size=4
    )
    return First(t.ViTForImageClassification(config), "logits")


@network("vit_torchvision", image(16), OPEN_BATCH, BATCH)
def _vit_torchvision() -> nn.Module:
    model = vision().VisionTransformer(16, 4, 2, 4, 16, 32, num_classes=5)
    nn.init.normal_(model.heads.head.weight)  # they are zero at first
    return model


@network("swin", image(32), OPEN_BATCH, BATCH)
def _swin() -> nn.Module:
    t = transformers()
    config = t.SwinConfig(image_size=32, patch_size=2, embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=4)
    # PyTorch cannot export the other implementation: it views what it has transposed.
    config._attn_implementation = "eager"
    return First(t.SwinForImageClassification(config), "logits")


@network("swin_torchvision", image(32), OPEN_BATCH, BATCH)
def _swin_torchvision() -> nn.Module:
    return vision().SwinTransformer([2, 2], 8, [2, 2], [2, 4], [4, 4], num_classes=5)


@network("convnext", image(32), OPEN_BATCH, BATCH)
def _convnext() -> nn.Module:
    t = transformers()
    config = t.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 2], num_stages=2, patch_size=4)
    return First(t.ConvNextForImageClassification(config), "logits")


@network("resnet18", image(32), OPEN_BATCH, BATCH)
def _resnet() -> nn.Module:
    t = transformers()
    config = t.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 16, 32], depths=[1, 2, 1, 1], layer_type="basic")
    return First(t.ResNetForImageClassification(config), "logits")


@network(
    "resnet_any_size",
    lambda sizes: {"x": torch.randn(sizes["batch"], 3, sizes["height"], sizes["width"])},
    {"x": {0: "batch", 2: "height", 3: "width"}},
    tuple({"batch": b, "height": h, "width": w} for b, h, w in ((2, 32, 48), (1, 64, 32), (3, 40, 56))),
)
def _resnet_any_size() -> nn.Module:
    return _resnet()


@network("mobilenet_v2", image(32), OPEN_BATCH, BATCH)
def _mobilenet() -> nn.Module:
    return vision().MobileNetV2(
        num_classes=5, width_mult=0.25, inverted_residual_setting=[[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 1, 1]]
    )


@network("mobilenet_v3", image(32), OPEN_BATCH, BATCH)
def _mobilenet_v3() -> nn.Module:
    return vision().mobilenet_v3_small(num_classes=5, width_mult=0.1)


@network("efficientnet", image(32), OPEN_BATCH, BATCH)
def _efficientnet() -> nn.Module:
    efficientnet = vision().efficientnet
    blocks = [efficientnet.MBConvConfig(ratio, 3, step, 8, 8, 1) for ratio, step in ((1, 1), (4, 2), (4, 1))]
    return efficientnet.EfficientNet(blocks, dropout=0.2, num_classes=5, last_channel=32)


@network("efficientnet_transformers", image(32), OPEN_BATCH, BATCH)
def _efficientnet_transformers() -> nn.Module:
    t = transformers()
    config = t.EfficientNetConfig(
        image_size=32, width_coefficient=0.25, depth_coefficient=0.3, hidden_dim=320, num_labels=5
    )
    return First(t.EfficientNetForImageClassification(config), "logits")


class _UNet(nn.Module):
    """Two levels, upsampled by resizing and by transposed convolution."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.down = nn.Conv2d(8, 16, 3, padding=1)
        self.deep = nn.Conv2d(16, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.merge = nn.Conv2d(24, 8, 3, padding=1)
        self.last = nn.Conv2d(16, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        one = torch.relu(self.first(x))
        two = torch.relu(self.down(nn.functional.max_pool2d(one, 2)))
        deep = torch.relu(self.deep(nn.functional.max_pool2d(two, 2)))
        grown = nn.functional.interpolate(deep, size=two.shape[2:], mode="bilinear", align_corners=False)
        y = torch.relu(self.merge(torch.cat([self.up(grown), one, torch.relu(one)], 1)))
        return self.last(torch.cat([y, one], 1))


@network(
    "unet",
    lambda sizes: {"x": torch.randn(sizes["batch"], 3, sizes["height"], sizes["width"])},
    {"x": {0: "batch", 2: "height", 3: "width"}},
    tuple({"batch": b, "height": h, "width": w} for b, h, w in ((2, 16, 24), (1, 32, 8), (3, 24, 40))),
)
def _unet() -> nn.Module:
    return _UNet()


class _Detector(nn.Module):
    """A feature pyramid of two levels and a head with anchors, as in RetinaNet; the boxes are decoded."""

    def __init__(self):
        super().__init__()
        self.one = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.two = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.side = nn.Conv2d(8, 16, 1)
        self.classes = nn.Conv2d(16, 2 * 5, 3, padding=1)
        self.boxes = nn.Conv2d(16, 2 * 4, 3, padding=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        one = torch.relu(self.one(x))
        two = torch.relu(self.two(one))
        one = self.side(one) + nn.functional.interpolate(two, scale_factor=2.0, mode="nearest")
        scores: list[Tensor] = []
        boxes: list[Tensor] = []
        for level, stride in ((one, 2.0), (two, 4.0)):
            batch, _, height, width = level.shape
            score = self.classes(level).view(batch, 2, 5, height, width).permute(0, 3, 4, 1, 2)
            scores.append(score.reshape(batch, -1, 5).sigmoid())
            box = self.boxes(level).view(batch, 2, 4, height, width).permute(0, 3, 4, 1, 2).reshape(batch, -1, 4)
            ys, xs = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
            centers = torch.stack([xs, ys], -1).float().view(1, height, width, 1, 2) * stride
            centers = centers.expand(1, height, width, 2, 2).reshape(1, -1, 2)
            boxes.append(torch.cat([centers + box[..., :2].tanh(), box[..., 2:].exp()], -1))
        return torch.cat(scores, 1), torch.cat(boxes, 1)


@network(
    "detector_head",
    lambda sizes: {"x": torch.randn(sizes["batch"], 3, sizes["height"], sizes["width"])},
    {"x": {0: "batch", 2: "height", 3: "width"}},
    tuple({"batch": b, "height": h, "width": w} for b, h, w in ((2, 16, 24), (1, 32, 8), (3, 24, 40))),
)
def _detector() -> nn.Module:
    return _Detector()


class _Diffusion(nn.Module):
    """A residual block with a time embedding and attention over the pixels, as in a diffusion U-Net."""

    def __init__(self):
        super().__init__()
        self.time = nn.Linear(16, 16)
        self.enter = nn.Conv2d(4, 16, 3, padding=1)
        self.norm = nn.GroupNorm(4, 16)
        self.conv = nn.Conv2d(16, 16, 3, padding=1)
        self.queries_keys_values = nn.Linear(16, 48)
        self.leave = nn.Conv2d(16, 4, 3, padding=1)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        frequencies = torch.exp(torch.arange(8, dtype=torch.float32) * -0.5)
        angles = time[:, None].float() * frequencies[None]
        embedding = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        y = self.enter(x)
        y = y + self.conv(nn.functional.silu(self.norm(y) + embedding[:, :, None, None]))
        batch, channels, height, width = y.shape
        pixels = y.flatten(2).transpose(1, 2)
        heads = self.queries_keys_values(pixels).view(batch, height * width, 3, 4, 4).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(heads[0], heads[1], heads[2])
        pixels = pixels + attended.transpose(1, 2).reshape(batch, height * width, channels)
        y = pixels.transpose(1, 2).reshape(batch, channels, height, width)
        return self.leave(nn.functional.interpolate(y, scale_factor=2.0, mode="nearest"))


@network(
    "diffusion_block",
    lambda sizes: {
        "x": torch.randn(sizes["batch"], 4, sizes["height"], 8),
        "time": torch.randint(0, 100, (sizes["batch"],)),
    },
    {"x": {0: "batch", 2: "height"}, "time": {0: "batch"}},
    tuple({"batch": b, "height": h} for b, h in ((2, 8), (1, 4), (3, 12))),
)
def _diffusion() -> nn.Module:
    return _Diffusion()
