"""Networks on sound, on time series, on images with several results, and graphs."""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

from collections.abc import Callable, Sequence
from typing import Any

from population.member import Member, add
from population.text import configured


def _random(**shapes: Sequence[int]) -> Callable[[], dict[str, Any]]:
    def inputs() -> dict[str, Any]:
        import torch

        return {name: torch.randn(*shape) for name, shape in shapes.items()}

    return inputs


class _Positional:
    """Builds a module whose inputs have names, from one that takes them by the names that transformers gives."""

    def __init__(self, build: Callable[[], Any], *names: str):
        self.build, self.names = build, names

    def __call__(self) -> Any:
        import torch

        names = self.names

        class Positional(torch.nn.Module):
            def __init__(self, model: Any):
                super().__init__()
                self.model = model

            def forward(self, x: Any) -> Any:
                return self.model(**{names[0]: x})

        class OfTwo(Positional):
            def forward(self, x: Any, y: Any) -> Any:
                return self.model(**dict(zip(names, (x, y), strict=True)))

        return (Positional if len(names) == 1 else OfTwo)(self.build())


def _of_transformers(name: str, kind: str, model: str, argument: str, shape: Sequence[int], result: int = 0,
                     **given: Any) -> None:  # fmt: skip
    add(name, Member(_Positional(configured(kind, given, model, result), argument), _random(x=shape)))


def _add_sound() -> None:
    wave = (1, 8000)
    for kind in ("Hubert", "SEW", "UniSpeech", "Wav2Vec2", "Wav2Vec2Conformer"):
        layers: dict[str, Any] = {"num_hidden_layers": 2}
        if kind == "SEW":
            layers |= {"hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 2048}
        if kind == "Wav2Vec2Conformer":
            layers |= {"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024}
        _of_transformers(kind.lower(), kind, "Model", "input_values", wave, **layers)
    _of_transformers("ast", "AST", "Model", "input_values", (1, 256, 128), num_hidden_layers=2, max_length=256)
    _of_transformers("dac", "Dac", "Model", "input_values", (1, 1, 2048), 1, encoder_hidden_size=16,
                     decoder_hidden_size=256)  # fmt: skip
    _of_transformers("hifigan", "SpeechT5HifiGan", "", "spectrogram", (32, 80))
    add("whisper_encoder", Member(_whisper_encoder, _random(x=(1, 80, 400))))
    add("encodec", Member(_encodec, _random(x=(1, 1, 4800))))


def _whisper_encoder() -> Any:
    import torch
    import transformers
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = transformers.WhisperConfig(encoder_layers=2, max_source_positions=200)
    config._attn_implementation = "eager"

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = WhisperEncoder(config)

        def forward(self, x: Any) -> Any:
            return self.model(x)[0]

    return Encoder()


def _no_padding(_: Any) -> int:
    return 0


def _encodec() -> Any:
    """Encoder and decoder; what is between looks up codes."""
    import torch
    import transformers
    from transformers.models.encodec import modeling_encodec

    model = transformers.EncodecModel(transformers.EncodecConfig(num_filters=16))
    for layer in model.modules():
        if isinstance(layer, modeling_encodec.EncodecConv1d):
            # Padding is a buffer, which the exporter takes for a number that is not known. A length that the strides
            # divide needs no more of it.
            padding = int(layer.padding_total)
            del layer.padding_total
            layer.padding_total = padding
            layer._get_extra_padding_for_conv1d = _no_padding
    return torch.nn.Sequential(model.encoder, model.decoder)


def _add_images() -> None:
    image = (1, 3, 128, 128)
    layers = {"num_hidden_layers": 2}
    for name, kind, model, given in (
        ("dinov2", "Dinov2", "Model", {**layers, "image_size": 126}),
        ("segformer", "Segformer", "ForSemanticSegmentation", {}),
        ("yolos", "Yolos", "ForObjectDetection",
         {**layers, "hidden_size": 192, "num_attention_heads": 3, "intermediate_size": 768, "image_size": [128, 128]}),
        ("vitmae", "ViT", "Model", {**layers, "image_size": 128}),
        ("swin2sr", "Swin2SR", "ForImageSuperResolution",
         {"image_size": 48, "embed_dim": 60, "depths": [2, 2], "num_heads": [6, 6]}),
        ("dpt", "DPT", "ForDepthEstimation",
         {"num_hidden_layers": 4, "hidden_size": 192, "num_attention_heads": 3, "intermediate_size": 768,
          "image_size": 128, "backbone_out_indices": [0, 1, 2, 3], "neck_hidden_sizes": [24, 48, 96, 192],
          "fusion_hidden_size": 64}),
        ("glpn", "GLPN", "ForDepthEstimation", {}),
        ("siglip_vision", "SiglipVision", "Model", {**layers, "image_size": 128}),
        ("clip_vision", "CLIPVision", "Model", {**layers, "image_size": 128}),
        ("videomae", "VideoMAE", "Model", {**layers, "image_size": 64, "num_frames": 8}),
        ("timesformer", "Timesformer", "Model", {**layers, "image_size": 64, "num_frames": 4}),
    ):  # fmt: skip
        shape = {"videomae": (1, 8, 3, 64, 64), "timesformer": (1, 4, 3, 64, 64), "swin2sr": (1, 3, 48, 48)}
        size = (1, 3, 126, 126) if name == "dinov2" else shape.get(name, image)
        _of_transformers(name, kind, model, "pixel_values", size, **given)
    add("detr", Member(_detr, _random(x=(1, 3, 192, 192))))


def _detr() -> Any:
    import torch
    import transformers

    backbone = transformers.ResNetConfig(
        embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[1, 1, 1, 1], layer_type="basic",
        out_features=["stage4"],
    )  # fmt: skip
    config = transformers.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone_config=backbone, backbone=None,
        encoder_layers=2, decoder_layers=2,
    )  # fmt: skip
    config._attn_implementation = "eager"

    class Boxes(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = transformers.DetrForObjectDetection(config)

        def forward(self, x: Any) -> Any:
            found = self.model(pixel_values=x)
            return found.logits, found.pred_boxes

    return Boxes()


def _add_series() -> None:
    _of_transformers("patchtst", "PatchTST", "ForPrediction", "past_values", (1, 512, 7), context_length=512,
                     num_input_channels=7, num_hidden_layers=2, d_model=128, num_attention_heads=4,
                     prediction_length=96)  # fmt: skip


def _module(make: Callable[[Any], Any]) -> Callable[[], Any]:
    """Builds a module from torch's parts: `make` gets `torch.nn`."""

    def build() -> Any:
        from torch import nn

        return make(nn)

    return build


def _unet() -> Any:
    import torch
    from torch import nn

    def two(taken: int, made: int) -> Any:
        return nn.Sequential(
            nn.Conv2d(taken, made, 3, padding=1), nn.BatchNorm2d(made), nn.ReLU(),
            nn.Conv2d(made, made, 3, padding=1), nn.BatchNorm2d(made), nn.ReLU(),
        )  # fmt: skip

    class UNet(nn.Module):
        def __init__(self, widths: Sequence[int] = (32, 64, 128, 256)):
            super().__init__()
            self.down = nn.ModuleList(two(a, b) for a, b in zip((3, *widths), widths, strict=False))
            self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in widths[-2::-1])
            self.merge = nn.ModuleList(two(2 * w, w) for w in widths[-2::-1])
            self.last = nn.Conv2d(widths[0], 2, 1)

        def forward(self, x: Any) -> Any:
            kept = []
            for level, part in enumerate(self.down):
                x = part(x if not level else nn.functional.max_pool2d(x, 2))
                kept.append(x)
            for up, merge, side in zip(self.up, self.merge, kept[-2::-1], strict=True):
                x = merge(torch.cat([up(x), side], 1))
            return self.last(x)

    return UNet()


def _graph_attention() -> Any:
    """GAT with its edges as a list: gathers, a softmax over the edges of a node by scatters."""
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self, taken: int, made: int, heads: int):
            super().__init__()
            self.heads, self.made = heads, made
            self.product = nn.Linear(taken, heads * made, bias=False)
            self.source, self.target = (nn.Parameter(torch.randn(heads, made) / 8) for _ in range(2))

        def forward(self, x: Any, edges: Any) -> Any:
            nodes = x.shape[0]
            h = self.product(x).view(nodes, self.heads, self.made)
            source, target = edges[0], edges[1]
            scores = (h * self.source).sum(-1)[source] + (h * self.target).sum(-1)[target]
            weights = torch.exp(nn.functional.leaky_relu(scores, 0.2).clamp(max=10.0))
            total = torch.zeros(nodes, self.heads).index_add(0, target, weights)
            taken = h[source] * (weights / total[target])[..., None]
            made = torch.zeros(nodes, self.heads, self.made).index_add(0, target, taken)
            return nn.functional.elu(made.reshape(nodes, -1))

    class GraphAttention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = Layer(64, 8, 8), Layer(64, 16, 4)

        def forward(self, x: Any, edges: Any) -> Any:
            return self.two(self.one(x, edges), edges)

    return GraphAttention()


def _graph() -> dict[str, Any]:
    import torch

    nodes, edges = 512, 4096
    ends = torch.randint(0, nodes, (2, edges))
    ends[1, :nodes] = torch.arange(nodes)
    return {"x": torch.randn(nodes, 64), "edges": ends}


def _recurrent() -> Any:
    """Convolutions, two LSTMs both ways, classes: as for speech and text in images (CRNN)."""
    from torch import nn

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.convolutions = nn.Sequential(
                nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d((4, 2)),
            )  # fmt: skip
            self.cells = nn.LSTM(256, 128, num_layers=2, bidirectional=True, batch_first=True)
            self.last = nn.Linear(256, 80)

        def forward(self, x: Any) -> Any:
            rows = self.convolutions(x).flatten(1, 2).transpose(1, 2)
            return self.last(self.cells(rows)[0])

    return Recurrent()


def _dlrm() -> Any:
    """Tables of embeddings, their products in pairs, and dense layers: recommendation (DLRM)."""
    import torch
    from torch import nn

    class Dlrm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables = nn.ModuleList(nn.Embedding(1000, 16) for _ in range(8))
            self.below = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU())
            self.above = nn.Sequential(nn.Linear(16 + 36, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())
            self.register_buffer("pairs", torch.tril_indices(9, 9, -1))

        def forward(self, x: Any, y: Any) -> Any:
            dense = self.below(x)
            rows = torch.stack([dense, *(table(y[:, place]) for place, table in enumerate(self.tables))], 1)
            products = rows @ rows.transpose(1, 2)
            return self.above(torch.cat([dense, products[:, self.pairs[0], self.pairs[1]]], 1))

    return Dlrm()


def _clicks() -> dict[str, Any]:
    import torch

    return {"x": torch.randn(32, 13), "y": torch.randint(0, 1000, (32, 8))}


def _add_of_parts() -> None:
    add("unet", Member(_unet, _random(x=(1, 3, 128, 128))))
    add("graph_attention", Member(_graph_attention, _graph))
    add("crnn", Member(_recurrent, _random(x=(1, 1, 32, 128))))
    add("dlrm", Member(_dlrm, _clicks))
    add("autoencoder", Member(_module(_autoencoder), _random(x=(1, 3, 64, 64))))
    add("dcgan", Member(_module(_generator), _random(x=(1, 100, 1, 1))))


def _generator(nn: Any) -> Any:
    layers: list[Any] = [nn.ConvTranspose2d(100, 512, 4, bias=False), nn.BatchNorm2d(512), nn.ReLU()]
    for width in (512, 256, 128):
        layers += [nn.ConvTranspose2d(width, width // 2, 4, 2, 1, bias=False), nn.BatchNorm2d(width // 2), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh())


def _autoencoder(nn: Any) -> Any:
    layers: list[Any] = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 128), (128, 256)):
        layers += [nn.Conv2d(inputs, outputs, 3, 2, 1), nn.BatchNorm2d(outputs), nn.LeakyReLU()]
    for inputs, outputs in ((256, 128), (128, 64), (64, 32)):
        layers += [nn.ConvTranspose2d(inputs, outputs, 3, 2, 1, 1), nn.BatchNorm2d(outputs), nn.LeakyReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(32, 3, 3, 2, 1, 1), nn.Sigmoid())


_add_sound()
_add_images()
_add_series()
_add_of_parts()
