"""`fold-scale-axis`: factors and terms of one number a channel move into the weights and biases of products.

A batch norm in inference is `x * scale + shift` (`simplify-inference`). Behind a convolution both vanish: the scale
into its weight, the shift into a `bias_add`.

1. *Backward.* A multiplication by, or division by, a constant goes when what it scales comes from a product (a
   convolution of any kind, `dense`, `matmul`, `batch_matmul`) of a constant weight; the weight is multiplied instead.
2. *Forward.* What is left of them goes when all that reads the scaled value are such products, which take it as data.
3. On the way, constants that are added take the scale (backward) or its reciprocal (forward); `relu`, `leaky_relu`,
   `prelu` and max pools let positive scales pass, average pools all.
4. *Biases.* Constants of one number a channel that are added right behind a product become one `bias_add`.

A scale is f32 or f64, and runs along the channels or is one number. A value on the way back has one use, one on the way
forth is read by ops on the way alone, and no op on it changes its type. Scales beyond 2^64 in all, or not finite, stay;
so do those that are zero where a term would be divided by them. A weight becomes the `fuse.multiply` of two constants,
which `fold-constants` computes. A constant that many ops share is written for each of them, as far as `max-total-bytes`
allows.

Functions with `primitive` or `fuse.compiler` are left alone.

Source: TVM `FoldScaleAxis`, src/relay/transforms/fold_scale_axis.cc (v0.18).
Differs from TVM: backward comes first, so that a network of convolution, batch norm and activation needs no
reciprocals; a scale does not move through the sum of two values; weights and scales that are no constants stay as they
are; biases are merged.
"""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from fuse_dialect.budget import Limits
from fuse_dialect.transforms.scale_folding.biases import merge_biases
from fuse_dialect.transforms.scale_folding.moves import Module, fold_backward, fold_forward
from fuse_dialect.transforms.unfinished import walk_unfinished

_FOLDS: tuple[Callable[[Module], None], ...] = (fold_backward, fold_forward, merge_biases)
"""In this order."""


@dataclass(frozen=True)
class FoldScaleAxisPass(ModulePass):
    """Fold factors and terms of one number a channel into the weights and biases of products."""

    name = "fold-scale-axis"

    max_total_bytes: int = 1 << 26
    """Bytes of the constants that all folded factors and terms together may take, each element counted as f64."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fold in all functions of the module.

        Raises:
            PassFailedException: The budget is negative.

        Complexity: O(ops + operands + elements of the constants that are multiplied or added).
        """
        if self.max_total_bytes < 0:
            raise PassFailedException(f"option 'max-total-bytes' expects 0 or more, got {self.max_total_bytes}")
        module = Module([], Limits(bytes=self.max_total_bytes).budget())
        for fold in _FOLDS:
            module = Module(list(walk_unfinished(op)), module.budget, module.computed)
            fold(module)
            module.finish(op)
