"""Networks of timm and torchvision on images and videos."""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

from collections.abc import Callable
from typing import Any

from population.member import Member, add

# Those of 224x224 pixels unless a number says another size. Left out are those above 300 MB, as VGG and ViT-L.
_TIMM = """
    bat_resnext26ts:256 botnet26t_256:256 caformer_s18 cait_xxs24_224 coat_lite_tiny coatnet_nano_rw_224 convformer_s18
    convit_tiny convmixer_768_32 convnext_atto convnext_tiny convnextv2_atto crossvit_tiny_240:240 cspdarknet53
    cspresnet50 davit_tiny deit3_small_patch16_224 densenet121 dla34 dpn68 eca_nfnet_l0 ecaresnet26t edgenext_xx_small
    efficientformer_l1 efficientformerv2_s0 efficientnet_b0 efficientnet_lite0 efficientvit_b0 efficientvit_m0
    ese_vovnet19b_dw eva02_tiny_patch14_224 fastvit_t8:256 fbnetc_100 focalnet_tiny_srf gcvit_xxtiny gernet_s
    ghostnet_100 ghostnetv2_100 gmlp_s16_224 halonet26t:256 hgnetv2_b0 hrnet_w18_small
    inception_next_atto inception_v3:299 lambda_resnet26t:256 lcnet_050 levit_128s mambaout_femto
    maxvit_tiny_tf_224 maxxvit_rmlp_nano_rw_256:256 mixer_s32_224 mixnet_s mnasnet_100 mobilenetv2_100
    mobilenetv3_large_100 mobilenetv3_small_100 mobilenetv4_conv_small mobilenetv4_hybrid_medium mobileone_s0
    mobilevit_s:256 mobilevitv2_100:256 mvitv2_tiny nest_tiny nextvit_small nf_regnet_b0 nf_resnet26 pit_ti_224
    poolformer_s12 pvt_v2_b0 rdnet_tiny regnetx_004 regnety_004 repghostnet_050 repvgg_a0 repvit_m0_9 res2net50_26w_4s
    resmlp_12_224 resnest14d resnet18 resnet50 resnext50_32x4d rexnet_100 selecsls42b sequencer2d_s seresnet50 shvit_s1
    skresnet18 starnet_s1 swiftformer_xs swin_tiny_patch4_window7_224 swinv2_tiny_window8_256:256 tiny_vit_5m_224
    tinynet_a tnt_s_patch16_224 tresnet_m twins_svt_small visformer_tiny vit_small_patch16_224 vit_tiny_patch16_224
    volo_d1_224 xception41:299 xcit_nano_12_p16_224
"""
_TORCHVISION = {
    "alexnet": 224,
    "googlenet": 224,
    "maxvit_t": 224,
    "shufflenet_v2_x1_0": 224,
    "squeezenet1_1": 224,
    "swin_v2_t": 256,
}
_SEGMENTATION = {"deeplabv3_mobilenet_v3_large": 224, "fcn_resnet50": 128, "lraspp_mobilenet_v3_large": 224}
_VIDEO = ("mc3_18", "r2plus1d_18")
_FORMS = {
    "resnet18": ("static", "open", "f16", "int8-dynamic", "int8-qdq"),
    "resnet50": ("static", "int8-qdq"),
    "mobilenetv2_100": ("static", "open", "int8-qdq"),
    "mobilenetv3_small_100": ("static", "int8-qdq"),
    "efficientnet_b0": ("static", "f16"),
    "convnext_atto": ("static", "open", "f16"),
    "vit_tiny_patch16_224": ("static", "open", "f16", "int8-dynamic", "int8-qdq"),
    "squeezenet1_1": ("static", "int8-qdq"),
}


def _images(size: int, batch: int = 1) -> Callable[[], dict[str, Any]]:
    def inputs() -> dict[str, Any]:
        import torch

        return {"x": torch.randn(batch, 3, size, size)}

    return inputs


def _member(name: str, size: int, build: Callable[[], Any]) -> None:
    forms = _FORMS.get(name, ("static",))
    add(name, Member(build, _images(size, 2), _images(size, 3), {"x": {0: "batch"}}, forms) if "open" in forms
        else Member(build, _images(size), forms=forms))  # fmt: skip


def _of_timm(name: str) -> Callable[[], Any]:
    def build() -> Any:
        import timm

        return timm.create_model(name, pretrained=False)

    return build


def _of_torchvision(name: str, room: str = "", **options: Any) -> Callable[[], Any]:
    def build() -> Any:
        import torchvision

        models = getattr(torchvision.models, room) if room else torchvision.models
        return getattr(models, name)(weights=None, **options)

    return build


class _Segmented:
    """Builds a network that gives its map of classes alone."""

    def __init__(self, name: str):
        self.name = name

    def __call__(self) -> Any:
        import torch

        class Segmented(torch.nn.Module):
            def __init__(self, model: Any):
                super().__init__()
                self.model = model

            def forward(self, x: Any) -> Any:
                return self.model(x)["out"]

        return Segmented(_of_torchvision(self.name, "segmentation", weights_backbone=None)())


def _video() -> dict[str, Any]:
    import torch

    return {"x": torch.randn(1, 3, 16, 64, 64)}


def _add_all() -> None:
    for entry in _TIMM.split():
        name, _, size = entry.partition(":")
        _member(name, int(size or 224), _of_timm(name))
    for name, size in _TORCHVISION.items():
        options: dict[str, Any] = {"aux_logits": False, "init_weights": True} if name == "googlenet" else {}
        _member(name, size, _of_torchvision(name, **options))
    for name, size in _SEGMENTATION.items():
        _member(name, size, _Segmented(name))
    for name in _VIDEO:
        add(name, Member(_of_torchvision(name, "video"), _video))


_add_all()
