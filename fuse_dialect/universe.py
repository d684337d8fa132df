"""The one table of what the package adds to xDSL: a dialect, passes and targets.

`xdsl-opt` and every other tool built on `xdsl.universe` import this module on each run, so it imports nothing but
`xdsl.universe`; a row's module is imported when its name is used. A name that xDSL already has would break those
tools, therefore what replaces a part of xDSL (the `mlir` target, for one) is not a row here.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from xdsl.universe import Universe


def _lazy(place: str) -> Callable[[], Any]:
    """A function that imports the object at `place`, spelled `module:attribute`."""
    module, _, attribute = place.partition(":")

    def load() -> Any:
        return getattr(import_module(module), attribute)

    return load


OWN_NAMES = Universe(
    all_dialects={
        "fuse": _lazy("fuse_dialect.fusion.call_effects:Fuse"),
    },
    all_passes={
        "fuse-ops": _lazy("fuse_dialect.fusion.fuse_ops:FuseOpsPass"),
        "defuse-ops": _lazy("fuse_dialect.transforms.defuse_ops:DefuseOpsPass"),
        "outline-fused": _lazy("fuse_dialect.transforms.fused_regions:OutlineFusedPass"),
        "inline-fused": _lazy("fuse_dialect.transforms.fused_regions:InlineFusedPass"),
        "rename-primitives": _lazy("fuse_dialect.transforms.rename_primitives:RenamePrimitivesPass"),
        "inline": _lazy("fuse_dialect.fusion.inline:InlinePass"),
        "extract-primitives": _lazy("fuse_dialect.transforms.extract_primitives:ExtractPrimitivesPass"),
        "fuse-ops-hw": _lazy("fuse_dialect.hardware.fuse_ops_hw:FuseOpsHwPass"),
        "insert-hardware": _lazy("fuse_dialect.hardware.insert_hardware:InsertHardwarePass"),
        "simplify-inference": _lazy("fuse_dialect.transforms.simplify_inference:SimplifyInferencePass"),
        "stack-growing-states": _lazy("fuse_dialect.transforms.stack_growing_states:StackGrowingStatesPass"),
        "fold-constants": _lazy("fuse_dialect.transforms.fold_constants:FoldConstantsPass"),
        "fold-scale-axis": _lazy("fuse_dialect.transforms.fold_scale_axis:FoldScaleAxisPass"),
        "fold-transposes": _lazy("fuse_dialect.transforms.fold_transposes:FoldTransposesPass"),
        "bubble-up-slices": _lazy("fuse_dialect.transforms.bubble_up_slices:BubbleUpSlicesPass"),
        "drop-padded-taps": _lazy("fuse_dialect.transforms.drop_padded_taps:DropPaddedTapsPass"),
        "eliminate-common-subexpr": _lazy(
            "fuse_dialect.transforms.eliminate_common_subexpr:EliminateCommonSubexprPass"
        ),
        "fake-quantization-to-integer": _lazy(
            "fuse_dialect.transforms.fake_quantization_to_integer:FakeQuantizationToIntegerPass"
        ),
        "expand-transposed-convolutions": _lazy(
            "fuse_dialect.transforms.expand_transposed_convolutions:ExpandTransposedConvolutionsPass"
        ),
        "expand-deformable-convolutions": _lazy(
            "fuse_dialect.transforms.expand_deformable_convolutions:ExpandDeformableConvolutionsPass"
        ),
        "expand-depthwise": _lazy("fuse_dialect.transforms.expand_depthwise:ExpandDepthwisePass"),
        "expand-einsum": _lazy("fuse_dialect.transforms.expand_einsum:ExpandEinsumPass"),
        "rematerialize-dequantization": _lazy(
            "fuse_dialect.transforms.rematerialize_dequantization:RematerializeDequantizationPass"
        ),
        "cut-splits": _lazy("fuse_dialect.transforms.cut_splits:CutSplitsPass"),
        "rematerialize-scalars": _lazy("fuse_dialect.transforms.rematerialize_scalars:RematerializeScalarsPass"),
        "keep-blockwise-weights": _lazy("fuse_dialect.transforms.keep_blockwise_weights:KeepBlockwiseWeightsPass"),
        "sink-scales": _lazy("fuse_dialect.transforms.sink_scales:SinkScalesPass"),
        "recognize-bands": _lazy("fuse_dialect.transforms.recognize_bands:RecognizeBandsPass"),
        "prove-indices": _lazy("fuse_dialect.transforms.prove_indices:ProveIndicesPass"),
        "refine-shapes": _lazy("fuse_dialect.transforms.refine_shapes:RefineShapesPass"),
        "convert-layout": _lazy("fuse_dialect.transforms.convert_layout:ConvertLayoutPass"),
        "convert-stablehlo-to-fuse": _lazy(
            "fuse_dialect.frontends.stablehlo.convert_stablehlo_to_fuse:ConvertStableHLOToFusePass"
        ),
        "compile-pipeline": _lazy("fuse_dialect.transforms.compile_pipeline:CompilePipelinePass"),
        "compile-prefix": _lazy("fuse_dialect.transforms.compile_prefix:CompilePrefixPass"),
        "convert-fuse-to-linalg": _lazy("fuse_dialect.targets.convert_fuse_to_linalg:ConvertFuseToLinalgPass"),
    },
    all_targets={
        "loops": _lazy("fuse_dialect.targets.loops:LoopsTarget"),
        "html": _lazy("fuse_dialect.targets.pictures:HtmlTarget"),
        "dot": _lazy("fuse_dialect.targets.pictures:DotTarget"),
        "svg": _lazy("fuse_dialect.targets.pictures:SvgTarget"),
        "model-explorer": _lazy("fuse_dialect.targets.pictures:ModelExplorerTarget"),
        "hardware-report": _lazy("fuse_dialect.hardware.hardware_report:HardwareReportTarget"),
        "placement": _lazy("fuse_dialect.hardware.placement:PlacementTarget"),
        "trips-json": _lazy("fuse_dialect.hardware.trips_json:TripsJsonTarget"),
        "hardware-dot": _lazy("fuse_dialect.hardware.hardware_dot:HardwareDotTarget"),
    },
)
"""What the package adds, by the names that the tools of this package use: `inline`, `html`."""


def guest_name(name: str) -> str:
    """The name under which other tools know a pass or target: one that says whose it is.

    xDSL puts the names of all packages in one table, and two packages that use one name break every tool.
    """
    return name if "fuse" in name else f"fuse-{name}"


def _as_guest(name: str, load: Callable[[], Any]) -> Callable[[], Any]:
    """The class by another name: xDSL compares the name that was asked for with that of the class."""

    def load_guest() -> Any:
        cls = load()
        members = {"name": guest_name(name), "__doc__": cls.__doc__, "__module__": cls.__module__}
        return cls if cls.name == guest_name(name) else type(cls.__name__, (cls,), members)

    return load_guest


FUSE_UNIVERSE = Universe(
    all_dialects=OWN_NAMES.all_dialects,
    all_passes={guest_name(name): _as_guest(name, load) for name, load in OWN_NAMES.all_passes.items()},
    all_targets={guest_name(name): _as_guest(name, load) for name, load in OWN_NAMES.all_targets.items()},
)
"""The same as other tools find it, through the entry point `xdsl.universe`: see `pyproject.toml`."""
