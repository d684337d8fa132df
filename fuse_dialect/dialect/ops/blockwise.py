"""Products with weights of few bits, of which each block has a scale: kind `out_ewise_fusable`."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import integer, tensor_operand, tensor_result
from fuse_dialect.dialect.loops import LoopFormError, Nest, sum_of_products
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.shape_rules import product, require_rank_at_least, unify
from fuse_dialect.dialect.types import DYNAMIC, is_unsigned, require_rank, with_shape
from fuse_dialect.pattern_kind import PatternKind


@irdl_op_definition
class BlockwiseDenseOp(FuseOp):
    """A fully connected layer whose weight is integers: `x @ ((w - zero) * scale).T`, a scale for each block of a row.

    A row of the weight is cut into as many equal blocks as `scale` has columns. With `bits = 4` the lower half of each
    byte counts, with its sign if `weight` is i8. Kernels keep a constant weight in its few bits, and make real numbers
    of it in registers. Where a scale or a zero point is not finite, or a product with one
    over- or underflows, results mean nothing.

    Shapes: input [..., K], weight [N, K], scale [N, B], where B divides K; zero [N, B] or rank 0; result [..., N].
    Types: f32 for all but the weight, which is i8 or ui8.
    Kind: out_ewise_fusable.
    Cost: 2 * K an element of the result.
    Source: ONNX DequantizeLinear with `block_size`; com.microsoft MatMulNBits.
    """

    IS_PRODUCT: ClassVar[bool] = True

    name = "fuse.blockwise_dense"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))

    input = tensor_operand()
    weight = tensor_operand()
    scale = tensor_operand()
    zero = tensor_operand()
    result = tensor_result()

    bits = integer(8)
    """Bits of an element of `weight` that count, 4 or 8."""

    def infer_types(self) -> Sequence[Attribute]:
        """The input's shape with the weight's rows in place of the last axis."""
        for name, type in (("input", self.input.type), ("scale", self.scale.type), ("zero", self.zero.type)):
            if type.element_type != f32:
                raise VerifyException(f"expects elements of f32 for '{name}', got {type.element_type}")
        match self.weight.type.element_type:
            case IntegerType() as element if element.width.data == 8:
                pass
            case element:
                raise VerifyException(f"expects a weight of i8 or ui8, got {element}")
        if self.bits.value.data not in (4, 8):
            raise VerifyException(f"expects 4 or 8 bits, got {self.bits.value.data}")
        x = require_rank_at_least(self.input.type, 1, "input")
        rows, columns = require_rank(self.weight.type, 2, "weight")
        unify(x[-1], columns, "the last axis of 'input' and of 'weight'")
        own, blocks = require_rank(self.scale.type, 2, "scale")
        unify(rows, own, "the rows of 'weight' and of 'scale'")
        if blocks == 0 or (DYNAMIC not in (columns, blocks) and columns % blocks):
            raise VerifyException(f"expects as many blocks as divide {columns} columns, got {blocks}")
        if self.zero.type.get_num_dims():
            own, zeros = require_rank(self.zero.type, 2, "zero")
            unify(rows, own, "the rows of 'weight' and of 'zero'")
            unify(blocks, zeros, "the blocks of 'scale' and of 'zero'")
        return (with_shape(self.input.type, (*x[:-1], rows)),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """The weight as real numbers, and the product."""
        x, w, scale, zero = operands
        rows, blocks = scale.shape
        if self.bits.value.data == 4:
            w = w & np.uint8(15) if w.dtype == np.uint8 else (w << np.int8(4)) >> np.int8(4)
        with np.errstate(all="ignore"):
            # A weight without columns has blocks of none.
            real = w.astype(np.float32).reshape(rows, blocks, w.shape[1] // blocks)
            real = (real - (zero[..., None] if zero.ndim else zero)) * scale[..., None]
            return (x @ real.reshape(w.shape).T,)

    def loops(self, nest: Nest) -> SSAValue:
        """The inner product of a line and a row of the weight."""
        *line, row = nest.at
        columns, blocks = nest.shape(1)[1], nest.shape(2)[1]
        if isinstance(columns, str) or isinstance(blocks, str):
            raise LoopFormError("has blocks of unknown size")
        nest.equal(nest.shape(0)[-1], columns)
        inner = nest.reduced(columns)
        block = inner // max(columns // blocks, 1)
        w = nest.read(1, [row, inner])
        unsigned = is_unsigned(self.weight.type)
        if self.bits.value.data == 4:
            half = scalars.constant(4, w.type)
            w = scalars.apply(arith.ShLIOp, w, half)
            w = scalars.apply(arith.ShRUIOp if unsigned else arith.ShRSIOp, w, half)
        real = scalars.convert(w, f32, unsigned_source=unsigned, unsigned_target=False)
        zero = nest.read(3, [row, block] if nest.shape(3) else [])
        real = scalars.multiply(scalars.subtract(real, zero), nest.read(2, [row, block]))
        return sum_of_products(nest, nest.read(0, [*line, inner]), real, self.result.type)

    def flops(self) -> int | None:
        """Two for each of the K products of a result element."""
        inner = unify(self.input.type.get_shape()[-1], self.weight.type.get_shape()[1], "")
        products = product((*self.result.type.get_shape(), inner))
        return None if products == DYNAMIC else 2 * products
