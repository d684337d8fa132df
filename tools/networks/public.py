"""More public architectures for `networks.small`, tiny and with random weights: text, speech, images and detection."""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from networks.small import (
    BATCH,
    OPEN_BATCH,
    OPEN_IDS,
    OPEN_TEXT,
    OPERATORS,
    SMALL_TEXT,
    TEXT,
    First,
    Ids,
    Inputs,
    Text,
    image,
    network,
    tokens,
    transformers,
    vision,
)

_OPEN_IMAGE = {"x": {0: "batch", 2: "height", 3: "width"}}
_IMAGES = tuple({"batch": b, "height": h, "width": w} for b, h, w in ((2, 32, 64), (1, 64, 32), (3, 32, 96)))
_ONE_IMAGE = tuple({"height": h, "width": w} for h, w in ((32, 64), (64, 32), (32, 96)))


def _images(sizes: Mapping[str, int]) -> Inputs:
    return {"x": torch.randn(sizes.get("batch", 1), 3, sizes["height"], sizes["width"])}


@network("distilbert", tokens(50, mask=True), OPEN_TEXT, TEXT)
def _distilbert() -> nn.Module:
    t = transformers()
    config = t.DistilBertConfig(vocab_size=50, dim=16, n_layers=2, n_heads=4, hidden_dim=32)
    return Text(t.DistilBertModel(config), "last_hidden_state")


@network("roberta", tokens(50, mask=True), OPEN_TEXT, TEXT)
def _roberta() -> nn.Module:
    t = transformers()
    return Text(t.RobertaModel(t.RobertaConfig(**SMALL_TEXT, intermediate_size=32)), "last_hidden_state")


_DECODER = {**SMALL_TEXT, "intermediate_size": 32, "num_key_value_heads": 2, "use_cache": False}


@network("qwen2", tokens(50, mask=True), OPEN_TEXT, TEXT)
def _qwen2() -> nn.Module:
    t = transformers()
    return Text(t.Qwen2ForCausalLM(t.Qwen2Config(**_DECODER)), "logits")


@network("mistral", tokens(50, mask=True), OPEN_TEXT, TEXT)
def _mistral() -> nn.Module:
    t = transformers()
    return Text(t.MistralForCausalLM(t.MistralConfig(**_DECODER, sliding_window=4)), "logits")


@network("gemma", tokens(50, mask=True), OPEN_TEXT, TEXT)
def _gemma() -> nn.Module:
    t = transformers()
    return Text(t.Gemma2ForCausalLM(t.Gemma2Config(**_DECODER, head_dim=8, sliding_window=4)), "logits")


@network("mamba", tokens(50, mask=False), OPEN_IDS, TEXT)
def _mamba() -> nn.Module:
    t = transformers()
    config = t.MambaConfig(vocab_size=50, hidden_size=16, state_size=4, num_hidden_layers=2, use_cache=False)
    return Ids(t.MambaForCausalLM(config), "logits")


class _Pair(nn.Module):
    """A model of `transformers` with an encoder and a decoder, as a function of what both read."""

    def __init__(self, model: nn.Module, first: str):
        super().__init__()
        self.model = model
        self.first = first

    def forward(self, x: Tensor, decoder_input_ids: Tensor) -> Tensor:
        given: dict[str, Any] = {self.first: x, "decoder_input_ids": decoder_input_ids}
        return self.model(**given, use_cache=False).logits


def _to_text(sizes: Mapping[str, int]) -> Tensor:
    return torch.randint(0, 50, (sizes["batch"], sizes["target"]))


_TRANSLATION = tuple({"batch": b, "seq": s, "target": t} for b, s, t in ((2, 7, 5), (1, 5, 8), (3, 12, 4)))


@network(
    "t5",
    lambda sizes: {
        "x": torch.randint(0, 50, (sizes["batch"], sizes["seq"])),
        "decoder_input_ids": _to_text(sizes),
    },
    {"x": {0: "batch", 1: "seq"}, "decoder_input_ids": {0: "batch", 1: "target"}},
    _TRANSLATION,
)
def _t5() -> nn.Module:
    t = transformers()
    config = t.T5Config(vocab_size=50, d_model=16, d_kv=4, d_ff=32, num_layers=2, num_heads=4, use_cache=False)
    # PyTorch cannot export the other implementation: it views what it has transposed.
    config._attn_implementation = "eager"
    return _Pair(t.T5ForConditionalGeneration(config), "input_ids")


@network(
    "whisper",
    lambda sizes: {"x": torch.randn(sizes["batch"], 8, 40), "decoder_input_ids": _to_text(sizes)},
    {"x": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "target"}},
    _TRANSLATION,
)
def _whisper() -> nn.Module:
    t = transformers()
    layers = {f"{side}_{what}": 2 for side in ("encoder", "decoder") for what in ("layers", "attention_heads")}
    widths = {f"{side}_ffn_dim": 32 for side in ("encoder", "decoder")}
    config = t.WhisperConfig(
        vocab_size=50, num_mel_bins=8, d_model=16, max_source_positions=20, max_target_positions=16,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, **layers, **widths,
    )  # fmt: skip
    return _Pair(t.WhisperForConditionalGeneration(config), "input_features")


@network(
    "wav2vec2",
    lambda sizes: {"x": torch.randn(sizes["batch"], sizes["samples"])},
    {"x": {0: "batch", 1: "samples"}},
    tuple({"batch": b, "samples": n} for b, n in ((2, 400), (1, 800), (3, 520))),
)
def _wav2vec2() -> nn.Module:
    t = transformers()
    config = t.Wav2Vec2Config(
        **SMALL_TEXT, intermediate_size=32, conv_dim=(8, 8), conv_stride=(5, 2), conv_kernel=(10, 3),
        num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    return First(t.Wav2Vec2ForCTC(config), "logits")


class _Clip(nn.Module):
    """How well texts fit images."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, x: Tensor) -> Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, pixel_values=x).logits_per_image


@network(
    "clip",
    lambda sizes: {**tokens(50, mask=True)(sizes), "x": torch.randn(sizes["images"], 3, 16, 16)},
    {**OPEN_TEXT, "x": {0: "images"}},
    tuple({"batch": b, "seq": s, "images": n} for b, s, n in ((2, 7, 3), (1, 5, 2), (3, 12, 4))),
)
def _clip() -> nn.Module:
    t = transformers()
    common = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = t.CLIPConfig(
        text_config={**common, "vocab_size": 50, "max_position_embeddings": 16, "eos_token_id": 49},
        vision_config={**common, "image_size": 16, "patch_size": 4},
        projection_dim=8,
    )
    return _Clip(t.CLIPModel(config))


class _Boxes(nn.Module):
    """DETR's classes and boxes."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        found = self.model(pixel_values=x)
        return found.logits, found.pred_boxes


@network("detr", image(64), OPEN_BATCH, BATCH)
def _detr() -> nn.Module:
    t = transformers()
    backbone = t.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage4"]
    )
    heads = {f"{side}_{what}": 2 for side in ("encoder", "decoder") for what in ("layers", "attention_heads")}
    config = t.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone_config=backbone, backbone=None, num_queries=5,
        d_model=16, encoder_ffn_dim=32, decoder_ffn_dim=32, num_labels=4, **heads,
    )  # fmt: skip
    return _Boxes(t.DetrForObjectDetection(config))


@network("segformer", _images, _OPEN_IMAGE, _IMAGES)
def _segformer() -> nn.Module:
    t = transformers()
    config = t.SegformerConfig(
        hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=8,
        num_labels=4,
    )  # fmt: skip
    return First(t.SegformerForSemanticSegmentation(config), "logits")


def _nms(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    """`torchvision.ops.nms` by its definition: the best box stays, and those that overlap it go; and so on."""
    order = scores.argsort(descending=True, stable=True).tolist()
    sizes = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    kept: list[int] = []
    while order:
        best, *others = order
        kept.append(best)
        low = torch.maximum(boxes[best, :2], boxes[others, :2])
        shared = (torch.minimum(boxes[best, 2:], boxes[others, 2:]) - low).clamp(min=0).prod(1)
        overlap = shared / (sizes[best] + sizes[others] - shared)
        order = [other for other, share in zip(others, overlap.tolist(), strict=True) if share <= threshold]
    return torch.tensor(kept, dtype=torch.int64)


def _let_torchvision_suppress() -> None:
    """Give torchvision `nms` where it cannot load its own."""
    import torchvision

    if not torchvision.extension._has_ops():
        torchvision.extension._has_ops = lambda: True
        OPERATORS.impl("nms", _nms, "CPU")


class _Yolo(nn.Module):
    """Two levels of a detector without anchors, and the boxes that remain after suppression."""

    def __init__(self):
        super().__init__()
        self.one = nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1), nn.BatchNorm2d(8), nn.SiLU())
        self.two = nn.Sequential(nn.Conv2d(8, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.SiLU())
        self.head = nn.Conv2d(8, 4 + 3, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        from torchvision.ops import nms

        one = self.one(x)
        levels = [self.head(level).flatten(2).transpose(1, 2)[0] for level in (one, self.two(one))]
        found = torch.cat(levels)
        corner, size = found[:, :2] * 10, found[:, 2:4].exp() * 8
        boxes = torch.cat([corner, corner + size], -1)
        scores, classes = found[:, 4:].sigmoid().max(-1)
        kept = nms(boxes + classes[:, None] * 1000.0, scores, 0.5)[:20]
        return boxes[kept], classes[kept]


@network("yolo", _images, {"x": {2: "height", 3: "width"}}, _ONE_IMAGE)
def _yolo() -> nn.Module:
    vision()
    _let_torchvision_suppress()
    return _Yolo()


class _Autoencoder(nn.Module):
    """A variational autoencoder as in latent diffusion: group norms, attention in the middle, nearest upsampling."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.GroupNorm(2, 8), nn.SiLU(), nn.Conv2d(8, 16, 3, 2, 1))
        self.moments = nn.Conv2d(16, 8, 1)
        self.enter = nn.Conv2d(4, 16, 3, padding=1)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.leave = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, deviation = self.moments(nn.functional.silu(self.down(x))).chunk(2, 1)
        y = self.enter(mean + (deviation.clamp(-30, 20) * 0.5).exp() * 0.1)
        pixels = y.flatten(2).transpose(1, 2)
        pixels = pixels + self.attention(pixels, pixels, pixels, need_weights=False)[0]
        y = pixels.transpose(1, 2).reshape(y.shape)
        y = nn.functional.interpolate(y, scale_factor=2.0)
        return self.leave(y).tanh(), mean, deviation


@network("autoencoder", _images, _OPEN_IMAGE, _IMAGES)
def _autoencoder() -> nn.Module:
    return _Autoencoder()


@network("densenet", image(32), OPEN_BATCH, BATCH)
def _densenet() -> nn.Module:
    return vision().DenseNet(4, (2, 2), 8, num_classes=5)


@network("shufflenet", image(64), OPEN_BATCH, BATCH)
def _shufflenet() -> nn.Module:
    return vision().ShuffleNetV2([1, 2, 1], [8, 16, 16, 16, 32], num_classes=5)


@network("regnet", image(64), OPEN_BATCH, BATCH)
def _regnet() -> nn.Module:
    t = transformers()
    config = t.RegNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], groups_width=4)
    return First(t.RegNetForImageClassification(config), "logits")


@network("deeplab", _images, _OPEN_IMAGE, _IMAGES)
def _deeplab() -> nn.Module:
    segmentation = vision().segmentation.deeplabv3
    backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1), nn.ReLU())

    class Segmentation(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = backbone
            self.head = segmentation.DeepLabHead(8, 3, (2, 4))

        def forward(self, x: Tensor) -> Tensor:
            y = self.head(self.backbone(x))
            return nn.functional.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)

    return Segmentation()
