"""`compile-prefix`: all that `fuse_dialect.compile` does to a module before `fuse-ops`, as one pass.

`fuse-opt --compile-prefix --fuse-ops model.onnx` shows what is compiled. `compile_prefix` lists the passes, in order:

1. `stack-growing-states` makes stacks of states that loops only append to: their places are known;
2. `refine-shapes` makes static what is known of open sizes, with the numbers that the option `sizes` gives for names:
   only then have ops of computed shapes machine code. It leaves a module without open sizes alone. What it finds out of
   a row that a loop adds lets `stack-growing-states` make more stacks;
3. `fake-quantization-to-integer` finds products of quantized numbers, while their weights and scales stand apart;
   `keep-blockwise-weights` those of real numbers by weights of few bits;
4. `simplify-inference{expand-norms=false}` breaks batch norms into a multiplication and an addition of constants. A
   layer norm stays whole: one kernel computes it row by row, with the row in cache;
5. `fold-constants` leaves the scales and weights that the next pass has to see as plain constants;
6. `fold-scale-axis` moves scales and shifts into weights and biases;
7. `expand-transposed-convolutions` makes convolutions of transposed ones, `expand-deformable-convolutions` sampled
   images and products of deformable ones, `expand-einsum` matrix products of einsums, `expand-depthwise` depthwise
   convolutions without a multiplier of those with one;
8. `bubble-up-slices` computes no more of products, reductions and normalized lines than is read of them;
   `fold-constants` multiplies the scales, and cuts the kernels; `drop-padded-taps` cuts those that mostly meet padding;
9. `prove-indices` marks indices that cannot be out of range;
10. `eliminate-common-subexpr` merges what frontends wrote twice; with `fold-transposes` products read transposed
    operands as they lie;
11. `convert-layout{if-profitable=true}` gives each op with images the layout that takes the least time on `machine`;
12. `sink-scales` scales results of products rather than their columns, and `recognize-bands` makes masks along a
    diagonal ones that each reader computes from positions;
13. `cut-splits` makes a slice of each piece of a split, which its reader takes;
14. `rematerialize-dequantization` and `rematerialize-scalars` undo merges: each reader makes real numbers of integers
    itself, and has the numbers that several ops read as literals.

Source: TVM, the passes before `FuseOps` in `relay.build`: src/relay/backend/utils.cc, `GetPassPrefix` (v0.18).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect.machines.machine import Machine
from fuse_dialect.transforms.bubble_up_slices import BubbleUpSlicesPass
from fuse_dialect.transforms.convert_layout import ConvertLayoutPass
from fuse_dialect.transforms.cut_splits import CutSplitsPass
from fuse_dialect.transforms.drop_padded_taps import DropPaddedTapsPass
from fuse_dialect.transforms.eliminate_common_subexpr import EliminateCommonSubexprPass
from fuse_dialect.transforms.expand_deformable_convolutions import ExpandDeformableConvolutionsPass
from fuse_dialect.transforms.expand_depthwise import ExpandDepthwisePass
from fuse_dialect.transforms.expand_einsum import ExpandEinsumPass
from fuse_dialect.transforms.expand_transposed_convolutions import ExpandTransposedConvolutionsPass
from fuse_dialect.transforms.fake_quantization_to_integer import FakeQuantizationToIntegerPass
from fuse_dialect.transforms.fold_constants import FoldConstantsPass
from fuse_dialect.transforms.fold_scale_axis import FoldScaleAxisPass
from fuse_dialect.transforms.fold_transposes import FoldTransposesPass
from fuse_dialect.transforms.keep_blockwise_weights import KeepBlockwiseWeightsPass
from fuse_dialect.transforms.prove_indices import ProveIndicesPass
from fuse_dialect.transforms.recognize_bands import RecognizeBandsPass
from fuse_dialect.transforms.refine_shapes import RefineShapesPass
from fuse_dialect.transforms.rematerialize_dequantization import RematerializeDequantizationPass
from fuse_dialect.transforms.rematerialize_scalars import RematerializeScalarsPass
from fuse_dialect.transforms.simplify_inference import SimplifyInferencePass
from fuse_dialect.transforms.sink_scales import SinkScalesPass
from fuse_dialect.transforms.stack_growing_states import StackGrowingStatesPass


def compile_prefix(
    layout: Literal["NHWC", "NCHW", "keep"] = "NHWC", sizes: Sequence[str] = (), target: Machine | str | None = None
) -> tuple[ModulePass, ...]:
    """The passes that run before `fuse-ops`, in order.

    Args:
        layout: Of images; `keep` for that which each op has.
        sizes: Numbers for named sizes of arguments, as `refine-shapes` takes them: `batch=4`.
        target: What code is made for, or its name; by default the processor at hand.
    """
    passes: tuple[ModulePass, ...] = (
        StackGrowingStatesPass(),
        RefineShapesPass(tuple(sizes)),
        StackGrowingStatesPass(),
        FakeQuantizationToIntegerPass(),
        KeepBlockwiseWeightsPass(),
        SimplifyInferencePass(expand_norms=False),
        FoldConstantsPass(),
        FoldScaleAxisPass(),
        ExpandTransposedConvolutionsPass(),
        ExpandDeformableConvolutionsPass(),
        ExpandEinsumPass(),
        ExpandDepthwisePass(),
        BubbleUpSlicesPass(),
        FoldConstantsPass(),
        DropPaddedTapsPass(),
        ProveIndicesPass(),
        EliminateCommonSubexprPass(),
        FoldTransposesPass(),
    )
    if layout != "keep":
        named = target if isinstance(target, str) else ""
        convert = ConvertLayoutPass(layout, if_profitable=True, machine=named)
        passes = (*passes, convert.using(None if isinstance(target, str) else target))
    return (
        *passes,
        SinkScalesPass(),
        RecognizeBandsPass(),
        CutSplitsPass(),
        RematerializeDequantizationPass(),
        RematerializeScalarsPass(),
    )


@dataclass(frozen=True)
class CompilePrefixPass(ModulePass):
    """Run the passes that a module goes through before its ops are fused and compiled."""

    name = "compile-prefix"

    layout: Literal["NHWC", "NCHW", "keep"] = "NHWC"
    """Layout of images, as in `convert-layout`; `keep` for that which each op has."""
    sizes: tuple[str, ...] = ()
    """Numbers for named sizes of arguments: `sizes="batch=4","seq=128"`."""
    machine: str = ""
    """What layouts are chosen for: a name or a file, as in `convert-layout`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the passes one after the other."""
        for each in compile_prefix(self.layout, self.sizes, self.machine):
            each.apply(ctx, op)
