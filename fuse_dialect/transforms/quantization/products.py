"""Products of quantized numbers as products of integers, with what zero points and scales do to them afterwards.

For numbers `x = (q - z) * s` without sign, `z` and `s` one number each, and weights `w = v * t` with a sign, zero point
0 and one scale `t` for each result channel or for all,

    sum(x * w) = s * t * (sum(q * v) - z * sum(v))

The sum of the weights is a constant, and a bias that is a multiple of `s * t` adds to it. Around an image stands `z`.

1. No sum leaves 32 bits: the largest product times the number of products, and what is added, stay below 2**31.
2. Kernels multiply groups of four: input channels whose number is no multiple are filled up. Weights lie with the
   reduced axis last.
3. A scale that is followed by a quantization is divided by the scale of that: one factor takes integers to the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.axis_layout import permutation
from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.activation import ClipOp
from fuse_dialect.dialect.ops.broadcast import AddOp, BiasAddOp, DivideOp, MultiplyOp, SubtractOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.convolution import Conv2dOp
from fuse_dialect.dialect.ops.elementwise import RoundOp
from fuse_dialect.dialect.ops.indexing import PadOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, TransposeOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp, DenseOp, MatmulOp
from fuse_dialect.dialect.types import DYNAMIC, is_unsigned, normalize_axis, tensor_type, with_element, with_shape
from fuse_dialect.transforms.expansion import Expansion
from fuse_dialect.transforms.quantization.patterns import (
    Integers,
    Quantization,
    elements_of,
    integers_of,
    quantization_of,
    reals_of,
    single,
)

Product = Conv2dOp | DenseOp | MatmulOp | BatchMatmulOp
GROUP = 4
"""Products that kernels add up at once."""


@dataclass(frozen=True, slots=True)
class _Weights:
    """The constant operand."""

    v: Array
    """Integers with a sign: [N, K] of matrices, O I H W of convolutions."""
    scale: Array
    """One f32, or one for each result channel; 1 if there is none."""

    @property
    def sums(self) -> Array:
        """The sum for each result channel, in 64 bits."""
        return self.v.reshape(len(self.v), -1).astype(np.int64).sum(axis=1)

    @property
    def depth(self) -> int:
        """Products of a sum."""
        return self.v.size // max(len(self.v), 1)


@dataclass(frozen=True, slots=True)
class _Factors:
    """Both operands of a product."""

    x: Integers
    x_scale: np.float32 | None
    """`None` for a product of integers."""
    weights: _Weights


def rewrite_product(op: Product) -> bool:
    """Let a product of quantized numbers be one of integers.

    Returns:
        Whether it is one now; if not, nothing has changed.
    """
    factors = _factors(op)
    if factors is None:
        return False
    return _of_reals(op, factors) if factors.x_scale is not None else _of_integers(op, factors)


def _factors(op: Product) -> _Factors | None:
    """The operands, if they are numbers of 8 bits and weights as the formula wants them."""
    if op.out_dtype.data or PATTERN_KIND_ATTRIBUTE in op.attributes:
        return None
    if isinstance(op, MatmulOp | BatchMatmulOp) and (op.transpose_a.value.data or _rank(op.rhs) != 2):
        return None
    x, w = op.operands
    is_turned = False
    match w.owner:
        case TransposeOp() as transpose if transpose.permutation.get_values() == (1, 0):
            is_turned, w = True, transpose.operands[0]
        case _:
            pass
    if tensor_type(op.results[0]).element_type == i32:
        integers, weights, x_scale = integers_of(x), _weights(op, integers_of(w), None, is_turned), None
    else:
        reals, of_weights = reals_of(x), reals_of(w)
        if reals is None or of_weights is None or (number := single(reals.scale)) is None:
            return None
        integers, x_scale = reals.integers, np.float32(number)
        weights = _weights(op, of_weights.integers, of_weights.scale, is_turned)
    if integers is None or weights is None or not is_unsigned(tensor_type(integers.q)):
        return None
    if integers.zero is not None and tensor_type(integers.zero).get_num_dims():
        return None
    if 255 * 128 * weights.depth >= 1 << 30 or not weights.v.size:  # (1)
        return None
    return _Factors(integers, x_scale, weights)


def _rank(value: SSAValue) -> int:
    return tensor_type(value).get_num_dims()


def _weights(op: Product, integers: Integers | None, scale: SSAValue | None, is_turned: bool) -> _Weights | None:
    """The weights, which are transposed before the product if `is_turned`, with the result channels first."""
    if integers is None:
        return None
    v = elements_of(integers.q)
    zero = np.zeros((), np.int32) if integers.zero is None else elements_of(integers.zero)
    scales = np.ones((), np.float32) if scale is None else elements_of(scale)
    if v is None or zero is None or scales is None or scales.dtype != np.float32:
        return None
    if v.dtype == np.uint8 and (zero == 128).all():
        v, zero = (v ^ np.uint8(128)).view(np.int8), zero - 128
    if v.dtype != np.int8 or (zero != 0).any():
        return None
    axis = 0
    if isinstance(op, Conv2dOp):
        order = permutation(op.kernel_layout.data, "OIHW")
        axis = order[0]
    elif (isinstance(op, MatmulOp | BatchMatmulOp) and not op.transpose_b.value.data) != is_turned:
        order, axis = (1, 0), 1
    else:
        order = tuple(range(v.ndim))
    is_along = scales.ndim == v.ndim and scales.size == v.shape[axis] == scales.shape[axis]
    if scales.size > 1 and not is_along:
        return None
    return _Weights(np.ascontiguousarray(v.transpose(order)), scales.reshape(-1))


def _of_reals(op: Product, factors: _Factors) -> bool:
    """Rewrite a product of real numbers, with the bias and the quantization behind it."""
    zero = single(factors.x.zero)
    assert factors.x_scale is not None
    if zero is None:
        return False
    scale = (factors.x_scale * factors.weights.scale).astype(np.float32)
    if not np.isfinite(scale).all() or (scale <= 1e-30).any():
        return False
    shift = -int(zero) * factors.weights.sums
    end, bias = _bias(op, scale)
    if bias is not None and np.abs(shift + bias).max(initial=0) < 1 << 30:
        shift = shift + bias
    else:
        end = op
    if np.abs(shift).max(initial=0) >= 1 << 30:  # (1)
        return False
    new = _Rewriting(end, op)
    sums = new.product(factors, int(zero))
    if shift.any():
        sums = new.add(BiasAddOp(sums, new.constant(shift.astype(np.int32)), axis=new.channel_axis))
    real = new.add(CastOp(sums, result_types=[with_element(tensor_type(sums), f32)]))
    quotient = _quotient(end)
    if quotient is not None:
        scale = (scale / quotient.scale).astype(np.float32)  # (3)
    real = new.add(MultiplyOp(real, new.along_channels(scale, _rank(real))))
    if quotient is None:
        new.finish(real)
    else:
        quotient.divide.result.replace_all_uses_with(real)
        real.name_hint = end.results[0].name_hint
    return True


def _quotient(end: FuseOp) -> Quantization | None:
    """The quantization that is all that reads a result."""
    value = end.results[0]
    while value.has_one_use():
        (use,) = value.uses
        reader = use.operation
        if isinstance(reader, CastOp):
            quantization = quantization_of(reader.result)
            return quantization if quantization is not None and quantization.source is end.results[0] else None
        if not isinstance(reader, DivideOp | RoundOp | AddOp | ClipOp):
            return None
        value = reader.results[0]
    return None


def _bias(op: Product, scale: Array) -> tuple[FuseOp, Array | None]:
    """What adds a bias to the product, and the bias in units of the scale; `None` if there is none of that form."""
    result = op.results[0]
    if not result.has_one_use():
        return op, None
    (use,) = result.uses
    reader = use.operation
    count = tensor_type(result).get_shape()[1 if isinstance(op, Conv2dOp) and op.data_layout.data == "NCHW" else -1]
    match reader:
        case BiasAddOp() if use.index == 0:
            axis = normalize_axis(reader.axis.value.data, _rank(result))
            if axis != (op.data_layout.data.index("C") if isinstance(op, Conv2dOp) else _rank(result) - 1):
                return op, None
        case AddOp() if use.index == 0 and not isinstance(op, Conv2dOp) and _rank(reader.operands[1]) == 1:
            pass
        case _:
            return op, None
    bias = elements_of(reader.operands[1])
    if bias is None or bias.dtype != np.float32 or bias.size != count:
        return op, None
    units = np.rint(bias.astype(np.float64) / scale)
    with np.errstate(all="ignore"):
        is_multiple = np.isclose(units * scale, bias, rtol=1e-5, atol=0) & (np.abs(units) < 1 << 30)
    return (reader, units.astype(np.int64)) if is_multiple.all() else (op, None)


def _of_integers(op: Product, factors: _Factors) -> bool:
    """Rewrite a product of integers; their zero point need not be known."""
    zero = single(factors.x.zero)
    is_padded = isinstance(op, Conv2dOp) and any(op.padding.get_values())
    if zero is None and is_padded and DYNAMIC in tensor_type(factors.x.q).get_shape():
        return False
    new = _Rewriting(op, op)
    if zero is None and is_padded:
        sums = new.product(factors, 0, new.surrounded(factors.x))
    else:
        sums = new.product(factors, 0 if zero is None else int(zero))
    of_weights = factors.weights.sums
    if zero is None:
        assert factors.x.zero is not None
        wide = new.along_channels(of_weights.astype(np.int32), _rank(sums))
        sums = new.add(SubtractOp(sums, new.add(MultiplyOp(wide, factors.x.zero))))
    elif (zero * of_weights).any():
        shift = new.constant((-int(zero) * of_weights).astype(np.int32))
        sums = new.add(BiasAddOp(sums, shift, axis=new.channel_axis))
    new.finish(sums)
    return True


class _Rewriting(Expansion):
    """The ops that take the place of a product, and maybe of the bias behind it."""

    def __init__(self, end: FuseOp, op: Product):
        super().__init__(end)
        self.op = op

    @property
    def channel_axis(self) -> int:
        """The axis of result channels."""
        return self.op.data_layout.data.index("C") if isinstance(self.op, Conv2dOp) else _rank(self.op.results[0]) - 1

    def constant(self, array: Array) -> SSAValue:
        """A constant in front."""
        return self.add(constant(array))

    def along_channels(self, array: Array, rank: int) -> SSAValue:
        """Numbers, one or one for each channel, shaped to broadcast with the result."""
        if array.size == 1:
            return self.constant(array.reshape(()))
        return self.constant(array.reshape(-1, *(1,) * (rank - 1 - self.channel_axis)))

    def surrounded(self, x: Integers) -> SSAValue:
        """An image with its zero point around it, which is computed."""
        op = self.op
        assert isinstance(op, Conv2dOp)
        assert x.zero is not None, "a zero point that is computed"
        axes = [op.data_layout.data.index(letter) for letter in "HW"]
        widths = op.padding.get_values()
        low, high = [0] * 4, [0] * 4
        for number, axis in enumerate(axes):
            low[axis], high[axis] = widths[number], widths[number + 2]
        byte = with_element(tensor_type(x.zero), tensor_type(x.q).element_type)
        zero = self.add(CastOp(x.zero, result_types=[byte]))
        number = self.add(ReshapeOp(zero, result_types=[with_shape(byte, [])]))
        return self.add(PadOp(x.q, number, low=low, high=high))

    def product(self, factors: _Factors, zero: int, image: SSAValue | None = None) -> SSAValue:
        """The sums of products of integers; of an image that has its padding already, if one is given."""
        x, v, op = factors.x.q if image is None else image, factors.weights.v, self.op
        if not isinstance(op, Conv2dOp):
            x, v = self._filled(x, v, _rank(x) - 1)
            return self.add(DenseOp(x, self.constant(v), out_dtype="i32"))
        groups, layout = op.groups.value.data, "OIHW"
        if groups == 1:
            x, v = self._filled(x, v, op.data_layout.data.index("C"))
            v, layout = v.transpose(permutation("OIHW", "OHWI")), "OHWI"
        return self.add(
            Conv2dOp(
                x,
                self.constant(np.ascontiguousarray(v)),
                strides=op.strides,
                padding=op.padding if image is None else [0, 0, 0, 0],
                dilation=op.dilation,
                groups=groups,
                data_layout=op.data_layout,
                kernel_layout=layout,
                pad_value=zero,
                out_dtype="i32",
            )
        )

    def _filled(self, x: SSAValue, v: Array, axis: int) -> tuple[SSAValue, Array]:
        """Both factors with as many input channels as groups of products take (2)."""
        missing = -v.shape[1] % GROUP
        shape: Sequence[int] = tensor_type(x).get_shape()
        if not missing or DYNAMIC in shape:
            return x, v
        high = [missing if each == axis else 0 for each in range(len(shape))]
        nothing = self.constant(np.zeros((), np.uint8))
        padded = self.add(PadOp(x, nothing, low=[0] * len(shape), high=high))
        return padded, np.pad(v, [(0, missing) if each == 1 else (0, 0) for each in range(v.ndim)])
