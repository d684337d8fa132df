"""`fake-quantization-to-integer`: products of quantized numbers are computed on their integers.

A model in 8 bits says between which numbers its tensors are rounded: integers become real numbers, products are formed
of these, and results become integers again (QDQ). Its products are those of the integers, but for constants:

1. quantized numbers that only move stay integers (`quantization/moves.py`);
2. those with a sign lose it (`quantization/signs.py`), after which more of them only move;
3. a product of quantized numbers by constant weights becomes one of integers, with `out_dtype = "i32"`, and so does one
   of integers whose zero points are subtracted first (`quantization/products.py`);
4. on request, what leads from such sums to the next integers is one `fuse.requantize`, with scales combined and a relu
   as a bound, and a sum of quantized numbers one `fuse.requantize_sum` (`quantization/requantize.py`).

Results may differ from those of the formulas by the rounding of real numbers in between, hence by one step of the
quantization where a number lies halfway. Ops whose `fuse.pattern_kind` says how they fuse, and functions with
`primitive` or `fuse.compiler`, are left alone.

Source: TVM `FakeQuantizationToInteger`, python/tvm/relay/transform/fake_quantization_to_integer.py (v0.18), and
Jacob et al., Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference
(arXiv:1712.05877).
Differs from TVM: its pass works on `qnn` ops, and rewrites sums and activations too, which here stay real numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.convolution import Conv2dOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp, DenseOp, MatmulOp
from fuse_dialect.transforms.quantization.moves import move_integers
from fuse_dialect.transforms.quantization.products import rewrite_product
from fuse_dialect.transforms.quantization.requantize import form_requantizations
from fuse_dialect.transforms.quantization.signs import drop_signs
from fuse_dialect.transforms.unfinished import walk_unfinished


@dataclass(frozen=True)
class FakeQuantizationToIntegerPass(ModulePass):
    """Compute products of quantized numbers on integers of 8 bits."""

    name = "fake-quantization-to-integer"

    requantize: bool = False
    """Whether conversions from sums of integers to integers of 8 bits become one op each, as hardware has it."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change all functions of the module; linear in the number of ops, operands and bytes of weights."""
        # Numbers with and without a sign are alike once the signs are gone: more of them move then.
        changed = sum([_changed_by(op, step) for step in (move_integers, drop_signs, move_integers)])
        ops = [each for each in walk_unfinished(op) if isinstance(each, Conv2dOp | DenseOp | MatmulOp | BatchMatmulOp)]
        changed += sum([rewrite_product(each) for each in ops])
        if changed:
            _erase_unused(op)
        if self.requantize and form_requantizations(op):
            _erase_unused(op)


def _changed_by(module: ModuleOp, step: Callable[[ModuleOp], int]) -> int:
    """Run a step; what is left unread would count as a reader for the next one."""
    count = step(module)
    if count:
        _erase_unused(module)
    return count


def _erase_unused(module: ModuleOp) -> None:
    """Erase ops of the dialect, and constants, whose results nothing reads."""
    ops: list[Operation] = list(walk_unfinished(module))
    for op in reversed(ops):
        is_pure = isinstance(op, FuseOp) or op.name == "arith.constant"
        if is_pure and not op.regions and not any(result.uses for result in op.results):
            Rewriter.erase_op(op)
