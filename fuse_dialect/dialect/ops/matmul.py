"""Matrix products: kind `out_ewise_fusable`. A bias is added by `bias_add` or `add`."""

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.counts import Size
from fuse_dialect.dialect.accumulation import exact_product, sum_element
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import Integer, flag, string, tensor_operand, tensor_result
from fuse_dialect.dialect.loops import Nest, sum_of_products
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.shape_rules import product, require_rank_at_least, unify
from fuse_dialect.dialect.types import (
    DYNAMIC,
    Shape,
    Tensor,
    broadcast_shapes,
    require_rank,
    shape_text,
    with_element,
    with_shape,
)
from fuse_dialect.loops.indices import Index, number
from fuse_dialect.loops.special_functions import widened
from fuse_dialect.pattern_kind import PatternKind


def _swapped(shape: Shape, transpose: Integer) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if transpose.value.data else shape


def _broadcast(at: Sequence[Index], sizes: Sequence[Size]) -> list[Index]:
    """Indices in an operand of these sizes that broadcasts."""
    own = at[len(at) - len(sizes) :]
    return [number(0) if size == 1 else index for index, size in zip(own, sizes, strict=True)]


def _product_cost(result: Tensor, inner: int) -> int | None:
    products = product((*result.get_shape(), inner))
    return None if products == DYNAMIC else 2 * products


@irdl_op_definition
class DenseOp(FuseOp):
    """A fully connected layer: the last axis of the input times the transposed weight.

    Shapes: input [..., K], weight [N, K]; result [..., N].
    Types: one type of numbers; f16 and bf16 are summed in f32. With `out_dtype` each operand i8 or ui8, result i32.
    Kind: out_ewise_fusable.
    Cost: 2 * K an element of the result.
    Source: Relay `nn.dense`, ONNX Gemm with `transB = 1`, `x @ w.T` in NumPy.
    """

    IS_PRODUCT: ClassVar[bool] = True

    name = "fuse.dense"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))

    input = tensor_operand()
    weight = tensor_operand()
    result = tensor_result()

    out_dtype = string("")
    """`i32` for the sums of products of 8-bit integers; by default the operands' type."""

    def infer_types(self) -> Sequence[Attribute]:
        """The input's shape with the weight's rows in place of the last axis."""
        element = sum_element(self.input.type, self.weight.type, self.out_dtype)
        x = require_rank_at_least(self.input.type, 1, "input")
        rows, columns = require_rank(self.weight.type, 2, "weight")
        unify(x[-1], columns, "the last axis of 'input' and of 'weight'")
        return (with_element(with_shape(self.input.type, (*x[:-1], rows)), element),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`x @ w.T`."""
        x, w = operands
        if self.out_dtype.data:
            return (exact_product(x, w.T),)
        return ((widened(x) @ widened(w).T).astype(x.dtype, copy=False),)

    def loops(self, nest: Nest) -> SSAValue:
        """The inner product of a line and a row of the weight."""
        *line, row = nest.at
        nest.equal(nest.shape(0)[-1], nest.shape(1)[-1])
        inner = nest.reduced(nest.shape(1)[-1])
        return sum_of_products(nest, nest.read(0, [*line, inner]), nest.read(1, [row, inner]), self.result.type)

    def flops(self) -> int | None:
        """Two for each of the K products of a result element."""
        return _product_cost(
            self.result.type, unify(self.input.type.get_shape()[-1], self.weight.type.get_shape()[1], "")
        )


class TransposableProductOp(FuseOp, ABC):
    """A product of the last two axes, either operand transposed beforehand."""

    IS_PRODUCT: ClassVar[bool] = True

    if TYPE_CHECKING:  # xDSL reads a bare annotation as a definition; each op defines its own, with its defaults
        transpose_a: Integer
        transpose_b: Integer
        out_dtype: StringAttr

    lhs = tensor_operand()
    rhs = tensor_operand()
    result = tensor_result()

    def multiplied_shapes(self) -> tuple[Shape, Shape]:
        """Shapes of the operands as they are multiplied.

        Raises:
            VerifyException: The element types do not fit, or the inner sizes do not.
        """
        sum_element(self.lhs.type, self.rhs.type, self.out_dtype)
        lhs = _swapped(require_rank_at_least(self.lhs.type, 2, "lhs"), self.transpose_a)
        rhs = _swapped(require_rank_at_least(self.rhs.type, 2, "rhs"), self.transpose_b)
        unify(lhs[-1], rhs[-2], f"the inner axes of {shape_text(lhs)} and {shape_text(rhs)}")
        return lhs, rhs

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.matmul` of the operands, transposed as the properties say."""
        lhs, rhs = (widened(operand) for operand in operands)
        lhs = lhs.swapaxes(-1, -2) if self.transpose_a.value.data else lhs
        rhs = rhs.swapaxes(-1, -2) if self.transpose_b.value.data else rhs
        if self.out_dtype.data:
            return (exact_product(lhs, rhs),)
        return ((lhs @ rhs).astype(operands[0].dtype, copy=False),)

    def loops(self, nest: Nest) -> SSAValue:
        """The inner product of a row and a column; batches as they broadcast."""
        *batch, row, column = nest.at
        transposed = self.transpose_a.value.data, self.transpose_b.value.data
        lhs, rhs = nest.shape(0), nest.shape(1)
        length = lhs[-2 if transposed[0] else -1]
        nest.equal(length, rhs[-1 if transposed[1] else -2])
        inner = nest.reduced(length)
        left = [inner, row] if transposed[0] else [row, inner]
        right = [column, inner] if transposed[1] else [inner, column]
        return sum_of_products(
            nest,
            nest.read(0, [*_broadcast(batch, lhs[:-2]), *left]),
            nest.read(1, [*_broadcast(batch, rhs[:-2]), *right]),
            self.result.type,
        )

    def of_sums(self, shape: Shape) -> Tensor:
        """The result's type."""
        return with_element(with_shape(self.lhs.type, shape), sum_element(self.lhs.type, self.rhs.type, self.out_dtype))

    def flops(self) -> int | None:
        """Two for each of the K products of a result element."""
        lhs, rhs = self.multiplied_shapes()
        return _product_cost(self.result.type, unify(lhs[-1], rhs[-2], ""))


@irdl_op_definition
class MatmulOp(TransposableProductOp):
    """The product of two matrices.

    Shapes: lhs [M, K], rhs [K, N], the last two axes swapped by `transpose_a`, `transpose_b`; result [M, N].
    Types: one type of numbers; f16 and bf16 are summed in f32. With `out_dtype` each operand i8 or ui8, result i32.
    Kind: out_ewise_fusable.
    Cost: 2 * M * N * K.
    Source: `numpy.matmul`, ONNX MatMul and Gemm, Relay `nn.matmul`, StableHLO `dot`.
    """

    name = "fuse.matmul"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))

    transpose_a = flag()
    """Whether the last two axes of `lhs` are swapped first."""
    transpose_b = flag()
    """Whether the last two axes of `rhs` are swapped first."""
    out_dtype = string("")
    """`i32` for the sums of products of 8-bit integers; by default the operands' type."""

    def infer_types(self) -> Sequence[Attribute]:
        """Rows of the left operand, columns of the right."""
        require_rank(self.lhs.type, 2, "lhs")
        require_rank(self.rhs.type, 2, "rhs")
        lhs, rhs = self.multiplied_shapes()
        return (self.of_sums((lhs[0], rhs[1])),)


@irdl_op_definition
class BatchMatmulOp(TransposableProductOp):
    """Products of the matrices in the last two axes; the axes before them broadcast.

    Shapes: lhs [..., M, K], rhs [..., K, N], the last two axes swapped by `transpose_a`, `transpose_b`; one of them of
        rank 3 or more; result [..., M, N] with the broadcast leading axes.
    Types: one type of numbers; f16 and bf16 are summed in f32. With `out_dtype` each operand i8 or ui8, result i32.
    Kind: out_ewise_fusable.
    Cost: 2 * K an element of the result.
    Source: `numpy.matmul`, ONNX MatMul, Relay `nn.batch_matmul`, StableHLO `dot_general`.
    """

    name = "fuse.batch_matmul"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))

    transpose_a = flag()
    """Whether the last two axes of `lhs` are swapped first."""
    transpose_b = flag()
    """Whether the last two axes of `rhs` are swapped first."""
    out_dtype = string("")
    """`i32` for the sums of products of 8-bit integers; by default the operands' type."""

    def infer_types(self) -> Sequence[Attribute]:
        """Broadcast leading axes, rows of the left operand, columns of the right."""
        lhs, rhs = self.multiplied_shapes()
        if max(len(lhs), len(rhs)) < 3:
            raise VerifyException(f"expects an operand of rank 3 or more, got {shape_text(lhs)} and {shape_text(rhs)}")
        batch = broadcast_shapes(lhs[:-2], rhs[:-2])
        return (self.of_sums((*batch, lhs[-2], rhs[-1])),)
